package runner

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Limits of the texts of a report, in bytes.
const (
	maxRule = 100
	maxText = 300
)

// escapes matches terminal sequences: titles and links, other strings, colours and cursor movement,
// and short ones.
var escapes = regex.Lazy(`\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[P^_X][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])` +
	`|\x{9b}[0-?]*[ -/]*[@-~]`)

// clean returns the report with its texts cut to short lines. Tools print texts of plugins and of
// project files, which are not trusted.
func (r Report) clean() Report {
	if r.Rule != "" {
		r.Rule = cmp.Or(line(r.Rule, maxRule), "unnamed")
	}
	r.Message, r.Advice = line(r.Message, maxText), line(r.Advice, maxText)
	return r
}

// line returns a text as one line of at most n bytes, without terminal sequences. White space,
// control characters and characters that change the direction of text become one space.
func line(text string, n int) string {
	text = shorten(text, 20*n) // bounds the work below
	text = strings.Join(strings.FieldsFunc(escapes().ReplaceAllString(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
	return shorten(text, n)
}

// shorten returns the first n bytes of a text.
func shorten(text string, n int) string {
	if text = strings.ToValidUTF8(text, "?"); len(text) > n {
		return strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}
