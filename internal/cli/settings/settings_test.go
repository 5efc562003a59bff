package settings

import (
	"strings"
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

// Settings of an upstream that would give it a shared login beside those of its callers are rejected.
func TestLoginOfCallers(t *testing.T) {
	t.Parallel()
	const url = "https://tracker.example.com/mcp"
	tests := map[string]struct {
		u    config.Upstream
		want string
	}{
		"good":                {config.Upstream{URL: url, Login: "caller", Headers: map[string]string{"X-Team": "a"}}, ""},
		"shared":              {config.Upstream{URL: url, Login: "shared", Headers: map[string]string{"Authorization": "Bearer a"}}, ""},
		"a known client":      {config.Upstream{URL: url, Login: "caller", ClientID: "a", ClientSecret: "${A}"}, ""},
		"a program":           {config.Upstream{Command: "a", Login: "caller"}, "with a url only"},
		"a header":            {config.Upstream{URL: url, Login: "caller", Headers: map[string]string{"authorization": "a"}}, "every caller"},
		"a client for nobody": {config.Upstream{URL: url, ClientID: "a"}, "go with login caller"},
		"a secret":            {config.Upstream{URL: url, Login: "caller", ClientID: "a", ClientSecret: "hunter2"}, "is a reference"},
		"a secret alone":      {config.Upstream{URL: url, Login: "caller", ClientSecret: "${A}"}, "goes with clientId"},
	}
	for name, test := range tests {
		err := checkLogin(test.u)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
