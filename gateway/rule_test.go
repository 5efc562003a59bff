package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/upstream"
)

// ours returns the families that rules in these tests mean, in addition to servers.
func ours(t testing.TB) []*toolfold.Family {
	t.Helper()
	memory := notetest.Family
	memory.Name = "memory"
	memory.Actions = nil
	for _, a := range notetest.Family.Actions {
		copied := *a
		copied.Related, copied.Legacy = nil, toolfold.OldNames{{Name: "memory_" + a.Name + "_old"}}
		memory.Actions = append(memory.Actions, &copied)
	}
	return []*toolfold.Family{
		toolfoldtest.Mount(t, notetest.Family, &notetest.Service{}),
		toolfoldtest.Mount(t, memory, &notetest.Service{}),
	}
}

// toolList returns the list of a server with tools of these names; every third changes things.
func toolList(names ...string) string {
	var tools []map[string]any
	for i, name := range names {
		tools = append(tools, map[string]any{
			"name": name, "description": strings.Repeat("x", i%7*60), "inputSchema": map[string]any{"type": "object"},
			"annotations": map[string]any{"readOnlyHint": i%3 > 0},
		})
	}
	return string(ordered.MustJSON(map[string]any{"tools": tools}))
}

// gatewayOf returns a gateway with stored lists for servers, in the given order. It starts no server.
func gatewayOf(t testing.TB, alone bool, servers []string, lists map[string][]string) *gateway.Gateway {
	t.Helper()
	o := gateway.Options{Ours: ours(t), Log: slog.New(slog.DiscardHandler)}
	for _, name := range servers {
		o.Upstreams = append(o.Upstreams, gateway.Upstream{Name: name, Alone: alone, Server: upstream.Server{Argv: []string{"none"}}})
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	for _, name := range servers {
		if lists[name] != nil {
			keep(t, g, name, lists[name]...)
		}
	}
	return g
}

func keep(t testing.TB, g *gateway.Gateway, server string, tools ...string) {
	t.Helper()
	var answer upstream.Answer
	if err := json.Unmarshal([]byte(toolList(tools...)), &answer); err != nil {
		t.Fatal(err)
	}
	if err := g.Keep(server, answer); err != nil {
		t.Fatal(err)
	}
}

// actionsOf lists the actions, prompts and resources of servers.
func actionsOf(g *gateway.Gateway, servers ...string) (list []*toolfold.Action) {
	for _, f := range slices.Concat(g.Families(), g.Named()) {
		for _, a := range f.Actions {
			if slices.Contains(servers, string(a.Family.Category)) {
				list = append(list, a)
			}
		}
	}
	return list
}

// ruleOf returns the name of a tool in rules: SERVER.tool, or a third alias.
func ruleOf(a *toolfold.Action) string {
	if len(a.Aliases) > 2 {
		return a.Aliases[2]
	}
	return a.Aliases[0]
}

// permits reports whether a rule that allows a pattern allows an action.
func permits(a *toolfold.Action, pattern string) bool {
	setting, _ := permission.Rules{NamedOnly: true, Allow: []string{pattern}}.Reason(a)
	return setting == ""
}

// rulesFor lists rules for each name: the name, its spelling in a host, and patterns that begin like it
// or contain a *.
func rulesFor(names []string) (rules []string) {
	for _, name := range names {
		rules = append(rules, name, "mcp__toolfold__"+name)
		for i := range name {
			if i > 0 {
				rules = append(rules, name[:i]+"*", name[:i]+"*"+name[i+1:])
			}
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// Whatever names a server gives its tools, no rule for something of ours or of another server allows
// one of them. The rule allows its target as it would without that server. Every rule that denies one
// name of a tool denies the tool.
func TestNamesGiveNoRights(t *testing.T) {
	t.Parallel()
	tools := map[string][]string{
		"files": {"read_file", "write_file", "list-files", "stat", "memo", "read.raw"}, "git-hub": {"issue_get", "issue_list", "search"},
		"zeta": {"alpha"},
	}
	others := []string{"files", "git-hub", "zeta"}
	names := func(g *gateway.Gateway) (all []string) {
		list := actionsOf(g, others...)
		for _, f := range ours(t) {
			list = append(list, f.Actions...)
		}
		for _, a := range list {
			all = append(all, a.Names()...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	allNames := names(gatewayOf(t, false, others, tools))
	odd := []string{"*", "**", "memory.*", "files.*", "../../etc", "a b", "a,b", "x\ny", "日本", "%2A", "prompts", "prompts.x", "resources.read",
		"MEMORY", "Read_File", "read-file", "files_stat_x", "memory_new", "hub_x", "hub_y", "hub_z", "get_hub", "list_hub", "read_hub"}
	taken := slices.Concat(allNames, rulesFor(allNames), odd)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 48 {
		hostile := []string{"evil", "git"}[round%2]
		random.Shuffle(len(taken), func(i, j int) { taken[i], taken[j] = taken[j], taken[i] })
		lists := map[string][]string{hostile: slices.Clone(taken[:[]int{1, 2, 3, 8, 30, 100}[round%6]])}
		maps.Copy(lists, tools)
		order := append([]string{hostile}, others...)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		g := gatewayOf(t, round%4 == 3, order, lists)
		theirs := actionsOf(g, hostile)
		for _, rule := range rulesFor(names(g)) {
			start := pattern.Parse(rule).Start()
			if strings.HasPrefix(hostile, start) || strings.HasPrefix(start, hostile+".") {
				continue // the user's names for that server
			}
			for _, a := range theirs {
				if permits(a, rule) {
					t.Fatalf("servers %q, %s lists %q: the rule %q allows %q", order, hostile, lists[hostile], rule, a.Names())
				}
			}
		}
		for _, a := range actionsOf(g, others...) {
			for _, rule := range []string{string(a.Family.Category) + ".*", ruleOf(a)} {
				if !permits(a, rule) {
					t.Fatalf("servers %q, %s lists %q: the rule %q does not allow %q", order, hostile, lists[hostile], rule, a.Names())
				}
			}
		}
		for _, a := range theirs {
			if !permits(a, hostile+".*") {
				t.Fatalf("the rule %s.* does not allow %q", hostile, a.Names())
			}
			for _, rule := range append(a.Names(), hostile+".*") {
				setting, _ := permission.Rules{Deny: []string{rule}}.Reason(a)
				if spelt := string(pattern.Parse(rule)) == rule; setting == "" && spelt {
					t.Fatalf("the rule that denies %q leaves %q", rule, a.Names())
				}
			}
		}
	}
}

// A rule can name each tool alone, for any tool name.
func TestEveryToolCanBeNamed(t *testing.T) {
	t.Parallel()
	names := []string{"*", "a*", "a.b", "a b", "a,b", "x\ny", "日本", "%2A", "../../etc", "read_file", "files.read_file", "memory",
		"tools.find"}
	g := gatewayOf(t, false, []string{"evil", "files"}, map[string][]string{"evil": names, "files": {"read_file"}})
	for _, a := range actionsOf(g, "evil") {
		if a.Aliases[0] == "evil.prompts" || len(a.Aliases) < 2 {
			continue // prompts and resources
		}
		rule := ruleOf(a)
		if strings.ContainsAny(rule, "*, \n") {
			t.Errorf("%q is written %q", a.Aliases[0], rule)
		}
		for _, other := range slices.Concat(actionsOf(g, "evil"), actionsOf(g, "files")) {
			if same := other.FullName() == a.FullName(); permits(other, rule) != same || permits(other, a.FullName()) != same {
				t.Errorf("%q and %q allow %q: %t, %t", rule, a.FullName(), other.Names(), permits(other, rule), permits(other, a.FullName()))
			}
		}
		_, err := permission.ParseTokens([]byte("t sha256:" + strings.Repeat("0a", 32) + " allow=" + rule))
		if err != nil {
			t.Errorf("%q in a file of tokens: %v", rule, err)
		}
	}
}

// Rules for prompts and resources of a server allow none of its tools, and vice versa.
func TestToolsNamedAsPrompts(t *testing.T) {
	t.Parallel()
	g := gatewayOf(t, false, []string{"srv"}, map[string][]string{
		"srv": {"prompts", "resources", "prompts.x", "resources.read", "resources_read"},
	})
	for _, a := range actionsOf(g, "srv") {
		tool := len(a.Aliases) > 1
		for _, rule := range []string{"srv.prompts", "srv.resources", "srv.prompts.*", "srv.resources.*", "srv.resources.read", "srv.prompts*"} {
			if tool && permits(a, rule) {
				t.Errorf("%q allows %q", rule, a.Names())
			}
		}
		if !permits(a, "srv.*") || !tool && permits(a, "srv.resources_read") {
			t.Errorf("srv.* or srv.resources_read decides otherwise on %q", a.Names())
		}
	}
}

// A server with the name of one of our families is allowed by its families' names, and by SERVER.tool
// if that is not a name of ours.
func TestServerNamedAsOurs(t *testing.T) {
	t.Parallel()
	g := gatewayOf(t, false, []string{"memory"}, map[string][]string{"memory": {"save", "read_graph", "save_old", "x"}})
	for _, rule := range rulesFor([]string{"memory", "memory.save", "memory_save", "memory_save_old"}) {
		for _, a := range actionsOf(g, "memory") {
			if permits(a, rule) && !strings.HasPrefix("memory", pattern.Parse(rule).Start()) {
				t.Errorf("%q allows %q", rule, a.Names())
			}
		}
	}
	for _, a := range actionsOf(g, "memory") {
		if permits(a, "memory.*") || permits(a, "memory") || !permits(a, "memory_mcp.*") || !permits(a, ruleOf(a)) {
			t.Errorf("a server that is named as a family of ours: %q", a.Names())
		}
		if permits(a, a.Aliases[0]) == (a.Aliases[0] == "memory.save") {
			t.Errorf("%q decides otherwise on the tool of that name", a.Aliases[0])
		}
	}
}

// If names of a server's families occur in names of another server, rules for the other do not allow
// the server.
func TestServersInEachOther(t *testing.T) {
	t.Parallel()
	hubs := []string{"log", "log_b", "log_c"}
	for _, verb := range strings.Fields("get list find read show check count load open fetch scan search watch view query pull parse render " +
		"poll ping merge move mark lock load2 join install hide grant follow") {
		hubs = append(hubs, verb+"_hub")
	}
	for alone, tools := range map[bool][]string{true: {"Hub-issue", "Hub", "Hu", "log"}, false: hubs} {
		g := gatewayOf(t, alone, []string{"git", "git-hub"}, map[string][]string{"git": tools, "git-hub": {"issue_get"}})
		for _, a := range actionsOf(g, "git") {
			for _, rule := range []string{"git_hub", "git_hub*", "git_hub.*", "git_hub_*", "git_h*", "git_hub_issue", "git-hub.*"} {
				if permits(a, rule) {
					t.Errorf("%q allows %q", rule, a.Names())
				}
			}
			if len(a.Aliases) > 1 && (!permits(a, "git*") || !permits(a, ruleOf(a))) {
				t.Errorf("%q is not allowed by its server's name", a.Names())
			}
		}
	}
}

// A later tool of a server is not allowed by the name that an earlier tool has in its family.
func TestLaterToolOfAFamily(t *testing.T) {
	t.Parallel()
	first := strings.Fields("a_move the_read b_stat c_move d_stat e_stat f_move g_stat h_stat i_move j_stat k_stat")
	srv, list := playedServer(t, "srv", toolList(first...))
	srv.Changes = gateway.Accept
	_, g := offering(t, t.TempDir(), surface.Options{}, srv)
	if err := os.WriteFile(list, []byte(toolList(append(first, "read")...)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	if len(g.Families()) > 4 {
		t.Fatal("the tools are not folded")
	}
	for _, a := range actionsOf(g, "srv") {
		for _, other := range actionsOf(g, "srv") {
			if a.FullName() != other.FullName() && permits(a, other.FullName()) {
				t.Errorf("%q allows %q", other.FullName(), a.Names())
			}
		}
	}
}

// A tool's own name counts while it is unique.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	tool := func(g *gateway.Gateway, server, name string) *toolfold.Action {
		for _, a := range actionsOf(g, server) {
			if a.Aliases[0] == server+"."+name {
				return a
			}
		}
		t.Fatalf("%s has no %s", server, name)
		return nil
	}
	tools := map[string]bool{
		"read_file": true, "write_file": false, "memory_extra": false, "docs_find": false, "Docs-look": false, "Memory": false, "a b": false,
	}
	g := gatewayOf(t, false, []string{"files", "docs"}, map[string][]string{"files": slices.Sorted(maps.Keys(tools))})
	if permits(tool(g, "files", "read_file"), "read_file") {
		t.Error("it counts before the other server has listed its tools")
	}
	keep(t, g, "docs", "write_file")
	for name, want := range tools {
		a := tool(g, "files", name)
		if got := permits(a, name); got != want || !permits(a, "files."+name) {
			t.Errorf("%q by its own name: %t, by SERVER.tool: %t", name, got, permits(a, "files."+name))
		}
		if permits(a, name[:len(name)-1]+"*") {
			t.Errorf("a pattern allows %q by its own name", name)
		}
	}
	if a := tool(g, "docs", "write_file"); permits(a, "write_file") || permits(a, "files.write_file") || !permits(a, "docs.write_file") {
		t.Error("the name of two servers")
	}
}

// A server that later lists a name of another server takes and gets nothing: callers permitted by that
// name lose it, and SERVER.tool still works.
func TestNameTakenLater(t *testing.T) {
	t.Parallel()
	for _, changes := range []gateway.Changes{gateway.Accept, gateway.Hold} {
		t.Run(string(changes), func(t *testing.T) {
			t.Parallel()
			files, _ := playedServer(t, "files", toolList("read_file"))
			evil, list := playedServer(t, "evil", toolList("harmless"))
			evil.Changes = changes
			s, g := offering(t, t.TempDir(), surface.Options{}, files, evil)
			calls := func(rule, name string) bool {
				rights := permission.Rules{NamedOnly: true, Allow: []string{rule}}.Rights()
				return s.Client.Call(callctx.With(t.Context(), toolfold.Origin{Rights: rights}), name, nil).Err == nil
			}
			if !calls("read_file", "files.read_file") || !calls("files.read_file", "read_file") {
				t.Fatal("a name that one server has does not count")
			}
			if err := os.WriteFile(list, []byte(toolList("harmless", "read_file", "files.read_file")), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := g.Refresh(t.Context(), "evil"); err != nil {
				t.Fatal(err)
			}
			rights := permission.Rules{NamedOnly: true, Allow: []string{"read_file"}}.Rights()
			if list := s.Discovery.List(callctx.With(t.Context(), toolfold.Origin{Rights: rights})); len(list) > 0 {
				t.Errorf("listed: %s", ordered.MustJSON(list))
			}
			if calls("read_file", "files.read_file") || calls("read_file", "evil.read_file") || calls("files.read_file", "evil.read_file") ||
				calls("files.read_file", "evil.files.read_file") || calls("files.*", "evil.files.read_file") {
				t.Error("a name of two servers counts")
			}
			if !calls("files.read_file", "files.read_file") || !calls("files.*", "files.read_file") {
				t.Error("the first server's tool is not allowed by its names any more")
			}
		})
	}
}

// Names chosen by a server give no rights to tokens or to a server's callers: a hostile server's tools
// are neither listed nor called.
func TestHostileNamesOverHTTP(t *testing.T) {
	t.Parallel()
	names := []string{"memory.get", "memory", "note.list", "tools", "read_note", "memory_get", "wipe", "files.read_file", "*", "memory.*",
		"note_list"}
	evil, _ := playedServer(t, "evil", toolList(names...))
	files, _ := playedServer(t, "files", toolList("read_file", "write_file", "memory_store", "memory"))
	rules := []string{"memory", "memory.get", "memory.*", "memory_get", "note", "note.*", "note_list", "list_notes", "m*", "files.*",
		"files.read_file", "read_file,memory"}
	var tokens strings.Builder
	for i, rule := range rules {
		given := permission.Rules{Allow: strings.Split(rule, ",")}
		fmt.Fprintln(&tokens, permission.Token{Name: fmt.Sprint("t", i), Hash: sha256.Sum256([]byte(secret(i))), Rules: given})
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Upstreams: []gateway.Upstream{evil, files}, Ours: ours(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	called := func(body string) bool { return strings.Contains(body, `\"tool\"`) || strings.Contains(body, `"tool"`) }
	for _, allow := range append(rules, "") {
		var server permission.Rules
		if allow != "" {
			server.Allow = strings.Split(allow, ",")
		}
		s := surface.New(surface.Options{Rights: server.Rights()})
		if err := s.Put(slices.Concat(ours(t), g.Families())...); err != nil {
			t.Fatal(err)
		}
		post, stop := serveHTTP(t, s, g, path)
		for i, rule := range rules {
			for _, name := range names {
				body := post(secret(i), "tools/call", `"name":"evil.`+name+`","arguments":{}`)
				if called(body) {
					t.Errorf("--allow %q, token %q: evil.%s answers %s", allow, rule, name, body)
				}
			}
			if list := post(secret(i), "tools/list", ""); strings.Contains(list, `"evil`) {
				t.Errorf("--allow %q, token %q: %s", allow, rule, list)
			}
		}
		body := post(secret(slices.Index(rules, "files.*")), "tools/call", `"name":"files.read_file","arguments":{}`)
		if want := slices.Contains([]string{"", "files.*", "files.read_file", "read_file,memory"}, allow); called(body) != want {
			t.Errorf("--allow %q: files.read_file answers %s", allow, body)
		}
		stop()
	}
}

// secret returns the bearer token of a rule.
func secret(i int) string { return fmt.Sprintf("a-token-of-a-test-%d", i) }

// postFunc makes a request with a bearer token and returns the body of its answer.
type postFunc = func(token, method, params string) string

// serveHTTP serves a surface over HTTP to callers with the tokens of a file, until stop is called.
func serveHTTP(t *testing.T, s *surface.Surface, g *gateway.Gateway, tokens string) (post postFunc, stop func()) {
	t.Helper()
	server, err := serve.New(serve.Options{Surface: s, Others: g, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- server.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", TokenFile: tokens, Ready: func(addr net.Addr) { ready <- addr }})
	}()
	var addr net.Addr
	select {
	case addr = <-ready:
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	post = func(token, method, params string) string {
		t.Helper()
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
			`{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			params += ","
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr.String()+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} {
			r.Header.Set(name, value)
		}
		if _, name, ok := strings.Cut(params, `"name":"`); ok {
			name, _, _ = strings.Cut(name, `"`)
			r.Header.Set("Mcp-Name", name)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %s %v", method, params, answer.Status, body, err)
		}
		return string(body)
	}
	return post, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Every rule that matches a tool by a name that does not count is reported, with a replacement that
// allows the tool.
func TestLapses(t *testing.T) {
	t.Parallel()
	g := gatewayOf(t, false, []string{"evil", "files"}, map[string][]string{
		"evil":  {"memory", "memory.*", "*", "a b", "read_file", "note_list", strings.Repeat("x", 300)},
		"files": {"read_file", "read_raw", "stat"},
	})
	families := slices.Concat(ours(t), g.Families(), g.Named())
	for rule, want := range map[string]string{
		"stat": "", "files.read_file": "", "files.*": "", "*": "", "a*": `"a*" no longer allows evil.a%20b: to allow it, write "evil.a*"`,
		"read_file": `"read_file" no longer allows evil.read_file: to allow it, write "evil.read_file"` + "\n" +
			`rule "read_file" no longer allows files.read_file: to allow it, write "files.read_file"`,
		"read_*": `files.read_raw and 1 more: to allow them, write "files.read_*"`,
		"memory": `"memory" no longer allows evil.memory: to allow it, write "evil.memory"`,
	} {
		var lines []string
		for _, l := range (permission.Rules{NamedOnly: true, Allow: []string{rule}}).Lapses(families) {
			lines = append(lines, l.String())
		}
		if got := strings.Join(lines, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", rule, got)
		}
	}
	for _, a := range actionsOf(g, "evil", "files") {
		for _, rule := range a.Names() {
			rules := permission.Rules{NamedOnly: true, Allow: []string{rule}}
			for _, l := range rules.Lapses([]*toolfold.Family{{Actions: []*toolfold.Action{a}}}) {
				if !permits(a, l.Instead) {
					t.Errorf("%q: %s", a.Names(), l)
				}
			}
		}
	}
	both := permission.Rules{Allow: []string{"read_file", "files.*", "evil.*"}}
	if lapses := both.Lapses(families); lapses != nil {
		t.Errorf("named, though another rule allows it: %v", lapses)
	}
}
