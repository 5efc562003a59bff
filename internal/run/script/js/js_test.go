package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// names are the actions of the programs of these tests.
var names = []string{
	"github.list_issues", "github.get_issue", "memory.get", "memory.store", "my-server.list-things", "tools.find",
	"odd.constructor", "odd.then", "odd.toString", "odd.__proto__", "odd.a-b", "odd.a_b", "odd.c-d", "odd.c.d",
}

var start2026 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// answerer answers the waiting calls of a program: it returns the index of the next one to answer, and
// its answer. The default is the first call, with its name and arguments.
type answerer func(waiting []Call) (int, Answer)

func echo(waiting []Call) (int, Answer) {
	value, _ := json.Marshal(map[string]any{"name": waiting[0].Name, "args": waiting[0].Args})
	return 0, Answer{Value: value}
}

// last answers the latest call first.
func last(waiting []Call) (int, Answer) {
	_, a := echo(waiting[len(waiting)-1:])
	return len(waiting) - 1, a
}

// failing fails calls with the name memory.store.
func failing(waiting []Call) (int, Answer) {
	if waiting[0].Name != "memory.store" {
		return echo(waiting)
	}
	return 0, Answer{Error: &ToolError{"NOT_FOUND", "there is no key", "memory.store", json.RawMessage(`[{"a":1}]`), "store(key)"}}
}

// story is what a program did.
type story struct {
	Calls []string // "1 name {arguments}"
	Logs  []string
	End   *End
}

