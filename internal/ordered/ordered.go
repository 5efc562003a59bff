// Package ordered holds JSON objects that keep the order of their members.
// Go maps sort their keys; a schema reads better, and caches better, when the
// members stay where the declaration put them.
package ordered

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// UnmarshalJSON implements [json.Unmarshaler]. Values stay as they were
// written, as [json.RawMessage]; null is an empty Map.
func (m *Map) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil || open == nil {
		*m = nil
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("not a JSON object")
	}
	*m = Map{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		m.Set(key.(string), value)
	}
	return nil
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

// JSON encodes v compactly and leaves <, > and & as they are: what is written
// here is read by models, which pay for every escape.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// MustJSON is [JSON] for values that are known to encode: it panics otherwise.
func MustJSON(v any) json.RawMessage {
	b, err := JSON(v)
	if err != nil {
		panic(fmt.Sprintf("ordered: encoding %T: %v", v, err))
	}
	return b
}
