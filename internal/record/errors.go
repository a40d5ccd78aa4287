package record

import "errors"

// ErrNotFound says that nothing with the given id is stored.
var ErrNotFound = errors.New("not found")
