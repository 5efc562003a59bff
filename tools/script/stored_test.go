package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	runscript "github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/script"
)

// saved is a store of scripts in memory.
type saved struct {
	mu      sync.Mutex
	scripts map[string]script.Script
}

func (s *saved) Put(_ context.Context, _, name string, decide func(*script.Script, int) (script.Script, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old *script.Script
	if present, found := s.scripts[name]; found {
		old = &present
	}
	next, err := decide(old, len(s.scripts))
	if err == nil {
		s.scripts[name] = next
	}
	return err
}

func (s *saved) Get(_ context.Context, _, name string) (script.Script, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, found := s.scripts[name]
	return one, found, nil
}

func (s *saved) All(context.Context, string) (list []script.Script, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.scripts {
		list = append(list, one)
	}
	return list, nil
}

func (s *saved) Remove(_ context.Context, _, name string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.scripts[name]
	delete(s.scripts, name)
	return found, nil
}

// shelf has scripts that are saved and scripts in files of a workspace.
type shelf struct {
	toolfoldtest.Talk
	*saved
	shop    *shop
	dir     string
	trusted bool
	call    func(ctx context.Context, action, args string) string
}

func newShelf(t *testing.T) *shelf {
	d := &shelf{
		saved: &saved{scripts: map[string]script.Script{}}, dir: t.TempDir(), trusted: true,
		shop: &shop{random: rand.New(rand.NewPCG(1, 1)), done: map[string]int{}, sets: map[string]int{}},
	}
	var service *script.Service
	family, err := toolfold.Mount(script.Family, func(context.Context) (*script.Service, error) { return service, nil })
	if err != nil {
		t.Fatal(err)
	}
	runner := d.shop.runner(t, family)
	service = script.New(runner, nil).WithLibrary(script.Library{
		Folder: workspace.Folder{Dir: d.dir, Trusted: func() bool { return d.trusted }}, Workspace: "w", ParseRights: permission.Parse,
		Open: func(context.Context) (script.Store, error) { return d.saved, nil },
		Now:  func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
	d.call = func(ctx context.Context, action, args string) string {
		return string(runner.Caller.Call(ctx, action, json.RawMessage(args)).Content)
	}
	d.Talk = toolfoldtest.Talk{T: t, Call: func(action, args string) string { return d.call(t.Context(), action, args) }}
	return d
}

func (d *shelf) write(name, text string) {
	d.T.Helper()
	path := filepath.Join(d.dir, script.Folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.T.Fatal(err)
	}
}

const triage = `/*---
description: Pay some.
inputSchema:
  type: object
  properties: {ids: {type: array, items: {type: string}}, twice: {type: boolean, default: false}}
  required: [ids]
---*/
for (const id of input.ids) await shop.add({id});
return input
`

// Saving keeps one version of a name. Another one replaces it only if the caller says so.
func TestSave(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	code, _ := json.Marshal(triage)
	save := fmt.Sprintf(`{"name": "triage", "code": %s}`, code)
	first := d.Call("script.save", save)
	d.Expect("script.save", save, strings.Replace(strings.Replace(first, `"saved":true`, `"saved":false`, 1),
		"saved triage", "triage has this version already", 1))
	d.Refuse("script.save", `{"name": "triage", "code": "return 1"}`, script.AlreadyExists, "another version", "overwrite: true")
	var out script.SaveOut
	replaced := d.Call("script.save", `{"name": "triage", "code": "return 1", "overwrite": true}`)
	if err := json.Unmarshal([]byte(replaced), &out); err != nil {
		t.Fatal(err)
	}
	if !out.Saved || out.Replaced == nil || out.Replaced.Code != triage || out.Replaced.Description != "Pay some." {
		t.Errorf("%+v", out)
	}
	d.Expect("script.run", `{"name": "triage"}`, `{"success":true,"result":1}`)
	d.Expect("script.delete", `{"name": "triage"}`, `{"deleted":true,"name":"triage","message":"deleted triage"}`)
	d.Expect("script.delete", `{"name": "triage"}`, `{"deleted":false,"name":"triage","message":"there is no script \"triage\""}`)
	for args, want := range map[string][2]string{
		`{"name": "a"}`: {"records no runs", ""},
		`{"name": "a", "code": "return 1", "id": "00000000-0000-4000-8000-000000000001"}`:                {"id excludes code", ""},
		`{"name": "a", "id": "00000000-0000-4000-8000-000000000001"}`:                                    {"records no runs", ""},
		`{"name": "a", "code": "/*---\ndescription: x\n---*/", "description": "y"}`:                      {"has description too", ""},
		`{"name": "a", "code": "/*---\nname: x\n---*/\nreturn 1"}`:                                       {"the head of code, line 2: ", ""},
		`{"name": "a", "code": "return 1", "inputSchema": {"type": "array"}}`:                            {"must be object", ""},
		`{"name": "a", "code": "return 1", "inputSchema": {"properties": {"a": {"$ref": "http://x/"}}}}`: {"leads to nothing", ""},
		`{"name": "a", "code": "return '` + strings.Repeat("ü", runscript.MaxSource/2) + `'"}`:           {"code has 65", ""},
	} {
		d.Refuse("script.save", args, toolfold.InvalidInput, want[0], want[1])
	}
	d.Refuse("script.save", `{"name": "a", "code": "shop.ad({})"}`, runscript.Invalid, "did you mean shop.add?", "")
	for i := range script.MaxSaved {
		d.saved.scripts[fmt.Sprint("s", i)] = script.Script{}
	}
	d.Refuse("script.save", `{"name": "a", "code": "return 1"}`, toolfold.LimitReached, "200 saved scripts", "script.delete")
	answer := d.Call("script.save", `{"name": "s0", "code": "return 1", "overwrite": true}`)
	if !strings.Contains(answer, `"saved":true`) {
		t.Error(answer)
	}
}

// Names are safe as files of every system, and lead out of nothing.
func TestStoredNames(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.write("a.js", "return 'a'")
	for _, name := range []string{
		"../a", "a/../a", "CON", "con", "nul", "com1", "A", "__proto__", ".a", "a.js", "-a", "a b", "a:b", "ä", "a\u0000",
		strings.Repeat("a", 64) + "b",
	} {
		args := fmt.Sprintf(`{"name": "%s"}`, name)
		saves := fmt.Sprintf(`{"name": "%s", "code": "return 1"}`, name)
		if answer := d.Call("script.save", saves); !strings.Contains(answer, `"error"`) {
			t.Errorf("saving %q: %s", name, answer)
		}
		for _, action := range []string{"script.run", "script.read", "script.show"} {
			if answer := d.Call(action, args); !strings.Contains(answer, `"error"`) {
				t.Errorf("%s %q: %s", action, name, answer)
			}
		}
		if answer := d.Call("script.delete", args); strings.Contains(answer, `"deleted":true`) {
			t.Errorf("deleting %q: %s", name, answer)
		}
	}
	if len(d.saved.scripts) > 0 {
		t.Error(d.saved.scripts)
	}
	d.Refuse("script.save", `{"name": "CON", "code": "return 1"}`, script.InvalidName, "lower-case", "such as")
	d.Refuse("script.save", `{"name": "con", "code": "return 1"}`, script.InvalidName, "reserved by Windows", "such as")
	d.Refuse("script.run", `{"name": "A"}`, script.NotFound, `no script "A"`, `did you mean "a"?`)
	for _, name := range []string{"constructor", "tostring", "then"} {
		d.Refuse("script.show", fmt.Sprintf(`{"name": %q}`, name), script.NotFound, name, "there are a")
	}
}

// Files of a workspace are scripts, and a saved one goes before a file.
func TestFiles(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.Expect("script.list", `{}`, `{"scripts":[],"total":0,"hasMore":false,`+
		`"message":"there are no scripts; script.save keeps one, and files in .toolfold/scripts are scripts"}`)
	d.Refuse("script.run", `{"name": "triage"}`, script.NotFound, "no script", "script.save keeps one")
	d.write("triage.js", triage)
	d.write("Upper.js", "return 1")
	d.write("con.js", "return 1")
	d.write("open.js", "/*---\ndescription: x\n")
	d.write("cut.js", "/*---\ndescription: a */ b\n---*/\n")
	d.write("shape.js", "/*---\ninputSchema:\n  type: object\n  pattern: [\n---*/\n")
	d.write("schema.js", "/*---\n\ninputSchema: {type: list}\n---*/\n")
	d.write("other.js", "/*---\ninput: {}\n---*/\n")
	d.write("bytes.js", "return '\xff'")
	d.write("long.js", "/*"+strings.Repeat("*", runscript.MaxSource)+"*/")
	d.write("crlf.js", "\ufeff/*---\r\ndescription: Windows.\r\n---*/\r\nreturn 1\r\n")
	d.write("plain.js", "// no head\nreturn 2")
	d.write("notes.txt", "no script")
	var out script.ListOut
	if err := json.Unmarshal([]byte(d.Call("script.list", `{}`)), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range out.Scripts {
		got = append(got, one.Name+" "+one.Source+" "+one.Description)
	}
	for _, b := range out.Broken {
		got = append(got, strings.TrimPrefix(b.Text(), script.Folder+"/"))
	}
	want := []string{
		"crlf file Windows.", "plain file ", "triage file Pay some.",
		"Upper.js: the name must be lower-case letters, digits, dashes and underscores, with a letter first",
		"bytes.js: it is not UTF-8",
		"con.js: the name is reserved by Windows",
		"cut.js, line 2: */ ends the comment of the head: write it in another way",
		"long.js: it cannot be read: it has more than 65536 bytes",
		"open.js, line 1: the head that begins with /*--- has no line ---*/",
		"other.js, line 2, column 1: ",
		"schema.js, line 3, column 1: inputSchema: input is an object, so its type must be object",
		"shape.js, line ",
	}
	if len(got) != len(want) {
		t.Fatalf("%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if open := strings.HasSuffix(want[i], " ") && i > 2; open && !strings.HasPrefix(got[i], want[i]) || !open && got[i] != want[i] {
			t.Errorf("got %s\nwant %s", got[i], want[i])
		}
	}
	d.Refuse("script.run", `{"name": "open"}`, workspace.FileBroken, "open.js, line 1", "mend the file")
	d.Refuse("script.delete", `{"name": "plain"}`, script.DeleteFailed, "is the file .toolfold/scripts/plain.js", "delete that file")
	d.Expect("script.run", `{"name": "plain"}`, `{"success":true,"result":2}`)
	if answer := d.Call("script.save", `{"name": "plain", "code": "return 3"}`); !strings.Contains(answer, "goes before the file") {
		t.Error(answer)
	}
	d.Expect("script.run", `{"name": "plain"}`, `{"success":true,"result":3}`)
	if answer := d.Call("script.list", `{}`); !strings.Contains(answer, "a script of this name is saved and counts") {
		t.Error(answer)
	}
	d.Expect("script.delete", `{"name": "plain"}`,
		`{"deleted":true,"name":"plain","message":"deleted plain; from now on its name means the file .toolfold/scripts/plain.js"}`)
	broken, _ := json.Marshal(out.Broken)
	d.ExpectPages("script.list", `{"limit":2}`,
		`{"scripts":[{"name":"crlf","description":"Windows.","source":"file"},{"name":"plain","source":"file"}],`+
			`"total":3,"hasMore":true,"broken":`+string(broken)+`}`,
		`{"scripts":[{"name":"triage","description":"Pay some.","source":"file"}],"total":3,"hasMore":false}`)
	d.Refuse("script.read", `{"code": "return 1", "name": "plain"}`, toolfold.InvalidInput, "name excludes code", "")
}

// Files of an untrusted workspace are listed as untrusted, and do not run. What was saved does.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.trusted = false
	d.write("triage.js", triage)
	d.Call("script.save", `{"name": "mine", "code": "return 1"}`)
	d.Expect("script.list", `{}`, `{"scripts":[{"name":"mine","source":"registered"},`+
		`{"name":"triage","description":"Pay some.","source":"file","trusted":false}],"total":2,"hasMore":false}`)
	for _, action := range []string{"script.run", "script.read"} {
		d.Refuse(action, `{"name": "triage", "input": {"ids": ["1"]}}`,
			workspace.Untrusted, "a workspace that is not trusted", "toolfold trust")
	}
	if answer := d.Call("script.show", `{"name": "triage"}`); !strings.Contains(answer, `"trusted":false`) {
		t.Error(answer)
	}
	d.Expect("script.run", `{"name": "mine"}`, `{"success":true,"result":1}`)
	if len(d.shop.done) > 0 {
		t.Error(d.shop.done)
	}
}

// The input of a script is checked by its schema before anything runs.
func TestInput(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.write("triage.js", triage)
	for input, problem := range map[string]string{
		`null`: `"path":"/input/ids","kind":"missing"`, `{}`: `"path":"/input/ids","kind":"missing"`,
		`{"ids": [1]}`: `"path":"/input/ids/0","kind":"type"`,
		`[1]`:          `"path":"/input","kind":"type"`, `"x"`: `"path":"/input","kind":"type"`,
	} {
		answer := d.Call("script.run", fmt.Sprintf(`{"name": "triage", "input": %s}`, input))
		if !strings.Contains(answer, problem) || !strings.Contains(answer, "script.show has the inputSchema of triage") ||
			!strings.Contains(answer, `"example":{"name":"triage","input":{"ids":[`) {
			t.Errorf("%s: %s", input, answer)
		}
	}
	if len(d.shop.done) > 0 {
		t.Error(d.shop.done)
	}
	d.Expect("script.run", `{"name": "triage", "input": {"ids": ["1"], "more": 12345678901234567890}}`,
		`{"success":true,"result":{"ids":["1"],"more":12345678901234567000,"twice":false}}`)
	d.write("any.js", "return input")
	d.Expect("script.read", `{"name": "any", "input": [1]}`, `{"success":true,"result":[1]}`)
	d.Expect("script.read", `{"name": "any"}`, `{"success":true,"result":null}`)
}

// script.read refuses the writes of a stored script, also those that only the run shows.
func TestStoredReads(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.Call("script.save", `{"name": "writes", "code": "await shop.add({id: 'a'})"}`)
	d.Call("script.save", `{"name": "hides", "code": "await shop.get({id: 'a'}); const add = 'add'; await shop[add]({id: 'a'})"}`)
	d.Refuse("script.read", `{"name": "writes"}`, toolfold.PermissionDenied, "shop.add does more than read", "script.run")
	answer := d.Call("script.read", `{"name": "hides"}`)
	if !strings.Contains(answer, "shop.add does more than read: run the script with script.run") {
		t.Error(answer)
	}
	if len(d.shop.done) > 0 {
		t.Error(d.shop.done)
	}
}

// A saved script runs with the rights that its caller and whoever saved it have in common.
func TestStoredRights(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	with := func(rules permission.Rules) context.Context {
		return callctx.With(t.Context(), toolfold.Origin{Rights: rules.Rights()})
	}
	const tries = `{"name": "tries",
		"code": "try { const add = 'add'; await shop[add]({id: 'a'}); return 'done' } catch (e) { return e.code }"}`
	everything, reads := with(permission.Rules{}), with(permission.Rules{Deny: []string{"shop.add"}})
	for _, c := range []struct {
		saver, caller context.Context
		want          string
	}{
		{everything, everything, "done"}, {everything, reads, "UNKNOWN_NAME"},
		{reads, everything, "UNKNOWN_NAME"}, {reads, reads, "UNKNOWN_NAME"},
	} {
		clear(d.saved.scripts)
		d.call(c.saver, "script.save", tries)
		if answer := d.call(c.caller, "script.run", `{"name": "tries"}`); answer != fmt.Sprintf(`{"success":true,"result":%q}`, c.want) {
			t.Errorf("%s, want %s", answer, c.want)
		}
	}
	d.saved.scripts["tries"] = script.Script{Name: "tries", Code: "return 1", Rights: "from a later version"}
	d.Refuse("script.run", `{"name": "tries"}`, toolfold.PermissionDenied, "cannot be read", "overwrite")
}

// A script whose functions alone return something says so: its caller would take null for the answer.
func TestReturnsNothing(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	for code, warned := range map[string]bool{
		`(async () => { return (await shop.get({id: "a"})).n })()`:          true,
		`async function main() { return await shop.get({id: "a"}) } main()`: true,
		`await Promise.all(["a"].map((id) => { return shop.get({id}) }))`:   true,
		`for (const id of ["a"]) await shop.add({id})`:                      false,
		`async function main() { return 1 } return main()`:                  false,
		`const f = () => { return 1 }; if (f()) return null`:                false,
		`const f = () => { return 1 }; console.log(f())`:                    false,
	} {
		args, _ := json.Marshal(map[string]string{"code": code})
		for _, action := range []string{"script.run", "script.read"} {
			if answer := d.Call(action, string(args)); action != "script.read" || !strings.Contains(code, "add") {
				if strings.Contains(answer, "only functions of the script return") != warned {
					t.Errorf("%s %s: %s", action, code, answer)
				}
			}
		}
	}
}
