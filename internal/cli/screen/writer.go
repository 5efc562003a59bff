// Package screen prints for people at a terminal. Text from other sources cannot control the terminal.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Writer writes text that may contain names from other sources: servers, tools, folders and
// definitions. Characters that control a terminal or change the direction of text are written as
// \u001b, which means the same in JSON.
type Writer struct{ io.Writer }

// Write writes text. No character may be split between two calls.
func (w Writer) Write(text []byte) (int, error) {
	if _, err := w.Writer.Write(escape(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// escape escapes control characters other than tabs and line ends, and characters that set the
// direction of text. Bytes that are not UTF-8 become U+FFFD, because a terminal may take them for 8-bit
// controls.
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
