package lazy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/carried"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

func withDiscovery(t *testing.T) *surface.Surface {
	t.Helper()
	s := surface.New(surface.Options{})
	if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
		t.Fatal(err)
	}
	return s
}

// A kept answer is there for an hour, however many others are kept meanwhile, as long as they
// fit.
func TestKeptForAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := withDiscovery(t).Discovery
		id, _ := d.Keep(t.Context(), json.RawMessage(`{"n":1}`))
		for range 500 {
			d.Keep(t.Context(), json.RawMessage(`{"n":2}`))
		}
		time.Sleep(59 * time.Minute)
		if answer, ok := d.Rest(id); !ok || string(answer) != `{"n":1}` {
			t.Errorf("after 59 minutes: %s", answer)
		}
		time.Sleep(2 * time.Minute)
		if _, ok := d.Rest(id); ok {
			t.Error("it is kept for more than an hour")
		}
		id, _ = d.Keep(t.Context(), json.RawMessage(`{"n":1}`))
		for range 3 {
			d.Keep(t.Context(), json.RawMessage(`"`+strings.Repeat("x", 8<<20)+`"`))
		}
		if _, ok := d.Rest(id); ok {
			t.Error("more is kept than fits")
		}
	})
}

// What offers no tools is named with its reason, to callers with all rights.
func TestAbsent(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	s.Discovery.ListAbsent(func() []lazy.Row { return []lazy.Row{{Name: "gone", Reason: "it does not start", Absent: true}} })
	list := func(ctx context.Context) string {
		return string(s.Client.Call(ctx, "tools", json.RawMessage(`{"action":"list"}`)).Content)
	}
	want := `"enabled":false,"reason":"it does not start"`
	if got := list(t.Context()); !strings.Contains(got, `"name":"gone"`) || !strings.Contains(got, want) {
		t.Errorf("listed: %s", got)
	}
	limited := carried.With(t.Context(), toolfold.Origin{Rights: &toolfold.Rights{Allows: func(*toolfold.Action) bool { return true }}})
	if got := list(limited); strings.Contains(got, "gone") {
		t.Errorf("listed to a caller with few rights: %s", got)
	}
}
