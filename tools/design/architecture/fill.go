package architecture

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"unicode"

	"github.com/toolfold/toolfold/tools/design/text"
)

//go:embed drawings.tmpl
var drawings string

// formats are the templates of all formats, by their names.
var formats = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"id": id, "line": text.Line, "quote": text.Quote, "mermaid": mermaidLabel, "plant": plantLabel, "markdown": markdownText,
	}).Parse(drawings))
})

// fill fills in the template of a format.
func (s system) fill(format string) string {
	var b strings.Builder
	// The templates and what fills them are our own.
	if err := formats().ExecuteTemplate(&b, format, s); err != nil {
		panic(fmt.Sprintf("architecture: %v", err))
	}
	return b.String()
}

// About is the description, line by line.
func (s system) About() []string {
	lines := text.Lines(s.Description)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// Notes say what was read of folders, and what was not; nil of a system that was given.
func (s system) Notes() []string {
	if s.read == nil {
		return nil
	}
	return s.read.notes
}

// mermaidLabel writes a text between double quotes. What could end it, start
// Markdown or be HTML becomes a code that Mermaid shows as the character.
func mermaidLabel(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" .,:()-'/", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plantLabel writes a text between double quotes. Everything that PlantUML
// could take for markup, for a function of its preprocessor or for the end of
// the text becomes a code that it shows as the character.
func plantLabel(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		plain := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == ' ' || r == '…' ||
			strings.ContainsRune(".,:-", r) && r != before // twice may be markup
		before = r
		if !plain {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// markdownText writes a text so that Markdown shows it as it is: no markup, no
// HTML, no cell of a table ends.
func markdownText(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
			continue
		case r == '&':
			b.WriteString("&amp;")
			continue
		case strings.ContainsRune("\\`*_[]|~#$>{}", r), i == 0 && strings.ContainsRune("-+=!", r):
			b.WriteByte('\\')
		case (r == '.' || r == ')') && i > 0 && strings.Trim(s[:i], "0123456789") == "": // would start a list
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
