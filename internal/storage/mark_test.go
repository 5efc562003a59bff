package storage_test

import (
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/session"
)

// The mark of a store changes with each commit, of this and of another process, and not by reading.
func TestMark(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{
		"memory": func(testing.TB) string { return "memory:" }, "sqlite": sqliteURL, "postgres": storagetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := url(t)
			db := open(t, at)
			defer db.Close()
			writers := []*storage.DB{db}
			if name != "memory" {
				other := open(t, at)
				defer other.Close()
				writers = append(writers, other)
			}
			mark := func() string {
				t.Helper()
				text, err := db.Mark(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			seen := map[string]bool{mark(): true}
			for i := range 6 {
				if _, err := db.Activity(t.Context(), time.Now(), time.Time{}, time.Now()); err != nil {
					t.Fatal(err)
				}
				if !seen[mark()] {
					t.Error("the mark changes by reading")
				}
				created := session.Session{ID: "00000000-0000-4000-8000-00000000000" + string(rune('0'+i)), Initiator: "lead", Task: "x",
					Status: "active", CreatedAt: time.Now()}
				if err := writers[i%len(writers)].Session().Create(t.Context(), created); err != nil {
					t.Fatal(err)
				}
				if seen[mark()] {
					t.Errorf("the mark %s is the same after commit %d", mark(), i)
				}
				seen[mark()] = true
			}
		})
	}
}

// A mark of a closed store is an error.
func TestMarkAfterClose(t *testing.T) {
	t.Parallel()
	db := open(t, sqliteURL(t))
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if text, err := db.Mark(t.Context()); err == nil {
		t.Errorf("a closed store has the mark %s", text)
	}
}
