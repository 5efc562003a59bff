package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

// The settings allow exactly the existing modes and levels.
func TestEnums(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{}
	for _, p := range config.Params(config.Settings) {
		allowed[p.Name] = p.Enum
	}
	var modes, levels, folds []string
	tiers := []string{"none"}
	for _, fold := range consolidate.Folds() {
		folds = append(folds, string(fold))
	}
	for _, tier := range []toolfold.Tier{toolfold.Core, toolfold.Standard, toolfold.Extended} {
		tiers = append(tiers, tier.String())
	}
	for _, mode := range surface.Modes() {
		modes = append(modes, string(mode))
	}
	for _, level := range lazy.Levels() {
		levels = append(levels, string(level))
	}
	if diff := cmp.Diff(modes, allowed["toolMode"]); diff != "" {
		t.Errorf("toolMode: %s", diff)
	}
	if diff := cmp.Diff(levels, allowed["listing"]); diff != "" {
		t.Errorf("listing: %s", diff)
	}
	if diff := cmp.Diff(folds, allowed["fold"]); diff != "" {
		t.Errorf("fold: %s", diff)
	}
	if diff := cmp.Diff(tiers, allowed["tier"]); diff != "" {
		t.Errorf("tier: %s", diff)
	}
}
