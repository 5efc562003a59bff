package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/app"
)

func newAttack(t *testing.T) *attack {
	t.Helper()
	a := &attack{store: "sqlite", postgres: os.Getenv("TOOLFOLD_TEST_POSTGRES"), dir: t.TempDir(), seed: 1, size: size{
		fuzzCalls: 300, fuzz: 10 * time.Second, wrong: 10, kills: 2, stepKills: 2, soak: time.Second, initializes: 1_200, foreigners: 120,
		connections: 40, terminate: time.Second,
		sessions: 60, callers: 10, crowd: time.Second, growth: 200, notes: 1, stopped: 2 * time.Second, upgrades: 1, limit: 5 * time.Minute,
	}}
	if err := a.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// Every measure runs at its smallest size.
func TestMeasures(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	t.Run("all", func(t *testing.T) {
		for _, m := range measures {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				one := *a
				if m.store != "" {
					one.store = m.store
				}
				if one.store == "postgres" && one.postgres == "" {
					t.Skip("set TOOLFOLD_TEST_POSTGRES to the URL of a PostgreSQL database to run this test")
				}
				var out bytes.Buffer
				if ok := one.measure(t.Context(), m).print(&out); !ok {
					t.Error(out.String())
				}
				t.Log(out.String())
			})
		}
	})
	t.Run("lost writes are found", func(t *testing.T) {
		r := &report{name: "lost", samples: map[string][]string{}, counts: map[string]int{}}
		p, remove, err := a.newPlace(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		s, err := p.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		const never = "00000000-0000-4000-8000-000000000001"
		l := &ledger{stores: []string{"never"}, tasks: []string{never}, sessions: []string{never}}
		l.verify(t.Context(), r, s.client(), true)
		if r.counts[lost] != 3 {
			t.Errorf("found %v, want 3 %s", r.counts, lost)
		}
	})
}

// A step that runs again after its end is found, and so is a step that ran too often.
func TestEffectsAreCompared(t *testing.T) {
	t.Parallel()
	pool, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.ExecContext(t.Context(), `
		CREATE TABLE sessions (task); CREATE TABLE tasks (id, name, status, turn); CREATE TABLE task_steps (task_id, path, record);
		INSERT INTO tasks VALUES ('id', 't', 'running', 1); INSERT INTO task_steps VALUES ('id', '/ask', '{}'), ('id', '/loop', '{}');
		INSERT INTO sessions VALUES ('t /loop/0/create'), ('t /loop/1/create')`); err != nil {
		t.Fatal(err)
	}
	r := &report{samples: map[string][]string{}, counts: map[string]int{}}
	e := &effects{
		place: &place{report: r}, pool: pool, file: filepath.Join(t.TempDir(), "effects"),
		frozen: map[step]int{}, turns: map[string]int{}, cuts: map[step]int{},
	}
	run := func(lines, create string, want map[string]int) {
		t.Helper()
		if err := os.WriteFile(e.file, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), `INSERT INTO sessions SELECT ? WHERE ? <> ''`, create, create); err != nil {
			t.Fatal(err)
		}
		if err := e.verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.counts); diff != "" {
			t.Errorf("after %q and %q (-want +got)\n%s", lines, create, diff)
		}
		clear(r.counts)
	}
	const once = "t /ask\ntried t\nt /loop/0/inner\nt /loop/1/inner\n"
	run(once, "", map[string]int{missing: 1})
	run(once+"t /last\nt /last\n", "", map[string]int{})
	run(once+"t /last\nt /last\nt /loop/0/inner\n", "t /loop/1/create", map[string]int{rerun: 2, repeats: 2})
	run(once+"t /last\nt /last\nt /last\n", "", map[string]int{rerun: 1, repeats: 2})
}

