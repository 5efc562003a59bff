package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
)

// Scripts call stored scripts by their names. Input and result pass as JSON, and nothing else does.
func TestCallsStored(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.write("triage.js", triage)
	for name, code := range map[string]string{
		"any": "return input", "plus-one": "const input2 = input + 1; n = input2; await shop.get({id: 'g'}); return n",
		"throws": "const a = 1;\nthrow new Error('no')", "fails": "\nawait shop.refuse({id: 'x'})", "odd": "return () => 1",
		"down": "return input > 0 ? 1 + await scripts.down(input - 1) : 0", "patches": "Array.prototype.map = () => ['patched']; return 1",
		"global": "globalThis.leak = 1; return typeof globalThis.other + typeof input", "late": "Promise.reject(new Error('unseen')); return 1",
		"adds": "const add = 'add'; await shop[add]({id: 'a'})",
	} {
		text, _ := json.Marshal(code)
		if answer := d.Call("script.save", fmt.Sprintf(`{"name": %q, "code": %s}`, name, text)); !strings.Contains(answer, `"saved":true`) {
			t.Fatal(name, answer)
		}
	}
	d.write("twice.js", "return (await scripts.plus_one(input)) * 2")
	d.write("broken.js", "return memory.gett({})\nlet x: number = 1")
	d.write("wrong.js", "const a = 1;\nawait shop.gett({id: 'a'})")
	for _, c := range [][2]string{
		{`return scripts.any()`, `"result":null`},
		{`return scripts.any([1, {a: 'b'}])`, `"result":[1,{"a":"b"}]`},
		{`return await Promise.all([1, 2, 3].map(n => scripts.plus_one(n)))`, `"result":[2,3,4]`},
		{`return scripts["plus-one"](1)`, `"result":2`},
		{`return tools.call("scripts.plus-one", 1)`, `"result":2`},
		{`return scripts.twice(4)`, `"result":10`},
		{`return scripts.triage({ids: ["t"]})`, `"result":{"ids":["t"],"twice":false}`},
		{`return scripts.down(6)`, `"result":6`},
		{`return scripts.down(7)`, `scripts call each other 7 times at most`},
		{`await scripts.patches(); return [1].map(n => n)`, `"result":[1]`},
		{`other = 1; const s = await scripts.global(); return s + typeof leak`, `"result":"undefinedobjectundefined"`},
		{`try { await scripts.throws() } catch (e) { return [e.code, e.tool, e.message, e instanceof ToolError] }`,
			`"result":["SCRIPT_FAILED",` +
				`"scripts.throws","line 2, column 16: Error: no: throw new Error('no')",true]`},
		{"\n  await scripts.throws()",
			`"message":"scripts.throws: line 2, column 16: Error: no: throw new Error('no')","line":2,"column":23`},
		{`return scripts.fails().catch(e => e.code)`, `"result":"SOLD_OUT"`},
		{`return scripts.fails()`, `"code":"SOLD_OUT","message":"scripts.fails: line 2, column 18: shop.refuse: there is none left`},
		{`return scripts.odd()`, `scripts.odd: the result is a function or a symbol`},
		{`return scripts.triage({})`, `"code":"INVALID_INPUT"`},
		{`return scripts.triage({ids: 1}).catch(e => e.problems[0].path)`, `"result":"/input/ids"`},
		{`return scripts.wrong()`, `line 2, column 7: shop.gett is no action that you may call; did you mean shop.get?`},
		{`return scripts.broken()`, `types are not accepted`},
		{`return scripts.trige()`, `scripts.trige is no action that you may call; did you mean scripts.triage?`},
		{`const n = "trige"; return scripts[n]()`, `the nearest are scripts.triage`},
		{`return scripts.late()`, `"unseen":[{"code":"SCRIPT_FAILED","message":"scripts.late: line 1, column `},
	} {
		code, want := c[0], c[1]
		args, _ := json.Marshal(map[string]string{"code": code})
		if answer := d.Call("script.run", string(args)); !strings.Contains(answer, want) {
			t.Errorf("%s: %s, want %s", code, answer, want)
		}
	}
	answer := d.Call("script.read", `{"code": "await scripts.adds()"}`)
	if !strings.Contains(answer, "shop.add does more than read") || d.shop.done["a"] > 0 {
		t.Error(answer)
	}
	d.trusted = false
	if answer := d.Call("script.run", `{"code": "await scripts.triage({ids: []})"}`); !strings.Contains(answer, "not trusted") {
		t.Error(answer)
	}
}

