// Package quickjs is the JavaScript engine of scripts: QuickJS, as C that was translated to Go.
//
// The wrapper modernc.org/quickjs has no tracker of rejections, and its programs can catch errors of
// memory. Therefore this uses the translated library itself. Addresses that the library gets must be
// of its own memory, because Go moves its stacks. A fault of the library ends the process.
package quickjs

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// maxStack limits the depth of calls, in slots of the engine, of which a call takes 1 to 9. It does not
// depend on the machine. At this depth the stack has about 30 MB.
const maxStack = 4000

// Value is a value of JavaScript. It is released by [Engine.Free], unless a func says otherwise.
type Value = lib.TJSValue

// Version is the version of QuickJS.
const Version = lib.MCONFIG_VERSION

// Engine is an engine with the objects of the language. It is used by one goroutine, and never closed:
// its process ends.
type Engine struct {
	Undefined Value // the value undefined, not to be released

	tls              *libc.TLS
	runtime, context uintptr
	*shared
}

// shared has the parts that all realms of an engine use.
type shared struct {
	held   []any               // Go functions of which the library has only the address
	realms map[uintptr]*Engine // by context
}

// New returns an engine without a limit of memory. It calls outOfMemory when an allocation
// fails, and tries again.
func New(outOfMemory func()) *Engine {
	e := &Engine{tls: libc.NewTLS(), shared: &shared{realms: map[uintptr]*Engine{}}}
	e.runtime = lib.XJS_NewRuntime(e.tls)
	lib.XJS_SetMaxStackSize(e.tls, e.runtime, maxStack)
	e.watchMemory(outOfMemory)
	e.context = lib.XJS_NewContext(e.tls, e.runtime)
	e.realms[e.context] = e
	e.Undefined, _ = e.Eval("void 0", "prelude")
	return e
}

// Realm returns a realm of the engine: it has objects of the language of its own, and shares memory, limits
// and waiting reactions with the others. Its programs reach only the values that they are given.
func (e *Engine) Realm() *Engine {
	inner := &Engine{Undefined: e.Undefined, tls: e.tls, runtime: e.runtime, shared: e.shared}
	inner.context = lib.XJS_NewContext(e.tls, e.runtime)
	e.realms[inner.context] = inner
	return inner
}

// Close releases a realm. Values of it that others hold stay valid.
func (e *Engine) Close() {
	delete(e.realms, e.context)
	lib.XJS_FreeContext(e.tls, e.context)
}

// watchMemory wraps the allocation functions, because programs can catch the engine's own error.
func (e *Engine) watchMemory(failed func()) {
	type (
		allocate   = func(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr
		reallocate = func(tls *libc.TLS, state, at uintptr, size lib.Tsize_t) uintptr
	)
	functions := &(*lib.TJSRuntime)(at(e.runtime)).Fmalloc_ctx.Fmf
	malloc := *(*allocate)(unsafe.Pointer(&struct{ uintptr }{functions.Fjs_malloc}))
	realloc := *(*reallocate)(unsafe.Pointer(&struct{ uintptr }{functions.Fjs_realloc}))
	functions.Fjs_malloc = e.address(func(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr {
		p := malloc(tls, state, size)
		for p == 0 {
			failed()
			p = malloc(tls, state, size)
		}
		return p
	})
	functions.Fjs_realloc = e.address(func(tls *libc.TLS, state, old uintptr, size lib.Tsize_t) uintptr {
		p := realloc(tls, state, old, size)
		for p == 0 && size > 0 {
			failed()
			p = realloc(tls, state, old, size)
		}
		return p
	})
}

// LimitMemory limits the memory that the engine has, with what it has now.
func (e *Engine) LimitMemory(bytes uint64) {
	lib.XJS_SetMemoryLimit(e.tls, e.runtime, lib.Tsize_t(bytes))
}

// at returns the pointer to an address of the library's memory.
func at(address uintptr) unsafe.Pointer { return unsafe.Add(nil, address) }

// address returns the address of a func as the library has it, and keeps the func.
func (e *Engine) address(f any) uintptr {
	e.held = append(e.held, f)
	return uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1])
}

// Watch has interrupt called from time to time while a program runs. If it returns true, the program
// throws an error that it cannot catch before the next await, see [Engine.Interrupted].
func (e *Engine) Watch(interrupt func() bool) {
	lib.XJS_SetInterruptHandler(e.tls, e.runtime, e.address(func(*libc.TLS, uintptr, uintptr) int32 {
		if interrupt() {
			return 1
		}
		return 0
	}), 0)
}

