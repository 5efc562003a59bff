package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script"
	tool "github.com/toolfold/toolfold/tools/script"
)

// keep is a keeper of runs that notes how it is used.
type keep struct {
	id      string // of kept runs
	refusal error
	own     []bool // of Await
}

func (k *keep) Keep(context.Context, json.RawMessage) (string, error) { return k.id, k.refusal }

func (k *keep) Await(_ context.Context, _ string, own bool) (script.Result, error) {
	k.own = append(k.own, own)
	return script.Result{Success: true}, nil
}

func (k *keep) Ended(_ context.Context, id string) (script.Result, bool, error) {
	return script.Result{Error: &script.Failure{Code: toolfold.Cancelled}}, id == "cancelled", nil
}

func (k *keep) Resume(context.Context, string, map[string]json.RawMessage) error { return nil }

func (k *keep) Last(context.Context) (string, error) { return "", nil }

func (k *keep) Source(context.Context, string) (string, error) { return "", nil }

// The cancel of a call ends the run that it began or goes on with, and not one that it only waits for.
func TestOwnRuns(t *testing.T) {
	t.Parallel()
	k := &keep{id: "new"}
	s := tool.New(newBank().runner(t), k)
	for _, in := range []tool.RunIn{{Code: "return 1"}, {ID: "cancelled"}, {ID: "running"}} {
		if _, err := s.Run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.own) != 3 || !k.own[0] || !k.own[1] || k.own[2] {
		t.Error(k.own)
	}
}

// A script that changes something runs unrecorded only if no process runs tasks, or within a model's call;
// the answer says so. A refusal to record it is the answer.
func TestUnrecordedRuns(t *testing.T) {
	t.Parallel()
	refused := toolfold.Errorf(toolfold.LimitReached, "too many tasks")
	for _, c := range []struct {
		name    string
		runs    tool.Runs
		ctx     context.Context
		err     error
		warning string
		pays    int
	}{
		{"refused", &keep{refusal: refused}, t.Context(), refused, "", 0},
		{"no process", &keep{}, t.Context(), nil, "no process runs tasks here", 1},
		{"model", &keep{id: "new"}, engine.WithJournalAt(t.Context(), nil, ""), nil, "it is part of a run that is not recorded either", 1},
		{"step", &keep{id: "new"}, engine.WithJournalAt(t.Context(), newTable(), "/a"), nil, "", 1},
		{"no keeper", nil, t.Context(), nil, "", 1},
	} {
		b := newBank()
		var got string
		ctx := callctx.With(c.ctx, callctx.Warning(func(text string) { got += text }))
		_, err := tool.New(b.runner(t), c.runs).Run(ctx, tool.RunIn{Code: `await bank.pay({id: "1"})`})
		if !errors.Is(err, c.err) || len(b.paid) != c.pays || !strings.Contains(got, c.warning) || (c.warning == "") != (got == "") {
			t.Errorf("%s: %v, %q, %d payments", c.name, err, got, len(b.paid))
		}
	}
}

// script.read ends at its limit, also if it waits.
func TestReadTime(t *testing.T) {
	t.Parallel()
	s := tool.New(newBank().runner(t), nil)
	s.ReadTime = 50 * time.Millisecond
	_, err := s.Read(t.Context(), tool.ReadIn{Code: `await bank.wait({id: "1"})`})
	if failed, ok := errors.AsType[*toolfold.Error](err); !ok || failed.Code != toolfold.TimedOut {
		t.Error(err)
	}
}
