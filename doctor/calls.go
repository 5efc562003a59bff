package doctor

import (
	"cmp"
	"math"
	"slices"
)

// Call is a recorded call, with the tokens of its arguments and result.
type Call struct {
	Action    string
	Arguments int
	Result    int
}

// CallCost summarizes the calls of an action. Tokens are estimates.
type CallCost struct {
	Action    string `json:"action"`
	Calls     int    `json:"calls"`
	Arguments Spread `json:"arguments"`
	Result    Spread `json:"result"`
}

// Spread summarizes numbers, by nearest rank.
type Spread struct {
	Median int `json:"median"`
	P95    int `json:"p95"`
}

// CallCosts summarizes calls by action, sorted by the total tokens of results, largest first.
func CallCosts(calls []Call) []CallCost {
	arguments, results, tokens := map[string][]int{}, map[string][]int{}, map[string]int{}
	for _, c := range calls {
		arguments[c.Action] = append(arguments[c.Action], c.Arguments)
		results[c.Action] = append(results[c.Action], c.Result)
		tokens[c.Action] += c.Result
	}
	costs := []CallCost{}
	for action := range arguments {
		costs = append(costs, CallCost{action, len(arguments[action]), spread(arguments[action]), spread(results[action])})
	}
	slices.SortFunc(costs, func(a, b CallCost) int {
		return cmp.Or(tokens[b.Action]-tokens[a.Action], cmp.Compare(a.Action, b.Action))
	})
	return costs
}

func spread(figures []int) Spread {
	slices.Sort(figures)
	rank := func(share float64) int { return figures[int(math.Ceil(share*float64(len(figures))))-1] }
	return Spread{rank(0.5), rank(0.95)}
}
