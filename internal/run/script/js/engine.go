package js

import (
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// maxStack limits the depth of calls, in slots of the engine, of which a call takes 1 to 9. It does not
// depend on the machine. At this depth the stack has about 30 MB.
const maxStack = 4000

// value is a value of JavaScript. It is released by [engine.free], unless a func says otherwise.
type value = lib.TJSValue

// engine is QuickJS with one context. It is used by one goroutine.
//
// The wrapper modernc.org/quickjs has no tracker of rejections, and its errors of memory can be
// caught by a program. Therefore this uses the translated library itself. Addresses that the library
// gets must be of its own memory: Go moves its stacks.
type engine struct {
	tls              *libc.TLS
	runtime, context uintptr
	undefined        value
	held             []any // Go functions of which the library has only the address
}

// newEngine returns an engine without a limit of memory. It calls outOfMemory when an allocation
// fails, and tries again.
func newEngine(outOfMemory func()) *engine {
	e := &engine{tls: libc.NewTLS()}
	e.runtime = lib.XJS_NewRuntime(e.tls)
	lib.XJS_SetMaxStackSize(e.tls, e.runtime, maxStack)
	e.watchMemory(outOfMemory)
	e.context = lib.XJS_NewContext(e.tls, e.runtime)
	e.undefined, _ = e.eval("void 0", "prelude", 0)
	return e
}

// watchMemory wraps the allocation functions, because programs can catch the engine's own error.
func (e *engine) watchMemory(failed func()) {
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

// limitMemory limits the memory that the engine has, with what it has now.
func (e *engine) limitMemory(bytes uint64) {
	lib.XJS_SetMemoryLimit(e.tls, e.runtime, lib.Tsize_t(bytes))
}

// at returns the pointer to an address of the library's memory.
func at(address uintptr) unsafe.Pointer { return unsafe.Add(nil, address) }

// address returns the address of a func as the library has it, and keeps the func.
func (e *engine) address(f any) uintptr {
	e.held = append(e.held, f)
	return uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&f))[1])
}

// watch has interrupt called from time to time while a program runs. If it returns true, the program
// throws an error that it cannot catch before the next await, see [engine.interrupted].
func (e *engine) watch(interrupt func() bool) {
	lib.XJS_SetInterruptHandler(e.tls, e.runtime, e.address(func(*libc.TLS, uintptr, uintptr) int32 {
		if interrupt() {
			return 1
		}
		return 0
	}), 0)
}

// interruptSoon has the func of [engine.watch] called at the next loop or call of the program.
func (e *engine) interruptSoon() { (*lib.TJSContext)(at(e.context)).Finterrupt_counter = 0 }

// interrupted returns the stack of an error that [engine.watch] made.
func (e *engine) interrupted(thrown value) (stack string, ok bool) {
	if lib.XJS_IsError(e.tls, e.context, thrown) == 0 {
		return "", false
	}
	message, _, _ := e.text(e.property(thrown, "message"), 100)
	stack, _, ok = e.text(e.property(thrown, "stack"), 1<<16)
	return stack, ok && message == "interrupted"
}

// track has f called when a promise is rejected that has no handler, and when it gets one. The values
// are not f's to release.
func (e *engine) track(f func(promise, reason value, handled bool)) {
	lib.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime,
		e.address(func(_ *libc.TLS, _ uintptr, promise, reason value, handled lib.TBOOL, _ uintptr) {
			f(promise, reason, handled != 0)
		}), 0)
}

// seed sets the state of Math.random.
func (e *engine) seed(seed uint64) {
	(*lib.TJSContext)(at(e.context)).Frandom_state = max(seed, 1) // never zero
}

// function returns a function of JavaScript that calls f with its arguments, which f does not release.
func (e *engine) function(name string, f func(args []value) value) value {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	call := func(_ *libc.TLS, _ uintptr, _ value, count int32, args uintptr) value {
		return f(unsafe.Slice((*value)(at(args)), count))
	}
	return lib.XJS_NewCFunction2(e.tls, e.context, e.address(call), cName, 0, lib.EJS_CFUNC_generic, 0)
}

// copy returns the address of a copy of s with a zero after it, to be released by libc.Xfree.
func (e *engine) copy(s string) uintptr {
	p, err := libc.CString(s)
	if err != nil { // no memory
		panic(err)
	}
	return p
}

