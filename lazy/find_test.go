package lazy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/lazy"
)

// Tools of other servers are found by all that their descriptions say, by the
// name of their server, and by the verb of their names, although nothing is
// known of what they do.
func TestFindForeignTools(t *testing.T) {
	t.Parallel()
	long := "Looks after the records that belong to the people who work in the offices of the company, among them the parking permits."
	var families []*toolfold.Family
	for _, x := range []toolfold.External{
		{Name: "people_tool", Description: long, Server: "Personio"},
		{Name: "delete_invoice", Description: "An invoice of the ledger."},
		{Name: "get_invoice", Description: "An invoice of the ledger, with all its lines and taxes as they were booked."},
		{Name: "vm_power", Description: "Power of machines."},
		{Name: "e2e", Description: "Start the testsuite."},
	} {
		x.Category = "elsewhere"
		f, err := x.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, f)
	}
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	for query, want := range map[string]string{
		"parking permit":                       "people_tool",
		"something of Personio":                "people_tool",
		"show the invoice":                     "get_invoice",
		"please delete the invoice":            "delete_invoice",
		"get rid of the invoice":               "delete_invoice",
		"shred the invoice":                    "delete_invoice",
		"our VMs":                              "vm_power",
		"a test suite":                         "e2e",
		"ledgr":                                "get_invoice", // nothing says delete
		"show it without deleting the invoice": "get_invoice",
		"which invoices are deleted":           "get_invoice",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
}

// Verbs of several words are read whole, by what they mean.
func TestFindReadsVerbsOfSeveralWords(t *testing.T) {
	t.Parallel()
	families := foreignFamilies(t, "office", "get_board", "set_board", "create_board", "look_board", "delete_board", "manage_board")
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	for query, want := range map[string]string{
		"set up a board":          "create_board",
		"throw away the board":    "delete_board",
		"do away with the board":  "delete_board",
		"look after the board":    "manage_board",
		"put together a board":    "create_board",
		"throw it away, my board": "delete_board",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
}

// foreignFamilies returns tools of a server, each a family of its own.
func foreignFamilies(t *testing.T, server string, tools ...string) (families []*toolfold.Family) {
	t.Helper()
	for _, tool := range tools {
		f, err := toolfold.External{Name: tool, Description: "For the office.", Server: server, Category: "elsewhere"}.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, f)
	}
	return families
}

// A query that names a server leads to its tools; tools of servers come before ours that fit as well.
func TestFindPrefersServers(t *testing.T) {
	t.Parallel()
	families := []*toolfold.Family{family(t, "parcel", nil, nil)}
	families = append(families, foreignFamilies(t, "harbour", "list_crates", "get_parcel")...)
	families = append(families, foreignFamilies(t, "post-office", "list_crate", "weigh_letter")...)
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	for query, want := range map[string]string{
		"list crates":                    "list_crates",
		"list crates of the post office": "list_crate",
		"post-office: list crates":       "list_crate",
		"harbour list the crate":         "list_crates",
		"get a parcel":                   "get_parcel",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
	alone := lazy.NewView(lazy.ViewOptions{Families: families[:1]})
	if found := alone.Find("get a parcel", 1); len(found) == 0 || found[0].Name != "parcel.get" {
		t.Errorf("without servers ours is found, got %v", found)
	}
}

// The discovery actions give way to tools of servers as other actions of ours do.
func TestFindPrefersServersToDiscovery(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	const query = "find actions"
	if found := s.Discovery.View(t.Context()).Find(query, 1); len(found) == 0 || found[0].Name != "tools.find" {
		t.Errorf("without servers %q wants tools.find, got %v", query, found)
	}
	families := foreignFamilies(t, "workshop", "load_definition", "list_all", "get_docs", "find_action", "describe_usage")
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	if found := s.Discovery.View(t.Context()).Find(query, 2); len(found) != 2 || found[0].Name != "find_action" {
		t.Errorf("%q wants find_action, got %v", query, found)
	}
	// A synonym in a name of theirs is worth more than a word of ours.
	const likely = "search the docs for words"
	if found := s.Discovery.View(t.Context()).Find(likely, 2); len(found) != 2 || found[1].Name != "find_action" {
		t.Errorf("%q wants get_docs and find_action, got %v", likely, found)
	}
}

// A server whose name is a common word is named only by a query that uses the word as a name.
func TestFindKnowsNamesFromWords(t *testing.T) {
	t.Parallel()
	families := foreignFamilies(t, "harbour", "fetch_crates", "fetch_crates_by_time")
	families = append(families, foreignFamilies(t, "fetch", "crate_reader")...)
	families = append(families, foreignFamilies(t, "time", "crate_clock")...)
	families = append(families, foreignFamilies(t, "everything", "crate_echo")...)
	families = append(families, foreignFamilies(t, "acme", "crate_maker")...)
	view := lazy.NewView(lazy.ViewOptions{Families: families})
	for query, want := range map[string]string{
		"fetch crates":                      "fetch_crates",
		"please fetch all crates":           "fetch_crates",
		"crates by time":                    "fetch_crates_by_time",
		"fetch everything about the crates": "fetch_crates",
		"fetch crates with time zones":      "fetch_crates_by_time",
		"the fetch server: crates":          "crate_reader",
		"fetch: crates":                     "crate_reader",
		"crates with fetch":                 "crate_reader",
		"use fetch for the crates":          "crate_reader",
		"crates with the time tools":        "crate_clock",
		"fetch crates via everything":       "crate_echo",
		"fetch acme crates":                 "crate_maker",
	} {
		if found := view.Find(query, 3); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q wants %s, got %v", query, want, found)
		}
	}
}

