package queue

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/internal/run/engine"
)

// journal records the steps of one run of a task in the ledger. It implements
// [engine.Journal].
type journal struct {
	ledger Ledger
	run    Run
	within context.Context // of the run
	log    *slog.Logger

	mu      sync.Mutex
	records map[string]json.RawMessage // of finished steps, by path
	before  map[string]bool            // steps that an earlier run began but did not finish
	begun   map[string]bool            // steps that this run has begun
}

// newJournal returns the journal of a run, with the records of earlier runs.
func newJournal(within context.Context, ledger Ledger, run Run, log *slog.Logger) (*journal, error) {
	j := &journal{
		ledger: ledger, run: run, within: within, log: log,
		records: map[string]json.RawMessage{}, before: map[string]bool{}, begun: map[string]bool{},
	}
	if run.Turn == 1 {
		return j, nil
	}
	steps, err := ledger.Steps(within, run.TaskID)
	for _, s := range steps {
		if s.Record == nil {
			j.before[s.Path] = true
		} else {
			j.records[s.Path] = s.Record
		}
	}
	return j, err
}

// used reports whether the task has recorded steps.
func (j *journal) used() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.records)+len(j.begun)+len(j.before) > 0
}

// ID implements [engine.Journal].
func (j *journal) ID() string { return j.run.TaskID }

// Lookup implements [engine.Journal].
func (j *journal) Lookup(path string) (record json.RawMessage, begun bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.records[path], j.before[path] || j.begun[path]
}

// errTaken ends a run whose task another process has taken.
var errTaken = errors.New("another process has the task")

// Begin implements [engine.Journal].
func (j *journal) Begin(ctx context.Context, paths ...string) error {
	limited, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	var steps []Step
	for _, path := range paths {
		steps = append(steps, Step{Path: path})
	}
	saved, err := j.ledger.KeepSteps(limited, j.run, steps...)
	if err == nil && !saved {
		err = errTaken
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, path := range paths {
		j.begun[path] = true
	}
	return nil
}

// Finish implements [engine.Journal]. It waits for an unreachable database, so that the output of a
// step is not lost.
func (j *journal) Finish(ctx context.Context, ended ...engine.StepEnd) error {
	var steps []Step
	for _, e := range ended {
		steps = append(steps, Step(e))
	}
	for {
		limited, done := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		saved, err := j.ledger.KeepSteps(limited, j.run, steps...)
		done()
		if err == nil && !saved {
			return errTaken
		}
		if err == nil {
			break
		}
		j.log.Error("recording steps of a task", "task", j.run.TaskID, "step", ended[0].Path, "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range ended {
		for below := range j.records {
			if strings.HasPrefix(below, e.Path+"/") {
				delete(j.records, below)
			}
		}
		j.records[e.Path] = e.Record
	}
	return nil
}

// Abandon implements [engine.Journal]. A step that was stopped with its worker stays begun, because
// it may have been done.
func (j *journal) Abandon(ctx context.Context, path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	cause := context.Cause(j.within)
	if !j.begun[path] || errors.Is(cause, errStopped) || errors.Is(cause, errLeaseLost) {
		return
	}
	limited, done := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer done()
	if err := j.ledger.DropStep(limited, j.run, path); err != nil {
		j.log.Error("removing the record of a step", "task", j.run.TaskID, "step", path, "err", err)
	}
	j.begun[path] = false
}
