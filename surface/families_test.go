package surface_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// Adding an invalid or conflicting family changes nothing.
func TestPutRefuses(t *testing.T) {
	t.Parallel()
	s := surface.New(surface.Options{})
	mounted := func(change func(*toolfold.Family)) *toolfold.Family {
		f := notetest.Family
		f.Actions = nil
		for _, a := range notetest.Family.Actions {
			copied := *a
			f.Actions = append(f.Actions, &copied)
		}
		change(&f)
		return toolfoldtest.Mount(t, f, &notetest.Service{})
	}
	note := mounted(func(*toolfold.Family) {})
	put(t, s, note)
	for want, family := range map[string]*toolfold.Family{
		`the name "save_note" belongs to note.save`: mounted(func(f *toolfold.Family) { f.Name, f.Actions[1].Related = "memo", nil }),
		`related action "note.nowhere" does not exist`: mounted(func(f *toolfold.Family) {
			f.Name, f.Actions = "stray", slices.Clone(f.Actions[2:])
			f.Actions[0].Related = []string{"note.nowhere"}
		}),
		"note.save: has no summary": mounted(func(f *toolfold.Family) { f.Actions[0].Summary = "" }),
	} {
		if err := s.Put(family); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Put says %v, want %q", err, want)
		}
	}
	if n := len(s.Families()); n != 1 {
		t.Errorf("%d families are there", n)
	}
	put(t, s, note)
}
