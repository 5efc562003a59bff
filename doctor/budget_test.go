package doctor_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/script"
)

const budgetFile = "testdata/budget.json"

// allActions is the number of actions for a whole ceiling; with fewer actions, ceilings are
// proportionally lower.
const allActions = 64

// ceilings bound the tokens of all family tools together, without discovery. The levels signature
// and full, which clients only get on request, may exceed theirs by overCeiling.
var ceilings = map[lazy.Level]int{lazy.Lazy: 950, lazy.Signature: 2800, lazy.Full: 4200}

const (
	allFamilies      = 16  // for the ceiling of stubs
	stubsCeiling     = 450 // the list of names and summaries
	searchCeiling    = 500 // the whole list at the search level
	callerCeiling    = 50  // the tool that calls any other
	discoveryCeiling = 120 // both discovery tools at the lazy level
	scriptCeiling    = 120 // the tool for scripts at the lazy level
	overCeiling      = 1.1 // allowed factor for the ceilings of signature and full
)

// Every tool is sent to a model with every request, so each change must record its cost.
func TestBudget(t *testing.T) {
	t.Parallel()
	report, err := doctor.Measure(app.Families())
	if err != nil {
		t.Fatal(err)
	}
	now := figures(report)
	if golden.Updating() {
		golden.Compare(t, budgetFile, now.json(t))
		return
	}
	before := readBudget(t)
	for name, tokens := range now {
		if most := math.Ceil(float64(before[name]) * 1.05); float64(tokens) > most {
			t.Errorf("%s costs %d tokens, %d were budgeted; if it is worth it, run the test with -update", name, tokens, before[name])
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			t.Errorf("%s has a budget but is gone; run the test with -update", name)
		}
	}
}

func TestCeilings(t *testing.T) {
	t.Parallel()
	families, discovery, scripts := parts()
	actions := 0
	for _, f := range families {
		actions += len(f.Actions)
	}
	for level, most := range ceilings {
		most = most * min(actions, allActions) / allActions
		if level != lazy.Lazy {
			t.Logf("%s: the ceiling is %d, and up to %.0f passes", level, most, float64(most)*overCeiling)
			most = int(float64(most) * overCeiling)
		}
		within(t, string(level), families, level, most)
	}
	stubs := lazy.Stubs(surface.Tools(families, surface.Options{}))
	withinList(t, "stubs", stubs, stubsCeiling*len(families)/allFamilies)
	within(t, "search", app.Families(), lazy.Search, searchCeiling)
	within(t, "discovery", discovery, lazy.Lazy, discoveryCeiling)
	within(t, "script", scripts, lazy.Lazy, scriptCeiling)
	for _, l := range surface.List(discovery, surface.Options{}) {
		if l.Name == "tool_call" {
			withinList(t, l.Name, []lazy.ListedTool{l}, callerCeiling)
			return
		}
	}
	t.Error("tool_call is not listed")
}

// parts returns the families of the workbench, discovery, and scripts, which replace calls of both.
func parts() (families, discovery, scripts []*toolfold.Family) {
	for _, s := range app.Families() {
		switch {
		case s.Category == callctx.Discovery:
			discovery = append(discovery, s)
		case s.Name == script.Family.Name:
			scripts = append(scripts, s)
		default:
			families = append(families, s)
		}
	}
	return families, discovery, scripts
}

func within(t *testing.T, what string, specs []*toolfold.Family, level lazy.Level, most int) {
	t.Helper()
	withinList(t, what, surface.List(specs, surface.Options{Level: level}), most)
}

func withinList(t *testing.T, what string, list []lazy.ListedTool, most int) {
	t.Helper()
	cost, err := doctor.Count(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d tokens, ceiling %d", what, cost.Tokens, most)
	if cost.Tokens > most {
		t.Errorf("%s costs %d tokens, more than %d: make it shorter, or raise its ceiling in this file and say in the commit what every turn "+
			"gets for it", what, cost.Tokens, most)
	}
}

// budget holds tokens by surface and family.
type budget map[string]int

func figures(report doctor.Report) budget {
	b := budget{}
	for _, s := range report.Surfaces {
		for _, f := range s.Families {
			b[fmt.Sprintf("%s %s %s", s.Mode, s.Level, f.Name)] = f.Tokens
		}
	}
	return b
}

func (b budget) json(t *testing.T) string {
	t.Helper()
	raw, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw)) + "\n"
}

func readBudget(t *testing.T) budget {
	t.Helper()
	raw, err := os.ReadFile(budgetFile)
	if err != nil {
		t.Fatalf("%v (run the test with -update to write it)", err)
	}
	var b budget
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b
}
