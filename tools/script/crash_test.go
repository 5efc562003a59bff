package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// shop is a server whose calls have ids. It counts how often each was done.
type shop struct {
	mu     sync.Mutex
	random *rand.Rand
	done   map[string]int
	sets   map[string]int
	lose   bool // some answers are lost after the work

	library script.Library
}

type shopIn struct {
	ID string `json:"id"`
}

type shopOut struct {
	N int `json:"n" doc:"Number."`
}

func (s *shop) chance(of int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(of) == 0
}

// dawdle lets other calls go first, at random.
func (s *shop) dawdle() {
	for !s.chance(4) {
		runtime.Gosched()
	}
}

// add must not be done twice. A cancelled call may be done all the same.
func (s *shop) Add(ctx context.Context, in shopIn) (shopOut, error) {
	s.dawdle()
	if ctx.Err() != nil && s.chance(2) {
		return shopOut{}, ctx.Err()
	}
	s.mu.Lock()
	s.done[in.ID]++
	s.mu.Unlock()
	s.dawdle()
	if s.lose && s.chance(8) {
		lost := toolfold.Errorf(toolfold.UpstreamError, "the connection was lost")
		lost.Uncertain = true
		return shopOut{}, lost
	}
	return shopOut{len(in.ID)}, nil
}

// set may be done twice.
func (s *shop) Set(_ context.Context, in shopIn) (shopOut, error) {
	s.dawdle()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets[in.ID]++
	return shopOut{s.sets[in.ID]}, nil
}

// get answers another number each time.
func (s *shop) Get(context.Context, shopIn) (shopOut, error) {
	s.dawdle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return shopOut{s.random.IntN(1000)}, nil
}

// refuse always fails, and does nothing.
func (s *shop) Refuse(context.Context, shopIn) (shopOut, error) {
	s.dawdle()
	return shopOut{}, toolfold.Errorf("SOLD_OUT", "there is none left")
}

func (s *shop) runner(t *testing.T, more ...*toolfold.Family) *script.Runner {
	id := toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}
	family := toolfold.Family{Name: "shop", Summary: "A shop", Actions: []*toolfold.Action{
		{Name: "add", Summary: "Add.", Required: id, Effect: toolfold.Adds, Example: `{"id": "a"}`, Run: toolfold.Method((*shop).Add)},
		{Name: "set", Summary: "Set.", Required: id, Effect: toolfold.Sets, Example: `{"id": "a"}`, Run: toolfold.Method((*shop).Set)},
		{Name: "get", Summary: "Get.", Required: id, Effect: toolfold.Reads, Example: `{"id": "a"}`, Run: toolfold.Method((*shop).Get)},
		{Name: "refuse", Summary: "Fail.", Required: id, Effect: toolfold.Adds, Example: `{"id": "a"}`, Run: toolfold.Method((*shop).Refuse)},
	}}
	r := toolfoldtest.Runner(append(more, toolfoldtest.Mount(t, family, s))...)
	return &script.Runner{Caller: r, Names: r, Now: time.Now, Library: s.library}
}

// table has the steps of a run, as a store keeps them. After some operations its process dies: at
// once, or after the operation took effect.
type table struct {
	mu    sync.Mutex
	steps map[string]json.RawMessage // nil = begun
	left  int                        // operations until the process dies; negative = it does not
	late  bool                       // the last operation takes effect
	die   context.CancelCauseFunc
}

var errDead = errors.New("the process died")

func (s *table) write(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return errDead
	}
	if s.left--; s.left == 0 {
		s.die(errDead)
		if !s.late {
			return errDead
		}
	}
	change()
	if s.left == 0 {
		return errDead
	}
	return nil
}

func (s *table) ID() string { return "00000000-0000-4000-8000-000000000001" }

func (s *table) Lookup(path string) (record json.RawMessage, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, found := s.steps[path]
	return record, found && record == nil
}

func (s *table) Begin(_ context.Context, paths ...string) error {
	return s.write(func() {
		for _, path := range paths {
			s.steps[path] = nil
		}
	})
}

func (s *table) Finish(_ context.Context, ended ...engine.StepEnd) error {
	return s.write(func() {
		for _, e := range ended {
			s.steps[e.Path] = e.Record
		}
	})
}

func (s *table) Abandon(context.Context, string) {}

// programs are scripts whose ids say how often each call must be done: once, if the result names it.
var programs = []string{
	// One after the other.
	`const ids = []; for (let i = 0; i < 4; i++) { await shop.get({id: "g"}); await shop.add({id: "a" + i}); ids.push("a" + i) } return ids`,
	// In parallel.
	`const ids = [1,2,3,4,5].map(i => "p" + i); await Promise.all(ids.map(id => shop.add({id}))); return ids`,
	// More at once than may run.
	`const ids = Array.from({length: 20}, (_, i) => "m" + i); await Promise.all(ids.map(id => shop.add({id}))); return ids`,
	// The first answer decides what is written next.
	`const first = await Promise.race(["x", "y", "z"].map(async id => { await shop.add({id}); return id }));
	await shop.add({id: "first-" + first}); return ["x", "y", "z", "first-" + first]`,
	// Chance, time and reads decide.
	`const r = await shop.get({id: "g"}); const id = "r" + r.n + "-" + Math.random() + "-" + Date.now();
	await shop.add({id}); await sleep(1); const again = id + "+" + Date.now(); await shop.add({id: again}); return [id, again]`,
	// Failures are caught and tried again under another id.
	`try { await shop.refuse({id: "no"}) } catch (e) { if (e.code !== "SOLD_OUT") throw e; await shop.add({id: "instead"}) }
	return ["instead"]`,
	// Calls that nobody awaits.
	`shop.add({id: "u1"}); shop.add({id: "u2"}); await shop.get({id: "g"}); return ["u1", "u2"]`,
	// Generators and nested functions.
	`async function* ids() { for (let i = 0; i < 3; i++) { await shop.set({id: "s"}); yield "n" + i } }
	const done = []; for await (const id of ids()) { await Promise.allSettled([shop.add({id}), shop.get({id})]); done.push(id) } return done`,
	// A write that every catch would repeat.
	`const done = []; for (const id of ["c1", "c2", "c3"]) for (;;) try { await shop.add({id}); done.push(id); break } catch {}
	return done`,
}

