package lazy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
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

// findMost is the most tokens of an answer of tools.find.
const findMost = 900

// However many results are asked for, an answer is short: what has no room in it is named or counted.
func TestFindIsShort(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	for _, query := range []string{"update", "list everything", "create a task and run it", "design a schema", "delete old notes", "a"} {
		for _, limit := range []int{1, 5, 10, 50} {
			answer := b.Runner.Call(t.Context(), "tools.find", fmt.Appendf(nil, `{"query":%q,"limit":%d}`, query, limit))
			cost, err := tokens.Count(string(answer.Content))
			var out lazy.FindOut
			if err != nil || json.Unmarshal(answer.Content, &out) != nil {
				t.Fatalf("%s: %v", answer.Content, err)
			}
			if cost > findMost {
				t.Errorf("the %d best for %q cost %d tokens, more than %d", limit, query, cost, findMost)
			}
			matches := len(b.Discovery.View(t.Context()).Find(query, limit))
			if found := len(out.Results) + countNames(out.Further); found != matches {
				t.Errorf("the %d best for %q are %d, with %q", limit, query, found, out.Further)
			}
		}
	}
}

// countNames counts the names in a list that may say how many others there are.
func countNames(list string) int {
	names, rest, _ := strings.Cut(list, " and ")
	others, _ := strconv.Atoi(strings.TrimSuffix(rest, " more"))
	if names == "" {
		return others
	}
	return others + strings.Count(names, ", ") + 1
}

// Signatures of actions have at most 100 tokens in the median, and 350 at most.
func TestSignaturesAreShort(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	var costs []int
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			answer := b.Runner.Call(t.Context(), "tools.describe", []byte(`{"as":"ts","name":`+quoted(a.FullName())+`}`))
			var out struct{ Tools []lazy.SignatureDoc }
			if err := json.Unmarshal(answer.Content, &out); err != nil || len(out.Tools) != 1 || out.Tools[0].Signature == "" {
				t.Fatalf("%s", answer.Content)
			}
			cost, err := tokens.Count(out.Tools[0].Signature)
			if err != nil {
				t.Fatal(err)
			}
			if costs = append(costs, cost); cost > 350 || a.OpenResult() != strings.HasSuffix(out.Tools[0].Signature, "Promise<unknown>") {
				t.Errorf("%d tokens: %s", cost, out.Tools[0].Signature)
			}
		}
	}
	slices.Sort(costs)
	median := costs[len(costs)/2]
	if t.Logf("%d signatures: %d tokens in the median, %d at most", len(costs), median, costs[len(costs)-1]); median > 100 {
		t.Errorf("the median is %d tokens", median)
	}
}
