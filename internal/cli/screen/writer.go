// Package screen prints for people at a terminal, which no text of others steers.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Writer writes text in which names may stand that others chose: of servers,
// tools, folders and definitions. What would steer a terminal or turn the
// direction of the text is written as \u001b, which JSON reads as the same text.
type Writer struct{ io.Writer }

// Write writes text, of which a character is never split between two calls.
func (w Writer) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(escape(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// escape escapes control characters other than tabs and ends of lines,
// and characters that set the direction of text. Bytes that are not UTF-8 become
// U+FFFD: a terminal may take them for controls of eight bits.
func escape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRune(text[i:])
		endsLine := r == '\n' || r == '\r' && bytes.HasPrefix(text[i+size:], []byte("\n"))
		if r != '\t' && !endsLine && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}
