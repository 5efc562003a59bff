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
	// The templates and their data are our own.
	if err := formats().ExecuteTemplate(&b, format, s); err != nil {
		panic(fmt.Sprintf("architecture: %v", err))
	}
	return b.String()
}

// About returns the lines of the description.
func (s system) About() []string {
	lines := text.Lines(s.Description)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// Notes returns the notes on files that were read or left out; nil for a given model.
func (s system) Notes() []string {
	if s.read == nil {
		return nil
	}
	return s.read.notes
}

// mermaidLabel writes a text between double quotes. Characters that could end it, start Markdown or
// be HTML become codes that Mermaid shows as the character.
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

// plantLabel writes a text between double quotes. Characters that PlantUML could read as markup, a
// preprocessor function or the end of the text become codes that it shows as the character.
func plantLabel(s string) string {
	var b strings.Builder
	before := ' '
	for _, r := range s {
		plain := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || r == ' ' || r == '…' ||
			strings.ContainsRune(".,:-", r) && r != before // two in a row may be markup
		before = r
		if !plain {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// markdownText escapes a text so that Markdown shows it literally, also in HTML and in cells of
// tables.
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
