package storagetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/design"
)

// Design tests the store of the design family.
func Design() Suite {
	return Suite{
		Name: "design",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":         keepDesign,
			"keep once":    keepDesignOnce,
			"keep at once": keepDesignAtOnce,
			"wrote":        wroteDesign,
			"list pages":   pageDesigns,
		},
		Durabilities: map[string]func(*testing.T, string){
			"reopen": reopened(func(t *testing.T, db *storage.DB) {
				putDesign(t, db.Design(), newDesign(1), newDesign(1).CreatedAt)
			}, func(t *testing.T, db *storage.DB) {
				equal(t, stored(t, db.Design().Get, sessionID(1)), newDesign(1))
			}),
		},
	}
}

// newDesign returns a design created n seconds after noon.
func newDesign(n int) design.Design {
	return design.Design{
		ID: sessionID(n), Type: "schema", Format: "zod", Name: "a\x00b müssen 任务 '?", Content: fmt.Sprintf("text %d\x00字", n),
		CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
}

func putDesign(t *testing.T, s design.Store, d design.Design, want time.Time) {
	t.Helper()
	created, err := s.Put(t.Context(), d)
	noError(t, err)
	equal(t, created, want)
}

func keepDesign(t *testing.T, db *storage.DB) {
	s := db.Design()
	plain, full := newDesign(1), newDesign(2)
	full.Type, full.Documentation = "architecture", "# "+strings.Repeat("字", 10_000)
	putDesign(t, s, plain, plain.CreatedAt)
	putDesign(t, s, full, full.CreatedAt)
	equal(t, stored(t, s.Get, plain.ID), plain)
	equal(t, stored(t, s.Get, full.ID), full)
	if _, found, err := s.Get(t.Context(), sessionID(3)); found || err != nil {
		t.Fatalf("a design that is not there: %v, %v", found, err)
	}
}

// keepDesignOnce checks that creating a design again does not change it.
func keepDesignOnce(t *testing.T, db *storage.DB) {
	s := db.Design()
	first := newDesign(1)
	putDesign(t, s, first, first.CreatedAt)
	again := first
	again.CreatedAt = noon.Add(time.Hour)
	putDesign(t, s, again, first.CreatedAt)
	equal(t, stored(t, s.Get, first.ID), first)
}

// keepDesignAtOnce creates a design from several callers: all get the same time.
func keepDesignAtOnce(t *testing.T, db *storage.DB) {
	s := db.Design()
	var created [8]time.Time
	noError(t, each(len(created), func(i int) (err error) {
		d := newDesign(1)
		d.CreatedAt = noon.Add(time.Duration(i) * time.Minute)
		created[i], err = s.Put(t.Context(), d)
		return err
	}))
	createdAt := stored(t, s.Get, sessionID(1)).CreatedAt
	for _, at := range created {
		equal(t, at, createdAt)
	}
}

func wroteDesign(t *testing.T, db *storage.DB) {
	s := db.Design()
	d := newDesign(1)
	d.Documentation = "page"
	putDesign(t, s, d, d.CreatedAt)
	for text, want := range map[string]bool{d.Content: true, "page": true, "pag": false, "": false, d.Name: false} {
		wrote, err := s.Wrote(t.Context(), text)
		noError(t, err)
		if wrote != want {
			t.Errorf("wrote %q: %v, want %v", text, wrote, want)
		}
	}
}

// pageDesigns pages through designs of one time, which are ordered by id, and of one type.
func pageDesigns(t *testing.T, db *storage.DB) {
	s := db.Design()
	for n := 1; n <= 5; n++ {
		d := newDesign(n)
		d.CreatedAt = noon
		if n == 3 {
			d.Type = "api"
		}
		putDesign(t, s, d, noon)
	}
	var got []string
	query := design.Query{Type: "schema", Limit: 3}
	for {
		page, err := s.List(t.Context(), query)
		noError(t, err)
		equal(t, page.Total, 4)
		if len(page.Designs) == 0 {
			break
		}
		for _, l := range page.Designs {
			got = append(got, l.ID)
			query.After = &toolfold.Position{CreatedAt: l.CreatedAt, ID: l.ID}
		}
	}
	equal(t, got, []string{sessionID(5), sessionID(4), sessionID(2), sessionID(1)})
	page, err := s.List(t.Context(), design.Query{Limit: 1})
	noError(t, err)
	d := newDesign(5)
	equal(t, page, design.Page{Total: 5, Designs: []design.Item{{ID: d.ID, Type: d.Type, Format: d.Format, Name: d.Name, CreatedAt: noon}}})
}
