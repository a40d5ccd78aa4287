package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
)

// readJSON reads the one JSON value of a request into what it is about, and
// otherwise answers and returns false.
func (s *server) readJSON(c *gin.Context, what string, maxBytes int64, into any) bool {
	// A form of another site cannot send this type, whatever its browser is.
	if kind, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || kind != "application/json" {
		c.JSON(http.StatusUnsupportedMediaType, newProblem("unsupported_media_type", "send the "+what+" as application/json"))
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBytes))
	if err != nil {
		c.JSON(http.StatusRequestEntityTooLarge, newProblem("too_large", fmt.Sprintf("a %s has at most %d bytes", what, maxBytes)))
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		c.JSON(s.status(c, badRequest{bodyError(err)}))
		return false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		c.JSON(s.status(c, badRequest{errors.New("body: more than one JSON value")}))
		return false
	}
	return true
}

// bodyError says what is wrong with a body in the words of JSON: the decoder's
// own name the types of this program.
func bodyError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("body: empty: want a JSON object")
	case !errors.As(err, &wrong):
		return fmt.Errorf("body: %w", err)
	case wrong.Field == "":
		return fmt.Errorf("body: want a JSON object, found %s", wrong.Value)
	case strings.HasPrefix(wrong.Value, "number "):
		return fmt.Errorf("%s: %s is too large", wrong.Field, strings.TrimPrefix(wrong.Value, "number "))
	case wrong.Type.Kind() == reflect.Float64:
		return fmt.Errorf("%s: want a number, found %s", wrong.Field, wrong.Value)
	default:
		return fmt.Errorf("%s: want a text, found %s", wrong.Field, wrong.Value)
	}
}