// Many calls of a script need no more memory than a few, and count towards the limits of the run.
func TestCallsStoredOften(t *testing.T) {
	t.Parallel()
	d := newShelf(t)
	d.Call("script.save", `{"name": "one", "code": "const a = Array.from({length: 1000}, () => ({})); return input"}`)
	d.Call("script.save", `{"name": "loop", "code": "for (;;);"}`)
	d.Call("script.save", `{"name": "huge", "code": "const all = []; for (;;) all.push(new Array(1000).fill(1))"}`)
	huge := d.Call("script.run", `{"code": "try { await scripts.huge() } catch { return 1 }"}`)
	if !strings.Contains(huge, "it needed more than 64 MB of memory") {
		t.Error(huge)
	}
	d.Expect("script.run", `{"code": "let n = 0; for (let i = 0; i < 600; i++) n += await scripts.one(1); return n"}`,
		`{"success":true,"result":600}`)
	answer := d.Call("script.run", `{"code": "try { await scripts.loop() } catch { return 1 }"}`)
	if !strings.Contains(answer, "it ran longer than 5s") || !strings.Contains(answer, "it was in scripts.loop, line 1") {
		t.Error(answer)
	}
}

// versions is a library with one script. Another version of it is stored whenever a process looks it up.
type versions struct {
	source string // with %d for the version
	asked  int
}

func (v *versions) Names(context.Context) ([]string, error) { return []string{"sub"}, nil }

func (v *versions) Stored(context.Context, string) (script.Stored, error) {
	v.asked++
	return script.Stored{Name: "sub", Source: strings.ReplaceAll(v.source, "VERSION", fmt.Sprint(v.asked))}, nil
}

func (v *versions) Accept(_ context.Context, _ script.Stored, input json.RawMessage) (json.RawMessage, error) {
	return input, nil
}

func (v *versions) Limits(script.Stored) (*toolfold.Rights, error) { return nil, nil }

// A run calls a script as it was at its first call, wherever it dies and whatever is stored meanwhile. No write of
// the script is lost or repeated.
func TestInnerWritesOnce(t *testing.T) {
	t.Parallel()
	const program = `const ids = [];
		for (let i = 0; i < 2; i++) ids.push(...await Promise.all([1, 2].map(n => scripts.sub({id: "i" + i + n}))));
		ids.push(await scripts.sub({id: "last"}).catch(() => "caught")); return ids`
	const sub = `await shop.get({id: "g"}); const id = input.id + "-vVERSION"; await shop.add({id}); await sleep(1); return id`
	for left := 1; left <= 16; left++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(left, late), func(t *testing.T) {
				t.Parallel()
				v := &versions{source: sub}
				s := &shop{random: rand.New(rand.NewPCG(uint64(left), 3)), done: map[string]int{}, sets: map[string]int{}}
				s.library = v
				s.once(t, program, left, late)
				seen := map[string]bool{}
				for id := range s.done {
					_, version, _ := strings.Cut(id, "-")
					seen[version] = true
				}
				if len(seen) != 1 {
					t.Errorf("versions %v", seen)
				}
			})
		}
	}
}

// A replayed run needs no library: the journal has what it called.
func TestInnerFromJournal(t *testing.T) {
	t.Parallel()
	s := &shop{random: rand.New(rand.NewPCG(1, 3)), done: map[string]int{}, sets: map[string]int{}}
	v := &versions{source: `await shop.add({id: input.id}); return "vVERSION"`}
	s.library = v
	steps := &table{steps: map[string]json.RawMessage{}, left: -1}
	job := script.Job{Source: `return [await scripts.sub({id: "a"}), await scripts.sub({id: "b"})]`}
	for range 2 {
		result, err := s.runner(t).Run(engine.WithJournal(t.Context(), steps), job)
		if err != nil || string(result.Result) != `["v1","v1"]` {
			t.Fatalf("%+v %v", result, err)
		}
		v.asked = 7
	}
	if s.done["a"] != 1 || s.done["b"] != 1 {
		t.Error(s.done)
	}
}
