package serve

import (
	"slices"
	"testing"
	"time"
)

// A new session ends expired sessions, and at the limit the one that was idle longest. Sessions
// with open requests are ended last.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var ended []string
	s := newSessions(3, func() time.Time { return now })
	s.end = func(id string) { ended = append(ended, id) }
	begin := func() string { now = now.Add(time.Minute); return s.Generate() }
	expect := func(why string, want ...string) {
		t.Helper()
		if !slices.Equal(ended, want) {
			t.Errorf("%s: %d sessions ended, want %d", why, len(ended), len(want))
		}
		for _, id := range want {
			if s.enter(id, &caller{}) != nil {
				t.Errorf("%s: an ended session is still there", why)
			}
		}
		ended = nil
	}
	a, b, c := begin(), begin(), begin()
	expect("below the limit")
	stream := s.enter(a, &caller{}) // a is open now, and b idle longest
	d := begin()
	expect("beyond the limit", b)

	now = now.Add(sessionIdle)
	e := begin()
	expect("after the time", c, d)
	if stream.ctx.Err() != nil {
		t.Error("a stream ended with others' sessions")
	}
	s.leave(stream)
	if s.enter(a, &caller{}) == nil {
		t.Error("a session is gone right after its stream ended")
	}
	for range 5 {
		begin()
	}
	if _, err := s.Validate(e); err == nil || len(s.byID) != 3 || s.used.Len() != 3 {
		t.Errorf("%d sessions are kept", len(s.byID))
	}

	one := s.enter(begin(), &caller{})
	if _, err := s.Terminate(one.id); err != nil || one.ctx.Err() == nil || s.enter(one.id, &caller{}) != nil {
		t.Error("a deleted session goes on")
	}
	s.leave(one)
	if len(s.byID) != s.used.Len() {
		t.Error("a deleted session came back")
	}
}
