package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// ledger is a store of the audit in memory, which fails while broken is set.
type ledger struct {
	mu      sync.Mutex
	entries []audit.Entry
	broken  error
}

func (l *ledger) Append(_ context.Context, entries []audit.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.entries = append(l.entries, entries...)
	}
	return l.broken
}

func (l *ledger) List(context.Context, audit.Query) ([]audit.Entry, error) { return l.entries, nil }

func (l *ledger) Prune(context.Context, time.Time) error { return nil }

func (l *ledger) breaks(with error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = with
}

// rows returns the rows that are stored, such as "ada note.store began".
func (l *ledger) rows() (rows []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		row := e.Caller + " " + e.Action
		switch {
		case e.Ended.IsZero():
			row += " began"
		case e.Code != "":
			row += " " + e.Code
		default:
			row += " done"
		}
		rows = append(rows, row)
	}
	return rows
}

// audited has a family whose actions call during, and a caller with a token.
type audited struct {
	*ledger
	log    *audit.Log
	runner *call.Runner
	during func()
}

// Run implements the actions.
func (a *audited) Run(context.Context, noteIn) (noteOut, error) {
	a.during()
	return noteOut{true}, nil
}

type noteIn struct{}

type noteOut struct {
	OK bool `json:"ok" doc:"True."`
}

func newAudited(t *testing.T) *audited {
	a := &audited{ledger: &ledger{}, during: func() {}}
	a.log = audit.New(audit.Options{
		Open: func(context.Context) (audit.Store, error) { return a.ledger, nil },
		Days: 1, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	action := func(name string, effect toolfold.Effect) *toolfold.Action {
		return &toolfold.Action{Name: name, Summary: "Do.", Effect: effect, Example: `{}`, Run: toolfold.Method((*audited).Run)}
	}
	f := toolfoldtest.Mount(t, toolfold.Family{Name: "note", Summary: "Notes", Actions: []*toolfold.Action{
		action("store", toolfold.Sets), action("get", toolfold.Reads), action("clear", toolfold.Deletes),
	}}, a)
	s := surface.New(surface.Options{Middleware: []call.Middleware{app.Audit(a.log, time.Now)}})
	if err := s.Put(f); err != nil {
		t.Fatal(err)
	}
	a.runner = s.Runner
	return a
}

// by calls an action for a caller, who may not clear.
func (a *audited) by(ctx context.Context, caller, name string) toolfold.Answer {
	from := toolfold.Origin{Caller: caller, Rights: &toolfold.Rights{Allows: func(a *toolfold.Action) bool { return a.Name != "clear" }}}
	if caller != "" && caller != "page" {
		from.Token = strings.Repeat(caller, 8)
	}
	return a.runner.Call(callctx.With(ctx, from), name, json.RawMessage(`{}`))
}

func (a *audited) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := a.rows(); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// The calls of a kept call are recorded for who made it, and the kept call itself is not recorded again.
func TestAuditKept(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	kept := callctx.By{Caller: "ada", Token: "616461616461", Client: "a desk", Recorded: true}
	a.during = func() {}
	inner := func(ctx context.Context, name string) {
		a.runner.Call(callctx.With(ctx, toolfold.Origin{Client: "a task"}), name, json.RawMessage(`{}`))
	}
	inner(callctx.With(t.Context(), kept), "note.store")
	a.expect(t)
	kept.Recorded = false
	inner(callctx.With(t.Context(), kept), "note.store")
	inner(callctx.With(t.Context(), kept), "note.get")
	a.log.Close()
	a.expect(t, "ada note.store began", "ada note.store done", "ada note.get done")
	for _, e := range a.entries {
		if e.Token != kept.Token || e.Client != kept.Client {
			t.Errorf("%+v", e)
		}
	}
}

// A client that gives itself a long name fills no store.
func TestAuditLongClient(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	from := toolfold.Origin{Caller: "ada", Token: "adaadaada", Client: "ada " + strings.Repeat("x", 1<<20)}
	a.runner.Call(callctx.With(t.Context(), from), "note.get", json.RawMessage(`{}`))
	a.log.Close()
	if len(a.entries) != 1 || len(a.entries[0].Client) > 200 || !strings.HasPrefix(a.entries[0].Client, "xxx") {
		t.Errorf("%.500v", a.entries)
	}
}

// A change is recorded before it runs and before it is answered, a reading call and a refusal soon after. Of a
// named user of the page changes are recorded, and of callers without a name and a token nothing.
func TestAudit(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	a.during = func() { a.expect(t, "ada note.store began") }
	a.by(t.Context(), "ada", "note.store")
	a.expect(t, "ada note.store began", "ada note.store done")
	a.during = func() {}
	a.by(t.Context(), "bob", "note.get")
	a.by(t.Context(), "bob", "note.clear")
	a.by(t.Context(), "bob", "note.strore")
	a.by(t.Context(), "", "note.store")
	a.by(t.Context(), "page", "note.get")
	a.by(t.Context(), "page", "note.store")
	a.log.Close()
	a.expect(t, "ada note.store began", "ada note.store done", "bob note.get done", "bob note.clear PERMISSION_DENIED",
		"bob note.strore UNKNOWN_TOOL", "page note.store began", "page note.store done")
	for _, e := range a.entries {
		if len(e.Arguments) != 64 || len(e.Token) != 12 && e.Caller != "page" || e.ID == "" || e.Server == "" {
			t.Errorf("%+v", e)
		}
	}
}

// While the audit cannot be written, no change runs. A change that had begun is answered, and its end is
// recorded when the store works again.
func TestAuditUnavailable(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	ran := 0
	a.during = func() {
		ran++
		a.breaks(errors.New("the disk is full"))
	}
	if answer := a.by(t.Context(), "ada", "note.store"); answer.Err != nil {
		t.Error(answer.Err)
	}
	if answer := a.by(t.Context(), "ada", "note.store"); answer.Err == nil || answer.Err.Code != app.NotAudited || ran != 1 {
		t.Errorf("%v, ran %d times", answer.Err, ran)
	}
	if answer := a.by(t.Context(), "ada", "note.get"); answer.Err != nil {
		t.Error(answer.Err)
	}
	a.breaks(nil)
	a.log.Close()
	a.expect(t, "ada note.store began", "ada note.store done", "ada note.store AUDIT_UNAVAILABLE", "ada note.get done")
}

// Changes at once are recorded together, each before it is answered.
func TestAuditAtOnce(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if answer := a.by(t.Context(), "ada", "note.store"); answer.Err != nil {
				t.Error(answer.Err)
			}
		})
	}
	callers.Wait()
	count := map[string]int{}
	for _, row := range a.rows() {
		count[row]++
	}
	if count["ada note.store began"] != 50 || count["ada note.store done"] != 50 {
		t.Error(count)
	}
}

// A call whose client has left is recorded like any other.
func TestAuditCancelled(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	ctx, leave := context.WithCancel(t.Context())
	a.during = leave
	a.by(ctx, "ada", "note.store")
	if rows := a.rows(); len(rows) != 2 {
		t.Error(rows)
	}
}