// InterruptSoon has the func of [Engine.Watch] called at the next loop or call of a program.
func (e *Engine) InterruptSoon() {
	for context := range e.realms {
		(*lib.TJSContext)(at(context)).Finterrupt_counter = 0
	}
}

// Interrupted returns the stack of an error that [Engine.Watch] made.
func (e *Engine) Interrupted(thrown Value) (stack string, ok bool) {
	if lib.XJS_IsError(e.tls, e.context, thrown) == 0 {
		return "", false
	}
	return e.member(thrown, "stack"), e.member(thrown, "message") == "interrupted"
}

// Track has f called when a promise of a realm is rejected that has no handler, and when it gets one. The
// values are not f's to release.
func (e *Engine) Track(f func(realm *Engine, promise, reason Value, handled bool)) {
	lib.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime,
		e.address(func(_ *libc.TLS, context uintptr, promise, reason Value, handled lib.TBOOL, _ uintptr) {
			f(e.realms[context], promise, reason, handled != 0)
		}), 0)
}

// Seed sets the state of Math.random.
func (e *Engine) Seed(seed uint64) {
	(*lib.TJSContext)(at(e.context)).Frandom_state = max(seed, 1) // never zero
}

// Callback is a Go function for [Engine.Function] of all realms.
type Callback uintptr

// Callback returns a callback that calls f with the realm of the function that was called, and with its
// arguments, which f does not release.
func (e *Engine) Callback(f func(realm *Engine, args []Value) Value) Callback {
	return Callback(e.address(func(_ *libc.TLS, context uintptr, _ Value, count int32, args uintptr) Value {
		return f(e.realms[context], unsafe.Slice((*Value)(at(args)), count))
	}))
}

// Function returns a function of JavaScript that calls a callback.
func (e *Engine) Function(name string, f Callback) Value {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	return lib.XJS_NewCFunction2(e.tls, e.context, uintptr(f), cName, 0, lib.EJS_CFUNC_generic, 0)
}

// copy returns the address of a copy of s with a zero after it, to be released by libc.Xfree.
func (e *Engine) copy(s string) uintptr {
	p, err := libc.CString(s)
	if err != nil { // no memory
		panic(err)
	}
	return p
}

// Compile returns the function of a text, which [Engine.Run] runs. ok is false if it threw, see
// [Engine.Exception].
func (e *Engine) Compile(text, file string) (compiled Value, ok bool) {
	return e.eval(text, file, lib.MJS_EVAL_FLAG_COMPILE_ONLY)
}

// Run runs a compiled text, and releases it. ok is false if it threw.
func (e *Engine) Run(compiled Value) (v Value, ok bool) {
	return e.result(lib.XJS_EvalFunction(e.tls, e.context, compiled))
}

// Eval runs a text. ok is false if it threw.
func (e *Engine) Eval(text, file string) (v Value, ok bool) { return e.eval(text, file, 0) }

func (e *Engine) eval(text, file string, flags int32) (v Value, ok bool) {
	cText, cFile := e.copy(text), e.copy(file)
	defer libc.Xfree(e.tls, cText)
	defer libc.Xfree(e.tls, cFile)
	return e.result(lib.XJS_Eval(e.tls, e.context, cText, lib.Tsize_t(len(text)), cFile, lib.MJS_EVAL_TYPE_GLOBAL|flags))
}

// Parse returns the value of a JSON text. ok is false if it threw.
func (e *Engine) Parse(text string) (v Value, ok bool) {
	cText, cFile := e.copy(text), e.copy("json")
	defer libc.Xfree(e.tls, cText)
	defer libc.Xfree(e.tls, cFile)
	return e.result(lib.XJS_ParseJSON(e.tls, e.context, cText, lib.Tsize_t(len(text)), cFile))
}

// Call calls a function, and releases the arguments. ok is false if it threw.
func (e *Engine) Call(function Value, args ...Value) (v Value, ok bool) {
	size := unsafe.Sizeof(e.Undefined)
	list := libc.Xmalloc(e.tls, libc.Tsize_t(uintptr(len(args)+1)*size))
	defer libc.Xfree(e.tls, list)
	copy(unsafe.Slice((*Value)(at(list)), len(args)), args)
	defer func() {
		for _, arg := range args {
			e.Free(arg)
		}
	}()
	return e.result(lib.XJS_Call(e.tls, e.context, function, e.Undefined, int32(len(args)), list))
}

