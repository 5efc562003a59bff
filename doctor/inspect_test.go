package doctor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/text/tokens"
)

const goodTool = `{"name":"delete_note","title":"Delete","description":"Delete a note.","inputSchema":{"type":"object",` +
	`"properties":{"id":{"type":"string"}},"required":["id"]},"annotations":{"destructiveHint":true}}`

func read(t *testing.T, text string) doctor.List {
	t.Helper()
	l, err := doctor.ReadList([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	l.Server = "notes"
	return l
}

func inspect(t *testing.T, lists ...doctor.List) doctor.Inspection {
	t.Helper()
	in, err := doctor.Inspect(lists, doctor.DefaultWindow)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestReadList(t *testing.T) {
	t.Parallel()
	want := read(t, "["+goodTool+"]")
	for _, text := range []string{
		`{"tools":[` + goodTool + `],"ttlMs":0}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + goodTool + `]}}`,
		strings.ReplaceAll(`[`+goodTool+`]`, `,"`, ", \n \""),
		strings.ReplaceAll(`[`+goodTool+`]`, `Delete a`, `\u0044elete\u0020a`),
	} {
		if diff := cmp.Diff(want, read(t, text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	if l := read(t, `{"instructions":"Be brief.","tools":[]}`); l.Instructions != "Be brief." || l.Tools == nil {
		t.Errorf("%+v", l)
	}
	for text, reason := range map[string]string{
		``: "not JSON", `[{]`: "not JSON", `7`: "not a list", `{"servers":{}}`: "not a list", `{"tools":null}`: "not a list",
		`{"tools":[{}]}`: "tool 1 has no name", `{"tools":[],"nextCursor":"2"}`: "all its pages", `{"tools":{"a":1}}`: "not a list",
	} {
		if _, err := doctor.ReadList([]byte(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", text, err, reason)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	in := inspect(t, read(t, `{"instructions":"Be brief.","tools":[`+goodTool+`]}`))
	text := `{"name":"delete_note","description":"Delete a note.","inputSchema":{"type":"object",` +
		`"properties":{"id":{"type":"string"}},"required":["id"]}}`
	n, err := tokens.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	s := in.Servers[0]
	if s.Tokens != n || s.Bytes != len(text) || s.Tools != 1 || s.Instructions != 3 || s.List[0].Tokens != n {
		t.Errorf("%+v, want %d tokens and %d bytes", s, n, len(text))
	}
	if want := (doctor.Parts{Name: 2, Description: 4, Schema: 19}); s.List[0].Parts != want {
		t.Errorf("%+v, want %+v", s.List[0].Parts, want)
	}
	if in.Totals[0].Claude != doctor.Claude.Fixed+s.Claude || s.Claude <= n || s.Findings != nil || in.Totals[0].Findings != nil {
		t.Errorf("%+v", in)
	}
	if in := inspect(t, read(t, `[]`)); in.Totals[0].Claude != 0 {
		t.Errorf("no tools cost %d", in.Totals[0].Claude)
	}
	two := inspect(t, read(t, `[`+goodTool+`]`), read(t, `[`+strings.Replace(goodTool, "delete", "erase", 1)+`]`))
	if two.Totals[0].Claude >= 2*in.Totals[0].Claude {
		t.Error("what is fixed is counted for each server")
	}
	here, there := read(t, `[`+goodTool+`]`), read(t, `[`+goodTool+`]`)
	here.Host, here.Model, there.Host = "codex", "llama3", "cursor"
	broken := doctor.List{Server: "broken", Host: "codex", Problem: "it does not start"}
	apart := inspect(t, here, there, broken)
	if len(apart.Totals) != 2 || apart.Totals[0].Tokens != n || apart.Totals[0].Findings != nil ||
		apart.Servers[2].Problem != broken.Problem {
		t.Errorf("%+v", apart)
	}
	if len(apart.Servers[0].HostCosts) != 1 || apart.Servers[0].HostCosts[0].Host != "codex" || apart.Servers[1].HostCosts != nil {
		t.Errorf("what other hosts send is shown: %+v", apart.Servers)
	}
}

// Every rule finds its problem, names the place, and has a fix.
func TestFindings(t *testing.T) {
	t.Parallel()
	tool := func(name, description, schema, hints string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s,"annotations":%s}`, name, description, schema, hints)
	}
	const object, reads = `{"type":"object","properties":{}}`, `{"readOnlyHint":true}`
	for _, test := range []struct {
		rule, tools string
		where       []string
	}{
		{"root-combinator", tool("a", "Get it.", `{"type":"object","oneOf":[{"required":["x"]}]}`, reads), []string{"a"}},
		{"no-schema", tool("a", "Get it.", `null`, reads) + "," + tool("b", "Get it.", `{"properties":{}}`, reads) + "," +
			tool("c", "Get it.", object, reads), []string{"a", "b"}},
		{"untyped-parameter",
			tool("a", "Get it.",
				`{"type":"object","properties":{"x":{},"y":{"description":"any"},"z":{"enum":[1]},"u":true,"n":{"type":"object",`+
					`"properties":{"m":{}}},"l":{"type":"array","items":{}}}}`, reads), []string{"a.l[]", "a.n.m", "a.u", "a.x", "a.y"}},
		{"list-of-types", tool("a", "Get it.", `{"type":"object","properties":{"x":{"type":["string","null"]},"y":{"type":"string"}}}`, reads),
			[]string{"a.x"}},
		{"list-without-items",
			tool("a", "Get it.", `{"type":"object","properties":{"x":{"type":"array"},"y":{"type":"array","items":{"type":"string"}}}}`, reads),
			[]string{"a.x"}},
		{"long-name", tool(strings.Repeat("n", 65), "Get it.", object, reads), []string{strings.Repeat("n", 65)}},
		{"long-prefixed-name", tool(strings.Repeat("n", 60), "Get it.", object, reads), []string{strings.Repeat("n", 60)}},
		{"name-characters", tool("a.b", "Get it.", object, reads), []string{"a.b"}},
		{"no-hints", tool("a", "Get it.", object, `{"idempotentHint":true}`) + `,{"name":"b","description":"Get.","inputSchema":` + object + `}`,
			[]string{"a", "b"}},
		{"contradictory-hints", tool("a", "Get it.", object, `{"readOnlyHint":true,"destructiveHint":true}`) + "," +
			tool("deleteAll", "Get it.", object, reads) + "," + tool("remove_x", "Get it.", object, `{"destructiveHint":false}`),
			[]string{"a", "deleteAll", "remove_x"}},
		{"no-description", tool("a", " ", object, reads), []string{"a"}},
		{"long-description", tool("a", "Get it. "+strings.Repeat("ä", 2050), object, reads), []string{"a"}},
		{"no-verb", tool("a", "The weather.\nGet it.", object, reads) + "," + tool("b", "Weather is fetched.", object, reads) + "," +
			tool("c", "天気を取得する。", object, reads), []string{"a"}},
		{"lazy-without-gain", tool("find_tools", "Find it.", object, reads) + "," +
			tool("tool_call", "Call it.", object, `{"readOnlyHint":false}`) + "," + tool("a", "Get it.", object, reads), nil},
	} {
		found := inspect(t, read(t, "["+test.tools+"]")).Servers[0].Findings
		if len(found) != 1 || found[0].Rule != test.rule || found[0].Fix == "" || found[0].Severity == "" {
			t.Errorf("%s: found %+v", test.rule, found)
		} else if diff := cmp.Diff(test.where, found[0].Where); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.rule, diff)
		}
	}
	l := read(t, `[`+goodTool+`,`+strings.Replace(goodTool, "delete_note", "find_tools", 1)+`]`)
	l.Instructions, l.Host, l.Unlisted = strings.Repeat("a ", 1100), "claude-code", 40
	in := inspect(t, l)
	found := in.Servers[0].Findings
	if len(found) != 2 || found[0].Rule != "long-instructions" || found[1].Rule != "lazy-where-deferred" ||
		in.Totals[0].Findings[0].Rule != "host-defers" {
		t.Errorf("%+v, %+v", found, in.Totals)
	}
	many := make([]string, 130)
	for i := range many {
		many[i] = tool(fmt.Sprintf("get_%d", i), "Get it."+strings.Repeat(" It is what it is.", 25), object, reads)
	}
	in = inspect(t, read(t, "["+strings.Join(many, ",")+"]"))
	if found := in.Servers[0].Findings; len(found) != 1 || found[0].Rule != "too-many-tools" ||
		in.Totals[0].Findings[0].Rule != "large-context" {
		t.Errorf("%+v, %+v", found, in.Totals)
	}
}

// An unknown verb is recognized by its parts, or by the next word.
func TestUnknownVerbs(t *testing.T) {
	t.Parallel()
	for description, is := range map[string]bool{
		"Reconnect to it": true, "Merges pull requests": true, "Reindexes documents": true, "Unarchive channels": true,
		"Vacuum the database": true, "Impersonate a user": true, "Triage issues": true,
		"The current user": false, "For each user": false, "In the workspace": false,
		"Weather forecast by city": false, "Ingredients of a recipe": false, "A vacuum": false,
	} {
		l := read(t, fmt.Sprintf(`[{"name":"a","description":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]`,
			description))
		if found := inspect(t, l).Servers[0].Findings; (found == nil) != is {
			t.Errorf("%q: %+v", description, found)
		}
	}
}

// A problem of every tool is reported once.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]doctor.Finding{
		"all 3 tools": {Where: []string{"a", "b", "c"}, All: true}, "a, b and 1 more": {Where: []string{"a", "b", "c"}},
		"a, b": {Where: []string{"a", "b"}, All: true},
	} {
		if got := f.Places(2); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if f := inspect(t, read(t, `[{"name":"a","description":"Get it.","inputSchema":{"type":"object"}}]`)).Servers[0].Findings[0]; !f.All {
		t.Errorf("%+v", f)
	}
}

func TestCollidingNames(t *testing.T) {
	t.Parallel()
	other := read(t, `[`+strings.Replace(goodTool, "delete_note", "Delete-Note", 1)+`]`)
	other.Server = "more"
	found := inspect(t, read(t, "["+goodTool+"]"), other).Totals[0].Findings
	if len(found) != 1 || found[0].Rule != "colliding-names" || found[0].Where[0] != "notes.delete_note = more.Delete-Note" {
		t.Errorf("%+v", found)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{%s}}`
	tool := func(name, description, properties, hints string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":`+schema+`,"annotations":%s}`, name, description, properties, hints)
	}
	before := read(t, "["+tool("same", "Get.", ``, `{}`)+","+tool("old", "Get.", ``, `{}`)+","+tool("text", "Get.", ``, `{}`)+","+
		tool("params", "Get.", `"a":{"type":"string"},"b":{"type":"string"}`, `{}`)+","+tool("hints", "Get.", ``, `{"readOnlyHint":true}`)+"]")
	after := read(t, "["+tool("same", "Get.", ``, `{}`)+","+tool("text", "Get everything.", ``, `{}`)+","+
		tool("params", "Get.", `"b":{"type":"integer"},"c":{"type":"string"}`, `{}`)+","+tool("hints", "Get.", ``, `{"readOnlyHint":false}`)+","+
		tool("new", "Get.", ``, `{}`)+"]")
	c, err := doctor.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(c.Changes)
	want := `[{"tool":"text","kind":"changed","before":21,"after":22,"what":["description"]},` +
		`{"tool":"params","kind":"changed","before":32,"after":32,"what":["~b","+c","-a"]},` +
		`{"tool":"hints","kind":"changed","before":22,"after":22,"what":["hints"]},` +
		`{"tool":"new","kind":"added","before":0,"after":21},{"tool":"old","kind":"removed","before":21,"after":0}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if c.After.Tokens != c.Before.Tokens+1 || c.Check(0.5) == nil || c.Check(1) != nil {
		t.Errorf("%+v", c)
	}
	empty := read(t, `[]`)
	if c, _ := doctor.Compare(empty, empty); c.Growth != 0 || c.Check(0) != nil {
		t.Errorf("%+v", c)
	}
	if c, _ := doctor.Compare(empty, after); c.Growth != 100 {
		t.Errorf("%+v", c)
	}
}

// The most expensive tools are named, with the counted savings of each fix.
func TestHeavyTools(t *testing.T) {
	t.Parallel()
	description := "Get it. " + strings.Repeat("word ", 400)
	values := make([]string, 60)
	for i := range values {
		values[i] = fmt.Sprintf("%q", fmt.Sprintf("kind-%d", i))
	}
	heavy := func(properties string) string {
		return fmt.Sprintf(`{"name":"heavy","description":%q,"inputSchema":{"type":"object","properties":{%s}},`+
			`"annotations":{"readOnlyHint":true}}`, strings.TrimSpace(description), properties)
	}
	enum := `"enum":[` + strings.Join(values, ",") + `],`
	texts := `"description":"` + strings.Repeat("of all ", 300) + `",`
	light := ""
	for i := range 8 {
		light += `,` + strings.Replace(goodTool, "delete_note", fmt.Sprintf("delete_%d", i), 1)
	}
	all := inspect(t, read(t, "["+heavy(`"description":{`+texts+enum+`"type":"string"}`)+light+"]")).Servers[0]
	cost := func(properties string) int {
		return inspect(t, read(t, "["+heavy(properties)+"]")).Servers[0].List[0].Parts.Schema
	}
	whole := cost(`"description":{` + texts + enum + `"type":"string"}`)
	if len(all.Findings) != 1 || all.Findings[0].Rule != "heavy-tools" {
		t.Fatalf("%+v", all.Findings)
	}
	f := all.Findings[0]
	parts := all.ByCost()[0].Parts
	want := fmt.Sprintf("heavy (%d: description %d, texts of parameters %d, enum %d)", all.ByCost()[0].Tokens, parts.Description,
		whole-cost(`"description":{`+enum+`"type":"string"}`), whole-cost(`"description":{`+texts+`"type":"string"}`))
	if f.Where[0] != want || len(f.Where) != 1 && len(f.Where) != 3 {
		t.Errorf("got %q, want %q", f.Where, want)
	}
	if saved := fmt.Sprintf("save %d;", parts.Description-100); !strings.Contains(f.Fix, saved) {
		t.Errorf("%q does not say %q", f.Fix, saved)
	}
	if found := inspect(t, read(t, "["+light[1:]+"]")).Servers[0].Findings; found != nil {
		t.Errorf("small tools are heavy: %+v", found)
	}
	// A fix that saves nothing is left out.
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	description = "Get it."
	f = inspect(t, read(t, "["+heavy(strings.Join(many, ","))+"]")).Servers[0].Findings[0]
	if f.Rule != "heavy-tools" || strings.Contains(f.Fix, "save") {
		t.Errorf("%+v", f)
	}
}

// A list that is too large for any model is rejected before counting.
func TestReadListIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[` + strings.Repeat(goodTool+",", 200_000) + goodTool + `]`,
		`[` + strings.Replace(goodTool, "Delete", strings.Repeat("x", 5<<20), 1) + `]`,
	} {
		if _, err := doctor.ReadList([]byte(text)); err == nil || !strings.Contains(err.Error(), "lists of up to 5000 tools and 4 MB") {
			t.Error(err)
		}
	}
	deep := strings.Repeat(`{"result":`, 9000) + `{"tools":[]}` + strings.Repeat("}", 9000)
	if _, err := doctor.ReadList([]byte(deep)); err == nil {
		t.Error("a list in nine thousand responses was read")
	}
}

// A host that defers pays for a line per tool, and for the tools that must be loaded at once. Other
// hosts pay for the definitions.
func TestTokensIn(t *testing.T) {
	t.Parallel()
	plain := read(t, `{"tools":[{"name":"get_page","description":"Gets a page.","inputSchema":{"type":"object"}},
		{"name":"find","description":"Finds pages.","inputSchema":{"type":"object"}}]}`)
	loading := read(t, `{"tools":[{"name":"get_page","description":"Gets a page.","inputSchema":{"type":"object"},"_meta":7},
		{"name":"find","description":"Finds pages.","inputSchema":{"type":"object"},"_meta":{"anthropic/alwaysLoad":true}}]}`)
	tokensIn := func(l doctor.List, host string) int {
		l.Server = "wiki"
		n, err := l.TokensIn(host)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	count := func(texts ...string) (sum int) {
		for _, text := range texts {
			n, err := tokens.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		return sum
	}
	page, find := `{"name":"get_page","description":"Gets a page.","inputSchema":{"type":"object"}}`,
		`{"name":"find","description":"Finds pages.","inputSchema":{"type":"object"}}`
	instructed, local := plain, plain
	instructed.Instructions, local.Model = "Look here for pages.\nAnd more.", "llama3"
	eager := func(tool string) string { // the form of the Responses API
		tool = strings.Replace(tool, "{", `{"type":"function",`, 1)
		return strings.Replace(tool, `"inputSchema":{"type":"object"`, `"strict":false,"parameters":{"type":"object","properties":{}`, 1)
	}
	sent := `{"name":"mcp__wiki__find","description":"Finds pages.","input_schema":{"type":"object"}}`
	for _, test := range []struct {
		what string
		got  int
		want int
	}{
		{"an unknown host", tokensIn(plain, "nobody"), count(page, find)},
		{"a host that was not seen", tokensIn(loading, "cursor"), count(page, find)},
		{"a host that defers", tokensIn(plain, "claude-code"), count("mcp__wiki__get_page\n", "mcp__wiki__find\n")},
		{"a host that defers by server", tokensIn(loading, "codex"), count("- mcp__wiki\n")},
		{"its line with instructions", tokensIn(instructed, "codex"), count("- mcp__wiki: Look here for pages.\n")},
		{"a model that does not search", tokensIn(local, "codex"), count(eager(page), eager(find))},
		{"a tool that is always loaded", tokensIn(loading, "claude-code"), count("mcp__wiki__get_page\n", sent)},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d tokens, want %d", test.what, test.got, test.want)
		}
	}
}