// eval runs a text, or returns it compiled, see the library's flags. ok is false if it threw, see
// [engine.exception].
func (e *engine) eval(text, file string, flags int32) (v value, ok bool) {
	cText, cFile := e.copy(text), e.copy(file)
	defer libc.Xfree(e.tls, cText)
	defer libc.Xfree(e.tls, cFile)
	return e.result(lib.XJS_Eval(e.tls, e.context, cText, lib.Tsize_t(len(text)), cFile, flags))
}

// parse returns the value of a JSON text. ok is false if it threw.
func (e *engine) parse(text string) (v value, ok bool) {
	cText, cFile := e.copy(text), e.copy("json")
	defer libc.Xfree(e.tls, cText)
	defer libc.Xfree(e.tls, cFile)
	return e.result(lib.XJS_ParseJSON(e.tls, e.context, cText, lib.Tsize_t(len(text)), cFile))
}

// call calls a function, and releases the arguments. ok is false if it threw.
func (e *engine) call(function value, args ...value) (v value, ok bool) {
	size := unsafe.Sizeof(e.undefined)
	list := libc.Xmalloc(e.tls, libc.Tsize_t(uintptr(len(args)+1)*size))
	defer libc.Xfree(e.tls, list)
	copy(unsafe.Slice((*value)(at(list)), len(args)), args)
	defer func() {
		for _, arg := range args {
			e.free(arg)
		}
	}()
	return e.result(lib.XJS_Call(e.tls, e.context, function, e.undefined, int32(len(args)), list))
}

func (e *engine) result(v value) (value, bool) { return v, lib.XJS_HasException(e.tls, e.context) == 0 }

// exception takes what was thrown out of the engine.
func (e *engine) exception() value { return lib.XJS_GetException(e.tls, e.context) }

// property returns a property of an object.
func (e *engine) property(object value, name string) value {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	return lib.XJS_GetPropertyStr(e.tls, e.context, object, cName)
}

// set sets a property of an object to v, and releases v.
func (e *engine) set(object value, name string, v value) {
	cName := e.copy(name)
	defer libc.Xfree(e.tls, cName)
	lib.XJS_SetPropertyStr(e.tls, e.context, object, cName, v)
}

// string returns a string of JavaScript.
func (e *engine) string(s string) value {
	p := e.copy(s)
	defer libc.Xfree(e.tls, p)
	return lib.XJS_NewStringLen(e.tls, e.context, p, lib.Tsize_t(len(s)))
}

// text returns the first most bytes of a string of JavaScript, and the length of all. Halves of
// surrogate pairs become U+FFFD. A value that is no string is converted. ok is false if that threw.
func (e *engine) text(v value, most int) (s string, length int, ok bool) {
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

// throw makes an error be thrown, and returns what a function called from JavaScript must return then.
func (e *engine) throw(message string) value {
	cFormat, cMessage := e.copy("%s"), e.copy(message)
	defer libc.Xfree(e.tls, cFormat)
	defer libc.Xfree(e.tls, cMessage)
	list := e.tls.Alloc(16)
	defer e.tls.Free(16)
	return lib.XJS_ThrowRangeError(e.tls, e.context, cFormat, libc.VaList(list+8, cMessage))
}

// stack returns the stack of the program in a function of the engine or of ours. Elsewhere it is unknown:
// the place of the program is noted only for calls.
func (e *engine) stack() string {
	e.throw("")
	thrown := e.exception()
	stack, _, _ := e.text(e.property(thrown, "stack"), 1<<16)
	e.free(thrown)
	return stack
}

// promise returns a new promise and the functions that settle it.
func (e *engine) promise() (promise, resolve, reject value) {
	list := libc.Xcalloc(e.tls, 2, libc.Tsize_t(unsafe.Sizeof(e.undefined)))
	defer libc.Xfree(e.tls, list)
	promise = lib.XJS_NewPromiseCapability(e.tls, e.context, list)
	functions := unsafe.Slice((*value)(at(list)), 2)
	return promise, functions[0], functions[1]
}

// job runs one waiting reaction of a promise, and reports whether there was one.
func (e *engine) job() bool {
	ran := lib.XJS_ExecutePendingJob(e.tls, e.runtime, 0)
	if ran < 0 {
		e.free(e.exception())
	}
	return ran != 0
}

// dup returns v again, to be released once more.
func (e *engine) dup(v value) value { return lib.XDupValue(e.tls, e.context, v) }

func (e *engine) free(v value) { lib.XFreeValue(e.tls, e.context, v) }
