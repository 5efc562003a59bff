package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/jsonx"
)

// parseJSON parses a JSON object. An empty text is an empty document.
func parseJSON(file string, text []byte) (Document, *Broken) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return Document{}, &Broken{File: file, Reason: notUTF8}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Document{File: file}, nil
	}
	r := jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text)), positions: positions{lines: map[string]int{}}}
	r.dec.UseNumber()
	if open, err := r.dec.Token(); err == nil && open != json.Delim('{') {
		return Document{}, &Broken{File: file, Line: 1, Reason: notPairs}
	} else if err != nil {
		return Document{}, r.broken(file, err)
	}
	r.note("", r.line())
	value, err := r.object("")
	if err == nil {
		if _, end := r.dec.Token(); end != io.EOF {
			err = jsonx.ErrMoreValues
		}
	}
	if err != nil {
		return Document{}, r.broken(file, err)
	}
	return Document{File: file, Value: value, lines: r.lines}, nil
}

// jsonReader reads values token by token, so that each has a line.
type jsonReader struct {
	positions
	text          []byte
	dec           *json.Decoder
	values, depth int

	counted int64 // where line counting has come to
	newline int   // line breaks before counted
}

// line is the line that the decoder has come to.
func (r *jsonReader) line() int {
	offset := r.dec.InputOffset()
	r.newline += bytes.Count(r.text[r.counted:offset], []byte("\n"))
	r.counted = offset
	return r.newline + 1
}

func (r *jsonReader) broken(file string, err error) *Broken {
	line := r.line()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
	case errors.As(err, &syntax):
		at := min(max(0, syntax.Offset-1), int64(len(r.text))) // the offset counts the offending byte
		line = 1 + bytes.Count(r.text[:at], []byte("\n"))
	}
	return &Broken{File: file, Line: line, Reason: err.Error()}
}

func (r *jsonReader) object(at string) (map[string]any, error) {
	object := map[string]any{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder refuses other names
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%q stands there twice", shorten(name))
		}
		if object[name], err = r.value(jsonx.Pointer(at, name)); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.Token() // the closing bracket
	return object, err
}

// value reads what stands at a pointer.
func (r *jsonReader) value(at string) (any, error) {
	if r.values++; r.values > MaxValues {
		return nil, errors.New(tooMany)
	}
	if !r.note(at, r.line()) {
		return nil, errors.New(tooLong)
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	if r.depth++; r.depth >= MaxNesting {
		return nil, errors.New(tooDeep)
	}
	defer func() { r.depth-- }()
	switch token {
	case json.Delim('{'):
		return r.object(at)
	case json.Delim('['):
		list := []any{}
		for r.dec.More() {
			item, err := r.value(jsonx.Index(at, len(list)))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := r.dec.Token() // the closing bracket
		return list, err
	}
	return token, nil
}
