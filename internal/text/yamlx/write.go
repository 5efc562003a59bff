package yamlx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// FromJSON converts a valid JSON value to readable YAML: strings without quotes if no reader can
// misread them, and block scalars for strings of several lines.
func FromJSON(raw []byte) []byte { return write(raw, writer{}) }

// Quoted converts a valid JSON value to YAML 1.2 with quoted strings, so that no reader, not even
// of another version, mistakes one for a number, a date or a comment.
func Quoted(raw []byte) []byte { return write(raw, writer{quoted: true}) }

func write(raw []byte, w writer) []byte {
	w.b = &bytes.Buffer{}
	if raw = bytes.TrimSpace(raw); isFull(raw) {
		w.block(raw, "", "")
	} else {
		w.b.WriteString(w.scalar(raw, "") + "\n")
	}
	return w.b.Bytes()
}

// writer writes values in block style.
type writer struct {
	b      *bytes.Buffer
	quoted bool
}

// isFull reports whether a value is a non-empty object or list.
func isFull(raw []byte) bool {
	if raw[0] != '{' && raw[0] != '[' {
		return false
	}
	rest := bytes.TrimSpace(raw[1:])
	return rest[0] != '}' && rest[0] != ']'
}

// block writes the members or items of a value. The first line is prefixed with first, other lines
// with indent.
func (w writer) block(raw []byte, first, indent string) {
	if raw[0] == '[' {
		ordered.Items(raw, func(item []byte) {
			if w.b.WriteString(first); isFull(item) {
				w.block(item, "- ", indent+"  ")
			} else {
				w.b.WriteString("- " + w.scalar(item, indent) + "\n")
			}
			first = indent
		})
		return
	}
	members, _ := ordered.Read(raw)
	for _, m := range members {
		value := m.Value.(json.RawMessage)
		w.b.WriteString(first + w.key(m.Key, indent) + ":")
		first = indent
		switch {
		case !isFull(value):
			w.b.WriteString(" " + w.scalar(value, indent) + "\n")
		case value[0] == '[' && !w.quoted: // dashes need no indentation
			w.b.WriteString("\n")
			w.block(value, indent, indent)
		default:
			w.b.WriteString("\n")
			w.block(value, indent+"  ", indent+"  ")
		}
	}
}

// longestKey bounds a key before a colon, in bytes: YAML allows 1,024 characters, which readers
// count in different units, none smaller than a byte. A longer key is on its own line after a
// question mark.
const longestKey = 1024

func (w writer) key(key, indent string) string {
	isName := identifier().MatchString(key) && !slices.Contains(oldWords, strings.ToLower(key))
	if w.quoted && !isName || !isPlain(key) {
		key = quote(key)
	}
	if len(key) > longestKey {
		return "? " + key + "\n" + indent
	}
	return key
}

// scalar writes any value except a non-empty object or list. indent is the indentation of its key
// or dash.
func (w writer) scalar(raw []byte, indent string) string {
	text, isText := ordered.Text(raw)
	switch {
	case !isText:
		return string(raw)
	case w.quoted:
		return quote(text)
	case isPlain(text):
		return text
	case areLines(text):
		return lines(text, indent+"  ")
	}
	return quote(text)
}

// oldWords are booleans or null in YAML 1.1.
var oldWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

var (
	identifier = regex.Lazy(`^[A-Za-z][A-Za-z0-9]*$`)
	inBase60   = regex.Lazy(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`) // a number in YAML 1.1
)

// isPlain reports whether a string needs no quotes.
func isPlain(s string) bool {
	switch {
	case s == "" || strings.ContainsAny(s[:1], "?:,[]{}#&*!|>'\"%@`=~ ") || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":"):
		return false
	case strings.Contains(s, ": ") || strings.Contains(s, " #"):
		return false
	case s == "-" || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "---") || strings.HasPrefix(s, "..."):
		return false
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return false
	}
	scalar := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	return scalar.ShortTag() == "!!str" && !isNumber(s) && !slices.Contains(oldWords, strings.ToLower(s)) && !inBase60().MatchString(s)
}

// areLines reports whether a string can be written as a block scalar.
func areLines(s string) bool {
	if !strings.Contains(s, "\n") || strings.ContainsAny(s[:1], "\n \t") {
		return false
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "\t") || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") ||
			strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			return false
		}
	}
	return true
}

// lines writes a string as a block scalar, without the final line break.
func lines(s, indent string) string {
	var b strings.Builder
	switch rest := strings.TrimRight(s, "\n"); len(s) - len(rest) {
	case 0:
		b.WriteString("|-")
	case 1:
		b.WriteString("|")
	default:
		b.WriteString("|+")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if b.WriteByte('\n'); line != "" {
			b.WriteString(indent + line)
		}
	}
	return b.String()
}

// quote writes a string in quotes. It also escapes characters that JSON allows but YAML does not.
func quote(s string) string {
	var b strings.Builder
	for _, r := range string(ordered.MustJSON(s)) {
		switch {
		case r == 0x7f, r >= 0x80 && r <= 0x9f, r == 0xfeff, r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
