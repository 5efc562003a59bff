// Package jsonx decodes single JSON values and builds JSON pointers.
package jsonx

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrMoreValues is the error of [Decode] for text after the first value.
var ErrMoreValues = errors.New("more than one JSON value")

// Decode decodes exactly one JSON value into the pointer v. Numbers in an interface become
// [json.Number], so that no digit is lost. Surrounding space is allowed.
func Decode(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return ErrMoreValues
	}
	return nil
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the JSON pointer (RFC 6901) of a member of the object at base. The pointer of the
// whole document is empty.
func Pointer(base, member string) string { return base + "/" + escaper.Replace(member) }

// Index returns the JSON pointer of an item of the array at base.
func Index(base string, item int) string { return base + "/" + strconv.Itoa(item) }

// Within reports whether a JSON pointer leads to a place or to a part of it.
func Within(path, place string) bool { return path == place || strings.HasPrefix(path, place+"/") }

// UnescapePointer returns the member name for a token of a JSON pointer.
func UnescapePointer(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