// With a server only its tools are found; an unknown server is refused with those that there are.
func TestFindAmongToolsOfAServer(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	families := append(foreignFamilies(t, "harbour", "list_crates"), foreignFamilies(t, "post-office", "list_crate")...)
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	s.Discovery.ListAbsent(func() []lazy.Row { return []lazy.Row{{Name: "rail", Reason: "it does not start", Absent: true}} }, nil)
	find := func(server string) string {
		return string(s.Runner.Call(t.Context(), "tools.find", fmt.Appendf(nil, `{"query":"list crates","server":%q}`, server)).Content)
	}
	if got := find("post-office"); !strings.Contains(got, `"list_crate"`) || strings.Contains(got, `"list_crates"`) {
		t.Errorf("of the post office: %s", got)
	}
	if got := find("rail"); !strings.Contains(got, `"results":[]`) || !strings.Contains(got, "rail (it does not start)") {
		t.Errorf("of a server that offers nothing: %s", got)
	}
	if got := find("post_office"); !strings.Contains(got, `"suggest":"post-office"`) || !strings.Contains(got, "harbour") {
		t.Errorf("of an unknown server: %s", got)
	}
}

// The full name of an action in a query is what it asks about: its words lead to nothing, and a hint has the call
// that describes it. A name alone leads to the action.
func TestFindTakesNamesAsOperands(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	for query, c := range map[string]struct{ first, hint string }{
		"which parameters does tools.rest take?": {"tools.describe", `\"name\":\"tools.rest\"`},
		"tools.rest":                             {"tools.rest", ""},
		"find `tools.load`":                      {"tools.find", `\"name\":\"tools.load\"`},
		"describe tools.describe":                {"tools.describe", ""},
		"tools.restless definition? tools.rest":  {"tools.load", `\"name\":\"tools.rest\"`}, // a part of a word is no name
	} {
		got := string(s.Runner.Call(t.Context(), "tools.find", fmt.Appendf(nil, `{"query":%q}`, query)).Content)
		if !strings.HasPrefix(got, `{"results":[{"name":"`+c.first+`"`) || (c.hint == "") != !strings.Contains(got, "all about") ||
			!strings.Contains(got, c.hint) {
			t.Errorf("%q: %s", query, got)
		}
	}
}

// An answer describes the required parameters of other servers' actions, as far as there is room. Cut texts
// have a mark.
func TestFindDescribesParametersOfForeignTools(t *testing.T) {
	t.Parallel()
	const names = 30
	long := strings.Repeat("of the people who work there ", 20)
	s := withDiscovery(t)
	for i := range names {
		f, err := toolfold.External{
			Name: fmt.Sprintf("book_parking_%d", i), Description: "Book a parking permit.", Server: "Personio", Category: "elsewhere",
			InputSchema: json.RawMessage(`{"type":"object","required":["until","holder","size"],"properties":{
				"until":{"type":"string","description":"Last day,\n ISO 8601"},
				"holder":{"type":"string","description":"Name ` + long + `"},
				"size":{"type":"integer"},
				"note":{"type":"string","description":"Shown on the permit."}}}`),
		}.Family()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(f); err != nil {
			t.Fatal(err)
		}
	}
	const room = 700
	for _, c := range []struct{ limit, least, most int }{{1, 1, 1}, {5, 5, 5}, {12, 2, 11}, {names, 0, 0}} {
		answer := s.Runner.Call(t.Context(), "tools.find", fmt.Appendf(nil, `{"query":"book a parking permit","limit":%d}`, c.limit))
		var out lazy.FindOut
		if err := json.Unmarshal(answer.Content, &out); err != nil || len(out.Results)+countNames(out.Further) != c.limit {
			t.Fatalf("limit %d: %v: %s", c.limit, err, answer.Content)
		}
		described := 0
		for i, f := range out.Results {
			if f.Params == nil {
				continue
			}
			if described++; described <= i {
				t.Errorf("limit %d: one before hit %d is not described", c.limit, i)
			}
			holder := strings.TrimSpace("Name "+strings.Repeat("of the people who work there ", 4)) + "…"
			if want := map[string]string{"until": "Last day, ISO 8601", "holder": holder}; !maps.Equal(f.Params, want) {
				t.Errorf("got %v, want %v", f.Params, want)
			}
		}
		if described < c.least || described > c.most {
			t.Errorf("limit %d: %d actions are described, want %d to %d", c.limit, described, c.least, c.most)
		}
		if cost := estimate.Tokens(answer.Content); described > 0 && cost > room {
			t.Errorf("limit %d: about %d tokens, more than %d", c.limit, cost, room)
		}
	}
}
