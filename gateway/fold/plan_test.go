package fold

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// toolsOf returns tools with these names. An exclamation mark marks tools that do more than read.
func toolsOf(names ...string) []Tool {
	var tools []Tool
	for _, name := range names {
		tools = append(tools, Tool{Name: strings.TrimSuffix(name, "!"), Reads: !strings.HasSuffix(name, "!")})
	}
	return tools
}

// show prints a plan, one line per family.
func show(p Plan) string {
	var b strings.Builder
	for _, f := range p.Families {
		b.WriteString(f.Name)
		if f.Summary != "" {
			fmt.Fprintf(&b, " (%s)", f.Summary)
		}
		b.WriteByte(':')
		for _, a := range f.Actions {
			fmt.Fprintf(&b, " %s=%s", a.Name, a.Tool)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestMake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server string
		tools  []Tool
		want   string
	}{
		{"Web Browser", toolsOf("browser_click!", "browser_snapshot", "browser_navigate_back!"), `
web_browser: snapshot=browser_snapshot
web_browser_write: click=browser_click navigate_back=browser_navigate_back
`},
		{"notes", toolsOf("API-retrieve-a-page", "API-update-a-page!", "API-get-HTTPLog", "API-getUser"), `
notes: retrieve_a_page=API-retrieve-a-page get_http_log=API-get-HTTPLog get_user=API-getUser
notes_write: update_a_page=API-update-a-page
`},
		{"calc", toolsOf("add!", "sub.tract!"), `
calc: add=add sub_tract=sub.tract
`},
		{"same", toolsOf("get_a", "get-a", "getA", "get a"), `
same: a=get_a get=get-a
`},
		{"日本", toolsOf("検索", "検索2", "1st_thing"), `
mcp: tool=検索 tool_2=検索2 tool_1st_thing=1st_thing
`},
		{"tracker", toolsOf(
			"list_issues", "get_issue", "search_issues", "create_issue!", "update_issue!", "delete_issue!", "add_issue_comment!",
			"list_boards", "get_board", "search_boards", "create_board!", "rename_board!", "archive_board!", "list_users", "get_me",
			"list_projects", "get_project", "list_project_members", "list_labels", "get_label", "get_server_info", "ping", "set_label!",
			"invite_user!", "remove_user!", "mute!", "get_issue_history", "watch_issue!", "export_board",
		), `
tracker: list_users=list_users get_me=get_me list_projects=list_projects get_project=get_project ` +
			`list_project_members=list_project_members list_labels=list_labels get_label=get_label get_server_info=get_server_info ping=ping
tracker_board: list=list_boards get=get_board search=search_boards export=export_board
tracker_issue: list=list_issues get=get_issue search=search_issues get_issue_history=get_issue_history
tracker_write: create_issue=create_issue update_issue=update_issue delete_issue=delete_issue ` +
			`add_issue_comment=add_issue_comment create_board=create_board rename_board=rename_board archive_board=archive_board ` +
			`set_label=set_label invite_user=invite_user remove_user=remove_user mute=mute watch_issue=watch_issue
`},
	} {
		got := show(Make(Server{Name: test.server}, test.tools))
		if test.server == "same" { // the names differ only in their separators
			if n := strings.Count(got, "="); n != 4 {
				t.Errorf("%d of 4 tools are planned: %s", n, got)
			}
			continue
		}
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.server, diff)
		}
	}
}

// random returns tools whose names share words, in all spellings.
func random(r *rand.Rand, n int) []Tool {
	verbs := []string{"get", "list", "create", "update", "remove", "run", "browse"}
	nouns := []string{"issue", "issues", "pull request", "board", "branches", "my team", "用户", "x", "2fa", "policy"}
	join := []string{"_", "-", ".", "/", " ", ""}
	seen := map[string]bool{}
	var tools []Tool
	for range n {
		words := strings.Fields(verbs[r.IntN(len(verbs))] + " " + nouns[r.IntN(len(nouns))] + " " + nouns[r.IntN(len(nouns))])
		words = words[:1+r.IntN(len(words))]
		between := join[r.IntN(len(join))]
		for i := range words {
			if between == "" && i > 0 {
				words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
			}
		}
		if name := strings.Join(words, between); !seen[name] {
			seen[name] = true
			tools = append(tools, Tool{Name: name, Reads: r.IntN(2) == 0, Size: r.IntN(400)})
		}
	}
	return tools
}

