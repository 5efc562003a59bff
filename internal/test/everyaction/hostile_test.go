package everyaction_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

const hostileSize = 1 << 20 // bytes of a hostile body

// maxAllocated limits the total allocation of one call with a hostile body, in bytes, including the
// arguments and the answer. Much of it is freed before the end, and the race detector adds to it.
const maxAllocated = 50 << 20

// A request of a megabyte allocates limited memory, for every action and every fault of its
// arguments, and its error is short. Allocation measures work here: it shows quadratic work, and
// unlike a clock it does not depend on other load of the machine.
func TestHostileBodiesAreCheap(t *testing.T) {
	b := workbench.New(t, surface.Options{})
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			e := entry.Select(a)
			if reason := b.Runner.Call(t.Context(), e.Tool, e.Example()); reason.Err != nil && reason.Err.Code == toolfold.Internal {
				t.Fatalf("%s: %s", e.Title(), reason.Content)
			}
			for how, args := range hostile(e) {
				// The smallest of some runs, because caches fill and other tests run in parallel.
				least := uint64(1 << 62)
				for range 3 {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					answer := b.Runner.Call(t.Context(), e.Tool, args)
					runtime.ReadMemStats(&after)
					least = min(least, after.TotalAlloc-before.TotalAlloc)
					if answer.Err != nil && len(answer.Content) > 1500 {
						t.Errorf("%s with %s: the error has %d bytes", e.Title(), how, len(answer.Content))
					}
					if least <= maxAllocated {
						break
					}
				}
				if least > maxAllocated {
					t.Errorf("%s with %s: %d bytes cost %d MB", e.Title(), how, len(args), least>>20)
				}
			}
		}
	}
}

// hostileValues are about a megabyte each.
var hostileValues = func() map[string]json.RawMessage {
	var members strings.Builder
	for i := range hostileSize / 16 {
		fmt.Fprintf(&members, `"m%07d":%d,`, i, i)
	}
	return map[string]json.RawMessage{
		"a text":            json.RawMessage(`"` + strings.Repeat("x", hostileSize) + `"`),
		"a list of numbers": json.RawMessage(`[1` + strings.Repeat(",1", hostileSize/2) + `]`),
		"a list of texts":   json.RawMessage(`["a"` + strings.Repeat(`,"abcde"`, hostileSize/8) + `]`),
		"an object":         json.RawMessage("{" + members.String() + `"z":1}`),
		"nesting":           json.RawMessage(strings.Repeat("[", 150) + strings.Repeat("]", 150)),
	}
}()

// hostile returns bodies of about a megabyte: huge valid or invalid values for a third of the
// parameters, and unknown names and fields.
func hostile(e *entry.Entry) map[string]json.RawMessage {
	bodies := map[string]json.RawMessage{}
	with := func(name, how string) {
		var args ordered.Map
		if err := json.Unmarshal(e.Example(), &args); err != nil {
			panic(err)
		}
		args.Set(name, hostileValues[how])
		bodies[name+" as "+how] = ordered.MustJSON(args)
	}
	// Over all actions, every kind of value is passed to every kind of parameter.
	kinds := slices.Sorted(maps.Keys(hostileValues))
	for i, p := range e.Params() {
		if i%3 == len(e.Title())%3 {
			with(p.Name, kinds[(i+len(e.Title()))%len(kinds)])
		}
	}
	with(callctx.ArgFields, "a list of texts")
	example, members := e.Example(), hostileValues["an object"]
	bodies["unknown names"] = append(append(example[:len(example)-1:len(example)-1], ','), members[1:]...)
	return bodies
}

// Cost grows linearly with the size of a value.
func TestCostGrowsLinearly(t *testing.T) {
	b := workbench.New(t, surface.Options{})
	cost := func(args json.RawMessage) float64 {
		least := uint64(1 << 62)
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.Runner.Call(t.Context(), "memory", args)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return float64(least)
	}
	for how, make := range map[string]func(n int) string{
		"unknown names": func(n int) string {
			var s strings.Builder
			for i := range n {
				fmt.Fprintf(&s, `,"name%06d":1`, i)
			}
			return `{"action":"list"` + s.String() + `}`
		},
		"keys":   func(n int) string { return `{"action":"bulk_delete","keys":[1` + strings.Repeat(",1", n) + `]}` },
		"fields": func(n int) string { return `{"action":"list","include_fields":["a"` + strings.Repeat(`,"a"`, n) + `]}` },
		"members of a value": func(n int) string {
			var s strings.Builder
			for i := range n {
				fmt.Fprintf(&s, `"m%06d":"w",`, i)
			}
			return `{"action":"store","key":"k","value":{` + s.String() + `"z":1}}`
		},
	} {
		n := 4000
		one, four := cost(json.RawMessage(make(n))), cost(json.RawMessage(make(4*n)))
		if four > 6*one+1<<20 {
			t.Errorf("%s: %d cost %.0f bytes, %d cost %.0f", how, n, one, 4*n, four)
		}
	}
}
