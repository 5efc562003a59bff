package design

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// bench calls the actions the way a client does, in a workspace of its own.
// Its clock goes on by a second with each call.
type bench struct {
	toolfoldtest.Talk
	t         *testing.T
	workspace string
	store     *fakeStore
	runner    *call.Runner
	calls     int
	now       func() time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, workspace: t.TempDir(), store: &fakeStore{designs: map[string]Design{}}}
	b.Talk = toolfoldtest.Talk{T: t, Call: b.call}
	start := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	b.now = func() time.Time { return start.Add(time.Duration(b.calls) * time.Second) }
	b.runner = toolfoldtest.Runner(toolfoldtest.Mount(t, Family, New(b.store, b.workspace, b.now)))
	return b
}

func (b *bench) call(action, args string) string {
	b.t.Helper()
	b.calls++
	return string(b.runner.Call(b.t.Context(), "design."+action, json.RawMessage(args)).Content)
}

// get calls an action that must succeed.
func (b *bench) get(action, args string) map[string]any {
	b.t.Helper()
	var out map[string]any
	content := b.call(action, args)
	if err := json.Unmarshal([]byte(content), &out); err != nil || out["error"] != nil {
		b.t.Fatalf("%s %s: %s", action, args, content)
	}
	return out
}

// readBack returns the stored design of an answer.
func (b *bench) readBack(made map[string]any) map[string]any {
	b.t.Helper()
	return b.get("get", fmt.Sprintf(`{"designId":"%s"}`, made["designId"]))
}

// user is a schema of one field; more goes into the arguments.
func user(more string) string {
	return `{"name":"User","format":"typescript","fields":[{"name":"email","type":"email","required":true}]` + more + `}`
}

const userText = "export interface User {\n  email: string;\n}\n"

func (b *bench) write(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.workspace, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) expectFile(name, want string) {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.workspace, name))
	if err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		b.t.Errorf("%s: %s", name, diff)
	}
}

