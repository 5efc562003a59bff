package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// levelConcurrency limits the independent steps that run at once in a list with dependencies.
const levelConcurrency = 5

// order holds the dependencies of a list of steps, by index.
type order struct {
	after [][]int // the dependencies of each step
	limit int     // most steps at once
}

// arrangement is the order of steps in a list without dependencies.
type arrangement bool

const (
	inOrder arrangement = false
	atOnce  arrangement = true
)

// order reads the dependencies of a list. Without dependencies, the steps run in the usual
// arrangement of the list.
func (c *compiler) order(steps []Step, at string, usual arrangement) order {
	o := order{after: make([][]int, len(steps)), limit: 1}
	declared := slices.ContainsFunc(steps, func(s Step) bool { return len(s.DependsOn) > 0 })
	if !declared && usual == inOrder {
		for i := 1; i < len(steps); i++ {
			o.after[i] = []int{i - 1}
		}
		return o
	}
	o.limit = levelConcurrency
	c.depend(steps, at, o.after)
	return o
}

// depend resolves dependsOn to indexes. Unknown ids and cycles are faults.
func (c *compiler) depend(steps []Step, at string, after [][]int) {
	ids := make([]string, len(steps))
	for i, s := range steps {
		ids[i] = s.StepID
	}
	for i, s := range steps {
		for j, id := range s.DependsOn {
			k := slices.Index(ids, id)
			if k < 0 {
				c.fault(s.StepID, toolfold.Problem{
					Path: fmt.Sprintf("%s/%d/dependsOn/%d", at, i, j), Kind: toolfold.ProblemEnum,
					Got: shorten.Quoted(id), Allowed: slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == s.StepID }),
					Suggest: suggest.Nearest(id, ids),
				})
				continue
			}
			after[i] = append(after[i], k)
		}
	}
	if cycle := findCycle(after); cycle != nil {
		names := make([]string, len(cycle))
		for i, k := range cycle {
			names[i] = shorten.Quoted(ids[k])
		}
		first := cycle[0]
		c.addFault(ids[first], jsonx.Pointer(jsonx.Index(at, first), "dependsOn"), "list without a cycle: "+strings.Join(names, " → "), nil)
		for i := range after {
			after[i] = nil
		}
	}
}

// findCycle returns the indexes of a cycle, with the first one again at the end; nil if there is no
// cycle.
func findCycle(after [][]int) []int {
	const (
		fresh = iota
		open
		done
	)
	state := make([]int, len(after))
	var path []int
	var visit func(i int) []int
	visit = func(i int) []int {
		if state[i] == open {
			return append(slices.Clone(path[slices.Index(path, i):]), i)
		}
		if state[i] == done {
			return nil
		}
		state[i] = open
		path = append(path, i)
		for _, j := range after[i] {
			if cycle := visit(j); cycle != nil {
				return cycle
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return nil
	}
	for i := range after {
		if cycle := visit(i); cycle != nil {
			return cycle
		}
	}
	return nil
}

// before lists the steps that have finished when step i starts.
func (o order) before(i int) []int {
	seen := make([]bool, len(o.after))
	var list []int
	var visit func(i int)
	visit = func(i int) {
		for _, j := range o.after[i] {
			if !seen[j] {
				seen[j] = true
				list = append(list, j)
				visit(j)
			}
		}
	}
	visit(i)
	return list
}
