package workspace

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/toolfold/toolfold/internal/text/jsonx"
)

// Limits of one text. A definition has at most 100 steps, so none comes near them.
const (
	MaxNesting = 100     // nested objects and lists
	MaxValues  = 10_000  // members and items
	maxPaths   = 4 << 20 // bytes of the JSON pointers of all values
)

// BrokenFile is an unusable file, and the reason.
type BrokenFile struct {
	File   string `json:"file" doc:"Path in the workspace."`
	Line   int    `json:"line,omitempty" doc:"Line."`                    // zero = the whole file
	Column int    `json:"column,omitempty" doc:"Character in the line."` // zero = the whole line
	Reason string `json:"reason" doc:"The fault."`
}

// Error implements error.
func (b *BrokenFile) Error() string { return b.Text() }

// Text returns the file, the position and the reason.
func (b BrokenFile) Text() string {
	switch {
	case b.Line == 0:
		return b.File + ": " + b.Reason
	case b.Column == 0:
		return fmt.Sprintf("%s, line %d: %s", b.File, b.Line, b.Reason)
	}
	return fmt.Sprintf("%s, line %d, column %d: %s", b.File, b.Line, b.Column, b.Reason)
}

// Stem returns the file's name without folder and ending.
func (b BrokenFile) Stem() string { return Stem(b.File) }

// Stem returns a file's name without folder and ending; for a skill, its folder's name.
func Stem(file string) string {
	if path.Base(file) == SkillFile {
		return path.Base(path.Dir(file))
	}
	return strings.TrimSuffix(path.Base(file), path.Ext(file))
}

// Document is the object in a YAML or JSON text.
type Document struct {
	File  string         // path in the workspace, for BrokenFile
	Value map[string]any // numbers are json.Number; nil if the text is empty

	places map[string]place // of each value, by JSON pointer
}

// place is a line and a character in it, both from 1.
type place struct{ line, column int }

// place returns the place of the value at a JSON pointer, or of the nearest value around it. It is
// zero for an empty document.
func (d Document) place(pointer string) place {
	for {
		if p, ok := d.places[pointer]; ok {
			return p
		}
		cut := strings.LastIndex(pointer, "/")
		if cut < 0 {
			return place{}
		}
		pointer = pointer[:cut]
	}
}

// Place returns the line and the character of the value at a JSON pointer, both from 1, or of the
// nearest value around it. They are zero for an empty document.
func (d Document) Place(pointer string) (line, column int) {
	p := d.place(pointer)
	return p.line, p.column
}

// AsBroken returns a BrokenFile for a fault at a JSON pointer.
func (d Document) AsBroken(pointer, format string, args ...any) *BrokenFile {
	at := d.place(pointer)
	return &BrokenFile{File: d.File, Line: at.line, Column: at.column, Reason: fmt.Sprintf(format, args...)}
}

// Places returns a document without its value, which keeps the places of some pointers to report
// faults later.
func (d Document) Places(pointers ...string) Document {
	some := Document{File: d.File, places: map[string]place{"": d.place("")}}
	for _, p := range pointers {
		some.places[p] = d.place(p)
	}
	return some
}

// Unquoted converts a number in a member to a string as written: version: 1.0 means "1.0".
func (d Document) Unquoted(member string) {
	if n, ok := d.Value[member].(json.Number); ok {
		d.Value[member] = n.String()
	}
}

// Decode decodes the members of the document into the struct that v points to, by JSON names.
func (d Document) Decode(v any) error {
	raw, err := json.Marshal(d.Value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", d.File, err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("decoding %s: %w", d.File, err)
	}
	return nil
}

// Parse parses the text of a file: .json as JSON, any other ending as YAML. An empty text is
// BrokenFile.
func Parse(file string, text []byte) (Document, *BrokenFile) {
	parse := ParseYAML
	if path.Ext(file) == ".json" {
		parse = parseJSON
	}
	d, broken := parse(file, text)
	if broken == nil && d.Value == nil {
		broken = &BrokenFile{File: file, Reason: "it is empty"}
	}
	return d, broken
}

// maxBrief bounds the broken files in a list.
const maxBrief = 20

// Brief shortens a list of broken files for models, and adds an entry with the number of the
// others.
func Brief(folder string, broken []BrokenFile) []BrokenFile {
	if len(broken) <= maxBrief {
		return broken
	}
	rest := BrokenFile{File: folder, Reason: fmt.Sprintf("%d more files cannot be used", len(broken)-maxBrief)}
	return append(broken[:maxBrief:maxBrief], rest)
}

// positions records the places of values during parsing.
type positions struct {
	places map[string]place
	bytes  int // of the pointers
}

// note records the place of a value unless it is known. It is false if the pointers of the document
// exceed their limit.
func (p *positions) note(pointer string, at place) bool {
	if _, known := p.places[pointer]; known {
		return true
	}
	p.places[pointer] = at
	p.bytes += len(pointer)
	return p.bytes <= maxPaths
}

// child returns the pointer of a member or an item.
func child(at string, part any) string {
	if i, ok := part.(int); ok {
		return jsonx.Index(at, i)
	}
	return jsonx.Pointer(at, part.(string))
}

const (
	tooDeep  = "it is nested more than 100 levels deep"
	tooMany  = "it holds more than 10000 values"
	tooLong  = "its names are too long for how deep they are nested"
	notUTF8  = "it is not UTF-8"
	notPairs = "it must be names with values"
)
