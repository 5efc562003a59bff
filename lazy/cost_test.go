package lazy_test

import (
	"slices"
	"testing"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/surface"
)

// What describing an action may cost, answer and all: in the median, and at
// most.
const (
	describeMedian = 100
	describeMost   = 300
	describeTool   = 400 // a tool with all its actions
	listMost       = 500 // the whole account of consolidated tools
)

func TestDescribeIsShort(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		b := workbench.New(t, surface.Options{Mode: mode})
		var costs []int
		for _, s := range b.Families() {
			for _, a := range s.Actions {
				cost := describeCost(t, b, a.FullName())
				t.Logf("%s %s: %d tokens", mode, a.FullName(), cost)
				if s.Category != callctx.Discovery {
					costs = append(costs, cost)
				}
			}
			if cost := describeCost(t, b, s.Name); cost > describeTool {
				t.Errorf("%s: %d tokens, more than %d", s.Name, cost, describeTool)
			}
		}
		slices.Sort(costs)
		if median := costs[len(costs)/2]; median > describeMedian {
			t.Errorf("%s: the median is %d tokens, more than %d", mode, median, describeMedian)
		}
		if most := costs[len(costs)-1]; most > describeMost {
			t.Errorf("%s: the longest is %d tokens, more than %d", mode, most, describeMost)
		}
	}
}

func describeCost(t *testing.T, b *workbench.Bench, name string) int {
	t.Helper()
	answer := b.Runner.Call(t.Context(), "tools.describe", []byte(`{"name":`+quoted(name)+`}`))
	if answer.IsError() {
		t.Fatalf("%s", answer.Content)
	}
	cost, countErr := tokens.Count(string(answer.Content))
	if countErr != nil {
		t.Fatal(countErr)
	}
	return cost
}

func TestListOfToolsIsShort(t *testing.T) {
	t.Parallel()
	answer := workbench.New(t, surface.Options{}).Runner.Call(t.Context(), "tools.list", nil)
	cost, err := tokens.Count(string(answer.Content))
	if err != nil || answer.IsError() {
		t.Fatal(err, answer.Err)
	}
	if cost > listMost {
		t.Errorf("the list of tools costs %d tokens, more than %d", cost, listMost)
	}
}