// checkNoun fails if a family's noun is a verb or the server's name.
func checkNoun(t *testing.T, server string, f Family) {
	t.Helper()
	if words := strings.Fields(f.Noun); len(words) == 1 && verbs()[words[0]] && !nounVerbs()[words[0]] {
		t.Errorf("%s has a verb as its noun", f.Name)
	}
	for _, word := range strings.Fields(f.Noun) {
		if slices.Contains(wordsOf(server), word) {
			t.Errorf("%s has the server's name as its noun", f.Name)
		}
	}
}

// checkAction fails if an action's name leaves out words in the middle of its tool's name, or looks
// like another tool.
func checkAction(t *testing.T, tools []Tool, a Action) {
	t.Helper()
	words := wordsOf(strings.TrimPrefix(a.Name, "tool_"))
	for len(words) > 1 && len(words[len(words)-1]) < 3 && strings.Trim(words[len(words)-1], "0123456789") == "" {
		words = words[:len(words)-1] // a number that distinguishes tools with the same words
	}
	of := wordsOf(a.Tool)
	if text := " " + strings.Join(of, " ") + " "; len(of) > 0 && !strings.Contains(text, " "+strings.Join(words, " ")+" ") {
		t.Errorf("%s is not in one piece in %q", a.Name, a.Tool)
	}
	for _, other := range tools {
		named := wordsOf(other.Name)
		if other.Name != a.Tool && slices.Equal(named, words) && !slices.Equal(named, of) {
			t.Errorf("%s stands for %q and reads like %q", a.Name, a.Tool, other.Name)
		}
	}
}

// For any tool names, each tool is one action, no name is taken or used twice, and Check accepts the
// plan. Later tools rename nothing.
func TestEveryToolOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	taken := func(name string) bool {
		return slices.Contains([]string{"memory", "memory_write", "memory_store", "task", "srv_issue", "srv_get"}, name)
	}
	for i := range 300 {
		server := []string{"srv", "memory", "9 lives", "", strings.Repeat("long name ", 9), "task"}[i%6]
		srv := Server{Name: server, Alone: i%7 == 0, NameInUse: taken}
		tools := random(r, 1+r.IntN(90))
		plan := Make(srv, tools)
		if err := plan.Check(tools, taken); err != nil {
			t.Fatalf("%s of %v: %v\n%s", server, tools, err, show(plan))
		}
		for _, f := range plan.Families {
			if len(f.Summary) > 60 || len(f.Actions) == 0 {
				t.Errorf("family %+v", f)
			}
			checkNoun(t, server, f)
			for _, a := range f.Actions {
				if taken(f.Name + "_" + a.Name) {
					t.Errorf("%s with %s reads as a name of others", f.Name, a.Name)
				}
				checkAction(t, tools, a)
			}
		}
		if diff := cmp.Diff(plan, Make(srv, slices.Clone(tools))); diff != "" {
			t.Fatalf("the same list has two plans:\n%s", diff)
		}
		more := append(slices.Clone(tools), random(r, 20)...)
		slices.SortFunc(more, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
		more = slices.CompactFunc(more, func(a, b Tool) bool { return a.Name == b.Name })
		for i, now := range more { // planned tools keep their hint
			for _, before := range tools {
				if before.Name == now.Name {
					more[i] = before
				}
			}
		}
		joined, added, _ := plan.Join(t.Context(), srv, more)
		if err := joined.Check(more, taken); err != nil || len(added) != len(more)-len(tools) {
			t.Fatalf("%d joined %d tools, %d added: %v", len(more), len(tools), len(added), err)
		}
		for k, f := range plan.Families {
			if diff := cmp.Diff(f.Actions, joined.Families[k].Actions[:len(f.Actions)]); diff != "" || f.Name != joined.Families[k].Name {
				t.Fatalf("joining renamed %s:\n%s", f.Name, diff)
			}
		}
	}
}

