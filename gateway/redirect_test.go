package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// A call may name an action of the server's other tool, or the words of an action's name in another
// order. It is answered with the right tool and its usage; an action that only reads runs. Actions
// without permission are neither shown nor run.
func TestWrongTool(t *testing.T) {
	t.Parallel()
	tool := func(name, hint string) json.RawMessage {
		return json.RawMessage(`{"name":"` + name + `","description":"` + long + `","inputSchema":{"type":"object",` +
			`"properties":{"x":{"type":"string"}}},"annotations":{"readOnlyHint":` + hint + `}}`)
	}
	families := familiesOf(t, []gateway.Upstream{{Name: "forge"}, {Name: "other"}}, map[string]upstream.Answer{
		"forge": {Tools: []json.RawMessage{tool("list_issues", "true"), tool("get_branch", "true"), tool("get_branches", "true"),
			tool("create_issue", "false"), tool("forge_ping", "false")}},
		"other": {Tools: []json.RawMessage{tool("look", "true"), tool("create_issue", "false"), tool("wipe", "false")}},
	})
	s := surface.New(surface.Options{})
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ tool, args, want string }{
		{"forge", `{"action":"create_issue"}`, `"message":"create_issue is an action of forge_write"`},
		{"forge", `{"action":"issues.create","params":{"x":"1"}}`, `call forge_write with action \"create_issue\"`},
		{"forge", `{"action":"ping"}`, `call forge_write with action \"forge_ping\"`},
		{"forge_write", `{"action":"list_issues"}`, ``},
		{"forge_write", `{"action":"issues.list","x":"1"}`, ``},
		{"forge", `{"action":"listIssues"}`, ``},
		{"forge", `{"action":"branch_get"}`, ``},
		{"forge", `{"action":"branches.get"}`, ``},
		{"other", `{"action":"forge.list_issues"}`, `INVALID_ACTION`},
		{"issue_list", `{}`, ``},
		{"issues.create", `{}`, `UNKNOWN_TOOL`}, // two servers have it
		{"wipe.other", `{}`, `call other_write with action \"wipe\"`},
		{"a.list_issues", `{}`, `UNKNOWN_TOOL`},
		{"api.list_issues", `{}`, `call forge with action \"list_issues\"`},
		{"a.list_issues", `{}`, `"usage":"forge(action: 'list_issues'`},
		{"list_the_issues", `{}`, `UNKNOWN_TOOL`},
	} {
		answer := s.Client.Call(t.Context(), test.tool, json.RawMessage(test.args))
		if (test.want == "") != (answer.Err == nil) || !strings.Contains(string(answer.Content), test.want) {
			t.Errorf("%s %s is answered %s, want %q", test.tool, test.args, answer.Content, test.want)
		}
		if strings.Contains(test.want, "forge_write") && !strings.Contains(string(answer.Content), `"usage":`) {
			t.Errorf("%s %s is answered without usage: %s", test.tool, test.args, answer.Content)
		}
	}
	for _, rules := range []permission.Rules{
		{Deny: []string{"forge.list_issues", "forge.create_issue"}}, {NamedOnly: true, Allow: []string{"forge.get_branch"}},
	} {
		ctx := callctx.With(t.Context(), toolfold.Origin{Rights: rules.Rights()})
		for tool, args := range map[string]string{
			"forge_write": `{"action":"list_issues"}`, "forge": `{"action":"issues.list"}`, "issue_list": `{}`, "issues.create": `{"action":"x"}`,
		} {
			answer := s.Client.Call(ctx, tool, json.RawMessage(args))
			if answer.Err == nil || strings.Contains(string(answer.Content), "usage\":\"list_issues") {
				t.Errorf("%+v: %s %s is answered %s", rules, tool, args, answer.Content)
			}
		}
	}
}

// The words of an action alone can mean something else in each family, so no action of another family
// runs: the error names the right tool. The other half of the same family counts as the same family.
func TestActionOfAnotherFamily(t *testing.T) {
	t.Parallel()
	var tools []json.RawMessage
	add := func(reads bool, names ...string) {
		for _, name := range names {
			tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object",`+
				`"properties":{"x":{"type":"string"}}},"annotations":{"readOnlyHint":%t}}`, name, long, reads)))
		}
	}
	add(true, "list_issues", "get_issue", "search_issues", "count_issues", "get_branch", "find_branch", "read_branch", "compare_branch",
		"show_branch", "watch_branch", "check_issue", "check_branch", "view_issue", "view_branch", "scan_issue")
	add(false, "create_issue", "update_issue", "close_issue", "lock_issue", "create_branch", "rename_branch", "delete_branch",
		"merge_branch", "push_branch", "protect_branch", "assign_issue", "move_issue", "label_issue", "pin_issue", "revert_branch")
	families := familiesOf(t, []gateway.Upstream{{Name: "forge"}, {Name: "one"}}, map[string]upstream.Answer{
		"forge": {Tools: tools},
		"one": {Tools: []json.RawMessage{json.RawMessage(`{"name":"look","description":"Look.","inputSchema":{"type":"object"},` +
			`"annotations":{"readOnlyHint":true}}`), json.RawMessage(`{"name":"peek","description":"Peek.","inputSchema":{"type":"object"},` +
			`"annotations":{"readOnlyHint":true}}`)}},
	})
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ tool, args, want string }{
		{"forge_branch", `{"action":"list"}`, `INVALID_ACTION`},
		{"forge_branch_write", `{"action":"list"}`, `"list is an action of forge_issue"`},
		{"forge_branch_write", `{"action":"list"}`, `"usage":"forge_issue(action: 'list'`},
		{"forge_issue_write", `{"action":"list"}`, ``},
		{"forge_branch", `{"action":"list_issues"}`, ``},
		{"forge_branch", `{"action":"issue_list"}`, ``},
		{"list", `{}`, `UNKNOWN_TOOL`},
		{"look", `{"action":"peek"}`, `call the tool peek`},
		{"look", `{"action":"peek"}`, `INVALID_ACTION`},
		{"look", `{"action":"look"}`, ``},
	} {
		answer := s.Client.Call(t.Context(), test.tool, json.RawMessage(test.args))
		if (test.want == "") != (answer.Err == nil) || !strings.Contains(string(answer.Content), test.want) {
			t.Errorf("%s %s is answered %s, want %q of %q", test.tool, test.args, answer.Content, test.want, names)
		}
	}
}
