package page

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// planning returns a page with one server, srv, that has listed these tools.
func planning(t *testing.T, tools ...string) (p *Page, g *gateway.Gateway, base string, browser *http.Client) {
	t.Helper()
	p, base, browser = served(t, running)
	up := gateway.Upstream{Name: "srv", Server: upstream.Server{Argv: []string{"x"}}}
	g, err := gateway.New(gateway.Options{Dir: t.TempDir(), Upstreams: []gateway.Upstream{up}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	answer := upstream.Answer{Name: "srv", Protocol: "2025-11-25"}
	for _, name := range tools {
		answer.Tools = append(answer.Tools, ordered.MustJSON(result{"name": name, "description": "Does " + name + ".",
			"inputSchema": json.RawMessage(`{"type":"object"}`)}))
	}
	if err := g.Keep("srv", answer); err != nil {
		t.Fatal(err)
	}
	p.machine.gateway, p.machine.options = g, &settings.Options{Layers: &config.Layers{}}
	listed, families, _ := g.Listing("srv")
	p.machine.state.Servers = []server{{Name: "srv", State: stateReady, Families: families, Protocol: listed.Protocol}}
	fetch(t, browser, get(t, p.access.address()))
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p, g, base, browser
}

// textIn returns the plan in the form of a page.
func textIn(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "<textarea name=\"plan\"")
	_, rest, _ = strings.Cut(rest, ">\n")
	text, _, end := strings.Cut(rest, "</textarea>")
	if !ok || !end {
		t.Fatalf("the page has no plan: %s", page)
	}
	return html.UnescapeString(text)
}

// TestPlansAreEdited counts, stores and refuses plans, and names the lines of their faults.
func TestPlansAreEdited(t *testing.T) {
	p, g, base, browser := planning(t, "get_item", "list_items", "drop_item", hostile[:60])
	path := base + "/servers/srv/plan"
	status, page := fetch(t, browser, get(t, path))
	text := textIn(t, page)
	if status != http.StatusOK || !strings.Contains(text, "tool: drop_item") {
		t.Fatalf("%d %s", status, page)
	}
	checkHTML(t, path, page)
	plan, _ := g.Plan("srv")
	shown := gateway.PlanDigest(plan)
	send := func(action, text, shown string) (int, string) {
		t.Helper()
		form := url.Values{"form": {p.access.form()}, "action": {action}, "plan": {text}, "shown": {shown}}
		status, page := fetch(t, browser, post(t, path, form))
		checkHTML(t, action, page)
		return status, page
	}
	stored := func() string {
		plan, _ := g.Plan("srv")
		return string(ordered.MustJSON(plan))
	}
	before := stored()
	edited := strings.Replace(text, "name: srv", "name: items", 1)
	if edited == text {
		t.Fatalf("the plan has no family srv: %s", text)
	}

	for name, wrong := range map[string]struct{ text, want string }{
		"no YAML":           {"families:\n- name: [", "line 2"},
		"an unknown member": {strings.Replace(edited, "\n  reads:", "\n  reeds: 1\n  reads:", 1), "line 3: reeds is unknown"},
		"a bad name":        {strings.Replace(edited, "name: items", "name: <b>Items", 1), "line 2: family &#34;&lt;b&gt;Items&#34;"},
		"a tool twice":      {edited + "- name: more\n  reads: false\n  actions:\n  - action: again\n    tool: drop_item\n", "line 1"},
		"a missing tool":    {"families: []\n", "is in no family"},
		"many faults": {"families:\n- name: x\n  reads: false\n  actions:\n" + strings.Repeat("  - {action: a, tool: b}\n", 500),
			"more faults are not shown"},
		"two documents": {edited + "---\nfamilies: []\n", "a plan is one document"},
		"nothing":       {"", "it is empty"},
	} {
		for _, action := range []string{"check", "save"} {
			status, page := send(action, wrong.text, shown)
			if status != http.StatusUnprocessableEntity || !strings.Contains(page, wrong.want) || textIn(t, page) != wrong.text ||
				stored() != before {
				t.Errorf("%s of %s: %d, want %q: %s", action, name, status, wrong.want, page)
			}
		}
	}
	status, page = send("check", edited, shown)
	if status != http.StatusOK || !strings.Contains(page, "by this plan") || !strings.Contains(page, "is items.") || stored() != before {
		t.Errorf("a check: %d %s", status, page)
	}
	if status, page = send("save", edited, shown); status != http.StatusSeeOther || stored() == before {
		t.Errorf("a plan is stored: %d %s", status, page)
	}
	now := stored()
	if status, page = send("save", text, shown); status != http.StatusConflict || !strings.Contains(page, "another plan was stored") ||
		textIn(t, page) != text || stored() != now {
		t.Errorf("a plan that was made from an earlier one: %d %s", status, page)
	}
	if status, page = send("new", "", shown); status != http.StatusConflict || textIn(t, page) != text || stored() != now {
		t.Errorf("a new plan: %d %s", status, page)
	}
}

// TestPlansAreOfThePageAlone sends the form of a plan as others could.
func TestPlansAreOfThePageAlone(t *testing.T) {
	p, g, base, browser := planning(t, "get_item", "drop_item")
	path := base + "/servers/srv/plan"
	_, page := fetch(t, browser, get(t, path))
	plan, _ := g.Plan("srv")
	form := url.Values{"form": {p.access.form()}, "action": {"save"}, "shown": {gateway.PlanDigest(plan)},
		"plan": {strings.Replace(textIn(t, page), "name: srv", "name: stolen", 1)}}
	jar, _ := cookiejar.New(nil)
	foreign, site := post(t, path, form), post(t, path, form)
	foreign.Header.Set("Origin", "http://evil.example")
	site.Header.Set("Sec-Fetch-Site", "cross-site")
	bearer := post(t, path, form)
	bearer.Header.Set("Authorization", "Bearer "+p.access.session)
	for name, attack := range map[string]struct {
		browser *http.Client
		request *http.Request
	}{
		"a stranger": {&http.Client{Jar: jar}, post(t, path, form)}, "a bearer token": {&http.Client{Jar: jar}, bearer},
		"another origin": {browser, foreign}, "another site": {browser, site}, "no token": {browser, post(t, path, nil)},
	} {
		if status, _ := fetch(t, attack.browser, attack.request); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _ := fetch(t, browser, get(t, path+"?"+form.Encode())); status != http.StatusOK {
		t.Errorf("by GET: %d", status)
	}
	if status, _ := fetch(t, browser, post(t, base+"/servers/none/plan", form)); status != http.StatusNotFound {
		t.Errorf("a server that is not there: %d", status)
	}
	if now, _ := g.Plan("srv"); gateway.PlanDigest(now) != form.Get("shown") {
		t.Errorf("the plan is %+v", now)
	}
	if status, text := fetch(t, browser, post(t, path, form)); status != http.StatusSeeOther {
		t.Errorf("the page's own form: %d %s", status, text)
	}
}
