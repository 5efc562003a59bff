// Package jsonedit edits JSON in place, with or without comments and trailing commas. All other
// bytes stay unchanged. New text follows the layout around it.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/jsonc"

	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Plain replaces the byte order mark, comments and trailing commas of a text by spaces.
func Plain(text []byte) []byte {
	plain := jsonc.ToJSON(text)
	if bytes.HasPrefix(plain, mark) {
		copy(plain, "   ")
	}
	return plain
}

// mark is the byte order mark, which some Windows editors write.
var mark = []byte("\ufeff")

// Set sets the member at a path of keys to a value, which is JSON. It adds missing objects on the
// way. If the member already has the value, it returns the text unchanged.
func Set(text, value []byte, path ...string) ([]byte, error) {
	if !json.Valid(value) {
		return nil, errors.New("the new value is not JSON")
	}
	d, o, err := read(text)
	for i, key := range path {
		if err != nil {
			return nil, at(path[:i], err)
		}
		m, twice := o.find(key)
		if twice != nil {
			return nil, at(path[:i], twice)
		}
		if m < 0 {
			for _, inner := range slices.Backward(path[i+1:]) {
				value = []byte(`{` + quoted(inner) + `:` + string(value) + `}`)
			}
			return d.check(d.insert(o, quoted(key)+":"+d.colon, value), path[:i+1], value)
		}
		place := o.members[m].value
		if i < len(path)-1 {
			o, err = d.object(place)
			continue
		}
		now := d.text[place.start:place.end]
		if jsonx.Equal(d.plain[place.start:place.end], value) {
			return text, nil
		}
		return d.check(d.replace(place, d.format(value, d.indentAt(place.start), bytes.IndexByte(now, '\n') >= 0)), path, value)
	}
	return text, err
}

// Remove removes the member at a path of keys, with its comma and its line. If there is no such
// member, it returns the text unchanged.
func Remove(text []byte, path ...string) ([]byte, error) {
	d, o, err := read(text)
	for i, key := range path {
		if err != nil {
			return nil, at(path[:i], err)
		}
		m, twice := o.find(key)
		if m < 0 || twice != nil {
			return text, at(path[:i], twice)
		}
		if i == len(path)-1 {
			return d.check(d.cut(o, m), path, nil)
		}
		o, err = d.object(o.members[m].value)
	}
	return text, err
}

// Append appends a value, which is JSON, to the list at a path of keys. It adds a missing list.
func Append(text, value []byte, path ...string) ([]byte, error) {
	if !json.Valid(value) {
		return nil, errors.New("the new value is not JSON")
	}
	d, place, err := locate(text, path)
	if err == nil && place == (span{}) {
		if text, err = Set(text, []byte("[]"), path...); err == nil {
			d, place, err = locate(text, path)
		}
	}
	if err != nil {
		return nil, err
	}
	l, err := d.list(place)
	if err != nil {
		return nil, at(path, err)
	}
	return d.check(d.insert(l, "", value), path, ordered.MustJSON(append(d.items(l), value)))
}

// Drop removes item i of the list at a path of keys, with its comma and its line.
func Drop(text []byte, i int, path ...string) ([]byte, error) {
	d, place, err := locate(text, path)
	if err != nil {
		return nil, err
	}
	l, err := d.list(place)
	if err != nil {
		return nil, at(path, err)
	}
	if i < 0 || i >= len(l.members) {
		return nil, at(path, fmt.Errorf("it has no item %d", i))
	}
	return d.check(d.cut(l, i), path, ordered.MustJSON(slices.Delete(d.items(l), i, i+1)))
}

// Get returns the value at a path of keys as plain JSON, or nil.
func Get(text []byte, path ...string) ([]byte, error) {
	d, place, err := locate(text, path)
	if err != nil || place == (span{}) {
		return nil, err
	}
	return d.plain[place.start:place.end], nil
}

// locate returns the span of the value at a path of keys, or an empty one if there is no value.
func locate(text []byte, path []string) (document, span, error) {
	d, o, err := read(text)
	place := span{o.open, o.close + 1}
	for i, key := range path {
		if err != nil {
			return d, span{}, at(path[:i], err)
		}
		m, twice := o.find(key)
		if m < 0 || twice != nil {
			return d, span{}, at(path[:i], twice)
		}
		if place = o.members[m].value; i < len(path)-1 {
			o, err = d.object(place)
		}
	}
	return d, place, err
}

// at adds the path of an object to an error.
func at(path []string, err error) error {
	if err == nil || len(path) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(path, "."), err)
}

// span is a range of a text, end not included.
type span struct{ start, end int }

// document is a text that is being edited, with its layout.
type document struct {
	text  []byte
	plain []byte // of the same length

	spread  bool   // one line per member
	unit    string // indentation
	newline string // line ending
	colon   string // white space after colons
}

