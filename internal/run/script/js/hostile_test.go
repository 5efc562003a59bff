package js

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// ends are the kinds of end that a hostile script may have: "ok" is a result.
const (
	ok        = "ok"
	timeOrOut = Limit + " " + Memory // a slow machine may reach the time limit first
)

// Hostile scripts end within their limits, and never take this process with them. Only the kind of
// their end is checked: how much of it each machine reaches first differs.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ why, source, want string }{
		// Time
		{"a loop", `for (;;);`, Limit},
		{"a loop in try", `try { for (;;); } catch { return 1 } finally { return 2 }`, Limit},
		{"a loop that catches", `for (;;) { try { for (;;); } catch {} }`, Limit},
		{"recursion that catches", `function f() { try { f() } catch (e) { f() } } f()`, Limit},
		{"recursion in finally", `function f() { try { f() } finally { f() } } f()`, Limit + " " + Thrown},
		{"regular expression", `return /(a+)+$/.test("a".repeat(40) + "b")`, Limit},
		{"another regular expression", `return /(x+x+)+y/.test("x".repeat(50))`, Limit},
		{"regular expression in replace", `return "a".repeat(50).replace(/(a*)*b/g, "")`, Limit},
		{"split", `return "a".repeat(50).split(/(a|a)*b/)`, Limit},
		{"BigInt powers", `let n = 3n; for (;;) n = n ** 7n`, timeOrOut + " " + Thrown},
		{"one BigInt power", `return String(7n ** 10000000n).length`, timeOrOut + " " + Thrown},
		{"endless reactions", `const f = () => Promise.resolve().then(f); await f()`, timeOrOut},
		{"endless await", `for (;;) await null`, Limit},
		{"endless await that catches", `for (;;) { try { await Promise.reject(1) } catch {} }`, Limit},
		{"endless thenables", `const t = {then(f) { f(t) }}; await t`, timeOrOut},
		{"a getter", `const o = {get x() { for (;;); }}; return o.x`, Limit},
		{"a getter in a result", `return {get x() { for (;;); }}`, Limit},
		{"a getter in arguments", `await memory.get({get x() { for (;;); }})`, Limit},
		{"toJSON", `return {toJSON() { for (;;); }}`, Limit},
		{"toString of what is thrown", `throw {toString() { for (;;); }, toJSON() { throw 1 }}`, Limit},
		{"message of what is thrown", `const e = new Error(); Object.defineProperty(e, "message", {get() { for (;;); }}); throw e`, Limit},
		{"toString in a log", `console.log({toJSON() { for (;;); }})`, Limit},
		{"a thenable as a result", `return {then() { for (;;); }}`, Limit},
		{"a sort", `[3, 2, 1].sort(() => { for (;;); })`, Limit},
		{"a comparison that lies", `return Array.from({length: 1e5}, (_, i) => i).sort(() => Math.random() - 0.5).length`, ok + " " + Limit},
		{"a proxy loop", `const p = new Proxy({}, {get: (t, k, r) => r[k]}); return p.x`, Thrown + " " + Limit},
		{"a proxy as its own prototype",
			`const p = new Proxy({}, {getPrototypeOf: () => p}); return p instanceof Array`, timeOrOut + " " + Thrown},
		{"an iterator without end", `return [...{[Symbol.iterator]: () => ({next: () => ({value: 1})})}].length`, timeOrOut},
		{"a generator without end", `function* f() { for (;;) yield 1 } return Array.from(f()).length`, timeOrOut},
		{"a long fill", `return new Array(2 ** 32 - 1).fill(0).length`, timeOrOut + " " + Thrown},
		{"a long join", `const a = []; a.length = 2 ** 32 - 1; return a.join("x").length`, timeOrOut + " " + Thrown},
		{"a long indexOf", `return Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`, Limit},
		{"symbols of regular expressions", `const r = /a/g; r.exec = () => ({index: 0, 0: ""}); return "a".replace(r, "b")`, timeOrOut},

		// Memory
		{"an array", `const a = []; for (;;) a.push({})`, timeOrOut},
		{"text", `let s = "x"; for (;;) s += s`, timeOrOut + " " + Thrown},
		{"text that catches", `for (;;) { try { const a = []; for (;;) a.push("x".repeat(1e6) + a.length) } catch {} }`, timeOrOut},
		{"memory that catches", `try { const a = []; for (;;) a.push(new Uint8Array(1e6)) } catch { return "caught" }`, timeOrOut},
		{"an ArrayBuffer", `return new ArrayBuffer(2 ** 40).byteLength`, Memory + " " + Thrown},
		{"many ArrayBuffers", `const a = []; for (;;) a.push(new ArrayBuffer(2 ** 20))`, timeOrOut},
		{"padStart", `return "x".padStart(2 ** 29).length`, Memory + " " + Thrown},
		{"a map", `const m = new Map(); for (let i = 0; ; i++) m.set(i, i)`, timeOrOut},
		{"symbols", `const a = {}; for (let i = 0; ; i++) a["k" + i] = Symbol("x" + i)`, timeOrOut},
		{"closures", `let f = () => 0; for (;;) { const g = f; f = () => g }`, timeOrOut},
		{"functions from text", `for (let i = 0; ; i++) globalThis["f" + i] = Function("return " + i)`, timeOrOut},
		{"rejections", `for (;;) Promise.reject({})`, timeOrOut},
		{"a spread", `const a = new Array(1e5).fill(1); return Math.max(...a, ...a, ...a, ...a)`, ok + " " + Thrown},
		{"JSON of a long text", `return JSON.stringify("\u0001".repeat(2e7)).length`, timeOrOut},

		// Depth
		{"recursion", `function f() { return f() + 1 } f()`, Thrown},
		{"recursion of async functions", `async function f() { return await f() } await f()`, Thrown + " " + timeOrOut},
		{"deep JSON to read", `return JSON.parse("[".repeat(1e5) + "]".repeat(1e5))`, Thrown},
		{"a deep result", `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`, NoResult + " " + Limit},
		{"deep objects to free", `let a = {}; for (let i = 0; i < 1e5; i++) a = {a}; a = null; return 1`, ok},
		{"deep arguments", `let a = {}; for (let i = 0; i < 1e5; i++) a = {a}; await memory.get(a)`, Thrown + " " + Limit},
		{"a deep getter", `const o = {get x() { return this.x }}; return o.x`, Thrown},
		{"a deep toString", `const o = {toString() { return "" + this }}; return "" + o`, Thrown},
		{"a deep source", "return " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000), Syntax + " " + NoResult},
		{"brackets", strings.Repeat("(", 20000), Syntax},
		{"a deep regular expression", `return new RegExp("(".repeat(1e5) + ")".repeat(1e5)).test("")`, Thrown + " " + ok},
		{"deep bound functions", `let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()`, Thrown + " " + Memory},
		{"deep proxies", `let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x`, Thrown + " " + Memory},
		{"a deep chain of promises", `let p = memory.get(); for (let i = 0; i < 1e4; i++) p = p.then(x => x); return (await p).name`, ok},
		{"deep rope of texts", `let s = ""; for (let i = 0; i < 2e5; i++) s = "a" + s; return s.length`, ok},

		// Floods
		{"logs", `for (let i = 0; i < 2e4; i++) console.log("x".repeat(1000)); return 1`, ok + " " + Limit},
		{"a long log", `console.log("x".repeat(3e7))`, ok + " " + timeOrOut},
		{"calls at once", `for (;;) memory.get()`, timeOrOut},
		{"arguments at once", `for (;;) memory.get({x: "y".repeat(9e5)})`, timeOrOut},
		{"long arguments", `await memory.get({x: "y".repeat(3e7)})`, Thrown + " " + Memory},
		{"timers", `for (;;) setTimeout(() => {}, 0)`, timeOrOut},
		{"a timer that starts itself", `let n = 0; const f = () => { if (++n < 50) setTimeout(f) }; f()`, ok},
		{"a long result", `return "x".repeat(2e7)`, NoResult + " " + Memory},
		{"a long error", `throw new Error("x".repeat(2e7))`, Thrown + " " + Memory},
		{"a long name", `await tools.call("x".repeat(1e7), {})`, Thrown + " " + Memory},
		{"many unseen rejections", `for (let i = 0; i < 1e4; i++) Promise.reject(i); return 1`, ok},

		// Ways out
		{"the wrapper closed", `}); memory.get(); (async () => {`, Syntax},
		{"the wrapper closed by a comment", `*/ }) /*`, Syntax},
		{"an import", `return (await import("os")).default`, Thrown},
		{"a file imported", `return await import("/etc/passwd")`, Thrown},
		{"an import declared", `import x from "os"`, Syntax},
		{"eval", `return eval("1 + 1")`, ok},
		{"eval of a loop", `eval("for (;;);")`, Limit},
		{"the Function constructor",
			`return (() => {}).constructor("return [typeof std, typeof require, typeof host, typeof process].join()")()`, ok},
		{"the constructor of async functions", `return await (async () => {}).constructor("return await 1")()`, ok},
		{"the constructor of an action", `return memory.get.constructor("return this")() === globalThis`, ok},
		{"a debugger", `debugger; return 1`, ok},

		// Changed built-in objects
		{"arrays",
			`Array.prototype[Symbol.iterator] = null; Array.prototype.push = null; Array.isArray = null;
return (await memory.get({a: [1]})).name`, ok},
		{"promises", `Promise.prototype.then = null; Promise.prototype.constructor = null; Promise = null; return 1`, ok},
		{"promises and calls", `Promise.prototype.then = () => { throw 1 }; memory.get(); return 1`, ok},
		{"JSON", `JSON.stringify = () => { throw 1 }; JSON.parse = null; JSON = null; return (await memory.get({a: 1})).args`, ok},
		{"objects", `Object.prototype.toJSON = function () { throw 1 }; return {}`, NoResult},
		{"objects with members",
			`Object.prototype.then = 1; Object.prototype.get = 1; Object.prototype.value = 2; console.log({});
return (await memory.get()).name`, ok},
		{"setters of objects",
			`Object.defineProperty(Object.prototype, "code", {set() { throw 1 }}); try { await memory.store() } catch (e) { return e.code }`, ok},
		{"definitions of properties",
			`Object.defineProperty = Object.freeze = Reflect.apply = Reflect.construct = null;
try { await memory.store() } catch (e) { return e.code }`, ok},
		{"errors", `Error = TypeError = null; ToolError.prototype = null; Object.setPrototypeOf(ToolError, null); return 1`, ok},
		{"the prototype of errors", `Object.setPrototypeOf(ToolError, function () { throw 1 }); await memory.get()`, Thrown},
		{"stacks", `Error.prepareStackTrace = () => { for (;;); }; Error.stackTraceLimit = 1e9; null.x`, Thrown + " " + Limit},
		{"all globals", `for (const k of Object.getOwnPropertyNames(globalThis)) try { globalThis[k] = null } catch {} return 1`, ok},
		{"no globals", `for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k] } catch {} return 1`, ok},
		{"the console", `console.log = null; console = null; return 1`, ok},
		{"frozen objects",
			`Object.freeze(Object.prototype); Object.freeze(globalThis); Object.freeze(Promise.prototype); return (await memory.get()).name`, ok},
		{"Math and Date", `Math.random = Date.now = Date = null; Math.max = Math.min = null; await sleep(1); return 1`, ok},
		{"the prototype of functions",
			`Function.prototype.call = Function.prototype.apply = null; Function.prototype.then = 1; return (await memory.get()).name`, ok},
		{"a proxy of the error", `throw new Proxy(new Error("x"), {get() { throw 1 }})`, Thrown},
		{"a revoked proxy", `const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy`, Thrown},
		{"a revoked proxy as a result", `const r = Proxy.revocable({}, {}); r.revoke(); return [r.proxy]`, NoResult},
		{"a revoked proxy as arguments", `const r = Proxy.revocable({}, {}); r.revoke(); await memory.get(r.proxy)`, Thrown},

		// Texts
		{"line separators", "const a = 1\u2028const b = 2\u2029return a + b", ok},
		{"lone surrogates", `throw new Error("\ud800")`, Thrown},
		{"a zero in the source", "return 1\x00 + 1", Syntax},
		{"a zero in a text", "return '\x00'.length", ok + " " + Syntax},
		{"bytes that are not UTF-8", "return '\xff\xc0'.length", ok},
		{"a mark at the start", "\ufeffreturn 1", ok},
		{"comments of HTML", "<!-- x\nreturn 1\n--> y", ok},
		{"an open comment", "return 1 /*", Syntax},
		{"an open template", "return `${", Syntax},
		{"an unfinished line", "return 1 //", ok},
		{"a script of blanks", strings.Repeat(" \n", 1e5), ok},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			limits := Limits{Running: time.Minute, Memory: 16 << 20, Arguments: 1 << 20} // the time is a guard
			if strings.Contains(test.want, Limit) {
				limits.Running = 200 * time.Millisecond
			}
			s := play(t, Program{Source: test.source, Limits: limits}, failing)
			kind := ok
			if s.End.Failure != nil {
				kind = s.End.Failure.Kind
			}
			if !strings.Contains(" "+test.want+" ", " "+kind+" ") {
				t.Errorf("ended with %s, want %s: %s %+v", kind, test.want, s.End.Result, s.End.Failure)
			}
			if out := fmt.Sprintf("%s%v", s.End.Result, s.Logs); strings.Contains(out, "root:") || strings.Contains(out, "object,") {
				t.Errorf("it got %s", out)
			}
		})
	}
}
