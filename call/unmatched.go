package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxThere limits the members that a warning about a field names.
const maxThere = 12

// warnUnmatched warns about fields that match nothing in a result, and names the members there. A
// declared field may be absent. Undeclared fields, such as in results of other servers, can only be
// checked against the result.
func (c *Call) warnUnmatched(raw json.RawMessage) {
	if len(c.input.fields) == 0 {
		return
	}
	declared := schema.Paths(c.Entry.Action.Results())
	for _, field := range c.input.fields {
		steps, _ := parseField(field)
		i, there := findUnmatched(raw, steps)
		if i < 0 || slices.Contains(declared, namesOf(steps[:i+1])) {
			continue
		}
		has := "no members"
		if len(there) > 0 {
			has = strings.Join(there[:min(len(there), maxThere)], ", ")
		}
		if more := len(there) - maxThere; more > 0 {
			has += fmt.Sprintf(" and %d more", more)
		}
		where := "the answer"
		if i > 0 {
			where = namesOf(steps[:i])
		}
		c.input.warn("%s: nothing is at %s: %s has %s", callctx.ArgFields, shorten.To(namesOf(steps[:i+1]), maxCutPath),
			shorten.To(where, maxCutPath), has)
	}
}

// findUnmatched returns the first step that matches nothing in a result, and the members at that place,
// in order. It returns -1 if all steps match or a range is empty. It also returns -1 if the place
// has only null or empty lists: these show no members.
func findUnmatched(raw json.RawMessage, steps []step) (i int, there []string) {
	values := [][]byte{raw}
	for i, s := range steps {
		var next [][]byte
		if s.part != nil {
			for _, value := range values {
				next = append(next, within(value, *s.part)...)
			}
			if values = next; len(values) == 0 {
				return -1, nil
			}
			continue
		}
		values = slices.DeleteFunc(itemsOf(values), func(value []byte) bool { return value[0] == 'n' })
		for _, value := range values {
			ordered.Scan(value, func(name []byte, start, end int) {
				if string(name) == s.name {
					next = append(next, value[start:end])
				}
			})
		}
		switch {
		case len(values) == 0:
			return -1, nil
		case len(next) == 0:
			return i, membersOf(values)
		}
		values = next
	}
	return -1, nil
}

// itemsOf replaces lists in values by their items, also nested lists.
func itemsOf(values [][]byte) (items [][]byte) {
	for _, value := range values {
		var inside [][]byte
		if ordered.Items(value, func(item []byte) { inside = append(inside, item) }) {
			items = append(items, itemsOf(inside)...)
		} else {
			items = append(items, value)
		}
	}
	return items
}

// within returns the items of a list, or the members of an object, in an extent; any other value
// unchanged.
func within(value []byte, part extent) (list [][]byte) {
	i := 0
	add := func(inner []byte) {
		if part.has(i) {
			list = append(list, inner)
		}
		i++
	}
	if ordered.Items(value, add) || ordered.Scan(value, func(_ []byte, start, end int) { add(value[start:end]) }) {
		return list
	}
	return [][]byte{value}
}

// membersOf returns the names of the members of objects, each once.
func membersOf(objects [][]byte) (names []string) {
	known := map[string]bool{}
	for _, object := range objects {
		ordered.Scan(object, func(name []byte, _, _ int) {
			if !known[string(name)] {
				known[string(name)] = true
				names = append(names, shorten.Quoted(string(name)))
			}
		})
	}
	return names
}