// A server with hundreds of tools is folded to a number that hosts accept, and no family is too large.
func TestHundreds(t *testing.T) {
	t.Parallel()
	var tools []Tool
	for i := range 600 {
		noun := fmt.Sprintf("thing%c%c", 'a'+i/6%10, 'a'+i/6/10)
		verb := []string{"get", "list", "search", "create!", "update!", "delete!"}[i%6]
		tools = append(tools, toolsOf(strings.TrimSuffix(verb, "!")+"_"+noun+strings.Repeat("!", strings.Count(verb, "!")))...)
	}
	plan := Make(Server{Name: "srv"}, tools)
	if err := plan.Check(tools, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Families {
		if len(f.Actions) > partSize {
			t.Errorf("%s has %d actions", f.Name, len(f.Actions))
		}
	}
	if n := len(plan.Families); n > 2*(mostNouns+(300-3*mostNouns)/partSize+1) {
		t.Errorf("%d families", n)
	}
	last := slices.IndexFunc(plan.Families, func(f Family) bool { return f.Range == "thingih to thingjj" && !f.Reads })
	if last < 0 || plan.Families[last].Name != "srv_thin_thin6_write" {
		t.Errorf("no family for the end of the alphabet among %d: %s", len(plan.Families), show(plan))
	}
	joined, _, _ := plan.Join(t.Context(), Server{Name: "srv"}, append(tools, toolsOf("get_other!")...))
	if n := len(joined.Families); n != len(plan.Families) {
		t.Errorf("%d families with another tool", n)
	}
}

// A tool that no longer only reads leaves its reading family. A missing tool keeps its place.
func TestJoinMoves(t *testing.T) {
	t.Parallel()
	plan := Make(Server{Name: "s"}, toolsOf("get_x", "get_y", "set_x!"))
	joined, added, _ := plan.Join(t.Context(), Server{Name: "s"}, toolsOf("get_x!", "set_x!"))
	want := "s: get_y=get_y\ns_write: set_x=set_x get_x=get_x\n"
	if got := show(joined); got != want || !slices.Equal(added, []string{"get_x"}) {
		t.Errorf("added %v:\n%s", added, got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tools := toolsOf("a", "b!", "c")
	for _, test := range []struct {
		plan Plan
		want string
	}{
		{Plan{[]Family{{Name: "x", Actions: []Action{{"a", "a"}, {"b", "b"}}}}}, `tool "c" is in no family`},
		{Plan{[]Family{{Name: "x", Actions: []Action{{"a", "a"}, {"a", "b"}, {"c", "c"}}}}}, "x: action a is there twice"},
		{Plan{[]Family{{Name: "x", Actions: []Action{{"a", "a"}, {"b", "b"}, {"c", "c"}, {"d", "a"}}}}}, `tool "a" is there twice, in x and x`},
		{Plan{[]Family{{Name: "x", Reads: true, Actions: []Action{{"a", "a"}, {"b", "b"}, {"c", "c"}}}}}, `x: tool "b" does more than read`},
		{Plan{[]Family{{Name: "x", Bare: true, Actions: []Action{{"a", "a"}, {"b", "b!"}, {"c", "c"}}}}}, "x: a bare family has one action"},
		{Plan{[]Family{{Name: "x", Summary: strings.Repeat("ö", 61), Actions: []Action{{"a", "a"}}}}}, "has 61 characters"},
		{Plan{[]Family{{Name: "x", Actions: []Action{{"a", "a"}, {"b", ""}}}}}, "x: action b names no tool"},
		{Plan{[]Family{{Name: "memory", Actions: []Action{{"a", "a"}, {"b", "b"}, {"c", "c"}}}}}, "family memory: the name is in use"},
		{Plan{[]Family{{Name: "X y", Actions: []Action{{"A", "a"}, {"b", "b"}, {"c", "c"}}}}}, `family "X y": a name has small letters`},
	} {
		err := test.plan.Check(tools, func(name string) bool { return name == "memory" })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// Names that go from the area to the verb are folded by area. A noun that only occurs in the plural
// stays in the plural. A comment on a thing does not look like the thing.
func TestNouns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server string
		tools  []Tool
		want   []string // lines of the shown plan
	}{
		{"cloud", toolsOf(
			"postgres_server_list", "postgres_server_get", "postgres_database_query", "postgres_table_list",
			"storage_account_list", "storage_blob_get", "storage_blob_list",
			"storage_file_get", "monitor_metrics_query", "monitor_logs_query", "vm_list", "vm_get", "dns_zone_list",
			"cloud_quota_list", "cloud_limits_list", "cloud_region_list", "cloud_price_get",
		), []string{
			"cloud_storage: account_list=storage_account_list blob_get=storage_blob_get blob_list=storage_blob_list file_get=storage_file_get",
			"cloud_postgres: server_list=postgres_server_list server_get=postgres_server_get database_query=postgres_database_query " +
				"table_list=postgres_table_list",
			"cloud: monitor_metrics_query=monitor_metrics_query monitor_logs_query=monitor_logs_query vm_list=vm_list vm_get=vm_get " +
				"dns_zone_list=dns_zone_list cloud_quota_list=cloud_quota_list cloud_limits_list=cloud_limits_list " +
				"cloud_region_list=cloud_region_list cloud_price_get=cloud_price_get",
		}},
		{"forge", toolsOf(
			"create_issue!", "close_issue!", "create_merge_request!", "close_merge_request!", "create_merge_request_note!", "create_issue_note!",
			"delete_issue_note!", "update_merge_request_note!", "create_branch!", "delete_branch!", "create_label!", "delete_label!",
			"create_pipeline!", "cancel_pipeline!", "retry_job!",
		), []string{
			"forge_note: create_merge_request_note=create_merge_request_note create_issue_note=create_issue_note " +
				"delete_issue_note=delete_issue_note update_merge_request_note=update_merge_request_note",
		}},
		{"one", toolsOf("think!"), []string{"one_think: think=think"}},
		{"deep-thought", toolsOf("deepthought!"), []string{"deepthought: deepthought=deepthought"}},
	} {
		got := show(Make(Server{Name: test.server}, test.tools))
		for _, line := range test.want {
			if !strings.Contains("\n"+got, "\n"+line+"\n") {
				t.Errorf("%s: no line %s in\n%s", test.server, line, got)
			}
		}
	}
}

// A later tool joins the part whose range includes its subject.
func TestJoinRange(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 90 {
		names = append(names, fmt.Sprintf("get_%c%c", 'a'+i/4, 'a'+i%4))
	}
	plan := Make(Server{Name: "srv"}, toolsOf(names...))
	joined, _, _ := plan.Join(t.Context(), Server{Name: "srv"}, toolsOf(append(names, "get_mz", "get_zz", "get_0")...))
	at := map[string]string{}
	for _, f := range joined.Families {
		for _, a := range f.Actions {
			at[a.Tool] = f.Name
		}
	}
	for tool, beside := range map[string]string{"get_mz": "get_ma", "get_zz": "get_wb", "get_0": "get_aa"} {
		if at[tool] != at[beside] {
			t.Errorf("%s is in %s, %s in %s", tool, at[tool], beside, at[beside])
		}
	}
	if at["get_aa"] != "srv_a_h" || at["get_wb"] != "srv_p_w" {
		t.Errorf("the parts are %s to %s", at["get_aa"], at["get_wb"])
	}
}

// Summaries that earlier versions generated are dropped; a user's summaries stay.
func TestWithoutMadeSummaries(t *testing.T) {
	t.Parallel()
	plan := Plan{[]Family{
		{Name: "a", Summary: "Only reads", Reads: true}, {Name: "b", Summary: "Changes things"},
		{Name: "c", Summary: "Read issue", Noun: "issue", Reads: true},
		{Name: "d", Summary: "Change alerts to zones"}, {Name: "e", Summary: "Read our wiki"},
		{Name: "f", Summary: "Read issue of others", Noun: "issue"},
	}}
	var got []string
	for _, f := range plan.WithoutMadeSummaries().Families {
		got = append(got, f.Summary+f.Range)
	}
	if want := []string{"", "", "", "alerts to zones", "Read our wiki", "Read issue of others"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if plan.Families[0].Summary == "" {
		t.Error("the plan itself is changed")
	}
}