// read parses a text whose root is an object.
func read(text []byte) (document, object, error) {
	d := document{text: text, plain: Plain(text), spread: true, unit: "  ", newline: "\n", colon: " "}
	root, err := d.object(span{0, len(text)})
	if err != nil {
		return d, root, err
	}
	if end := bytes.IndexByte(text, '\n'); end > 0 && text[end-1] == '\r' {
		d.newline = "\r\n"
	}
	if len(root.members) > 0 {
		first := root.members[0]
		d.spread = bytes.IndexByte(text[root.open:first.start], '\n') >= 0
		if inner, isDeeper := strings.CutPrefix(d.indentAt(first.start), d.indentAt(root.open)); isDeeper && inner != "" {
			d.unit = inner
		}
		between := text[first.start:first.value.start]
		if after := between[bytes.LastIndexByte(between, ':')+1:]; len(bytes.Trim(after, " \t")) == 0 {
			d.colon = string(after)
		}
	}
	return d, root, nil
}

// object is an object or a list of a document.
type object struct {
	open, close int // offsets of its brackets
	members     []member
}

type member struct {
	key   string // empty in a list
	start int    // of the key; in a list, of the value
	value span
}

// ErrTwice is the error for editing a key that an object has twice.
var ErrTwice = errors.New("twice: take one out")

// find returns the index of a member, or -1. A key that the object has twice is an error, because
// programs differ in which one they use.
func (o object) find(key string) (int, error) {
	found := -1
	for i, m := range o.members {
		if m.key != key {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("it has %q %w", key, ErrTwice)
		}
		found = i
	}
	return found, nil
}

// object parses the object that makes up a range of the text.
func (d document) object(in span) (object, error) {
	text := d.plain[in.start:in.end]
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if kind := dec.PeekKind(); kind != '{' {
		if _, err := dec.ReadToken(); err != nil && len(bytes.TrimSpace(text)) > 0 {
			return object{}, d.broken(in, err)
		}
		return object{}, errors.New("it is not an object")
	}
	_, _ = dec.ReadToken() // the opening bracket
	o := object{open: in.start + int(dec.InputOffset()) - 1}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadValue()
		if err != nil {
			return object{}, d.broken(in, err)
		}
		m := member{start: in.start + int(dec.InputOffset()) - len(key)}
		if err := json.Unmarshal(key, &m.key); err != nil {
			return object{}, d.broken(in, err)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return object{}, d.broken(in, err)
		}
		m.value.end = in.start + int(dec.InputOffset())
		m.value.start = m.value.end - len(value)
		o.members = append(o.members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return object{}, d.broken(in, err)
	}
	o.close = in.start + int(dec.InputOffset()) - 1
	if len(bytes.TrimSpace(d.plain[o.close+1:in.end])) > 0 {
		return object{}, errors.New("something follows its last bracket")
	}
	return o, nil
}

// list parses the list that makes up a range of the text.
func (d document) list(in span) (object, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(d.plain[in.start:in.end]), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '[' {
		return object{}, errors.New("it is not a list")
	}
	_, _ = dec.ReadToken() // the opening bracket
	l := object{open: in.start, close: in.end - 1}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return object{}, d.broken(in, err)
		}
		end := in.start + int(dec.InputOffset())
		l.members = append(l.members, member{start: end - len(value), value: span{end - len(value), end}})
	}
	return l, nil
}

// items returns the values of a list as plain JSON.
func (d document) items(l object) []json.RawMessage {
	items := []json.RawMessage{}
	for _, m := range l.members {
		items = append(items, d.plain[m.value.start:m.value.end])
	}
	return items
}

// broken returns a [SyntaxError] for an error in a range of the text. If its position is unknown,
// it returns an error without one.
func (d document) broken(in span, err error) error {
	if fault := Check(d.text); fault != nil {
		return fault
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return faultAt(d.text, in.start+int(syntactic.ByteOffset), "it is not JSON")
	}
	return errors.New("it is not JSON")
}

// insert adds a member after the others and their comments. label is its key and colon; empty in a
// list.
func (d document) insert(o object, label string, value []byte) []byte {
	last, comma, after := o.open+1, "", ""
	if n := len(o.members); n > 0 {
		if last = o.members[n-1].value.end; d.comma(last) >= 0 {
			after = ","
		} else {
			comma = ","
		}
	}
	spread := d.isSpread(o)
	outer := d.indentAt(o.open)
	indent := outer + d.unit
	if n := len(o.members); n > 0 {
		indent = d.indentAt(o.members[n-1].start)
	}
	added := label + string(d.format(value, indent, spread)) + after
	end := bytes.LastIndexByte(d.text[:o.close], '\n') + 1 // start of the closing bracket's line
	rest := end
	switch {
	case spread && end > o.open && len(bytes.TrimSpace(d.text[end:o.close])) == 0:
		added = indent + added + d.newline
	case spread:
		end, rest = len(bytes.TrimRight(d.text[:o.close], " \t")), o.close
		added = d.newline + indent + added + d.newline + outer
	default:
		end = len(bytes.TrimRight(d.text[:o.close], " \t"))
		if rest = end; len(o.members) > 0 {
			added = d.colon + added
		}
	}
	return slices.Concat(d.text[:last], []byte(comma), d.text[last:end], []byte(added), d.text[rest:])
}

