package lazy

import (
	"encoding/json"
	"testing"
	"time"
)

// A description is kept until its time is up or the catalogue changes; what
// was rendered of an older catalogue is not kept.
func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	c := newCache(func() time.Time { return now })
	expect := func(why, want string) {
		t.Helper()
		text, _, _ := c.get("a")
		if string(text) != want {
			t.Errorf("%s: %q is kept, want %q", why, text, want)
		}
	}
	_, old, _ := c.get("a")
	c.keep("a", json.RawMessage("1"), old)
	expect("just kept", "1")
	now = now.Add(TTL - time.Second)
	expect("shortly before its time is up", "1")
	now = now.Add(time.Second)
	expect("when its time is up", "")
	c.keep("a", json.RawMessage("2"), old)
	c.clear()
	expect("after a change", "")
	c.keep("a", json.RawMessage("3"), old)
	expect("rendered before the change", "")
	if got, want := c.counts(), (CacheCounts{Hits: 2, Misses: 4}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}