// play runs a program to its end. Each answer comes a second after the one before.
func play(t *testing.T, p Program, next answerer) (s story) {
	t.Helper()
	if p.Names == nil {
		p.Names = names
	}
	if p.Now.IsZero() {
		p.Now = start2026
	}
	now := p.Now
	process, turn, err := Start(testwait.Context(t), p)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	var waiting []Call
	for {
		for _, c := range turn.Calls {
			s.Calls = append(s.Calls, fmt.Sprintf("%d %s %s", c.Seq, c.Name, c.Args))
		}
		waiting, s.Logs = append(waiting, turn.Calls...), append(s.Logs, turn.Logs...)
		if turn.End != nil {
			if peak := peak(process); peak > 400<<20 { // 45 MB without the race detector
				t.Errorf("the process had %d MB", peak>>20)
			}
			s.End = turn.End
			return s
		}
		if len(waiting) == 0 {
			t.Fatal("it waits for nothing")
		}
		i, a := next(waiting)
		now = now.Add(time.Second)
		a.Seq, a.Now = waiting[i].Seq, now
		waiting = slices.Delete(waiting, i, i+1)
		if turn, err = process.Resume(testwait.Context(t), a); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why, source string
		next        answerer
		want        string // the result
		calls       string // joined by "; "
	}{
		{"nothing", ``, nil, `null`, ""},
		{"undefined in an object", `return {a: undefined, b: [undefined], c: NaN}`, nil, `{"b":[null],"c":null}`, ""},
		{"a call", `return await memory.get({key: "a"})`, nil, `{"args":{"key":"a"},"name":"memory.get"}`, `1 memory.get {"key":"a"}`},
		{"a call without await", `return memory.get({key: "a"})`, nil, `{"args":{"key":"a"},"name":"memory.get"}`, `1 memory.get {"key":"a"}`},
		{"no arguments", `await memory.get(); await memory.get(null)`, nil, `null`, `1 memory.get {}; 2 memory.get {}`},
		{"the rest of map's arguments", `return (await Promise.all([{key: "a"}, {key: "b"}].map(memory.get))).length`, nil, `2`,
			`1 memory.get {"key":"a"}; 2 memory.get {"key":"b"}`},
		{"hyphens", `await my_server.list_things(); await tools.call("my-server.list-things", {a: 1}); return 1`, nil, `1`,
			`1 my-server.list-things {}; 2 my-server.list-things {"a":1}`},
		{"names that mean two", `await odd.a_b(); await odd["a-b"](); await odd["c-d"](); await odd["c.d"](); return "c_d" in odd`, nil, `false`,
			`1 odd.a_b {}; 2 odd.a-b {}; 3 odd.c-d {}; 4 odd.c.d {}`},
		{"names of the language", `return [await odd.constructor(), await odd.toString(), await odd.then({a: 1}), await odd.__proto__()].length`,
			nil, `4`,
			`1 odd.constructor {}; 2 odd.toString {}; 3 odd.then {"a":1}; 4 odd.__proto__ {}`},
		{"all", `const [a, b] = await Promise.all([memory.get({n: 1}), memory.get({n: 2})]); return [a.args.n, b.args.n]`, last, `[1,2]`,
			`1 memory.get {"n":1}; 2 memory.get {"n":2}`},
		{"race", `return (await Promise.race([memory.get({n: 1}), memory.get({n: 2})])).args.n`, last, `2`,
			`1 memory.get {"n":1}; 2 memory.get {"n":2}`},
		{"any", `return (await Promise.any([memory.store({n: 1}), memory.get({n: 2})])).args.n`, failing, `2`,
			`1 memory.store {"n":1}; 2 memory.get {"n":2}`},
		{"allSettled", `return (await Promise.allSettled([memory.store({n: 1}), memory.get({n: 2})])).map(s => s.status)`, failing,
			`["rejected","fulfilled"]`, `1 memory.store {"n":1}; 2 memory.get {"n":2}`},
		{"calls after the order of answers", `const order = []
const one = async n => { await memory.get({n}); order.push(n); await memory.get({after: n}) }
await Promise.all([one(1), one(2)])
return order`, last, `[2,1]`, `1 memory.get {"n":1}; 2 memory.get {"n":2}; 3 memory.get {"after":2}; 4 memory.get {"after":1}`},
		{"generators", `async function* all() { for (let n = 0; n < 3; n++) yield (await memory.get({n})).args.n }
function* twice(n) { yield n; yield n }
const list = []
for await (const n of all()) for (const m of twice(n)) list.push(m)
return list`, nil, `[0,0,1,1,2,2]`, `1 memory.get {"n":0}; 2 memory.get {"n":1}; 3 memory.get {"n":2}`},
		{"calls that are never awaited", `memory.get({n: 1}).then(() => memory.get({n: 2})); return "early"`, nil, `"early"`,
			`1 memory.get {"n":1}; 2 memory.get {"n":2}`},
		{"a caught error", `try { await memory.store({}) } catch (e) {
	return [e instanceof ToolError, e instanceof Error, e.name, e.code, e.message, e.tool, e.problems, e.usage]
}`, failing, `[true,true,"ToolError","NOT_FOUND","there is no key","memory.store",[{"a":1}],"store(key)"]`, `1 memory.store {}`},
		{"finally", `let n = 0; try { await memory.store({}) } catch { n++ } finally { n++ } return n`, failing, `2`, `1 memory.store {}`},
		{"sleep", `await sleep(1500); await sleep(-1); await sleep(); return new Date().toISOString()`, nil, `"2026-01-02T03:04:08.000Z"`,
			`1 sleep {"ms":1500}; 2 sleep {"ms":0}; 3 sleep {"ms":0}`},
		{"timers", `const ids = [setTimeout((a) => console.log(a), 10, "ran"), setTimeout(() => console.log("not"), 20)]
clearTimeout(ids[1]); return ids`, nil, `[1,2]`, `1 sleep {"ms":10}; 2 sleep {"ms":20}`},
		{"time stands", `const a = Date.now(), b = new Date(); for (let i = 0; i < 1e5; i++);
await memory.get(); return [a - b, new Date() - b, Date.now() - a, typeof Date()]`,
			nil, `[0,1000,1000,"string"]`, `1 memory.get {}`},
		{"dates", `const d = new Date(2026, 1, 3); class D extends Date {}
return [d.toISOString(), d.getTimezoneOffset(), Date.UTC(2026, 0), new Date("2026-05-06").getDate(), new D().getFullYear(),
	d instanceof Date, d.constructor === Date, Date.name, Date.length]`,
			nil, `["2026-02-03T00:00:00.000Z",0,1767225600000,6,2026,true,true,"Date",7]`, ""},
		{"no clocks and no threads",
			`return [typeof WeakRef, typeof FinalizationRegistry, typeof Atomics, typeof SharedArrayBuffer, typeof performance,
	typeof Intl, typeof require, typeof process, typeof fetch, typeof print, typeof std, typeof os]`,
			nil, `["` + strings.Join(slices.Repeat([]string{"undefined"}, 12), `","`) + `"]`, ""},
		{"input", `return input.list.map(n => n * 2)`, nil, `[2,4]`, ""},
		{"unknown names", `const list = []
for (const f of [() => github.list_isues, () => tools.call("memory.gt"), () => github.zzzzzz, () => tools.call(7)]) {
	try { f() } catch (e) { list.push([e instanceof ToolError, e.code, e.tool, e.message]) }
}
return list`, nil, `[[true,"UNKNOWN_NAME","github.list_isues",` +
			`"there is no action \"github.list_isues\"; the nearest are github.list_issues, github.get_issue"],` +
			`[true,"UNKNOWN_NAME","memory.gt","there is no action \"memory.gt\"; the nearest are memory.get"],` +
			`[true,"UNKNOWN_NAME","github.zzzzzz","there is no action \"github.zzzzzz\""],` +
			`[false,null,null,"tools.call takes a name and an object: tools.call(\"family.action\", {key: \"value\"})"]]`, ""},
		{"objects of functions", `"use strict"; const list = []
for (const f of [() => { memory.get = 1 }, () => { delete memory.get }, () => { memory = 1 }, () => { memory.get.x = 1 }]) {
	try { f(); list.push("done") } catch (e) { list.push(e.name) }
}
return [list, Object.getPrototypeOf(memory), Object.keys(memory), "get" in memory, JSON.stringify(memory), await memory === memory]`,
			nil, `[["TypeError","TypeError","TypeError","TypeError"],null,["get","store"],true,"{}",true]`, ""},
		{"lone surrogates and zero", `return [await memory.get({s: "\ud800 \0 \u2028"}), "\udfff", {"\ud801": 1}]`, nil,
			`[{"args":{"s":"\ud800 \u0000 ` + "\u2028" + `"},"name":"memory.get"},"\udfff",{"\ud801":1}]`,
			`1 memory.get {"s":"\ud800 \u0000 ` + "\u2028" + `"}`},
		{"__proto__", `const a = await memory.get(JSON.parse('{"__proto__": {"x": 1}}'))
return [a, a.args.x === undefined, Object.keys(a.args)]`, nil,
			`[{"args":{"__proto__":{"x":1}},"name":"memory.get"},true,["__proto__"]]`, `1 memory.get {"__proto__":{"x":1}}`},
		{"numbers of any size", `return JSON.stringify([1e21, 0.1, -0, 123456789012345680000])`,
			nil, `"[1e+21,0.1,0,123456789012345680000]"`, ""},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			if test.next == nil {
				test.next = echo
			}
			s := play(t, Program{Source: test.source, Input: json.RawMessage(`{"list":[1,2]}`)}, test.next)
			if s.End.Failure != nil || string(s.End.Result) != test.want || len(s.End.Unseen) != 0 {
				t.Errorf("result %s, want %s; failure %+v, unseen %+v", s.End.Result, test.want, s.End.Failure, s.End.Unseen)
			}
			if calls := strings.Join(s.Calls, "; "); calls != test.calls {
				t.Errorf("calls %s, want %s", calls, test.calls)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ why, source, want string }{
		{"a thrown error", "const a = 1\n\n  throw new TypeError('bad')",
			`thrown TypeError: bad | 3:22 throw new TypeError('bad') | script (3:22) `},
		{"in functions, after a call", "async function f() {\n  await memory.get()\n  null.x\n}\nasync function g() { await f() }\nawait g()",
			`thrown TypeError: cannot read property 'x' of null | 3:7 null.x | f (3:7) `},
		{"the first line", "null.x",
			`thrown TypeError: cannot read property 'x' of null | 1:5 null.x | script (1:5) `},
		{"a callback", "[1].map(n => {\n  return n.x.y\n})",
			`thrown TypeError: cannot read property 'y' of undefined | 2:13 return n.x.y | script (2:13), script (1:8) `},
		{"an uncaught error of a tool", "const a = 1\nawait memory.store({a})",
			`thrown NOT_FOUND: there is no key | 2:19 await memory.store({a}) | script (2:19) memory.store`},
		{"an unknown name", "await github.list_isues()",
			`thrown UNKNOWN_NAME: there is no action "github.list_isues"; the nearest are github.list_issues, github.get_issue` +
				` | 1:13 await github.list_isues() | script (1:13) github.list_isues`},
		{"an unknown object", "\nawait githb.list_issues()",
			`thrown ReferenceError: 'githb' is not defined; did you mean github? | 2:7 await githb.list_issues() | script (2:7) `},
		{"arguments of another form", "await memory.get('a')",
			`thrown TypeError: memory.get takes one object of arguments, such as {key: "value"} | 1:17 await memory.get('a') | script (1:17) `},
		{"a string", "throw 'bad'",
			`thrown : bad | 0:0  |  `},
		{"an object", "throw {a: [1]}",
			`thrown : {"a":[1]} | 0:0  |  `},
		{"nothing", "throw undefined",
			`thrown : undefined | 0:0  |  `},
		{"a syntax error", "const a = 1\nconst b = = 2",
			`syntax SyntaxError: unexpected token in expression: '=' | 2:11 const b = = 2 |  `},
		{"a syntax error on the first line", "const = 2",
			`syntax SyntaxError: variable name expected | 1:7 const = 2 |  `},
		{"an open end", "if (true) {\n  f()",
			`syntax SyntaxError: the script ends before all brackets are closed | 2:6 f() |  `},
		{"an open bracket", "f(1",
			`syntax SyntaxError: expecting ',' | 1:4 f(1 |  `},
		{"an open text", "const a = 1\nconst b = 'x\n",
			`syntax SyntaxError: unexpected end of string | 2:11 const b = 'x |  `},
		{"a bracket too many", "f()\n}\ng()",
			`syntax SyntaxError: unexpected token in expression: '}' | 3:4 g() |  `},
		{"the wrapper closed", "}); console.log(1); (async () => {",
			`syntax SyntaxError: unexpected token in expression: ')' | 1:2 }); console.log(1); (async () => { |  `},
		{"the other wrapper closed", "} console.log(1); {",
			`syntax SyntaxError: expecting ')' | 1:3 } console.log(1); { |  `},
		{"calls at once", "\n\nfor (;;) memory.get()",
			`limit : it issued calls with more than 4000 bytes of arguments at once; await some before others` +
				` | 3:20 for (;;) memory.get() | script (3:20) `},
		{"waiting for nothing", "await new Promise(() => {})",
			`stuck : the script waits for something that never comes: no call is outstanding | 0:0  |  `},
		{"circular", "const a = {}; a.a = a; return a",
			`result TypeError: the result is not JSON: circular reference | 0:0  |  `},
		{"BigInt", "return 1n",
			`result TypeError: the result is not JSON: Do not know how to serialize a BigInt | 0:0  |  `},
		{"toJSON throws", "return {toJSON() {\n throw new RangeError('no') } }",
			`result RangeError: the result is not JSON: no | 2:22 throw new RangeError('no') } } | toJSON (2:22) `},
		{"a function", "return () => 1",
			`result : the result is a function or a symbol, which is not JSON | 0:0  |  `},
		{"a long result", "return 'x'.repeat(2000)",
			`result : the result has 2002 bytes, at most 1000 are allowed; return less | 0:0  |  `},
		{"long arguments", "await memory.get({a: 'x'.repeat(2000)})",
			`thrown RangeError: the arguments of memory.get have 2008 bytes, at most 1000 are allowed` +
				` | 1:17 await memory.get({a: 'x'.repeat(2000)}) | script (1:17) `},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			s := play(t, Program{Source: test.source, Limits: Limits{Result: 1000, Arguments: 1000, Running: time.Minute}}, failing)
			if s.End.Failure == nil {
				t.Fatalf("it made %s", s.End.Result)
			}
			f := s.End.Failure
			got := fmt.Sprintf("%s %s: %s | %d:%d %s | %s %s",
				f.Kind, f.Name, f.Message, f.Line, f.Column, f.Code, strings.Join(f.Stack, ", "), f.Tool)
			if got != test.want || len(s.End.Unseen) > 0 {
				t.Errorf("%s, want\n%s; unseen %v", got, test.want, s.End.Unseen)
			}
		})
	}
}