// expectFiles fails the test when the workspace has other files than these.
func (b *bench) expectFiles(want ...string) {
	b.t.Helper()
	got := []string{}
	err := filepath.WalkDir(b.workspace, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != b.workspace {
			name, _ := filepath.Rel(b.workspace, path)
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		b.t.Errorf("files: %s", diff)
	}
}

func TestExamplesAreTrue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.CopyFS(b.workspace, os.DirFS("../workflow/testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	for _, a := range Family.Actions {
		b.get(a.Name, a.Example)
	}
}

func TestDesignsAreStoredAndReadBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.get("schema", user(""))
	if made["content"] != userText || made["createdAt"] != "2026-03-01T12:00:01.123456Z" {
		t.Errorf("made %v", made)
	}
	got := b.get("get", fmt.Sprintf(`{"designId":"%s"}`, strings.ToUpper(made["designId"].(string))))
	want := map[string]any{
		"designId": made["designId"], "type": "schema", "format": "typescript", "name": "User", "status": "draft",
		"createdAt": made["createdAt"], "content": userText,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again := b.get("schema", user(""))
	if diff := cmp.Diff(made, again); diff != "" {
		t.Errorf("the same arguments made another design: %s", diff)
	}
	if other := b.get("schema", strings.Replace(user(""), "User", "Person", 1)); other["designId"] == made["designId"] {
		t.Error("another name has the same id")
	}
	b.Refuse("get", `{"designId":"00000000-0000-4000-8000-000000000009"}`, NotFound, "there is no design", "design.list")
}

func TestComponentsAndArchitecturesHaveTheirTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const component = `{"name":"ping","type":"function","description":"Pings.","language":"javascript"%s}`
	const system = `{"name":"Shop","description":"d","pattern":"mvc","components":[{"id":"a","name":"A","type":"cache"}]%s}`
	for _, test := range []struct{ action, args, file, more, first, second, isFile string }{
		{"component", component, "ping.mjs", "", "interface", "implementation", "content"},
		{"architecture", system, "a.puml", `,"format":"plantuml"`, "diagram", "documentation", "content"},
		{"architecture", system, "a.md", `,"format":"markdown"`, "diagram", "documentation", "documentation"},
	} {
		shown := b.get(test.action, fmt.Sprintf(test.args, test.more))
		written := b.get(test.action, fmt.Sprintf(test.args, test.more+`,"outputPath":"`+test.file+`"`))
		if written["designId"] != shown["designId"] || written[test.first] != nil || written[test.second] != nil {
			t.Errorf("%s: %v", test.file, written)
		}
		record := b.readBack(written)
		b.expectFile(test.file, record[test.isFile].(string))
		first, second := shown[test.first].(string), shown[test.second].(string)
		content, page := record["content"], record["documentation"]
		if content != first && content != first+"\n"+second || page != nil && page != second {
			t.Errorf("%s: read back %v", test.file, record)
		}
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 3 {
		b.get("schema", strings.Replace(user(""), "User", fmt.Sprint("User", i), 1))
	}
	b.get("component", `{"name":"ping","type":"class","description":"Pings.","language":"go"}`)
	first := b.get("list", `{"limit":3}`)
	if first["total"] != 4.0 || first["hasMore"] != true || len(first["designs"].([]any)) != 3 {
		t.Errorf("the first page is %v", first)
	}
	last := b.get("list", fmt.Sprintf(`{"limit":3,"cursor":"%s"}`, first["nextCursor"]))
	if last["hasMore"] != false || last["nextCursor"] != nil || len(last["designs"].([]any)) != 1 {
		t.Errorf("the last page is %v", last)
	}
	only := b.get("list", `{"type":"component","status":"draft"}`)
	if only["total"] != 1.0 {
		t.Errorf("of components: %v", only)
	}
	for _, kind := range []string{"flow", "data-model", "interface", "other"} {
		b.Refuse("list", `{"type":"`+kind+`"}`, toolfold.InvalidInput, `type must be one of its allowed values, got "`+kind, "")
	}
	for _, status := range []string{"review", "approved", "implemented", "deprecated"} {
		b.Refuse("list", `{"status":"`+status+`"}`, toolfold.InvalidInput, `status must be one of its allowed values, got "`+status, "")
	}
	b.Refuse("list", `{"cursor":"zzz"}`, toolfold.InvalidInput, "cursor", "")
}

// Long designs are cut where lines end, and read on with the offset.
func TestLongDesignsAreReadInParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var parts []string
	for i := range 50 {
		parts = append(parts, fmt.Sprintf(`{"id":"%d","name":"%s","type":"cache","description":"%s"}`, i, strings.Repeat("字", 90),
			strings.Repeat("long ", 90)))
	}
	made := b.get("architecture", `{"name":"Big","description":"d","pattern":"ddd","format":"c4","components":[`+strings.Join(parts, ",")+`]}`)
	if made["truncated"] != true {
		t.Fatalf("%d bytes are not cut", len(fmt.Sprint(made)))
	}
	content, documentation, offset := "", "", 0.0
	for {
		got := b.get("get", fmt.Sprintf(`{"designId":"%s","offset":%v}`, made["designId"], offset))
		content += got["content"].(string)
		if page, ok := got["documentation"].(string); ok {
			documentation += page
		}
		if got["nextOffset"] == nil {
			break
		}
		if next := got["nextOffset"].(float64); next <= offset {
			t.Fatalf("after %v comes %v", offset, next)
		} else {
			offset = next
		}
	}
	record := b.store.designs[made["designId"].(string)]
	if content != record.Content || documentation != record.Documentation {
		t.Error("the parts are not the whole")
	}
	if got := b.get("get", fmt.Sprintf(`{"designId":"%s","offset":99999999}`, made["designId"])); got["content"] != "" {
		t.Errorf("behind the end there is %v", got)
	}
}

func TestTooLongDesignsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var endpoints []string
	for i := range 100 {
		endpoints = append(endpoints, fmt.Sprintf(`{"path":"/%d","method":"POST","summary":"s","requestBody":{"description":"%s"}}`, i,
			strings.Repeat("x", 3000)))
	}
	b.Refuse("api", `{"name":"Big","endpoints":[`+strings.Join(endpoints, ",")+`]}`, toolfold.InvalidInput, "more than 262144", "split it")
	if len(b.store.designs) != 0 {
		t.Error("it was stored")
	}
}

func TestProblemsNameEveryPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	answer := b.call("schema", `{"name":"***","fields":[{"name":"a","type":"ref"},{"name":"b","type":"enum"}],"outputPath":"x/y.ts"}`)
	for _, want := range []string{`"/name"`, `"/fields/0/refSchema"`, `"/fields/1/enumValues"`, `"example"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("%s is not in %s", want, answer)
		}
	}
	b.expectFiles()
	if len(b.store.designs) != 0 {
		t.Error("it was stored")
	}
}

// Records are declared as any objects, and held to what a record is all the same.
func TestSchemasOfSeveralRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	orders := func(format, records string) string {
		return `{"name":"Order","format":"` + format + `","fields":[{"name":"userId","type":"ref","refSchema":"User","required":true}],` +
			`"records":` + records + `}`
	}
	made := b.get("schema", orders("sqlite", `[{"name":"User","fields":[{"name":"email","type":"email","unique":true,"pattern":""}]}]`))
	content, _ := made["content"].(string)
	for _, part := range []string{`"email" TEXT UNIQUE`, `"user_id" TEXT NOT NULL REFERENCES "user" ("id")`} {
		if !strings.Contains(content, part) {
			t.Errorf("%s is not in\n%s", part, content)
		}
	}
	if notes, _ := made["notes"].([]any); len(notes) != 2 || !strings.Contains(fmt.Sprint(notes), "PRAGMA foreign_keys") {
		t.Errorf("the notes are %v", notes)
	}
	for records, want := range map[string]string{
		`[{"name":"User","fields":[{"name":"a","type":"string","uniq":true}]}]`: `"/records/0/fields/0/uniq"`,
		`[{"name":"User","fields":[{"name":"a","type":"text"}]}]`:               `"/records/0/fields/0/type"`,
		`[{"name":"User","fields":[{"name":"a","type":"string","min":"1"}]}]`:   `"/records/0/fields/0/min"`,
		`[{"name":"User"}]`:             `"/records/0/fields"`,
		`[{"name":"User","fields":[]}]`: `"/records/0/fields"`,
		`[{"name":"User","fields":[{"name":"a","type":"string","min":3,"max":2}]}]`: `"/records/0/fields/0/max"`,
	} {
		if got := b.call("schema", orders("sql", records)); !strings.Contains(got, `"path":`+want) {
			t.Errorf("%s: no problem of %s in %s", records, want, got)
		}
	}
	got := b.call("schema", orders("zod", `[{"name":"User","fields":[{"name":"a","type":"string"}]}]`))
	if !strings.Contains(got, "format sql or sqlite") {
		t.Errorf("records in Zod: %s", got)
	}
}

// A long schema with many notes fits into an answer. Each note has its reason once, and the number of names left out.
func TestSchemaNotesAreShort(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sql", "sqlite", "zod", "typescript", "prisma", "drizzle"} {
		b := newBench(t)
		var fields []string
		for i := range 20 {
			long := strings.Repeat("日", 93) + fmt.Sprint(i)
			if format == "prisma" { // which has no such names
				long = strings.Repeat("n", 93) + fmt.Sprint(i)
			}
			fields = append(fields,
				fmt.Sprintf(`{"name":"%s a","type":"string","pattern":"^a{300}$","min":1,"max":999,"unique":true,"index":true}`, long),
				fmt.Sprintf(`{"name":"%s b","type":"array","enumValues":["x"],"min":1,"max":9}`, long),
				fmt.Sprintf(`{"name":"%s c","type":"array","refSchema":"long%d","onDelete":"cascade","min":%d}`, long, i, i%2),
				fmt.Sprintf(`{"name":"%s d","type":"url"},{"name":"%[1]s e","type":"email"}`, long))
		}
		content := b.call("schema", `{"name":"Some Name","format":"`+format+`","fields":[`+strings.Join(fields, ",")+`]}`)
		if len(content) > 28_000 {
			t.Errorf("%s: the answer has %d bytes", format, len(content))
		}
		var out SchemaOut
		err := json.Unmarshal([]byte(content), &out)
		if err != nil || !out.Truncated || !strings.Contains(strings.Join(out.Notes, "\n"), " more") {
			t.Errorf("%s: %v %q in %.900s", format, err, out.Notes, content)
		}
	}
}

// A number that is too large is refused in words of the caller.
func TestSchemaRecordsRefuseLargeNumbers(t *testing.T) {
	t.Parallel()
	_, problems := recordsOf([]json.RawMessage{json.RawMessage(`{"name":"B","fields":[{"name":"b","type":"number","min":1e999}]}`)})
	if len(problems) != 1 || problems[0].Path != "/records/0" || problems[0].Want != "number of at most 64 bits" {
		t.Errorf("%+v", problems)
	}
}
