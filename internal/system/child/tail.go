package child

import (
	"strings"
	"sync"
)

// Tail keeps the last bytes written to it. It is safe for concurrent use, for example as both
// outputs of a program.
type Tail struct {
	Keep int // in bytes

	mu  sync.Mutex
	end []byte
}

// Write implements [io.Writer].
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if more := len(t.end) - t.Keep; more > 0 {
		t.end = append(t.end[:0], t.end[more:]...)
	}
	return len(p), nil
}

// String returns the kept bytes without invalid UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.end), "")
}

// Quote passes the kept text through clean, and returns its last n bytes, marked if something is
// cut. Keep must exceed n, so that clean also recognizes a secret that begins before the quote.
func (t *Tail) Quote(n int, clean func(string) string) string {
	text := strings.TrimSpace(clean(t.String()))
	if len(text) > n {
		text = "…" + strings.ToValidUTF8(text[len(text)-n:], "")
	}
	return text
}
