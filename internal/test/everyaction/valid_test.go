package everyaction_test

import (
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
)

// The families are valid. A start does not validate them.
func TestFamiliesAreValid(t *testing.T) {
	t.Parallel()
	families := workbench.New(t, surface.Options{}).Families()
	if len(families) < 15 {
		t.Errorf("only %d families", len(families))
	}
	for _, f := range families {
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// An action that restrains itself if only reading is permitted does more than read otherwise.
func TestRestrainingActionsDoMore(t *testing.T) {
	t.Parallel()
	for _, f := range workbench.New(t, surface.Options{}).Families() {
		for _, a := range f.Actions {
			if a.Restrains && a.Effect == toolfold.Reads {
				t.Errorf("%s merely reads: there is nothing to restrain", a.FullName())
			}
		}
	}
}
