package storage

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// A session is found by its owner until it ends or is not used for a while. Only one server at a time holds it.
func TestClientSessions(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		now := time.Unix(1000, 0)
		db := archiveStore(t, name)
		s := db.ClientSessions(func() time.Time { return now })
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		find := func(id, owner string) (ClientSession, bool) {
			t.Helper()
			found, ok, err := s.Find(t.Context(), id, owner, now.Add(-time.Minute))
			check(err)
			return found, ok
		}
		check(s.Begin(t.Context(), "one", "ada", json.RawMessage(`{"a":1}`)))
		check(s.Begin(t.Context(), "two", "", json.RawMessage(`{}`)))
		check(s.Load(t.Context(), "one", []string{"x", "y"}))
		check(s.Load(t.Context(), "one", []string{"y", "z"}))
		check(s.SetLogLevel(t.Context(), "one", "debug"))
		got, ok := find("one", "ada")
		if !ok || string(got.Hello) != `{"a":1}` || !slices.Equal(got.Loaded, []string{"x", "y", "z"}) || got.LogLevel != "debug" {
			t.Errorf("%+v %v", got, ok)
		}
		for _, not := range [][2]string{{"one", "bob"}, {"one", ""}, {"two", "ada"}, {"three", ""}, {hashed("one"), "ada"}} {
			if got, ok := find(not[0], not[1]); ok {
				t.Errorf("%s finds %+v", not, got)
			}
		}

		check(s.Enter(t.Context(), "one", "w1"))
		check(s.Enter(t.Context(), "one", "w2"))
		check(s.Enter(t.Context(), "one", "w1"))
		for id, want := range map[string][]string{"one": {"w1", "w2"}, "two": nil, "gone": nil} {
			work, err := s.Entered(t.Context(), id)
			check(err)
			if !slices.Equal(work, want) {
				t.Errorf("%s has entered %q", id, work)
			}
		}

		for range 2 {
			check(s.Subscribe(t.Context(), "one", "b://2"))
			check(s.Subscribe(t.Context(), "one", "a://1"))
			check(s.Subscribe(t.Context(), "one", "c://3"))
			check(s.Unsubscribe(t.Context(), "one", "c://3"))
			check(s.Unsubscribe(t.Context(), "two", "b://2"))
			check(s.Subscribe(t.Context(), "gone", "b://2"))
		}
		for id, want := range map[[2]string][]string{{"one", "ada"}: {"a://1", "b://2"}, {"two", ""}: nil} {
			if got, _ := find(id[0], id[1]); !slices.Equal(got.Subscribed, want) {
				t.Errorf("%s watches %q", id, got.Subscribed)
			}
		}

		by, _, err := s.Hold(t.Context(), "one", "a", now.Add(time.Minute))
		check(err)
		other, until, err := s.Hold(t.Context(), "one", "b", now.Add(time.Minute))
		check(err)
		if by != "" || other != "a" || !until.Equal(now.Add(time.Minute)) {
			t.Errorf("held by %q, then by %q until %v", by, other, until)
		}
		check(s.Release(t.Context(), "one", "b"))
		if by, _, _ := s.Hold(t.Context(), "one", "b", now); by != "a" {
			t.Error("another server released it")
		}
		check(s.Release(t.Context(), "one", "a"))
		if by, _, _ := s.Hold(t.Context(), "one", "b", now.Add(time.Second)); by != "" {
			t.Error("a released session is held")
		}
		now = now.Add(2 * time.Second)
		if by, _, _ := s.Hold(t.Context(), "one", "a", now); by != "" {
			t.Error("an old hold counts")
		}

		for range 2 { // the first answer counts
			check(s.Pass(t.Context(), "one", "7", json.RawMessage(`{"id":7}`)))
			check(s.Pass(t.Context(), "gone", "7", json.RawMessage(`{}`)))
		}
		for n := range 2 * maxPassed {
			check(s.Pass(t.Context(), "two", fmt.Sprint(n), json.RawMessage(`{}`)))
		}
		take := func(id, question, want string) {
			t.Helper()
			answer, found, err := s.Take(t.Context(), id, question)
			check(err)
			if string(answer) != want || found != (want != "") {
				t.Errorf("the answer to %s of %s is %s", question, id, answer)
			}
		}
		take("two", "7", `{}`)
		take("two", fmt.Sprint(maxPassed), "")
		take("gone", "7", "")
		take("one", "8", "")
		take("one", "7", `{"id":7}`)
		take("one", "7", "")

		now = now.Add(50 * time.Second)
		ended, err := s.Use(t.Context(), []string{"two", "gone"}, now.Add(-time.Minute))
		check(err)
		if !slices.Equal(ended, []string{"gone"}) {
			t.Errorf("%q ended", ended)
		}
		now = now.Add(20 * time.Second)
		if _, ok := find("one", "ada"); ok {
			t.Error("a session that was not used is found")
		}
		_, err = s.Use(t.Context(), nil, now.Add(-time.Minute))
		check(err)
		if ended, _ := s.Use(t.Context(), []string{"one", "two"}, now.Add(-time.Hour)); !slices.Equal(ended, []string{"one"}) {
			t.Errorf("%q ended", ended)
		}
		rows := func() int {
			t.Helper()
			n, err := scalar[int](t.Context(), db.reader(), sqlf(`SELECT (SELECT count(*) FROM client_answers) +
				(SELECT count(*) FROM client_subscriptions)`))
			check(err)
			return n
		}
		check(s.Pass(t.Context(), "two", "late", json.RawMessage(`{}`)))
		check(s.Subscribe(t.Context(), "two", "a://1"))
		if rows() != 2 {
			t.Errorf("%d rows are stored", rows())
		}
		check(s.End(t.Context(), "two"))
		if _, ok := find("two", ""); ok || rows() != 0 {
			t.Errorf("an ended session is found: %t, with %d rows", ok, rows())
		}

		check(s.Begin(t.Context(), "three", "", json.RawMessage(`{}`)))
		now = now.Add(time.Minute)
		check(s.Pass(t.Context(), "three", "7", json.RawMessage(`{}`)))
		_, err = s.Use(t.Context(), nil, now.Add(-time.Second))
		check(err)
		if rows() != 0 {
			t.Error("the answers of a session that was not used stay")
		}
	})
}
