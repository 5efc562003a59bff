package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

func newAttack(t *testing.T) *attack {
	t.Helper()
	a := &attack{store: "sqlite", postgres: os.Getenv("TOOLFOLD_TEST_POSTGRES"), dir: t.TempDir(), seed: 1, size: size{
		fuzzCalls: 300, fuzz: 10 * time.Second, kills: 2, soak: time.Second, initializes: 1_200,
		connections: 40, terminate: time.Second,
		sessions: 60, callers: 10, crowd: time.Second, notes: 1, stopped: 2 * time.Second, upgrades: 1, limit: time.Minute,
	}}
	if err := a.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

// Every measure, as small as it can be.
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
