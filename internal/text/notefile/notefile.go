// Package notefile converts notes to Markdown files with front matter, and back.
//
// A text is the body as it stands. Any other value, and a text with characters that editors and
// version control change (carriage returns, control characters), is JSON in a fenced block, with
// format: json in the front matter. Front matter is the truth about namespace and key; the name of
// a file counts only if they are missing.
package notefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// MaxFile limits a file, in bytes.
const MaxFile = 4 << 20

// Note is the content of a file.
type Note struct {
	Namespace string // empty = neither the front matter nor the name has one
	Key       string
	Value     json.RawMessage // compact
	Tags      []string        // sorted, each once
	ExpiresAt time.Time       // UTC, whole microseconds; zero = never

	// Extra has the other members of the front matter, as YAML. Encode keeps them.
	Extra []byte
}

// The members of the front matter.
const (
	memberNamespace = "namespace"
	memberKey       = "key"
	memberTags      = "tags"
	memberExpires   = "expires"
	memberFormat    = "format"
)

// The values of format. A missing format means text.
const (
	formatText = "text"
	formatJSON = "json"
)

const (
	fence     = "---\n"
	codeFence = "```"

	maxFront    = 64 << 10 // bytes of front matter
	maxIndented = 1 << 20  // bytes of an indented value; a longer one stays on one line
	maxDepth    = 8        // nested lists and objects of an indented value
)

// Digest identifies what a person sees and edits: value, tags and expiry. Spellings of the same
// text in JSON have the same digest.
func (n Note) Digest() string {
	value := any(string(n.Value))
	if text, ok := plainText(n.Value); ok {
		value = []string{text}
	}
	expires := int64(0)
	if !n.ExpiresAt.IsZero() {
		expires = n.ExpiresAt.UnixMicro()
	}
	sum := sha256.Sum256(ordered.MustJSON([]any{value, append([]string{}, n.Tags...), expires}))
	return hex.EncodeToString(sum[:])
}

// plainText returns the text of a value that is a string. It is false for a string that is not
// valid Unicode, because decoding would change it.
func plainText(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' || !utf8.Valid(value) || json.Unmarshal(value, &text) != nil {
		return "", false
	}
	return text, !strings.ContainsRune(text, utf8.RuneError)
}

// isBody reports whether a text can be the body of a file without changes by editors or version
// control.
func isBody(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f })
}

// Encode returns the file of a note.
func Encode(n Note) ([]byte, error) {
	front := ordered.Map{{Key: memberNamespace, Value: n.Namespace}, {Key: memberKey, Value: n.Key}}
	if len(n.Tags) > 0 {
		front.Set(memberTags, n.Tags)
	}
	if !n.ExpiresAt.IsZero() {
		front.Set(memberExpires, n.ExpiresAt.Format(time.RFC3339Nano))
	}
	body, isText := plainText(n.Value)
	if !isText || !isBody(body) {
		if !utf8.Valid(n.Value) {
			return nil, errors.New("its value is not valid UTF-8")
		}
		front.Set(memberFormat, formatJSON)
		body = codeFence + formatJSON + "\n" + indented(n.Value) + "\n" + codeFence
	}
	return slices.Concat([]byte(fence), yamlx.FromJSON(ordered.MustJSON(front)), n.Extra, []byte(fence+"\n"+body+"\n")), nil
}

// indented returns a value in several lines, unless that would be much longer.
func indented(value json.RawMessage) string {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	var b bytes.Buffer
	if deepest > maxDepth || json.Indent(&b, value, "", "  ") != nil || b.Len() > maxIndented {
		return string(value)
	}
	return b.String()
}

// Decode returns the note of a file. Name is the file's name.
func Decode(name string, file []byte) (Note, error) {
	switch {
	case len(file) == 0:
		return Note{}, errors.New("it is empty")
	case !utf8.Valid(file):
		return Note{}, errors.New("it is not UTF-8")
	}
	text := strings.TrimPrefix(string(file), "\ufeff")
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") { // an editor or version control converted the file
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	front, body, hasFront, err := split(text)
	if err != nil {
		return Note{}, err
	}
	var n Note
	format := formatText
	if hasFront {
		if format, err = n.readFront(front); err != nil {
			return Note{}, err
		}
		body = strings.TrimPrefix(body, "\n")
	}
	if n.Key == "" {
		namespace, key, ok := parseName(name)
		if !ok {
			return Note{}, errors.New("it has no key in its front matter, and its name has none that is whole")
		}
		n.Key = key
		if n.Namespace == "" {
			n.Namespace = namespace
		}
	}
	if format == formatText {
		n.Value = ordered.MustJSON(strings.TrimSuffix(body, "\n"))
		return n, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(unfenced(body))); err != nil {
		return Note{}, fmt.Errorf("its text is not valid JSON, as its format is: %w", err)
	}
	n.Value = b.Bytes()
	return n, nil
}