func (e *Engine) result(v Value) (Value, bool) { return v, lib.XJS_HasException(e.tls, e.context) == 0 }

// Exception takes what was thrown out of the engine.
func (e *Engine) Exception() Value { return lib.XJS_GetException(e.tls, e.context) }

// Object returns a new object.
func (e *Engine) Object() Value { return lib.XJS_NewObject(e.tls, e.context) }

// Property returns a property of an object.
func (e *Engine) Property(object Value, name string) Value {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	return lib.XJS_GetPropertyStr(e.tls, e.context, object, cName)
}

// Set sets a property of an object to v, and releases v.
func (e *Engine) Set(object Value, name string, v Value) {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	lib.XJS_SetPropertyStr(e.tls, e.context, object, cName, v)
}

// String returns a string of JavaScript.
func (e *Engine) String(s string) Value {
	p := e.copy(s)
	defer libc.Xfree(e.tls, p)
	return lib.XJS_NewStringLen(e.tls, e.context, p, lib.Tsize_t(len(s)))
}

// Text returns the first most bytes of a string of JavaScript, and the length of all. Halves of
// surrogate pairs become U+FFFD. A value that is no string is converted. ok is false if that threw.
func (e *Engine) Text(v Value, most int) (s string, length int, ok bool) {
	size := int(unsafe.Sizeof(lib.Tsize_t(0)))
	pLength := e.tls.Alloc(size)
	defer e.tls.Free(size)
	p := lib.XJS_ToCStringLen2(e.tls, e.context, pLength, v, 0)
	if p == 0 {
		return "", 0, false
	}
	defer lib.XJS_FreeCString(e.tls, e.context, p)
	length = int(*(*lib.Tsize_t)(at(pLength)))
	return strings.ToValidUTF8(string(unsafe.Slice((*byte)(at(p)), min(length, most))), "\uFFFD"), length, true
}

// Throw makes an error be thrown, and returns what a function called from JavaScript must return then.
func (e *Engine) Throw(message string) Value {
	cFormat, cMessage := e.copy("%s"), e.copy(message)
	defer libc.Xfree(e.tls, cFormat)
	defer libc.Xfree(e.tls, cMessage)
	list := e.tls.Alloc(16)
	defer e.tls.Free(16)
	return lib.XJS_ThrowRangeError(e.tls, e.context, cFormat, libc.VaList(list+8, cMessage))
}

// Stack returns the stack of the program in a function of the engine or of ours. Elsewhere it is unknown:
// the place of the program is noted only for calls.
func (e *Engine) Stack() string {
	e.Throw("")
	thrown := e.Exception()
	defer e.Free(thrown)
	return e.member(thrown, "stack")
}

// member returns a property of an object as text.
func (e *Engine) member(object Value, name string) string {
	v := e.Property(object, name)
	defer e.Free(v)
	text, _, _ := e.Text(v, 1<<16)
	return text
}

// Promise returns a new promise and the functions that settle it.
func (e *Engine) Promise() (promise, resolve, reject Value) {
	list := libc.Xcalloc(e.tls, 2, libc.Tsize_t(unsafe.Sizeof(e.Undefined)))
	defer libc.Xfree(e.tls, list)
	promise = lib.XJS_NewPromiseCapability(e.tls, e.context, list)
	functions := unsafe.Slice((*Value)(at(list)), 2)
	return promise, functions[0], functions[1]
}

// State returns the state of a promise, and its value or reason once it is settled.
func (e *Engine) State(promise Value) (settled, rejected bool, outcome Value) {
	state := lib.XJS_PromiseState(e.tls, e.context, promise)
	if state == lib.EJS_PROMISE_PENDING {
		return false, false, e.Undefined
	}
	return true, state == lib.EJS_PROMISE_REJECTED, lib.XJS_PromiseResult(e.tls, e.context, promise)
}

// Job runs one waiting reaction of a promise, and reports whether there was one.
func (e *Engine) Job() bool {
	ran := lib.XJS_ExecutePendingJob(e.tls, e.runtime, 0)
	if ran < 0 {
		e.Free(e.Exception())
	}
	return ran != 0
}

// Dup returns v again, to be released once more.
func (e *Engine) Dup(v Value) Value { return lib.XDupValue(e.tls, e.context, v) }

// Free releases v.
func (e *Engine) Free(v Value) { lib.XFreeValue(e.tls, e.context, v) }
