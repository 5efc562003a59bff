// Package ordered implements JSON objects that keep the order of their members. Go maps sort their
// keys; a schema reads and caches better if members keep their declared order.
package ordered

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Map is a JSON object whose members keep their order. A nil Map is {}.
type Map []Member

// Member is one name and value of a [Map].
type Member struct {
	Key   string
	Value any
}

// Set replaces the member called key, or appends it.
func (m *Map) Set(key string, value any) {
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Value = value
			return
		}
	}
	*m = append(*m, Member{key, value})
}

// Get returns the value of the member called key.
func (m Map) Get(key string) (value any, ok bool) {
	for _, member := range m {
		if member.Key == key {
			return member.Value, true
		}
	}
	return nil, false
}

// Keys lists the member names in order.
func (m Map) Keys() []string {
	keys := make([]string, len(m))
	for i, member := range m {
		keys[i] = member.Key
	}
	return keys
}

// UnmarshalJSON implements [json.Unmarshaler]. Values stay unparsed, as [json.RawMessage]; null is
// an empty Map. A repeated name keeps its first position and its last value. It takes linear time.
func (m *Map) UnmarshalJSON(raw []byte) error {
	list, ok := Read(bytes.Clone(raw))
	if !ok {
		return fmt.Errorf("not a JSON object")
	}
	*m = list
	return nil
}

// Read reads a JSON object like [Map.UnmarshalJSON], but without copying or checking: raw must be
// valid JSON, and values are slices of it. It reports false for any other value.
func Read(raw []byte) (Map, bool) {
	if string(raw) == "null" {
		return nil, true
	}
	list := Map{}
	var at map[string]int // index of the members, once there are many
	ok := Scan(raw, func(name []byte, start, end int) {
		value := json.RawMessage(raw[start:end:end])
		i, known := at[string(name)]
		if at == nil {
			i = slices.IndexFunc(list, func(m Member) bool { return m.Key == string(name) })
			known = i >= 0
		}
		if known {
			list[i].Value = value
			return
		}
		list = append(list, Member{string(name), value})
		switch {
		case at != nil:
			at[string(name)] = len(list) - 1
		case len(list) > 16:
			at = map[string]int{}
			for i, m := range list {
				at[m.Key] = i
			}
		}
	})
	return list, ok
}

// Text decodes a JSON string; raw must be valid JSON. It reports false for any other value.
func Text(raw []byte) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// Items calls f for each value of a JSON list, without copying or checking: raw must be valid JSON.
// It reports false, without a call, if raw is not a list.
func Items(raw []byte, f func(item []byte)) bool {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return false
	}
	for i = space(raw, i+1); raw[i] != ']'; i = space(raw, i) {
		if raw[i] == ',' {
			i = space(raw, i+1)
		}
		end := skip(raw, i)
		f(raw[i:end:end])
		i = end
	}
	return true
}

// Texts decodes a JSON list of strings; raw must be valid JSON. It reports false for any other
// value.
func Texts(raw []byte) (list []string, ok bool) {
	ok = true
	is := Items(raw, func(item []byte) {
		text, is := Text(item)
		list, ok = append(list, text), ok && is
	})
	return list, is && ok
}

// Scan calls f for each member of a JSON object, in the order written, with its name and the range
// of its value in raw. It copies nothing, reads raw once and checks nothing: raw must be valid
// JSON. It reports false, without a call, if raw is not an object.
func Scan(raw []byte, f func(name []byte, start, end int)) bool {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return false
	}
	for i = space(raw, i+1); raw[i] != '}'; i = space(raw, i) {
		if raw[i] == ',' {
			i = space(raw, i+1)
		}
		end := skip(raw, i)
		name := raw[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			text, _ := Text(raw[i:end])
			name = []byte(text)
		}
		start := space(raw, space(raw, end)+1)
		i = skip(raw, start)
		f(name, start, i)
	}
	return true
}

// space returns the index of the first byte from i on that is not white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// closing returns the index of the quotation mark that ends the string starting at i.
func closing(raw []byte, i int) int {
	for start := i; ; {
		at := bytes.IndexByte(raw[i+1:], '"')
		if at < 0 {
			return len(raw) - 1 // invalid JSON
		}
		i += 1 + at
		before := i
		for before > start && raw[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 { // the quotation mark is not escaped
			return i
		}
	}
}

// skip returns the end of the value that starts at i.
func skip(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = closing(raw, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			} else if depth < 0 {
				return i // the end of the object around a number or a word
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// MarshalJSON implements [json.Marshaler].
func (m Map) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := writeMember(&buf, member); err != nil {
			return nil, fmt.Errorf("encoding %q: %w", member.Key, err)
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

func writeMember(buf *bytes.Buffer, member Member) error {
	key, err := JSON(member.Key)
	if err != nil {
		return err
	}
	value, err := JSON(member.Value)
	if err != nil {
		return err
	}
	buf.Write(key)
	buf.WriteByte(':')
	buf.Write(value)
	return nil
}

// JSON encodes v compactly and does not escape <, > and &: models read the result and pay for every
// escape.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// MustJSON is [JSON] for values that are known to encode. It panics on an error.
func MustJSON(v any) json.RawMessage {
	b, err := JSON(v)
	if err != nil {
		panic(fmt.Sprintf("ordered: encoding %T: %v", v, err))
	}
	return b
}
