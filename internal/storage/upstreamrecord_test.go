package storage

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// A record is replaced only by those who know its version. Without a record of a source, the latest one of another
// source is read.
func TestUpstreamRecords(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		now := time.Unix(1000, 0)
		s := archiveStore(t, name).UpstreamRecords(func() time.Time { now = now.Add(time.Second); return now })
		replace := func(name, source, record string, over int64, want bool) (version int64) {
			t.Helper()
			version, err := s.Replace(t.Context(), name, source, []byte(record), over)
			if (version > over) != want || !want && version != 0 || err != nil {
				t.Errorf("%s of %s over %d has the version %d, %v", record, source, over, version, err)
			}
			return version
		}
		expect := func(name, source, want string, version int64) {
			t.Helper()
			got, is, err := s.Read(t.Context(), name, source)
			if string(got) != want || is != version || err != nil || want == "" && got != nil {
				t.Errorf("%s of %s is %q, version %d, %v; want %q, %d", name, source, got, is, err, want, version)
			}
		}
		expect("up", "a", "", 0)
		replace("up", "a", "never there", 1, false)
		expect("up", "a", "", 0)
		one := replace("up", "a", "one\x00", 0, true)
		replace("up", "a", "another first", 0, false)
		expect("up", "a", "one\x00", one)
		now = now.Add(-time.Hour) // by the clock of another server
		two := replace("up", "a", "two", one, true)
		replace("up", "a", "late", one, false)
		expect("up", "a", "two", two)
		now = now.Add(time.Hour)

		expect("up", "b", "two", 0)
		b := replace("up", "b", "of b", 0, true)
		expect("up", "b", "of b", b)
		expect("up", "c", "of b", 0)
		three := replace("up", "a", "three", two, true)
		expect("up", "c", "three", 0)
		expect("Ü p", "a", "", 0)
		other := replace("Ü p", "a", "other", 0, true)

		versions := func() map[string]int64 {
			t.Helper()
			all := map[string]int64{}
			if err := s.Versions(t.Context(), func(name, source string, version int64) { all[name+" "+source] = version }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		if got := versions(); !maps.Equal(got, map[string]int64{"up a": three, "up b": b, "Ü p a": other}) {
			t.Errorf("versions %v", got)
		}
		for i := range mostSources {
			replace("up", fmt.Sprint("new", i), "new", 0, true)
		}
		if got := versions(); len(got) != mostSources+1 || got["up a"] > 0 || got["up new0"] == 0 || got["Ü p a"] != other {
			t.Errorf("versions %v", got)
		}
		if again := replace("up", "a", "one\x00", 0, true); again == one {
			t.Error("a record has the version of one that was removed")
		}
	})
}
