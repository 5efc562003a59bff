package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// Points of a call at which its process can die.
const (
	beforeBegin  = "before it is recorded that the call begins"
	afterBegin   = "before the call is sent"
	onTheWay     = "when the call is sent, and its server loses it"
	atWork       = "before the server does its work"
	afterWork    = "before the server answers"
	answered     = "before the answer is recorded"
	afterFinish  = "before the script gets the answer"
	atTheResult  = "before the result is recorded"
	beforeOthers = "before the next call"
)

// doomed is a process with a server beside it. The process dies at a point of the call with the id "x".
type doomed struct {
	point string // empty = it does not die
	died  bool
	die   context.CancelCauseFunc
	steps map[string]json.RawMessage // of its store
	done  map[string]int             // at the server, by id
}

// reach ends the process if it is at the point of its death.
func (d *doomed) reach(point string) error {
	if !d.died && d.point == point {
		d.died = true
		d.die(errDead)
	}
	if d.died {
		return errDead
	}
	return nil
}

func (d *doomed) ID() string { return "00000000-0000-4000-8000-000000000001" }

func (d *doomed) Lookup(path string) (record json.RawMessage, begun bool) {
	record, found := d.steps[path]
	return record, found && record == nil
}

func (d *doomed) Begin(_ context.Context, paths ...string) error {
	point := beforeBegin
	if paths[0] != "/1" {
		point = beforeOthers
	}
	if err := d.reach(point); err != nil {
		return err
	}
	for _, path := range paths {
		d.steps[path] = nil
	}
	return d.reach(afterBegin)
}

func (d *doomed) Finish(_ context.Context, ended ...engine.StepEnd) error {
	has := func(path string) bool {
		return slices.ContainsFunc(ended, func(e engine.StepEnd) bool { return e.Path == path })
	}
	if has("/1") {
		if err := d.reach(answered); err != nil {
			return err
		}
	}
	for _, e := range ended {
		d.steps[e.Path] = e.Record
	}
	switch {
	case has("/1"):
		return d.reach(afterFinish)
	case has("/2"):
		return d.reach(atTheResult)
	}
	return nil
}

func (d *doomed) Abandon(context.Context, string) {}

// Work is an action of the server: its effect is that of the action's name.
func (d *doomed) Work(_ context.Context, in shopIn) (shopOut, error) {
	if in.ID == "x" {
		if err := d.reach(onTheWay); err != nil {
			return shopOut{}, err
		}
		_ = d.reach(atWork) // the server is another process
	}
	d.done[in.ID]++
	if in.ID == "x" {
		_ = d.reach(afterWork)
	}
	return shopOut{N: 1}, nil
}

// Wherever the process of a call dies, a call that adds is done once, and asked about if it may have been done; calls
// that set or read are made again if need be, and never asked about.
func TestPointsOfDeath(t *testing.T) {
	t.Parallel()
	const twice, asked = 2, -1 // asked calls are done once, after all
	for effect, want := range map[string]map[string]int{
		"add": {
			beforeBegin: 1, afterBegin: asked, onTheWay: asked, atWork: asked, afterWork: asked, answered: asked,
			afterFinish: 1, beforeOthers: 1, atTheResult: 1,
		},
		"set": {onTheWay: 1, atWork: twice, afterWork: twice, answered: twice, afterFinish: 1, beforeOthers: 1, atTheResult: 1},
		"get": {onTheWay: 1, atWork: twice, afterWork: twice, answered: twice, afterFinish: 1, beforeOthers: 1, atTheResult: 1},
	} {
		for point, times := range want {
			t.Run(effect+" "+point, func(t *testing.T) {
				t.Parallel()
				d := &doomed{point: point, steps: map[string]json.RawMessage{}, done: map[string]int{}}
				program := fmt.Sprintf(`await shop.%s({id: "x"}); await shop.add({id: "y"}); return "done"`, effect)
				result, err := d.run(t, program)
				if !errors.Is(err, errDead) {
					t.Fatalf("it did not die: %v %+v", err, result)
				}
				result, err = d.run(t, program)
				if unknown := len(result.Unknown); unknown > 0 != (times == asked) {
					t.Fatalf("%d unknown calls: %v", unknown, result.Error)
				}
				if times == asked {
					if times = 1; d.done["x"] == 0 {
						delete(d.steps, "/1")
					} else {
						d.steps["/1"] = script.Settled(json.RawMessage(`{"n":1}`))
					}
					result, err = d.run(t, program)
				}
				if err != nil || string(result.Result) != `"done"` || d.done["x"] != times || d.done["y"] != 1 {
					t.Errorf("%v %+v; done %v, want x %d times", err, result, d.done, times)
				}
			})
		}
	}
}

// run begins or goes on with a run, in a new process.
func (d *doomed) run(t *testing.T, program string) (script.Result, error) {
	t.Helper()
	id := toolfold.Fields{toolfold.String{Name: "id", Doc: "ID."}}
	work := toolfold.Method((*doomed).Work)
	r := toolfoldtest.Runner(toolfoldtest.Mount(t, toolfold.Family{Name: "shop", Summary: "A shop", Actions: []*toolfold.Action{
		{Name: "add", Summary: "Add.", Required: id, Effect: toolfold.Adds, Example: `{"id": "a"}`, Run: work},
		{Name: "set", Summary: "Set.", Required: id, Effect: toolfold.Sets, Example: `{"id": "a"}`, Run: work},
		{Name: "get", Summary: "Get.", Required: id, Effect: toolfold.Reads, Example: `{"id": "a"}`, Run: work},
	}}, d))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if d.die = cancel; d.died {
		d.point, d.died = "", false
	}
	return (&script.Runner{Caller: r, Names: r, Now: time.Now}).Run(engine.WithJournal(ctx, d), script.Job{Source: program})
}
