package quickjs

import "testing"

// text returns a value as text, or what was thrown.
func text(e *Engine, v Value, ok bool) string {
	if !ok {
		v = e.Exception()
	}
	defer e.Free(v)
	s, _, _ := e.Text(v, 100)
	return s
}

func TestEngine(t *testing.T) {
	t.Parallel()
	failed := 0
	var e *Engine
	e = New(func() {
		failed++
		e.LimitMemory(1 << 30)
	})
	global, _ := e.Eval("globalThis", "test")
	e.Set(global, "twice", e.Function("twice", e.Callback(func(_ *Engine, args []Value) Value {
		s, length, ok := e.Text(args[0], 3)
		if !ok || length > 3 {
			return e.Throw("too long")
		}
		return e.String(s + s)
	})))
	for source, want := range map[string]string{
		"1 + 1":                                "2",
		"twice('ab')":                          "abab",
		"twice('abcd')":                        "RangeError: too long",
		"try { twice('abcd') } catch { 'it' }": "it",
		"'\\0'.length":                         "1",
		"null.x":                               "TypeError: cannot read property 'x' of null",
		"= 1":                                  "SyntaxError: unexpected token in expression: '='",
	} {
		v, ok := e.Eval(source, "test")
		if got := text(e, v, ok); got != want {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
	e.LimitMemory(4 << 20)
	if v, ok := e.Eval("'x'.repeat(8000000).length", "test"); text(e, v, ok) != "8000000" || failed == 0 {
		t.Errorf("%d failures of memory", failed)
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	e := New(func() {})
	var seen []bool
	e.Track(func(_ *Engine, _, _ Value, handled bool) { seen = append(seen, handled) })
	promise, resolve, reject := e.Promise()
	if settled, _, _ := e.State(promise); settled {
		t.Error("a new promise is settled")
	}
	if _, ok := e.Call(reject, e.String("no")); !ok {
		t.Error(text(e, e.Undefined, false))
	}
	settled, rejected, reason := e.State(promise)
	if !settled || !rejected || text(e, reason, true) != "no" {
		t.Errorf("%v %v", settled, rejected)
	}
	function, _ := e.Eval("(async p => { try { await p } catch (e) { return e + '!' } })", "test")
	main, _ := e.Call(function, e.Dup(promise))
	for e.Job() {
	}
	if _, rejected, result := e.State(main); rejected || text(e, result, true) != "no!" {
		t.Error("it was not caught")
	}
	if len(seen) != 2 || seen[0] || !seen[1] {
		t.Errorf("rejections %v", seen)
	}
	for _, v := range []Value{promise, resolve, reject, main, function} {
		e.Free(v)
	}
}

// A program that is interrupted cannot catch that.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	e := New(func() {})
	over := false
	e.Watch(func() bool { return over })
	global, _ := e.Eval("globalThis", "test")
	e.Set(global, "stop", e.Function("stop", e.Callback(func(*Engine, []Value) Value {
		over = true
		e.InterruptSoon()
		return e.String(e.Stack())
	})))
	if _, ok := e.Eval("\nlet s\ntry { s = stop(); for (;;); } catch { s }", "test"); ok {
		t.Fatal("it was caught")
	}
	over = false
	thrown := e.Exception()
	if stack, ok := e.Interrupted(thrown); !ok || stack == "" {
		t.Errorf("%q %v", stack, ok)
	}
	e.Free(thrown)
}
