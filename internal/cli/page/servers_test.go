package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// TestServersAreRestarted restarts a server by its form, and by none that is not its own.
func TestServersAreRestarted(t *testing.T) {
	p, base, browser := served(t, running)
	var restarted []string
	var failure error
	p.restart = func(_ context.Context, _ *settings.Options, name string) (string, error) {
		restarted = append(restarted, name)
		return "restarted " + hostile, failure
	}
	g, err := gateway.New(gateway.Options{Dir: t.TempDir(),
		Upstreams: []gateway.Upstream{{Name: "own"}, {Name: "off", Off: true}, {Name: "far"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	p.machine.gateway = g
	p.machine.state.Servers = []server{{Name: "own", State: stateReady, Shared: true}, {Name: "off", State: stateOff, Shared: true},
		{Name: "far", State: stateReady}}
	fetch(t, browser, get(t, p.access.address()))
	for name, want := range map[string]bool{"own": true, "off": false, "far": false} {
		if _, text := fetch(t, browser, get(t, base+"/servers/"+name)); strings.Contains(text, "/restart") != want {
			t.Errorf("the page of %s offers a restart, or does not: %s", name, text)
		}
	}
	path, form := base+"/servers/own/restart", url.Values{"form": {p.access.form()}}
	jar, _ := cookiejar.New(nil)
	foreign := post(t, path, form)
	foreign.Header.Set("Origin", "http://evil.example")
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
	}{
		"a stranger": {&http.Client{Jar: jar}, post(t, path, form)}, "another origin": {browser, foreign},
		"no token": {browser, post(t, path, nil)},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _ := fetch(t, browser, get(t, path+"?"+form.Encode())); status != http.StatusOK {
		t.Errorf("by GET: %d", status)
	}
	if status, _ := fetch(t, browser, post(t, base+"/servers/none/restart", form)); status != http.StatusNotFound {
		t.Errorf("a server that is not there: %d", status)
	}
	if len(restarted) > 0 {
		t.Fatalf("restarted all the same: %v", restarted)
	}
	status, text := fetch(t, browser, post(t, path, form))
	if status != http.StatusOK || !slices.Equal(restarted, []string{"own"}) || !strings.Contains(text, `<p role="status">restarted &lt;`) {
		t.Errorf("%d, restarted %v: %s", status, restarted, text)
	}
	checkHTML(t, "a restart", text)
	failure = errors.New("the host is of an older version")
	if status, text := fetch(t, browser, post(t, path, form)); status != http.StatusConflict || !strings.Contains(text, failure.Error()) {
		t.Errorf("a restart that fails: %d %s", status, text)
	}
}
