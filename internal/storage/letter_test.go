package storage

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// A letter is received by its server until it is done. Servers know which of them attend.
func TestLetters(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		l := db.Letters()
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		gone := func(want ...string) {
			t.Helper()
			got, err := l.Attend(t.Context(), "a-", []string{"b-", "c-"})
			check(err)
			if !slices.Equal(got, want) {
				t.Errorf("gone are %q, not %q", got, want)
			}
		}
		gone("b-", "c-")
		_, err := l.Attend(t.Context(), "b-", nil)
		check(err)
		gone("c-")

		long := bytes.Repeat([]byte("\x00<ä>"), 1_000_000)
		for range 2 { // the first one counts
			check(l.Send(t.Context(), "b-", Letter{"x a", []byte(`{"n": 1.50}`)}))
			check(l.Send(t.Context(), "b-", Letter{"x b", long}))
			check(l.Send(t.Context(), "b-", Letter{"x a", []byte(`{}`)}))
			check(l.Send(t.Context(), "c-", Letter{"x a", []byte(`"c"`)}))
		}
		receive := func(server string, done []string, want ...Letter) {
			t.Helper()
			got, err := l.Receive(t.Context(), server, done)
			check(err)
			if !slices.EqualFunc(got, want, func(a, b Letter) bool { return a.ID == b.ID && bytes.Equal(a.Message, b.Message) }) {
				t.Errorf("%s receives %d letters, not %d: %.200q", server, len(got), len(want), got)
			}
		}
		first, second := Letter{"x a", []byte(`{"n": 1.50}`)}, Letter{"x b", long}
		receive("b-", nil, first, second)
		receive("b-", []string{"none"}, first, second)
		receive("a-", []string{"x a"})
		receive("b-", []string{"x a"}, second)
		receive("b-", []string{"x a", "x b"})
		receive("c-", nil, Letter{"x a", []byte(`"c"`)})

		large := make([]byte, maxReceivedSize/2)
		for _, id := range []string{"w 1", "w 2", "w 3"} {
			check(l.Send(t.Context(), "b-", Letter{id, large}))
		}
		receive("b-", nil, Letter{"w 1", large}, Letter{"w 2", large})
		receive("b-", []string{"w 1", "w 2"}, Letter{"w 3", large})
		receive("b-", []string{"w 3"})

		for n := range maxReceived + 1 {
			check(l.Send(t.Context(), "b-", Letter{fmt.Sprintf("y %d", n), []byte("{}")}))
		}
		some, err := l.Receive(t.Context(), "b-", nil)
		check(err)
		if len(some) != maxReceived {
			t.Errorf("%d letters are received at once", len(some))
		}

		check(l.Leave(t.Context(), "b-"))
		gone("b-", "c-")
		receive("b-", nil)

		age := func(table, column string, by time.Duration) {
			t.Helper()
			_, err := db.writer().exec(t.Context(), `UPDATE `+table+` SET `+column+` = `+column+` - ?`, by.Microseconds())
			check(err)
		}
		_, err = l.Attend(t.Context(), "b-", nil)
		check(err)
		age("letter_servers", "seen_at", attendTime-2*time.Second)
		gone("c-")
		age("letter_servers", "seen_at", 3*time.Second)
		gone("b-", "c-")
		age("letter_servers", "seen_at", letterTime)
		age("letters", "at", letterTime)
		db.lettersTrimmed.Store(0)
		gone("b-", "c-")
		receive("c-", nil)
		if n, err := scalar[int](t.Context(), db.reader(), sqlf(`SELECT count(*) FROM letter_servers`)); err != nil || n != 1 {
			t.Errorf("%d servers are stored, %v", n, err)
		}
	})
}
