package app_test

import (
	"testing"

	"github.com/toolfold/toolfold/surface"
)

// A start does not validate the families: they are valid here.
func TestFamiliesAreValid(t *testing.T) {
	t.Parallel()
	families := benchOf(t, surface.Options{}).Families()
	if len(families) < 15 {
		t.Errorf("only %d families", len(families))
	}
	for _, f := range families {
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
	}
}
