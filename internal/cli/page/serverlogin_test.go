package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// TestUsersLogInAtServers begins a login by its form, and by none that is not its own, and follows it to its end.
func TestUsersLogInAtServers(t *testing.T) {
	p, base, browser := served(t, running)
	open := func() (*settings.Options, *gateway.Gateway, error) {
		g, err := gateway.New(gateway.Options{Dir: t.TempDir(), Upstreams: []gateway.Upstream{{Name: "far"}, {Name: "own"}, {Name: "off"}}})
		return nil, g, err
	}
	p.machine.open = open
	var err error
	if _, p.machine.gateway, err = open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.machine.gateway.Close)
	wants := server{Name: "far", State: stateFails, Problem: "it requires a login: toolfold upstream login far", LogsIn: true}
	p.machine.state.Servers = []server{wants, {Name: "own", State: stateReady}, {Name: "off", State: stateOff, LogsIn: true}}
	address, end, begun := "https://login.example/a?b=c&d", make(chan error), 0
	p.logIn = func(ctx context.Context, _ *settings.Options, _ *gateway.Gateway, name string, show func(string)) error {
		if begun++; name != "far" {
			t.Errorf("a login at %s", name)
		}
		if address == "" {
			return errors.New("it answered 500")
		}
		show(address)
		select {
		case err := <-end:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fetch(t, browser, get(t, p.access.address()))
	for name, want := range map[string]bool{"far": true, "own": false, "off": false} {
		if _, text := fetch(t, browser, get(t, base+"/servers/"+name)); strings.Contains(text, "/login\"") != want {
			t.Errorf("the page of %s offers a login, or does not: %s", name, text)
		}
	}
	if _, text := fetch(t, browser, get(t, base+"/")); !strings.Contains(text, `far</a> <span class="bad">wants a login</span>`) {
		t.Errorf("the overview does not name the login: %s", text)
	}
	path, form := base+"/servers/far/login", url.Values{"form": {p.access.form()}}
	jar, _ := cookiejar.New(nil)
	foreign := post(t, path, form)
	foreign.Header.Set("Origin", "http://evil.example")
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
		status  int
	}{
		"a stranger":              {&http.Client{Jar: jar}, post(t, path, form), http.StatusForbidden},
		"another origin":          {browser, foreign, http.StatusForbidden},
		"no token":                {browser, post(t, path, nil), http.StatusForbidden},
		"by GET":                  {browser, get(t, path+"?"+form.Encode()), http.StatusNotFound},
		"a program":               {browser, post(t, base+"/servers/own/login", form), http.StatusNotFound},
		"a server that is absent": {browser, post(t, base+"/servers/none/login", form), http.StatusNotFound},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != attack.status {
			t.Errorf("%s: %d", name, status)
		}
	}
	if begun > 0 {
		t.Fatal("a login was begun all the same")
	}
	shows := func(wanted string, result error) {
		t.Helper()
		status, text := fetch(t, browser, post(t, path, form))
		if status != http.StatusOK || !strings.Contains(text, `<a href="https://login.example/a?b=c&amp;d" target="_blank" rel="noreferrer">`) {
			t.Fatalf("%d, without the address: %s", status, text)
		}
		before := p.logins.mark()
		end <- result
		testwait.Until(t, "the login has ended", func() bool { return p.logins.mark() > before })
		if _, text := fetch(t, browser, get(t, base+"/servers/far")); !strings.Contains(text, wanted) {
			t.Errorf("the page lacks %s: %s", wanted, text)
		}
	}
	shows("You are logged in", nil)
	shows("refused &lt;b&gt;", errors.New("refused <b>"))

	// A second login ends the first. Addresses that no browser should open, and hostile ones, are texts.
	fetch(t, browser, post(t, path, form))
	for _, address = range []string{"javascript:alert(1)", "file:///etc/passwd", hostile} {
		before := p.logins.mark()
		status, text := fetch(t, browser, post(t, path, form))
		testwait.Until(t, "the earlier login has ended", func() bool { return p.logins.mark() > before })
		if status != http.StatusOK || !strings.Contains(text, "A browser cannot open its address") {
			t.Errorf("%.30s: %d %s", address, status, text)
		}
		checkHTML(t, "a login at a hostile address", text)
	}
	address = ""
	if _, text := fetch(t, browser, post(t, path, form)); !strings.Contains(text, "it answered 500") {
		t.Errorf("a login that fails at once: %s", text)
	}
	p.access, p.login = nil, &login{}
	r := get(t, base+"/")
	r.SetPathValue("name", "far")
	if v, err := p.server(r); err != nil || v.(serverView).Local {
		t.Errorf("over a network, the page logs in at servers: %v", err)
	}
}
