package storage

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// An answer that was cut is found by its reader until its time is over, or newer ones need its room.
func TestCutAnswers(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		now := time.Unix(1_000_000, 0)
		s := archiveStore(t, name).CutAnswers(func() time.Time { return now })
		put := func(id, reader, answer string, until time.Time) {
			t.Helper()
			if err := s.Put(t.Context(), id, reader, json.RawMessage(answer), until); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(id, reader, want string) {
			t.Helper()
			got, found, err := s.Get(t.Context(), id, reader)
			if err != nil || found != (want != "") || string(got) != want {
				t.Errorf("%s of %q is %s, %v", id, reader, got, err)
			}
		}
		put("a", "ada", `{"n": 1.50,"n":"\u0000"}`, now.Add(time.Hour))
		put("b", "", `"b"`, now.Add(time.Minute))
		expect("a", "ada", `{"n": 1.50,"n":"\u0000"}`)
		expect("b", "", `"b"`)
		for _, not := range [][2]string{{"a", ""}, {"a", "bob"}, {"b", "ada"}, {"", ""}, {hashed("a"), "ada"}, {"a", hashed("ada")}} {
			expect(not[0], not[1], "")
		}
		put("b", "eve", `"of eve"`, now.Add(2*time.Minute)) // never the answer of another
		expect("b", "eve", "")
		now = now.Add(90 * time.Second)
		expect("b", "", `"b"`)
		now = now.Add(time.Minute)
		expect("b", "", "")
		for _, id := range []string{"c", "d", "e"} {
			put(id, "ada", `"12345678"`, now.Add(30*time.Minute))
			now = now.Add(time.Second)
		}
		if err := s.Trim(t.Context(), 40); err != nil {
			t.Fatal(err)
		}
		expect("a", "ada", `{"n": 1.50,"n":"\u0000"}`)
		expect("c", "ada", "")
		expect("e", "ada", `"12345678"`)
	})
}
