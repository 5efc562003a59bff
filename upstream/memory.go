package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// Memory limits the memory for messages of all servers in this process. A nil Memory has no limit. It
// is safe for concurrent use.
type Memory struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	freed chan struct{} // closed when memory is released; nil if nothing waits
}

// DefaultMemory is the default limit of a [Memory] in bytes.
const DefaultMemory = 256 << 20

// NewMemory returns a Memory with a limit in bytes.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// Limit returns the limit in bytes; 0 means no limit.
func (m *Memory) Limit() int64 {
	if m == nil {
		return 0
	}
	return m.limit
}

// Read reads a text of that many bytes. If there is no room, it skips the text and returns
// [ErrNoMemory].
func (m *Memory) Read(r io.Reader, bytes int64) ([]byte, error) {
	counted := bytes
	if bytes < uncounted {
		counted = 0
	}
	if err := m.hold(counted); err != nil {
		_, broke := io.CopyN(io.Discard, r, bytes)
		return nil, cmp.Or(broke, err)
	}
	text := make([]byte, bytes)
	if _, err := io.ReadFull(r, text); err != nil {
		m.release(counted)
		return nil, err
	}
	m.releaseWith(text, counted)
	return text, nil
}

const (
	patience = 10 * time.Second // for memory to be released

	uncounted = 256 << 10 // bytes: smaller messages are not counted
)

// ErrNoMemory is the error of a message that does not fit.
var ErrNoMemory = errors.New("the messages of all servers take as much memory as they may")

// hold reserves room for some bytes. It waits for room up to patience, then returns [ErrNoMemory]. It
// returns that at once if the bytes exceed the limit.
func (m *Memory) hold(bytes int64) error {
	if m == nil || bytes == 0 {
		return nil
	}
	if bytes > m.limit {
		return m.full()
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		m.mu.Lock()
		if m.bytes+bytes <= m.limit {
			m.bytes += bytes
			m.mu.Unlock()
			return nil
		}
		if m.freed == nil {
			m.freed = make(chan struct{})
		}
		freed := m.freed
		m.mu.Unlock()
		runtime.GC() // cleanups release the memory of unreachable texts
		select {
		case <-freed:
		case <-time.After(time.Second):
		case <-late.C:
			return m.full()
		}
	}
}

func (m *Memory) full() error { return fmt.Errorf("%w, %d MB", ErrNoMemory, m.limit>>20) }

// release gives bytes back.
func (m *Memory) release(bytes int64) {
	if m == nil || bytes == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes -= bytes
	if m.freed != nil {
		close(m.freed)
		m.freed = nil
	}
}

// releaseWith gives bytes back when text becomes unreachable.
func (m *Memory) releaseWith(text []byte, bytes int64) {
	switch {
	case m == nil || bytes == 0:
	case len(text) == 0:
		m.release(bytes)
	default:
		runtime.AddCleanup(&text[0], m.release, bytes)
	}
}
