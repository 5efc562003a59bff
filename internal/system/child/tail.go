package child

import (
	"strings"
	"sync"
)

// Tail keeps the last bytes that are written to it. It is safe for concurrent
// use, such as by both outputs of a program.
type Tail struct {
	Keep int // most bytes

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

// String returns what is kept, without what is not UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.end), "")
}

// Quote returns what is kept as clean leaves it, and of that the last n bytes,
// marked where something stood before them. Keep more than n bytes, so that
// clean sees a secret whole that begins before the quote.
func (t *Tail) Quote(n int, clean func(string) string) string {
	text := strings.TrimSpace(clean(t.String()))
	if len(text) > n {
		text = "…" + strings.ToValidUTF8(text[len(text)-n:], "")
	}
	return text
}
