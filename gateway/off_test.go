package gateway_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// A server that is switched off is not started, and its tools are not offered, found or called. Its
// plan and accepted digests stay. A server that was never asked is not asked.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	known, file := playedServer(t, "known", `{"tools":[{"name":"ok","inputSchema":{"type":"object"}}],"prompts":[{"name":"p"}],`+
		`"resources":[{"uri":"x:y","name":"y"}]}`)
	_, g := offering(t, dir, surface.Options{}, known)
	plan, _ := g.Plan("known")
	g.Close()
	before := starts(t, file)
	known.Off = true
	s, g := offering(t, dir, surface.Options{}, known, gateway.Upstream{Name: "new", Off: true})
	for _, name := range []string{"ok", "known.ok"} {
		answer := s.Client.Call(t.Context(), name, nil)
		if answer.Err == nil || !strings.Contains(answer.Err.Message, "known is switched off: toolfold upstream enable known") {
			t.Errorf("%s is called: %s", name, answer.Content)
		}
	}
	if _, refused := s.Discovery.View(t.Context()).Describe("known.ok", lazy.Account{}); refused == nil {
		t.Error("a tool of it is described")
	}
	if len(g.Families()) > 0 || len(g.Offers("known")) > 0 || len(g.Unknown()) > 0 {
		t.Errorf("offered: %v, %v, unknown %v", g.Families(), g.Offers("known"), g.Unknown())
	}
	const why = " is switched off: toolfold upstream enable "
	if absent := g.Absent(); absent["known"] != "known"+why+"known" || absent["new"] != "new"+why+"new" {
		t.Errorf("absent: %q", absent)
	}
	if idle := g.Idle(); !idle["known"] || !idle["new"] {
		t.Errorf("idle: %v", idle)
	}
	if err := g.Refresh(t.Context(), "known"); err == nil || err.Error() != "known"+why+"known" || starts(t, file) != before {
		t.Errorf("it is asked: %v, %d starts", err, starts(t, file)-before)
	}
	g.Close()
	known.Off = false
	_, g = offering(t, dir, surface.Options{}, known)
	if again, _ := g.Plan("known"); len(plan.Families) == 0 || len(again.Families) != len(plan.Families) || len(g.Families()) == 0 {
		t.Errorf("switched on it has the plan %v, and had %v", again, plan)
	}
}

// A running gateway notices that a server is switched off, ends its session, and later offers its tools
// again.
func TestSwitchedWhileServing(t *testing.T) {
	t.Parallel()
	u, file := playedServer(t, "srv", `{"tools":[{"name":"ok","inputSchema":{"type":"object"}}]}`)
	never, _ := playedServer(t, "never", `{"tools":[{"name":"late","inputSchema":{"type":"object"}}]}`)
	never.Off = true
	var off atomic.Value
	off.Store(map[string]bool{"never": true})
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{u, never}, Dir: t.TempDir(), Off: func() map[string]bool { return off.Load().(map[string]bool) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(testwait.Context(t)); err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	put := func(families []*toolfold.Family) {
		if err := s.Put(families...); err != nil {
			t.Error(err)
		}
	}
	put(g.Families())
	g.Follow(gateway.Follower{Families: put})
	if answer := s.Client.Call(t.Context(), "srv.ok", nil); answer.Err != nil {
		t.Fatalf("called: %s", answer.Content)
	}
	first := starts(t, file)
	off.Store(map[string]bool{"never": true, "srv": true})
	testwait.Until(t, "it is switched off", func() bool { return len(g.Families()) == 0 })
	if answer := s.Client.Call(t.Context(), "srv.ok", nil); answer.Err == nil || !strings.Contains(answer.Err.Message, "srv is switched off") {
		t.Errorf("called while it is off: %s", answer.Content)
	}
	off.Store(map[string]bool{})
	testwait.Until(t, "both are on", func() bool { return len(g.Families()) == 2 })
	testwait.Until(t, "its session ended, so that the call starts it again", func() bool {
		answer := s.Client.Call(t.Context(), "srv.ok", nil)
		return answer.Err == nil && starts(t, file) > first
	})
}