// split cuts a text after its front matter. Front starts with the fence, which YAML reads as the
// start of a document, so that lines are those of the file.
func split(text string) (front, body string, found bool, err error) {
	isFence := func(line string) bool { return strings.TrimRight(line, " \t\n") == "---" }
	end := 0
	for line := range strings.Lines(text) {
		switch {
		case end == 0 && !isFence(line):
			return "", text, false, nil
		case end > 0 && isFence(line):
			return text[:end], text[end+len(line):], true, nil
		}
		if end += len(line); end > maxFront {
			return "", "", false, fmt.Errorf("its front matter has no closing --- in its first %d bytes", maxFront)
		}
	}
	return "", "", false, errors.New("its front matter has no closing ---")
}

// readFront reads the members of the front matter into n, and returns the format of the body.
func (n *Note) readFront(front string) (format string, err error) {
	format = formatText
	roots, err := yamlx.Read([]byte(front))
	if err != nil {
		return "", err
	}
	if len(roots) == 0 || roots[0].Kind == yaml.ScalarNode && roots[0].ShortTag() == "!!null" {
		return format, nil
	}
	root := roots[0]
	if root.Kind != yaml.MappingNode || len(roots) > 1 {
		return "", yamlx.At(root, "the front matter must be names with values")
	}
	if node := anchored(root); node != nil {
		return "", yamlx.At(node, "anchors and aliases are not taken")
	}
	seen := map[string]bool{}
	extra := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		if seen[name.Value] && name.Kind == yaml.ScalarNode {
			return "", yamlx.At(name, "%q stands there twice", name.Value)
		}
		seen[name.Value] = true
		if known, must := n.set(name.Value, value, &format); must != "" {
			return "", yamlx.At(value, "%s must be %s", name.Value, must)
		} else if !known {
			extra.Content = append(extra.Content, name, value)
		}
	}
	if len(extra.Content) > 0 {
		n.Extra, err = yaml.Marshal(extra)
	}
	return format, err
}

// anchored returns the first node with an anchor, or an alias. Members with such nodes cannot be
// moved.
func anchored(n *yaml.Node) *yaml.Node {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return n
	}
	for _, child := range n.Content {
		if found := anchored(child); found != nil {
			return found
		}
	}
	return nil
}

// set reads a known member. It returns what the value must be if it is not that. Null counts as
// absent.
func (n *Note) set(name string, value *yaml.Node, format *string) (known bool, must string) {
	text, isText := scalarText(value)
	if !isText {
		must = "a text"
	}
	switch name {
	case memberNamespace:
		n.Namespace = text
	case memberKey:
		n.Key = text
	case memberFormat:
		if *format, must = text, ""; text != formatText && text != formatJSON {
			must = formatText + " or " + formatJSON
		}
	case memberTags:
		must = n.setTags(value)
	case memberExpires:
		must = n.setExpires(value)
	default:
		return false, ""
	}
	return true, must
}

func (n *Note) setTags(value *yaml.Node) (must string) {
	if value.ShortTag() == "!!null" {
		return ""
	}
	isList := value.Kind == yaml.SequenceNode
	for _, item := range value.Content {
		text, isText := scalarText(item)
		n.Tags, isList = append(n.Tags, text), isList && isText
	}
	if !isList {
		return "a list of texts"
	}
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
	return ""
}

func (n *Note) setExpires(value *yaml.Node) (must string) {
	if value.ShortTag() == "!!null" {
		return ""
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		at, err := time.Parse(layout, value.Value)
		if err == nil && value.Kind == yaml.ScalarNode && !at.IsZero() && at.UTC().Year() >= 0 && at.UTC().Year() <= 9999 {
			n.ExpiresAt = at.UTC().Truncate(time.Microsecond)
			return ""
		}
	}
	return "a time such as 2026-01-31T12:00:00Z"
}

// scalarText returns a scalar as a text: numbers and other words as they are written, null as an
// empty text.
func scalarText(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	if n.ShortTag() == "!!null" {
		return "", true
	}
	return n.Value, true
}

// unfenced returns the inside of a body that is one fenced block, or the body.
func unfenced(body string) string {
	trimmed := strings.TrimSpace(body)
	if first, rest, found := strings.Cut(trimmed, "\n"); found && strings.HasPrefix(first, codeFence) {
		return strings.TrimSuffix(rest, codeFence)
	}
	return trimmed
}

// Reason returns the reason of a failure to read or write a file, without its path.
func Reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return err.Error()
}
