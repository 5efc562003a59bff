package storagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

func marksOfFiles(t *testing.T, db *storage.DB) {
	s := db.Memory(lastTen)
	here, there := strings.Repeat("\xff", 32), strings.Repeat("\x00", 32)
	long := strings.Repeat("\U0001f389", 500)
	put := func(folder string, marks ...memory.Mark) {
		t.Helper()
		noError(t, s.PutMarks(t.Context(), folder, marks))
	}
	holds := func(folder string, keys []string, want ...memory.Mark) {
		t.Helper()
		got, err := s.Marks(t.Context(), folder, keys)
		noError(t, err)
		got = append([]memory.Mark(nil), got...) // no marks as nil
		slices.SortFunc(got, func(a, b memory.Mark) int { return strings.Compare(a.Namespace+a.Key, b.Namespace+b.Key) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	holds(here, nil)
	one := memory.Mark{Namespace: "n", Key: "k", Digest: "d", Stamp: "1"}
	two := memory.Mark{Namespace: strings.Repeat("\U0001f389", 100), Key: long, Digest: "e"}
	put(here, two, one)
	put(there, memory.Mark{Namespace: "n", Key: "k", Digest: "x"})
	holds(here, nil, one, two)
	holds(here, []string{"k", "other"}, one)
	holds(here, []string{long}, two)
	one.Digest, one.Stamp = "f", ""
	put(here, one, memory.Mark{Namespace: two.Namespace, Key: long}, memory.Mark{Namespace: "n", Key: "never there"})
	holds(here, nil, one)
	holds(there, nil, memory.Mark{Namespace: "n", Key: "k", Digest: "x"})

	_, err := s.Put(t.Context(), worded(entry("n", "k", "1"))[0], nil)
	noError(t, err)
	list, err := s.Headings(t.Context(), memory.Scope{}, memory.Page{})
	noError(t, err)
	if len(list) != 1 || list[0].Version != 1 {
		t.Errorf("got %+v", list)
	}
}
