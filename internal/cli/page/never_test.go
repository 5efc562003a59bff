package page

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/storage"
)

// TestNeverCalledToolsAreNamed compares the tools of servers with the recorded calls.
func TestNeverCalledToolsAreNamed(t *testing.T) {
	p, base, browser := served(t, running)
	g, err := gateway.New(gateway.Options{Dir: t.TempDir(), Upstreams: []gateway.Upstream{{Name: "used"}, {Name: hostile[:60]}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	p.machine.gateway = g
	family := func(name string, actions ...string) []*toolfold.Family {
		f := &toolfold.Family{Name: name}
		for _, action := range actions {
			f.Actions = append(f.Actions, &toolfold.Action{Family: f, Name: action})
		}
		return []*toolfold.Family{f}
	}
	p.machine.state.Servers = []server{{Name: "used", State: stateReady, Protocol: "2025-11-25", Families: family("used", "get", "drop")},
		{Name: hostile[:60], State: stateReady, Families: family(hostile[:60], hostile[:60])}}
	fetch(t, browser, get(t, p.access.address()))
	if _, text := fetch(t, browser, get(t, base+"/calls/never")); !strings.Contains(text, "No call is recorded yet") {
		t.Errorf("without calls: %s", text)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p.called = func(context.Context) (storage.Called, error) {
		return storage.Called{First: noon, Last: map[string]time.Time{"used.get": noon}}, nil
	}
	for _, view := range []struct {
		path      string
		has, lack []string
	}{
		{"/calls/never?of=used", []string{"<code>drop</code>", "1 of 2"}, []string{"<code>get</code>", "&lt;script"}},
		{"/calls/never", []string{"<code>drop</code>", "&lt;script", "actions of toolfold"}, []string{"<code>get</code>"}},
		{"/calls/never?of=none", []string{"no such server"}, []string{"<code>drop</code>"}},
		{"/servers/used", []string{"1 of 2 tools without a recorded call", "MCP 2025-11-25", "process 7"}, nil},
	} {
		status, text := fetch(t, browser, get(t, base+view.path))
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", view.path, status, text)
		}
		for _, part := range view.has {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q: %s", view.path, part, text)
			}
		}
		for _, part := range view.lack {
			if strings.Contains(text, part) {
				t.Errorf("%s has %q: %s", view.path, part, text)
			}
		}
		checkHTML(t, view.path, text)
	}
}