func TestJudge(t *testing.T) {
	t.Parallel()
	c := &client{server: &server{place: &place{attack: &attack{dir: "/tmp/attacked"}}}}
	for name, test := range map[string]struct {
		got  reply
		err  error
		want string
	}{
		"a success may hold anything":  {got: reply{status: 200, raw: []byte(`"SELECT 1 tools.Error"`)}},
		"an error for the model":       {got: reply{status: 200, code: "INVALID_INPUT", raw: []byte(`memory.store: key is missing`)}},
		"a format of ours":             {got: reply{status: 200, code: "INVALID_INPUT", raw: []byte(`format?: sql|sqlite, records?`)}},
		"a driver":                     {got: reply{status: 200, code: "X", raw: []byte(`database is locked (5) (SQLITE_BUSY)`)}, want: "leaks"},
		"a status":                     {got: reply{status: http.StatusBadGateway}, want: "not 200"},
		"no answer to the message":     {got: reply{status: 200, broken: true}, want: "not JSON-RPC"},
		"an error of ours":             {got: reply{status: 200, code: "INTERNAL_ERROR"}, want: "INTERNAL_ERROR"},
		"an internal protocol error":   {got: reply{status: 200, code: "-32603"}, want: "INTERNAL_ERROR"},
		"a statement":                  {got: reply{status: 200, code: "X", raw: []byte(`ERROR: bad (SQLSTATE 42P01)`)}, want: "leaks"},
		"a Go type":                    {got: reply{status: 200, code: "X", raw: []byte(`cannot use json.Number`)}, want: "leaks"},
		"a path of the server":         {got: reply{status: 200, code: "X", raw: []byte(`open /tmp/attacked/store.db`)}, want: "leaks"},
		"a connection that was broken": {err: errors.New("EOF"), want: "broken connections"},
		"an answer that did not come":  {err: context.DeadlineExceeded, want: "hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &report{samples: map[string][]string{}, counts: map[string]int{}}
			r.judge(c, "sent", &test.got, test.err)
			want := 0
			if test.want != "" {
				want = 1
			}
			if r.counts[test.want] != want || len(r.counts) != want {
				t.Errorf("found %v, want one %q", r.counts, test.want)
			}
			var out bytes.Buffer
			if ok := r.print(&out); ok != (test.want == "") {
				t.Errorf("ok is %t after\n%s", ok, out.String())
			}
		})
	}
}

// mend uses only what the error contains.
func TestRepairFollowsTheError(t *testing.T) {
	t.Parallel()
	const usage = "memory(action: 'store', params: {key: string, value: any})"
	memory := app.Families()[0]
	for name, test := range map[string]struct {
		sent    string
		failure errorParts
		want    string // the call then; empty = not mended
	}{
		"a name in the usage": {`{"action":"store","id":"a"}`, errorParts{Usage: usage, Problems: []toolfold.Problem{
			{Path: "/id", Kind: toolfold.ProblemUnknown}}}, `{"action":"store","key":"a"}`},
		"a name that is shown nowhere": {`{"action":"store","id":"a"}`, errorParts{Problems: []toolfold.Problem{
			{Path: "/id", Kind: toolfold.ProblemUnknown}}}, ""},
		"a value of the example": {`{"action":"store","value":1}`, errorParts{Example: map[string]any{"params": map[string]any{"key": "a"}},
			Problems: []toolfold.Problem{{Path: "/key", Kind: toolfold.ProblemMissing}}}, `{"action":"store","key":"a","value":1}`},
		"an action": {`{"action":"sotre"}`, errorParts{Problems: []toolfold.Problem{
			{Path: "/action", Kind: toolfold.ProblemEnum, Suggest: "store"}}}, `{"action":"store"}`},
		"an action that is not suggested": {`{"action":"sotre"}`, errorParts{Problems: []toolfold.Problem{
			{Path: "/action", Kind: toolfold.ProblemEnum, Allowed: []string{"store"}}}}, ""},
		"no problems": {`{"action":"store"}`, errorParts{Code: toolfold.InvalidInput}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := again{tool: "memory", err: test.failure}
			if err := json.Unmarshal([]byte(test.sent), &call.arguments); err != nil {
				t.Fatal(err)
			}
			why := call.mend(mistake{action: memory.Action("store"), name: "key"})
			if got := asJSON(call.arguments); (why != "") != (test.want == "") || why == "" && got != test.want {
				t.Errorf("mended to %s (%s), want %s", got, why, test.want)
			}
		})
	}
}
