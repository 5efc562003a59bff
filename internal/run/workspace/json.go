package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// parseJSON parses a JSON object. An empty text is an empty document.
func parseJSON(file string, text []byte) (Document, *BrokenFile) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return Document{}, &BrokenFile{File: file, Reason: notUTF8}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Document{File: file}, nil
	}
	r := jsonReader{text: text, dec: json.NewDecoder(bytes.NewReader(text)), positions: positions{places: map[string]place{}},
		at: place{line: 1, column: 1}}
	r.dec.UseNumber()
	if open, err := r.dec.Token(); err == nil && open != json.Delim('{') {
		return Document{}, &BrokenFile{File: file, Line: 1, Column: 1, Reason: notPairs}
	} else if err != nil {
		return Document{}, r.asBroken(file, err)
	}
	r.note("", r.at)
	value, err := r.object("")
	if err == nil {
		if _, end := r.dec.Token(); end != io.EOF {
			err = jsonx.ErrMoreValues
		}
	}
	if err != nil {
		return Document{}, r.asBroken(file, err)
	}
	return Document{File: file, Value: value, places: r.places}, nil
}

// jsonReader reads values token by token, to record their places.
type jsonReader struct {
	positions
	text          []byte
	dec           *json.Decoder
	values, depth int

	offset int   // current position
	at     place // place of offset
}

// next returns the place of the next name or value.
func (r *jsonReader) next() place {
	offset := int(r.dec.InputOffset())
	return r.placeOf(offset + len(r.text[offset:]) - len(bytes.TrimLeft(r.text[offset:], " \t\r\n,:")))
}

// placeOf returns the place of an offset, which must not be before the previous one.
func (r *jsonReader) placeOf(offset int) place {
	more := r.text[r.offset:offset]
	if lines := bytes.Count(more, []byte("\n")); lines > 0 {
		r.at = place{r.at.line + lines, 1}
		more = more[bytes.LastIndexByte(more, '\n')+1:]
	}
	r.at.column += utf8.RuneCount(more)
	r.offset = offset
	return r.at
}

func (r *jsonReader) asBroken(file string, err error) *BrokenFile {
	var at place
	var known *BrokenFile
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &known):
		known.File = file
		return known
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends too early")
		at = r.placeOf(len(r.text))
	case errors.As(err, &syntax):
		at = r.placeOf(max(r.offset, min(int(syntax.Offset)-1, len(r.text)))) // the offset is after the invalid byte
	default:
		at = r.next()
	}
	return &BrokenFile{File: file, Line: at.line, Column: at.column, Reason: err.Error()}
}

func (r *jsonReader) object(at string) (map[string]any, error) {
	object := map[string]any{}
	for r.dec.More() {
		begins := r.next()
		token, err := r.dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder rejects other names
		pointer := jsonx.Pointer(at, name)
		if _, twice := object[name]; twice {
			return nil, &BrokenFile{Line: begins.line, Column: begins.column,
				Reason: fmt.Sprintf("%q stands there twice: first in line %d", short(name), r.places[pointer].line)}
		}
		if !r.note(pointer, begins) {
			return nil, errors.New(tooLong)
		}
		if object[name], err = r.value(pointer); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.Token() // the closing bracket
	return object, err
}

// value reads the value at a pointer.
func (r *jsonReader) value(at string) (any, error) {
	if r.values++; r.values > MaxValues {
		return nil, errors.New(tooMany)
	}
	if !r.note(at, r.next()) {
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
