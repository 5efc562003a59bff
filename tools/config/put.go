package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// change is a value on its way into the text of a settings file. It works on
// the text, not on decoded values, so that a hand-written file keeps the
// order of its members, its numbers digit by digit, and what we do not know.
type change struct {
	path  []string
	value json.RawMessage
}

// put returns the JSON text with the value at the path's steps from done on;
// at declares what the text holds. Missing holders are made: a list where one
// is declared, else an object.
func (c change) put(text json.RawMessage, at tools.Param, done int) (json.RawMessage, error) {
	if done == len(c.path) {
		return c.value, nil
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0 || string(text) == "null":
		if at.Kind == tools.KindArray {
			return c.putItem(nil, at, done)
		}
		return c.putMember(nil, at, done)
	case text[0] == '{':
		return c.putMember(text, at, done)
	case text[0] == '[':
		return c.putItem(text, at, done)
	}
	return nil, c.refuse(done, "is neither an object nor a list")
}

func (c change) putMember(text json.RawMessage, at tools.Param, done int) (json.RawMessage, error) {
	object := ordered.Map{}
	if text != nil {
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
	}
	name := c.path[done]
	old, _ := object.Get(name)
	below, _ := descend(at, name)
	held, _ := old.(json.RawMessage)
	value, err := c.put(held, below, done+1)
	if err != nil {
		return nil, err
	}
	object.Set(name, value)
	return ordered.JSON(object)
}

// putItem replaces an item of a list, or appends one.
func (c change) putItem(text json.RawMessage, at tools.Param, done int) (json.RawMessage, error) {
	var list []json.RawMessage
	if text != nil {
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("reading a list: %w", err)
		}
	}
	i, ok := position(c.path[done])
	if !ok || i > len(list) {
		return nil, c.refuse(done, "is a list: the index can be 0 to %d", len(list))
	}
	if i == len(list) {
		list = append(list, nil)
	}
	below, _ := descend(at, c.path[done])
	value, err := c.put(list[i], below, done+1)
	if err != nil {
		return nil, err
	}
	list[i] = value
	return ordered.JSON(list)
}

// refuse tells the caller why the path cannot be followed past done.
func (c change) refuse(done int, format string, args ...any) error {
	where := dotted(c.path[:done])
	return tools.Errorf(tools.InvalidInput, "config.set: %s %s", where, fmt.Sprintf(format, args...)).
		WithHint("set %s as a whole", where)
}
