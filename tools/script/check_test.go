package script_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/run/script"
)

// What a script can only fail at is found before anything is called, with its place.
func TestMistakesAreFoundFirst(t *testing.T) {
	t.Parallel()
	s := &shop{random: rand.New(rand.NewPCG(1, 1)), done: map[string]int{}, sets: map[string]int{}}
	r := s.runner(t)
	for source, want := range map[string]string{
		"await shop.add({id: 'a'})\nawait shop.ad({id: 'b'})":      "2:7 shop.ad is no action that you may call; did you mean shop.add?",
		"await shop.add({id: 'a'});\nawait shop.add({ID: 'b'})":    `2:7 shop.add: "ID" is unknown, did you mean "id"?`,
		"await tools.call('shop.add', {id: 5})":                    "1:18 shop.add: id must be string, got number",
		"await shop.add()":                                         "1:7 shop.add: id is missing",
		"const f = () => {\n  return shop.refuse({})\n}\nreturn 1": "2:10 shop.refuse: id is missing",
		"let n: number = 1":                                        "1:6 types are not accepted",
		"await shop.add({id: 'a'}):":                               "1:26 ",
		"return tools.call('shop.nothing', {})":                    "1:19 shop.nothing is no action that you may call",
		"return shop.get({id: 'a'}).n":                             "1:8 shop.get(…) is a promise, which has no n: await it first",
		"const a = shop.get({id: 'a'}), b = a;\nreturn a['n'] + b": "1:11 shop.get(…) is a promise, which has no n",
		"const a = shop.get({id: 'a'});\nfor (const i of a.n) {}":  "1:11 shop.get(…) is a promise, which has no n",
		"let {n} = shop.get({id: 'a'}); return n":                  "1:11 shop.get(…) is a promise, which has no n",
		"const {n: m} = tools.call('shop.get', {id: 'a'})":         "1:27 shop.get(…) is a promise, which has no n",
		"shop.get({id: 'a'}).then(({n}) => n).catch(() => 1)":      "",
		"const a = shop.get({id: 'a'}); return (await a).n":        "",
		"let a = shop.get({id: 'a'}); a = await a; return a.n":     "",
		"const a = shop.get({id: 'a'}); { const a = {n: 1}; a.n }": "",
		"const f = (a) => a.n, a = shop.get({id: 'a'}); a.finally": "",
		"const {then: t} = shop.get({id: 'a'}); return 1":          "",
		"try { await shp.add({id: 'a'}) } catch { return 1 }":      "1:13 shp is not defined; did you mean shop?",
		"const id = 'a'; return shop.get({if: id, id})":            `1:24 shop.get: "if" is unknown`,
		"\n```js\nreturn 1\n```":                                   "0:0 the source stands between marks of Markdown",
		"const shop = {ad() {}}; shop.ad({x: 1}); return 1":        "",
		"const args = {x: 1}; return shop.get({...args})":          "",
		"const id = 'a'; return shop.get({id})":                    "",
		"const {get} = shop; return get({id: 'a'})":                "",
		"return Object.keys({shop: 1}).map(k => k.toUpperCase())":  "",
		"for (const x of [1]) { console.log(x, Math.max()) }":      "",
	} {
		err := r.Check(t.Context(), script.Job{Source: source})
		got := ""
		if f, ok := err.(*script.Failure); ok {
			got = strings.TrimSpace(strings.Join([]string{place(f), f.Message}, " "))
		} else if err != nil {
			t.Fatal(err)
		}
		if want == "" && got != "" || !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
	if len(s.done) > 0 {
		t.Errorf("a check called %v", s.done)
	}
	reading := script.Job{Source: "await shop.get({id: 'a'}); await shop.add({id: 'a'})", ReadsOnly: true}
	if f, ok := r.Check(t.Context(), reading).(*script.Failure); !ok || f.Code != "PERMISSION_DENIED" {
		t.Errorf("a write of a script that reads: %v", f)
	}
}

func place(f *script.Failure) string { return fmt.Sprintf("%d:%d", f.Line, f.Column) }

// definesNames are programs in which every name is defined, or may be missing.
var definesNames = []string{
	`if (typeof fetch === "function") fetch("x")`,
	`try { fetch("x") } catch { return 1 }`,
	`x = {y: 1}; return x.y`,
	`for (k of [{v: 1}]) console.log(k.v)`,
	`for (k in {a: 1}) k.length`,
	`({x} = {x: {y: 1}}); x.y`,
	`[x] = [{y: 1}]; x.y`,
	`globalThis.f = () => 1; return f()`,
	`this.f = () => 1; return f()`,
	`eval("var f = () => 1"); return f()`,
	`with ({f() { return 1 }}) { f() }`,
	`x ??= {y: 1}; x.y`,
	`return ((f) => f.a)({a: 1})`,
	`return (({f}) => f.a)({f: {a: 1}})`,
	`return (([f = {a: 2}]) => f.a)([])`,
	`class A { static b() { return A.name } } return A.b()`,
	`const g = function h(n) { return n ? h(n - 1) : h.name }; g(1)`,
	`try { throw {code: 1} } catch (e) { return e.code } finally { input.x }`,
	`label: for (const i of [1]) { continue label }`,
	`f(); function f() { return g.h; } var g = {h: 1}`,
	`{ function f() { return 1 } } return f()`,
	`let {a, ...rest} = {a: 1, b: {c: 1}}; return rest.b.c`,
	`const f = async ({id}, ...more) => more.length + id.length; return f({id: "a"}, 1)`,
	`for (let i = 0, n = {m: 3}; i < n.m; i++) {}`,
	`for await (const v of [Promise.resolve({a: 1})]) v.a`,
	`function* g() { yield 1 } return [...g()].length`,
	`const o = {f() { return this.x.y }, x: {y: 1}}; o.f()`,
	`switch (1) { case 1: let q = {r: 1}; return q.r }`,
	`import.meta.url`,
	`const {shop: s = {get() {}}} = {}; s.get()`,
	`var f = f || (() => 1); return f()`,
	`return (() => arguments.length)()`,
	`new.target`,
	`const a = [], b = {}; ({p: a[0], q: b.c} = {p: {z: 1}, q: 2}); return a[0].z`,
	"return `${String(1)} ${((t) => t.u)({u: 1})}`",
	`class P { #x = {y: 1}; get v() { return this.#x.y } static { P.w = 1 } } return new P().v + P.w`,
	`return ((a, b = a.c) => b.d)({c: {d: 1}})`,
	`const {length} = "abc"; return length.toFixed(1)`,
	`var a = 1, a = {b: 2}; return a.b`,
	`let f; f = (n) => n ? f(n - 1) : 0; return f(3)`,
	`return structuredClone === undefined`,
	`let i = 0; do { var w = {z: i} } while (i++ < 1); return w.z`,
}

// A name that nothing defines is found first, with what there is. Whatever may define a name, or expects that it is
// missing, is left to the run.
func TestUndefinedNamesAreFoundFirst(t *testing.T) {
	t.Parallel()
	s := newShop()
	r := s.runner(t)
	check := func(source string) string {
		err := r.Check(t.Context(), script.Job{Source: source})
		if f, ok := err.(*script.Failure); ok {
			return fmt.Sprintf("%s %s", place(f), f.Message)
		} else if err != nil {
			t.Fatal(err)
		}
		return ""
	}
	for source, want := range map[string]string{
		`await shop.add({id: 'a'}); const r = await fetch("https://x")`: "1:44 fetch is not defined",
		`const fs = require("fs"); fs.readFileSync("x")`:                "1:12 require is not defined",
		"let a = 1\nreturn shp.get({id: 'a'})":                          "2:8 shp is not defined; did you mean shop?",
		`if (process.env.HOME) console.log(1)`:                          "1:5 process is not defined",
		`return Buffer.from("x").toString("hex")`:                       "1:8 Buffer is not defined",
		`function f() { return helper(1) } return f()`:                  "1:23 helper is not defined",
		`print(1)`: "1:1 print is not defined", `return [1].map((x) => y["z"])`: "1:23 y is not defined",
	} {
		if got := check(source); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
	for _, source := range definesNames {
		if got := check(source); strings.Contains(got, "is not defined") {
			t.Errorf("%s\n got %s", source, got)
		}
	}
	result, err := r.Run(t.Context(), script.Job{Source: "return Object.getOwnPropertyNames(globalThis)"})
	var globals []string
	if err != nil || json.Unmarshal(result.Result, &globals) != nil || len(globals) < 50 {
		t.Fatalf("%v %s", err, result.Result)
	}
	for _, name := range globals {
		if got := check("return " + name + ".x"); strings.Contains(got, "is not defined") {
			t.Errorf("%s is a global: %s", name, got)
		}
	}
}
