package engine

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// startShare is the part of a step that counts as done when it starts.
const startShare = 0.05

// meter sums the progress of the parts of a step or run.
type meter struct {
	parent *meter
	share  float64 // of the parent
	*root
	done float64 // 0 to 1, guarded by the root
}

// root is the state that all meters of a run share.
type root struct {
	mu     sync.Mutex
	total  float64
	report func(toolfold.Progress)
	shown  float64
}

// part returns a meter for a share of this one.
func (m *meter) part(share float64) *meter {
	return &meter{parent: m, share: share, root: m.root}
}

// add adds a part to done, up to 1, and reports it.
func (m *meter) add(part float64, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance(min(m.done+part, 1), message)
}

// advance moves done forward and reports it. Progress never goes back: protocols require it.
func (m *meter) advance(to float64, message string) {
	grown := to - m.done
	if grown <= 0 {
		return
	}
	m.done = to
	if m.parent != nil {
		m.parent.advance(min(m.parent.done+grown*m.share, 1), message)
		return
	}
	if done := m.done * m.total; done > m.shown {
		m.shown = done
		m.report(toolfold.Progress{Done: done, Total: m.total, Message: message})
	}
}

// forCall returns the context for a call by the step: a run that the call starts reports its
// progress to the step's meter.
func (m *meter) forCall(ctx context.Context) context.Context {
	return callctx.With[func(toolfold.Progress)](ctx, func(p toolfold.Progress) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.Total > 0 {
			m.advance(max(m.done, startShare+(1-2*startShare)*p.Done/p.Total), p.Message)
		}
	})
}

// lineReport is called with the lines of commands.
type lineReport func(line string)

// WithLines returns a context in which f is called with each line that a command of a run writes.
// Values of the environment that look like secrets are removed. Calls may be concurrent.
func WithLines(ctx context.Context, f func(line string)) context.Context {
	return callctx.With[lineReport](ctx, f)
}

// lines passes whole lines on.
type lines struct {
	to      func(line string)
	secrets []string // removed from lines
	part    []byte
}

// maxPart limits the bytes of an unfinished line.
const maxPart = 4 << 10

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxPart - len(l.part); room > 0 {
			l.part = append(l.part, line[:min(len(line), room)]...)
		}
		if ended {
			if text := strings.TrimSpace(strings.ToValidUTF8(scrub(string(l.part), l.secrets), "")); text != "" {
				l.to(text)
			}
			l.part = l.part[:0]
		}
		rest = after
	}
	return len(p), nil
}
