package api

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools/design/text"
)

func writeJSON(document ordered.Map) string {
	var b bytes.Buffer
	// What was encoded can be indented.
	_ = json.Indent(&b, ordered.MustJSON(document), "", "  ")
	b.WriteByte('\n')
	return b.String()
}

// writeYAML writes a document as YAML 1.2, of which JSON is a part: structure
// is by indentation, and each scalar is written as JSON has it, so that no
// reader takes a text for a number, a date or a comment. goccy/go-yaml loses
// tabs, carriage returns and leading spaces of texts on the way back.
func writeYAML(document ordered.Map) string {
	var b strings.Builder
	writeMembers(&b, document, "")
	return b.String()
}

// longestKey bounds a key in front of a colon, in bytes: YAML allows 1,024 characters, which
// readers count in units of their own, none smaller than a byte. A longer key stands on a
// line of its own behind a question mark.
const longestKey = 1024

func writeMembers(b *strings.Builder, members ordered.Map, indent string) {
	for _, m := range members {
		key := yamlKey(m.Key)
		if len(key) > longestKey {
			key = "? " + key + "\n" + indent
		}
		b.WriteString(indent + key + ":")
		writeNode(b, m.Value, indent)
	}
}

// writeNode writes what follows a key or the dash of a list.
func writeNode(b *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case ordered.Map:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n")
		writeMembers(b, v, indent+"  ")
	case []ordered.Map:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		writeNode(b, list, indent)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		writeNode(b, list, indent)
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		for _, item := range v {
			if members, ok := item.(ordered.Map); ok && len(members) > 0 {
				var inner strings.Builder
				writeMembers(&inner, members, indent+"    ")
				b.WriteString(indent + "  - " + strings.TrimPrefix(inner.String(), indent+"    "))
				continue
			}
			b.WriteString(indent + "  -")
			writeNode(b, item, indent+"  ")
		}
	case string:
		b.WriteString(" " + yamlText(v) + "\n")
	default:
		b.WriteString(" " + string(ordered.MustJSON(v)) + "\n")
	}
}

// yamlText writes a text in quotes. Characters that YAML does not allow as
// they are, and JSON does, are escaped too.
func yamlText(s string) string {
	var b strings.Builder
	for _, r := range text.Quote(s) {
		switch {
		case r == 0x7f, r >= 0x80 && r <= 0x9f, r == 0xfeff, r == 0xfffe, r == 0xffff:
			const digits = "0123456789abcdef"
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[r>>shift&15])
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// yamlKey writes a key without quotes where it is a word that means nothing
// else.
func yamlKey(key string) string {
	for i, r := range key {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return yamlText(key)
		}
	}
	switch strings.ToLower(key) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return yamlText(key)
	}
	return key
}
