// The prelude makes the globals of a program. It holds what it needs of the engine in constants, so
// that a program that changes built-in objects harms only itself. Arrays are read by index: iterators
// can be changed too.
(function (host, setting, clock) {
	"use strict";
	const RealDate = Date, RealError = Error, RealProxy = Proxy, RealTypeError = TypeError, StringOf = String;
	const { apply, construct, ownKeys } = Reflect, { defineProperty, freeze } = Object, { isArray } = Array;
	const { stringify } = JSON, { slice } = String.prototype, dateToString = RealDate.prototype.toString;
	const max = Math.max, min = Math.min;

	const define = (object, key, value) => defineProperty(object, key, { __proto__: null, value, writable: true, configurable: true });

	for (const name of ["WeakRef", "FinalizationRegistry", "Atomics", "SharedArrayBuffer", "performance", "Intl"]) delete globalThis[name];

	class ToolError extends RealError {}
	define(ToolError.prototype, "name", "ToolError");
	define(globalThis, "ToolError", ToolError);

	function FrozenDate(...args) {
		if (new.target === undefined) return apply(dateToString, new RealDate(clock.now), []);
		return construct(RealDate, args.length === 0 ? [clock.now] : args, new.target);
	}
	defineProperty(FrozenDate, "name", { __proto__: null, value: "Date" });
	defineProperty(FrozenDate, "length", { __proto__: null, value: 7 });
	defineProperty(FrozenDate, "prototype", { __proto__: null, value: RealDate.prototype, writable: false });
	define(FrozenDate, "now", () => clock.now);
	define(FrozenDate, "parse", RealDate.parse);
	define(FrozenDate, "UTC", RealDate.UTC);
	define(RealDate.prototype, "constructor", FrozenDate);
	define(globalThis, "Date", FrozenDate);

	// The error of a call is made when it is issued: its stack is where the program called.
	const issue = (name, args) => host.call(name, args, new ToolError());

	// These take their words alone, and then answer signatures.
	const spoken = { __proto__: null, "tools.find": "query", "tools.describe": "name" };

	const stored = { __proto__: null };
	for (let i = 0; i < setting.stored.length; i++) stored[setting.stored[i]] = true;
	const asking = "scripts.confirm";
	const confirm = (text, details) => {
		if (typeof text !== "string" || text === "") throw new RealTypeError(asking + " takes the question as a text");
		return issue(asking, stringify({ __proto__: null, text, details }));
	};

	function call(name, args) {
		if (name === asking && stored[name] === true) return confirm(args?.text, args?.details);
		if (stored[name] === true) return issue(name, stringify({ __proto__: null, input: args }));
		let text = "{}";
		if (typeof args === "string" && spoken[name] !== undefined) args = { __proto__: null, [spoken[name]]: args, as: "ts" };
		if (args !== undefined && args !== null) {
			if (typeof args === "object" && !isArray(args)) text = stringify(args);
			else text = undefined;
		}
		if (text === undefined) throw new RealTypeError(name + " takes one object of arguments, such as {key: \"value\"}");
		return issue(name, text);
	}

	// A promise where a value belongs is a call that the program does not await: its JSON would be {}.
	const forgotten = "a promise is no value: await it, or await Promise.all(list)";
	const refuse = () => { throw new RealTypeError(forgotten); };
	define(Promise.prototype, "toJSON", refuse);
	define(Promise.prototype, Symbol.toPrimitive, refuse);

	const parse = JSON.parse;
	define(JSON, "parse", (text, reviver) => {
		if (typeof text !== "object" || text === null || text instanceof StringOf) return parse(text, reviver);
		throw new RealTypeError("JSON.parse takes a text: what a call returns is a value already");
	});

	// The action as a function of the program. Array.map and the like give an index and the list beside the item.
	const action = (name) => freeze((args, more) => {
		if (typeof more === "object" && more !== null && more !== args) throw new RealTypeError(name + " takes one object: put all arguments into it");
		return call(name, args);
	});

	function unknown(name) {
		const error = new ToolError(host.unknown(name));
		define(error, "code", "UNKNOWN_NAME");
		define(error, "tool", name);
		return error;
	}

	function show(value) {
		try {
			if (typeof value === "string") return value;
			if (value instanceof RealError) return StringOf(value.name) + ": " + StringOf(value.message);
			const text = stringify(value);
			return text === undefined ? StringOf(value) : text;
		} catch (error) {
			if (error.message === forgotten) return "(" + forgotten + ")";
			try { return StringOf(value); } catch { return "(a value without text)"; }
		}
	}
	function log(...values) {
		let text = "";
		for (let i = 0; i < values.length; i++) text += (i > 0 ? " " : "") + show(values[i]);
		host.log(text);
	}
	const console = {};
	for (const level of ["log", "info", "warn", "error", "debug"]) define(console, level, log);
	define(globalThis, "console", console);

	const sleep = (ms) => issue("sleep", stringify({ __proto__: null, ms: min(max(+ms || 0, 0), 2 ** 31 - 1) }));
	let timers = 0;
	const cleared = { __proto__: null };
	function setTimeout(action, ms, ...args) {
		if (typeof action !== "function") throw new RealTypeError("setTimeout takes a function");
		const id = ++timers;
		(async () => {
			await sleep(ms);
			if (cleared[id] !== true) apply(action, undefined, args);
		})();
		return id;
	}
	define(globalThis, "sleep", sleep);
	define(globalThis, "setTimeout", setTimeout);
	define(globalThis, "clearTimeout", (id) => { if (typeof id === "number") cleared[id] = true; });
	define(globalThis, "input", setting.input);

	// Keys that the engine or JSON.stringify read of any object.
	const quiet = { __proto__: null, then: 1, toJSON: 1, toString: 1, valueOf: 1, constructor: 1 };
	const known = { __proto__: null };
	for (let i = 0; i < setting.names.length; i++) known[setting.names[i]] = true;
	for (let i = 0; i < setting.spaces.length; i++) {
		const { name: space, members } = setting.spaces[i], target = space === "" ? globalThis : { __proto__: null };
		for (let j = 0; j < members.length; j++) {
			const { key, name } = members[j];
			if (key in target) continue; // a function of the language stays
			defineProperty(target, key, { __proto__: null, value: name === asking && stored[name] === true ? freeze(confirm) : action(name), enumerable: space !== "" });
		}
		if (space === "") continue;
		if (space === "tools") {
			defineProperty(target, "call", { __proto__: null, value: freeze((name, args) => {
				if (typeof name !== "string") throw new RealTypeError('tools.call takes a name and an object: tools.call("family.action", {key: "value"})');
				if (known[name] !== true && stored[name] !== true) throw unknown(name);
				return call(name, args);
			}) });
		}
		const get = (object, key) => {
			if (typeof key === "symbol" || key in object) return object[key];
			if (quiet[key] === 1) return undefined;
			throw unknown(space + "." + key);
		};
		const value = new RealProxy(freeze(target), freeze({ __proto__: null, get }));
		// An object of the language stays; its actions are called by tools.call.
		if (!(space in globalThis)) defineProperty(globalThis, space, { __proto__: null, value });
	}

	const cut = (value) => apply(slice, StringOf(value), [0, 4000]);
	return {
		__proto__: null,
		// Gives the error of a call its members.
		fail(error, fields) {
			const keys = ownKeys(fields);
			for (let i = 0; i < keys.length; i++) define(error, keys[i], fields[keys[i]]);
			return error;
		},
		// JSON of a result, or undefined for what JSON leaves out.
		encode: (value) => value === undefined ? "null" : stringify(value),
		// JSON of what was thrown.
		describe(thrown) {
			const told = { __proto__: null, name: "", message: "", stack: "", tool: "", code: "" };
			try {
				if (thrown instanceof RealError) {
					told.name = cut(thrown.name);
					told.message = cut(thrown.message);
					told.stack = cut(thrown.stack);
					if (thrown instanceof ToolError) {
						told.tool = cut(thrown.tool);
						told.code = cut(thrown.code);
					}
				} else {
					told.message = cut(show(thrown));
				}
			} catch {
				told.message = told.message || "what it threw cannot be shown";
			}
			return stringify(told);
		},
	};
})
