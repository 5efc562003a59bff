// Package yamlx reads YAML with positions in errors, and writes JSON as YAML.
package yamlx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Error is an error at a position of a text.
type Error struct {
	Line, Column int // from 1; a column counts characters
	Reason       string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// At returns an Error at the position of a node.
func At(n *yaml.Node, format string, args ...any) *Error {
	return &Error{Line: n.Line, Column: n.Column, Reason: fmt.Sprintf(format, args...)}
}

// version matches a directive for YAML 1.2. The parser supports that version, but rejects its
// number.
var version = regex.Lazy(`(?m)^%YAML 1\.2\b`)

// Read returns the root of each document. An empty document is null; a text with only comments has
// no document. The error is an [*Error].
func Read(text []byte) (roots []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser panics on unexpected events
			roots, err = nil, &Error{Line: 1, Column: 1, Reason: "it is not valid YAML"}
		}
	}()
	text = version().ReplaceAll(text, []byte("%YAML 1.1"))
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, fault(text, decoder, err)
		}
		roots = append(roots, document.Content...)
	}
}

// unknown matches the library's error for a member that a Go type lacks.
var unknown = regex.Lazy(`^(line \d+): field (.*) not found in type .*$`)

// Decode decodes the first document into the pointer v. Unknown members are an error.
func Decode(text []byte, v any) error {
	if roots, err := Read(text); err != nil {
		return err
	} else if len(roots) == 0 {
		return errors.New("it is empty")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(v)
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		for i, reason := range wrong.Errors {
			wrong.Errors[i] = unknown().ReplaceAllString(reason, "$1: $2 is unknown")
		}
		return errors.New(strings.Join(wrong.Errors, "; "))
	}
	return err
}

// The library's contexts for values with a closing delimiter.
const (
	simpleKey = "while scanning a simple key"
	inFlow    = "while parsing a flow node"
)

var enclosed = []string{
	simpleKey, inFlow, "while parsing a flow sequence", "while parsing a flow mapping", "while scanning a quoted scalar",
}

// fault returns the position of an error. The library's message has no column, lacks the first
// line, and for half of the errors has a line too low; unexported fields of its parser have both.
// If a new version changes these fields, TestPlaces fails, and [Read] returns its error without a
// position.
func fault(text []byte, decoder *yaml.Decoder, err error) *Error {
	outer := reflect.ValueOf(decoder).Elem().FieldByName("parser").Elem()
	inner := outer.FieldByName("parser")
	problem, context := inner.FieldByName("problem").String(), inner.FieldByName("context").String()
	if problem == "" { // it is about an event, such as an alias without an anchor
		e := placeOf(outer.FieldByName("event").FieldByName("start_mark"))
		e.Reason = strings.TrimPrefix(err.Error(), "yaml: ")
		return e
	}
	e := placeOf(inner.FieldByName("problem_mark"))
	if offset := int(inner.FieldByName("problem_offset").Int()); offset > 0 { // a character that YAML does not allow
		before := text[:min(offset, len(text))]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		e.Line, e.Column = 1+bytes.Count(before, []byte("\n")), 1+utf8.RuneCount(line)
	}
	start := placeOf(inner.FieldByName("context_mark"))
	if marks := inner.FieldByName("marks"); context == inFlow && marks.Len() > 0 { // of the open brackets
		start = placeOf(marks.Index(marks.Len() - 1))
	}
	atEnd := e.Line > 1+bytes.Count(bytes.TrimRight(text, " \t\r\n"), []byte("\n"))
	switch {
	case start.Line == e.Line || !slices.Contains(enclosed, context):
	case context == simpleKey || atEnd: // the search for the closing delimiter stopped somewhere
		e, problem = start, problem+" "+context
	default:
		problem = fmt.Sprintf("%s %s that begins in line %d", problem, context, start.Line)
	}
	if e.Reason = problem; strings.HasPrefix(problem, "found character that cannot start any token") {
		e.Reason += e.character(text)
	}
	return e
}

// placeOf returns the position of a parser's mark, which counts from 0.
func placeOf(mark reflect.Value) *Error {
	return &Error{Line: int(mark.FieldByName("line").Int()) + 1, Column: int(mark.FieldByName("column").Int()) + 1}
}

// character quotes the character at the position, as the end of a reason.
func (e *Error) character(text []byte) string {
	lines := bytes.Split(text, []byte("\n"))
	if e.Line > len(lines) {
		return ""
	}
	line := []rune(string(lines[e.Line-1]))
	switch {
	case e.Column > len(line):
		return ""
	case line[e.Column-1] == '\t':
		return ": a tab; indent by spaces"
	}
	return fmt.Sprintf(": %q; put the text in quotes", line[e.Column-1])
}

// Scalar converts a scalar to a JSON value; numbers are [json.Number], times are strings.
func Scalar(n *yaml.Node) (any, error) {
	if n.Style == 0 && isNumber(n.Value) { // keep the digits: 1.0 may be a version
		return json.Number(n.Value), nil
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, At(n, "%q is no boolean", n.Value)
		}
		return b, nil
	case "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, At(n, "%q is no number", n.Value)
		}
		number := fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			number = strconv.FormatFloat(f, 'g', -1, 64)
		}
		if !isNumber(number) {
			return nil, At(n, "%s has no meaning in JSON", n.Value)
		}
		return json.Number(number), nil
	}
	return n.Value, nil
}

// isNumber reports whether a text is a JSON number.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}