// No write is lost or made twice, wherever a run dies: at each operation of its journal, before and
// after it takes effect, again and again. What is unknown is said, and the server is asked.
func TestEveryWriteOnce(t *testing.T) {
	t.Parallel()
	for number, program := range programs {
		for _, lose := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", number, lose), func(t *testing.T) {
				t.Parallel()
				for left, lasted := 1, false; !lasted; left++ {
					for _, late := range []bool{false, true} {
						random := rand.New(rand.NewPCG(uint64(number), uint64(left)))
						s := &shop{random: random, done: map[string]int{}, sets: map[string]int{}, lose: lose}
						lasted = s.once(t, program, left, late)
					}
				}
			})
		}
	}
}

// once runs a program that dies after some operations of its journal, resumes it until it ends, and
// counts. It reports whether the program ended before it died.
func (s *shop) once(t *testing.T, program string, left int, late bool) (lasted bool) {
	t.Helper()
	steps := &table{steps: map[string]json.RawMessage{}, left: left, late: late}
	lasted = true
	var result script.Result
	for attempt := 0; ; attempt++ {
		if attempt == 200 {
			t.Fatalf("after %d attempts: %+v", attempt, result)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		steps.die = cancel
		var err error
		result, err = s.runner(t).Run(engine.WithJournal(ctx, steps), script.Job{Source: program})
		cancel(nil)
		switch {
		case err != nil:
			if !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			lasted = false
			steps.left = s.next(left) // it may die again
		case result.Success:
			s.check(t, program, result)
			return lasted
		case len(result.Unknown) == 0:
			t.Fatalf("%s\n%+v", program, result.Error)
		default:
			s.settle(steps, result.Unknown)
		}
	}
}

// next returns after how many operations a resumed run dies, or -1.
func (s *shop) next(left int) int {
	if s.chance(3) {
		return 1 + left%5
	}
	return -1
}

// settle states what became of unknown calls, as a person would who looks at the server.
func (s *shop) settle(steps *table, unknown []script.Unknown) {
	for _, u := range unknown {
		var in shopIn
		if err := json.Unmarshal(u.Arguments, &in); err != nil {
			panic(err)
		}
		s.mu.Lock()
		done := s.done[in.ID] > 0
		s.mu.Unlock()
		path := "/" + strconv.Itoa(u.Call)
		if u.Action == script.Confirm {
			steps.steps[path] = script.Confirmed(true)
			continue
		}
		if delete(steps.steps, path); done {
			steps.steps[path] = script.Settled(json.RawMessage(`{"n":0}`))
		}
	}
}

// check compares the calls that were done with those that the result names. Writes that a program makes
// after it returned are not among these: they have the ids w0, w1, … as far as the calls that were done.
func (s *shop) check(t *testing.T, program string, result script.Result) {
	t.Helper()
	var want []string
	if err := json.Unmarshal(result.Result, &want); err != nil {
		t.Fatal(err)
	}
	for len(want) < len(s.done) && strings.HasPrefix(program, prologue) {
		want = append(want, fmt.Sprint("w", len(want)))
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(s.done))
	if !slices.Equal(got, want) {
		t.Errorf("%s\ndone %s\nresult %s", program, strings.Join(got, " "), strings.Join(want, " "))
	}
	for id, n := range s.done {
		if n != 1 {
			t.Errorf("%s\n%s was done %d times", program, id, n)
		}
	}
}

// A run goes on although a server that its script names is gone: only a call of it fails.
func TestGoneServer(t *testing.T) {
	t.Parallel()
	s := &shop{random: rand.New(rand.NewPCG(1, 2)), done: map[string]int{}, sets: map[string]int{}}
	desk := toolfoldtest.Mount(t, toolfold.Family{Name: "desk", Summary: "A desk", Actions: []*toolfold.Action{{
		Name: "get", Summary: "Get.", Required: toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}, Effect: toolfold.Reads,
		Example: `{"id": "a"}`, Run: toolfold.Method((*shop).Get),
	}}}, s)
	const program = `const get = desk.get; await shop.add({id: "a"}); await shop.add({id: "b"});
		try { await get({id: "x"}); return ["answered"] } catch (e) { return ["a", "b", e.code] }`
	ctx, cancel := context.WithCancelCause(t.Context())
	steps := &table{steps: map[string]json.RawMessage{}, left: 3, late: true, die: cancel}
	if _, err := s.runner(t, desk).Run(engine.WithJournal(ctx, steps), script.Job{Source: program}); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	steps.left = -1
	result, err := s.runner(t).Run(engine.WithJournal(t.Context(), steps), script.Job{Source: program})
	if len(result.Unknown) > 0 {
		s.settle(steps, result.Unknown)
		result, err = s.runner(t).Run(engine.WithJournal(t.Context(), steps), script.Job{Source: program})
	}
	if err != nil || string(result.Result) != `["a","b","UNKNOWN_TOOL"]` || s.done["a"] != 1 || s.done["b"] != 1 {
		t.Errorf("%v %+v, done %v", err, result, s.done)
	}
}