// isSpread reports whether an object has one line per member. An empty object is like the whole
// text.
func (d document) isSpread(o object) bool {
	if len(o.members) == 0 {
		return d.spread || bytes.IndexByte(d.text[o.open:o.close], '\n') >= 0
	}
	return bytes.IndexByte(d.text[o.open:o.members[0].start], '\n') >= 0
}

// cut removes a member.
func (d document) cut(o object, i int) []byte {
	m := o.members[i]
	from, to := m.start, m.value.end
	comma := d.comma(to)
	if comma >= 0 {
		to = comma + 1
	}
	text := d.text
	if last := i == len(o.members)-1; last && comma < 0 && i > 0 {
		if comma := d.comma(o.members[i-1].value.end); comma >= 0 {
			text = d.replace(span{comma, comma + 1}, nil)
			from, to = from-1, to-1
		}
	}
	lineStart := bytes.LastIndexByte(text[:from], '\n') + 1
	lineEnd := to + len(text[to:]) - len(bytes.TrimLeft(text[to:], " \t\r"))
	ownLine := lineStart > 0 && len(bytes.TrimSpace(text[lineStart:from])) == 0
	switch endsLine := lineEnd < len(text) && text[lineEnd] == '\n'; {
	case ownLine && endsLine:
		from, to = lineStart, lineEnd+1
	case i == len(o.members)-1: // also remove the space before it
		from = len(bytes.TrimRight(text[:from], " \t\r\n"))
	default:
		to += len(text[to:]) - len(bytes.TrimLeft(text[to:], " \t"))
	}
	text = document{text: text}.replace(span{from, to}, nil)
	if inside := text[o.open+1:]; len(o.members) == 1 { // put {} on one line
		if rest := bytes.TrimLeft(inside, " \t\r\n"); rest[0] == d.text[o.close] {
			text = append(bytes.Clone(text[:o.open+1]), rest...)
		}
	}
	return text
}

// check returns an edited text. It is an error if the text differs in more than the member at the
// path. A nil value means that the member is removed.
func (d document) check(edited []byte, path []string, value []byte) ([]byte, error) {
	if !jsonx.IsEdit(d.plain, Plain(edited), value, path) {
		return nil, errors.New("its layout would not survive the edit: make it by hand")
	}
	return edited, nil
}

func (d document) replace(place span, by []byte) []byte {
	return slices.Concat(d.text[:place.start], by, d.text[place.end:])
}

// comma returns the offset of the comma after a value, skipping comments, or -1.
func (d document) comma(end int) int {
	for i := end; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == ',':
			return i
		case bytes.HasPrefix(d.text[i:], []byte("//")):
			next := bytes.IndexByte(d.text[i:], '\n')
			if next < 0 {
				return -1
			}
			i += next
		case bytes.HasPrefix(d.text[i:], []byte("/*")):
			next := bytes.Index(d.text[i+2:], []byte("*/"))
			if next < 0 {
				return -1
			}
			i += next + 3
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return -1
		}
	}
	return -1
}

// indentAt returns the indentation of the line at an offset.
func (d document) indentAt(place int) string {
	start := bytes.LastIndexByte(d.text[:place], '\n') + 1
	line := bytes.TrimPrefix(d.text[start:place], mark)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// format returns a value with one line per member, or on one line. Lists are on one line.
func (d document) format(value []byte, indent string, spread bool) []byte {
	options := []jsontext.Options{
		jsontext.SpaceAfterColon(d.colon != ""), jsontext.SpaceAfterComma(d.colon != ""), jsontext.PreserveRawStrings(true),
	}
	if !spread || jsontext.Value(value).Kind() != '{' {
		line := jsontext.Value(bytes.Clone(value))
		_ = line.Format(append(options, jsontext.Multiline(false))...) // checked rejects invalid results
		return line
	}
	var members []byte
	ordered.Scan(value, func(name []byte, start, end int) {
		if members != nil {
			members = append(members, ',')
		}
		inner := d.format(value[start:end], indent+d.unit, true)
		members = slices.Concat(members, []byte(d.newline+indent+d.unit+quoted(string(name))+":"+d.colon), inner)
	})
	if members == nil {
		return []byte("{}")
	}
	return slices.Concat([]byte("{"), members, []byte(d.newline+indent+"}"))
}

func quoted(text string) string {
	raw, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 is replaced
	return string(raw)
}