// A limit is reported with the place of the program, whatever it catches.
func TestPlaceOfLimits(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		// Which call of a loop the engine noted last is up to the time.
		"let i = 0\nfor (;;) {\n  i = Math.max(i, 1)\n}":                                           "limit",
		"function f() {\n  for (;;);\n}\nawait memory.get()\nf()":                                  "limit",
		"async function f() {\n  await memory.get()\n  for (;;) Date.now()\n}\nawait f()":          "limit",
		"return {get x() {\n  for (;;) try { Math.max() } catch {} }}":                             "limit",
		"return /(a+)+$/.test('a'.repeat(40) + 'b')":                                               "limit",
		"const a = []\nfor (;;) {\n  a.push({})\n}":                                                "memory 3",
		"const a = []\nfor (;;) {\n  a[a.length] = {}\n}":                                          "memory 1",
		"const a = []\ntry { for (;;) a.push('x'.repeat(1e6)) } catch { return 1 }":                "memory 2",
		"const f = async () => {\n  await null\n  const a = []; for (;;) a.push({})\n}\nawait f()": "memory 3",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			limits := Limits{Running: time.Minute, Memory: 8 << 20}
			if strings.HasPrefix(want, Limit) {
				limits.Running = 300 * time.Millisecond
			}
			s := play(t, Program{Source: source, Limits: limits}, echo)
			if s.End.Failure == nil {
				t.Fatalf("it made %s", s.End.Result)
			}
			got := fmt.Sprintf("%s %d", s.End.Failure.Kind, s.End.Failure.Line)
			if want == Limit { // on a slow machine this process may kill the other, which then reports no place
				got = s.End.Failure.Kind
			}
			if got != want || s.End.Failure.Line > strings.Count(source, "\n")+1 {
				t.Errorf("%+v, want %s", s.End.Failure, want)
			}
		})
	}
}

