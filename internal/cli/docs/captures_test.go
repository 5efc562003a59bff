package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/system/target"
)

// The table of lists matches the captures: each captured host, and each kind over all of its hosts, has
// the list with the fewest rounds, then the fewest bytes.
func TestTargetsMatchCaptures(t *testing.T) {
	t.Parallel()
	all, err := captures()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[target.Kind][]capture{}
	for name, c := range all {
		kinds[c.Kind] = append(kinds[c.Kind], c)
		if row := target.Find(name); row != nil {
			checkTarget(t, row, best([]capture{c}))
		}
	}
	for kind, list := range kinds {
		checkTarget(t, target.Find(string(kind)), best(list))
	}
	if len(all) < 10 || len(kinds) != 3 { // strict hosts are not agents
		t.Errorf("%d captures of %d kinds", len(all), len(kinds))
	}
	for name := range all {
		for _, s := range all[name].Surfaces {
			if len(s.Rounds) != 5 || s.Start.Bytes <= 0 || s.End.Bytes < s.Start.Bytes {
				t.Errorf("%s %v: %+v", name, s.Options, s)
			}
		}
	}
}

func checkTarget(t *testing.T, row *target.Row, c candidateCosts) {
	t.Helper()
	want := map[string]any{}
	for _, set := range []struct{ flag, setting, usual string }{
		{"--listing=", "listing", ""}, {"--fold=", "fold", "family"}, {"--always-load=", "alwaysLoad", "discovery"},
	} {
		for _, option := range c.Options {
			if value, ok := strings.CutPrefix(option, set.flag); ok && value != set.usual {
				want[set.setting] = value
			}
		}
	}
	if slices.Contains(c.Options, "--structured") {
		want["structured"] = true
	}
	got := row.Surface.Settings()
	delete(got, "resources") // no task needs it
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("--for=%s is %v; the captures say %v, %d rounds", row.Name, got, want, *c.Total)
	}
}
