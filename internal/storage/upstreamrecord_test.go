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
		replace := func(name, source, record string, over, want int64) {
			t.Helper()
			if version, err := s.Replace(t.Context(), name, source, []byte(record), over); version != want || err != nil {
				t.Errorf("%s of %s over %d has the version %d, %v; want %d", record, source, over, version, err, want)
			}
		}
		expect := func(name, source, want string, version int64) {
			t.Helper()
			got, is, err := s.Read(t.Context(), name, source)
			if string(got) != want || is != version || err != nil || want == "" && got != nil {
				t.Errorf("%s of %s is %q, version %d, %v; want %q, %d", name, source, got, is, err, want, version)
			}
		}
		expect("up", "a", "", 0)
		replace("up", "a", "never there", 1, 0)
		expect("up", "a", "", 0)
		replace("up", "a", "one\x00", 0, 1)
		replace("up", "a", "another first", 0, 0)
		expect("up", "a", "one\x00", 1)
		replace("up", "a", "two", 1, 2)
		replace("up", "a", "late", 1, 0)
		expect("up", "a", "two", 2)

		expect("up", "b", "two", 0)
		replace("up", "b", "of b", 0, 1)
		expect("up", "b", "of b", 1)
		expect("up", "c", "of b", 0)
		replace("up", "a", "three", 2, 3)
		expect("up", "c", "three", 0)
		expect("Ü p", "a", "", 0)
		replace("Ü p", "a", "other", 0, 1)

		versions := func() map[string]int64 {
			t.Helper()
			all := map[string]int64{}
			if err := s.Versions(t.Context(), func(name, source string, version int64) { all[name+" "+source] = version }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		if got := versions(); !maps.Equal(got, map[string]int64{"up a": 3, "up b": 1, "Ü p a": 1}) {
			t.Errorf("versions %v", got)
		}
		for i := range mostSources {
			replace("up", fmt.Sprint("new", i), "new", 0, 1)
		}
		if got := versions(); len(got) != mostSources+1 || got["up a"] > 0 || got["up new0"] != 1 || got["Ü p a"] != 1 {
			t.Errorf("versions %v", got)
		}
	})
}
