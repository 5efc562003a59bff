package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
)

// TestToolsAreFound looks for tools of all servers, and of one.
func TestToolsAreFound(t *testing.T) {
	p, base, browser := served(t, running)
	g, err := gateway.New(gateway.Options{Dir: t.TempDir(), Upstreams: []gateway.Upstream{{Name: "forge"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	p.machine.gateway = g
	issue := &toolfold.Family{Name: "issue", Summary: "Issues", Server: "forge"}
	issue.Actions = []*toolfold.Action{
		{Name: "list", Summary: "List issues.", Family: issue, Aliases: []string{"forge.listAllIssues"}},
		{Name: "close", Summary: "Close an issue.", Family: issue, Aliases: []string{"forge.close_issue"}},
	}
	many := &toolfold.Family{Name: "many", Summary: "Many", Server: "big"}
	for i := range mostFound + 7 {
		many.Actions = append(many.Actions, &toolfold.Action{Name: fmt.Sprintf("item%d", i), Summary: "An item.", Family: many})
	}
	p.machine.state.Servers = []server{{Name: "big", State: stateReady, Families: []*toolfold.Family{many}},
		{Name: "forge", State: stateReady, Families: []*toolfold.Family{issue, {Name: "user", Summary: "Users", Server: "forge"}}}}
	fetch(t, browser, get(t, p.access.address()))
	for path, want := range map[string]struct{ has, lacks string }{
		"/servers":                                  {`name="find" value=""`, "listAllIssues"},
		"/servers?find=+ISSUE++close+":              {"1 of 2 actions", "<code>list</code>"},
		"/servers?find=listall":                     {`href="/servers/forge?find=listall"`, "<code>close</code>"},
		"/servers?find=issue+none":                  {"No tool of a server has these words", "<details"},
		"/servers?find=item":                        {"7 tools more", "item200<"},
		"/servers/forge":                            {"<code>user</code>", "show all"},
		"/servers/forge?find=close":                 {"1 of 2 actions", "<code>user</code>"},
		"/servers/forge?find=zzz":                   {"No tool of this server has these words", "<details"},
		"/servers?find=" + url.QueryEscape(`"><b>`): {`value="&#34;&gt;&lt;b&gt;"`, "<b>"},
	} {
		_, text := fetch(t, browser, get(t, base+path))
		if _, main, _ := strings.Cut(text, "<main"); !strings.Contains(main, want.has) || strings.Contains(main, want.lacks) {
			t.Errorf("%s has no %s, or has %s: %s", path, want.has, want.lacks, main)
		}
		checkHTML(t, path, text)
	}
}
