package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/run/audit"
	"github.com/toolfold/toolfold/internal/storage"
)

// Audit tests the record of who called what.
func Audit() Suite {
	at := time.Unix(1_000_000, 0).UTC()
	entry := func(n int, caller string) audit.Entry {
		return audit.Entry{ID: fmt.Sprintf("call%d", n), Began: at.Add(time.Duration(n) * time.Second), Caller: caller, Action: "memory.store"}
	}
	ended := func(e audit.Entry) audit.Entry {
		e.Ended = e.Began.Add(time.Millisecond)
		return e
	}
	list := func(t *testing.T, db *storage.DB, q audit.Query) []audit.Entry {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 100
		}
		got, err := db.Audit().List(t.Context(), q)
		noError(t, err)
		return got
	}
	return Suite{Name: "audit", Behaviours: map[string]func(*testing.T, *storage.DB){
		"an end completes a call": func(t *testing.T, db *storage.DB) {
			one, two, three := entry(1, "ada"), entry(2, "ada"), entry(3, "bob\x00")
			three.Action, three.Code = "a\x00b\xff", "UNKNOWN_TOOL"
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{one, two}))
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{ended(three), ended(one), ended(one)}))
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{one}))
			three.Action = "a\x00b\ufffd"
			equal(t, list(t, db, audit.Query{}), []audit.Entry{ended(one), two, ended(three)})
		},
		"a query selects": func(t *testing.T, db *storage.DB) {
			var all []audit.Entry
			for i := range 6 {
				all = append(all, ended(entry(i, []string{"ada", "bob"}[i%2])))
			}
			noError(t, db.Audit().Append(t.Context(), all))
			equal(t, list(t, db, audit.Query{Caller: "bob"}), []audit.Entry{all[1], all[3], all[5]})
			equal(t, list(t, db, audit.Query{Since: all[1].Began, Until: all[3].Began}), all[1:3])
			equal(t, list(t, db, audit.Query{Limit: 2}), all[:2])
			equal(t, list(t, db, audit.Query{After: &all[1], Limit: 3}), all[2:5])
		},
		"rows do not change": func(t *testing.T, db *storage.DB) {
			first := ended(entry(1, "ada"))
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{first}))
			other := first
			other.Caller = "eve"
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{other}))
			equal(t, list(t, db, audit.Query{}), []audit.Entry{first})
		},
		"old calls are removed": func(t *testing.T, db *storage.DB) {
			noError(t, db.Audit().Append(t.Context(), []audit.Entry{entry(1, "ada"), ended(entry(1, "ada")), ended(entry(2, "ada"))}))
			noError(t, db.Audit().Prune(t.Context(), at.Add(2*time.Second)))
			equal(t, list(t, db, audit.Query{}), []audit.Entry{ended(entry(2, "ada"))})
		},
	}}
}