// Rejections that nothing handles are reported; those that are handled later are not.
func TestUnseen(t *testing.T) {
	t.Parallel()
	s := play(t, Program{Source: `const late = Promise.reject(new Error("handled later"))
Promise.reject(new Error("direct"))
async function f() { await memory.get(); throw new Error("in a function") }
f()
memory.store({})
setTimeout(() => { throw new Error("in a timer") }, 1)
await memory.get()
await late.catch(() => {})
return 1`}, failing)
	var got []string
	for _, f := range s.End.Unseen {
		got = append(got, fmt.Sprintf("%s %s %d", f.Name, f.Message, f.Line))
	}
	want := []string{"Error direct 2", "Error in a function 3", "NOT_FOUND there is no key 5", "Error in a timer 6"}
	if diff := cmp.Diff(want, got); diff != "" || string(s.End.Result) != "1" {
		t.Errorf("%s, -want +got:\n%s", s.End.Result, diff)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	s := play(t, Program{Source: `console.log("a", 1, {b: [null]}, undefined, Symbol("s"), 5n, new TypeError("bad"), () => 1)
console.warn("\ud800")
console.error({get x() { throw 1 }})
await memory.get()
for (let i = 0; i < 100; i++) console.log("x".repeat(30))`, Limits: Limits{Logs: 200}}, echo)
	want := []string{`a 1 {"b":[null]} undefined Symbol(s) 5 TypeError: bad () => 1`, "\uFFFD", "[object Object]"}
	if len(s.Logs) < 3 || !cmp.Equal(want, s.Logs[:3]) || !strings.HasSuffix(s.Logs[len(s.Logs)-1], "… (later logs are left out)") {
		t.Errorf("%q", s.Logs)
	}
	if size := len(strings.Join(s.Logs, "\n")); size > 250 {
		t.Errorf("%d bytes of logs", size)
	}
}

// The same answers in the same order give the same calls and the same end, with another seed others.
func TestSameAgain(t *testing.T) {
	t.Parallel()
	const source = `const seen = []
const work = async n => {
	for (let i = 0; i < 3; i++) {
		await memory.get({n, i, random: Math.random(), now: Date.now()})
		seen.push(n)
		if (Math.random() < 0.5) await Promise.race([memory.store({n}), sleep(Math.floor(Math.random() * 100))]).catch(() => 0)
	}
}
await Promise.all([1, 2, 3, 4].map(work))
return [seen, Math.random(), new Date()]`
	zigzag := func() answerer {
		n := 0
		return func(waiting []Call) (int, Answer) {
			n = (n*7 + 3) % 10007
			i := n % len(waiting)
			_, a := failing(waiting[i:])
			return i, a
		}
	}
	first := play(t, Program{Source: source, Seed: 7}, zigzag())
	if again := play(t, Program{Source: source, Seed: 7}, zigzag()); !cmp.Equal(first, again) {
		t.Error(cmp.Diff(first, again))
	}
	if other := play(t, Program{Source: source, Seed: 8}, zigzag()); cmp.Equal(first.Calls, other.Calls) {
		t.Error("another seed gives the same calls")
	}
	if zero := play(t, Program{Source: "return Math.random()"}, echo); zero.End.Failure != nil {
		t.Errorf("%+v", zero.End.Failure)
	}
}

// A long answer fits into the usual memory; one that is too deep for the engine is an error of its call.
// An action whose object would hide one of the language is called by its name alone.
func TestNamesOfTheLanguage(t *testing.T) {
	t.Parallel()
	s := play(t, Program{
		Source: `await tools.call("Object.keys"); await tools.call("input.get"); await tools.call("tools.call"); await this["a b"].c()
return [Object.keys({a: 1}), typeof console.log, input]`,
		Names: []string{"Object.keys", "console.log", "input.get", "input.get", "sleep.long", "globalThis.x", "undefined.x", "tools.call",
			"a b.c", "plain"},
	}, echo)
	if string(s.End.Result) != `[["a"],"function",null]` || len(s.Calls) != 4 {
		t.Errorf("%s %+v after %q", s.End.Result, s.End.Failure, s.Calls)
	}
}

// A timeout that lost the race does not hold the outcome back.
func TestSettled(t *testing.T) {
	t.Parallel()
	p, turn, err := Start(testwait.Context(t), Program{Source: `return await Promise.race([memory.get(), sleep(60000)])`, Names: names})
	if err != nil || turn.Settled || len(turn.Calls) != 2 {
		t.Fatalf("%+v, %v", turn, err)
	}
	defer p.Close()
	if turn, err = p.Resume(t.Context(), Answer{Seq: 1}); err != nil || !turn.Settled || turn.End != nil {
		t.Errorf("%+v, %v", turn, err)
	}
	if turn, err = p.Resume(t.Context(), Answer{Seq: 2}); err != nil || turn.End == nil || string(turn.End.Result) != "null" {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestLongAnswers(t *testing.T) {
	t.Parallel()
	item := `{"number":12345,"title":"the answer of a tool, one of many","state":"open","labels":["bug","help wanted"],"user":{"login":"x"}},`
	long := json.RawMessage("[" + strings.Repeat(item, 7<<20/len(item)) + "1]")
	deep := json.RawMessage(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	for _, test := range []struct {
		value json.RawMessage
		want  string
	}{{long, "object"}, {deep, "stack overflow"}} {
		s := play(t, Program{
			Source: "try { return typeof await memory.get() } catch (e) { return e.message }",
			Limits: Limits{Running: time.Hour},
		}, func([]Call) (int, Answer) { return 0, Answer{Value: test.value} })
		if string(s.End.Result) != `"`+test.want+`"` {
			t.Errorf("%s, %+v", s.End.Result, s.End.Failure)
		}
	}
}

func TestLittleMemory(t *testing.T) {
	t.Parallel()
	s := play(t, Program{Source: "return 1", Limits: Limits{Memory: 1}}, echo)
	if s.End.Failure == nil || s.End.Failure.Kind != Memory {
		t.Errorf("%+v", s.End)
	}
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	p, _, err := Start(testwait.Context(t), Program{Source: "await memory.get(); await memory.get()", Names: names})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, a := range []Answer{{Seq: 2}, {Seq: 1, Value: json.RawMessage("{")}, {Seq: 1, Error: &ToolError{Problems: json.RawMessage("x")}}} {
		if _, err := p.Resume(t.Context(), a); err == nil || errors.Is(err, ErrEnded) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	for seq := 1; seq <= 2; seq++ {
		if _, err := p.Resume(t.Context(), Answer{Seq: seq}); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Resume(t.Context(), Answer{Seq: 2}); err == nil {
		t.Error("an ended script takes an answer")
	}
}
