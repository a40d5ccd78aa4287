package localclickhouse_test

import "reflect"

// newLike returns a pointer to a new value of v's type; deref is its inverse.
func newLike(v any) any { return reflect.New(reflect.TypeOf(v)).Interface() }
func deref(p any) any   { return reflect.ValueOf(p).Elem().Interface() }
