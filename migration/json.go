package migration

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/reserved"
)

// node is a JSON value and where it stands in the text.
type node struct {
	start, end int
	text       string // of a string
	isString   bool
	isObject   bool
	isNull     bool
	members    []member // of an object
	items      []node   // of a list
}

type member struct {
	key   node
	value node
}

func (n node) get(key string) *node {
	for i := range n.members {
		if n.members[i].key.text == key {
			return &n.members[i].value
		}
	}
	return nil
}

// json handles a JSON value; it reports whether it is one.
func (d *document) json(start, end int) bool {
	raw := []byte(d.text[start:end])
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || !jsontext.Value(raw).IsValid() {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	d.value(readNode(dec, start), "")
	return true
}

// jsonLines handles lines that have a JSON object, perhaps after a time or so.
func (d *document) jsonLines() {
	for at := 0; at < len(d.text); {
		stop := len(d.text)
		if n := strings.IndexByte(d.text[at:], '\n'); n >= 0 {
			stop = at + n
		}
		if begin := strings.IndexByte(d.text[at:stop], '{'); begin >= 0 {
			d.json(at+begin, stop)
		}
		at = stop + 1
	}
}

// readNode reads a value, which is valid.
func readNode(dec *jsontext.Decoder, base int) node {
	kind := dec.PeekKind()
	if kind == '"' {
		quoted, _ := dec.ReadValue()
		end := base + int(dec.InputOffset())
		text, _ := jsontext.AppendUnquote(nil, quoted)
		return node{start: end - len(quoted), end: end, text: string(text), isString: true}
	}
	if kind != '{' && kind != '[' {
		value, _ := dec.ReadValue()
		end := base + int(dec.InputOffset())
		return node{start: end - len(value), end: end, isNull: kind == 'n'}
	}
	_, _ = dec.ReadToken()
	n := node{start: base + int(dec.InputOffset()) - 1}
	switch kind {
	case '{':
		n.isObject = true
		for dec.PeekKind() != '}' {
			key := readNode(dec, base)
			n.members = append(n.members, member{key, readNode(dec, base)})
		}
		_, _ = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			n.items = append(n.items, readNode(dec, base))
		}
		_, _ = dec.ReadToken()
	}
	n.end = base + int(dec.InputOffset())
	return n
}

// value handles a value that stands under a key; items of lists stand under the
// key of the list.
func (d *document) value(n node, key string) {
	switch {
	case n.isString:
		d.entry(n, key)
	case n.isObject:
		if d.call(n) {
			return
		}
		for _, m := range n.members {
			d.value(m.value, m.key.text)
		}
	default:
		for _, item := range n.items {
			d.value(item, key)
		}
	}
}

// call rewrites an object with the name of a legacy tool and its arguments.
func (d *document) call(n node) bool {
	called := n.get("name")
	if called == nil || !called.isString {
		return false
	}
	found := d.nameIn(*called)
	arguments := n.get("arguments")
	if found == nil || found.prefix != "" || arguments == nil {
		return false
	}
	selected := entry.Select(found.action)
	if !arguments.isObject && !arguments.isNull {
		d.note(*found, selected.Tool, "its arguments are no object: change the call by hand", true)
		return true
	}
	d.note(*found, selected.Tool+" {\"action\": \""+selected.Selector+"\"}", "", false)
	d.edits = append(d.edits, edit{found.start, found.end, selected.Tool})
	if selected.Selector == "" {
		return true
	}
	action := `"` + reserved.Action + `": "` + selected.Selector + `"`
	switch {
	case arguments.isNull:
		d.edits = append(d.edits, edit{arguments.start, arguments.end, "{" + action + "}"})
	default:
		if len(arguments.members) > 0 {
			action += ", "
		}
		d.edits = append(d.edits, edit{arguments.start + 1, arguments.start + 1, action})
		for _, m := range arguments.members {
			for _, rename := range found.old.Renames {
				if m.key.text == rename.Was {
					d.edits = append(d.edits, edit{m.key.end - len(rename.Was) - 1, m.key.end - 1, rename.Field.Param().Name})
				}
			}
		}
	}
	return true
}

// nameIn returns the legacy name that a string is, with what rules may add to
// it in brackets; nil when it is none.
func (d *document) nameIn(n node) *name {
	bare, _, _ := strings.Cut(n.text, "(")
	start := n.start + 1
	if n.end-n.start != len(n.text)+2 {
		return nil // it has escapes, as no name does
	}
	found := d.names(start, start+len(bare))
	if len(found) != 1 || found[0].start != start || found[0].end != start+len(bare) {
		return nil
	}
	return &found[0]
}

// entry handles a string under a key. Rules are left to the user.
func (d *document) entry(n node, key string) {
	found := d.nameIn(n)
	switch {
	case found == nil:
	case denies(key):
		d.denied(*found)
	case found.prefix != "" || key == "tools" || strings.Contains(strings.ToLower(key), "allow"):
		d.listed(*found)
	case key == "tool":
		d.called(*found)
	case key == "name":
		d.note(*found, found.tool(), "where it is a call, change it by hand: it has no arguments", true)
	}
}

func denies(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "deny") || strings.Contains(key, "disallow") || strings.Contains(key, "exclude")
}
