package doctor

import (
	"cmp"
	"slices"
)

// FoldedServer is another server whose tools are served, with its own list and the result of folding.
type FoldedServer struct {
	List      List
	HeldTools int               // number of tools that wait for the user's approval
	Fails     string            // why it cannot be used, or failed at the last attempt; empty = it works
	Cost      Cost              // of its tools in the surface
	Actions   map[string]string // full names of the actions for its tools, by tool
}

// Upstream holds the cost of a server's own list and of its folded tools, and their use.
type Upstream struct {
	Name      string    `json:"name"`
	Problem   string    `json:"problem,omitempty"` // why nothing is known about it; if set, all fields below Fails are empty
	Fails     string    `json:"fails,omitempty"`   // why it cannot be used, or failed at the last attempt
	HeldTools int       `json:"held,omitempty"`    // number of tools that wait for the user's approval
	Raw       Cost      `json:"raw"`
	Folded    Cost      `json:"folded"`
	Calls     int       `json:"calls"` // of its tools, among the counted calls
	Tools     []ToolUse `json:"tools"` // the most expensive first
	Never     []string  `json:"never"` // offered tools without calls, in list order
}

// ToolUse is a tool of a server, with its cost in the server's own list and its number of calls.
type ToolUse struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Calls  int    `json:"calls"`
}

// Upstreams compares servers with the recorded calls. It returns the servers with the most
// expensive lists first.
func Upstreams(servers []FoldedServer, calls []Call) ([]Upstream, error) {
	made := map[string]int{}
	for _, c := range calls {
		made[c.Action]++
	}
	list := []Upstream{}
	for _, f := range servers {
		u := Upstream{Name: f.List.Server, Problem: f.List.Problem, Fails: f.Fails, HeldTools: f.HeldTools, Folded: f.Cost,
			Tools: []ToolUse{}, Never: []string{}}
		var err error
		if u.Raw, err = CostOf(f.List); err != nil {
			return nil, err
		}
		for _, tool := range f.List.Tools {
			cost, err := tool.cost()
			if err != nil {
				return nil, err
			}
			action, offered := f.Actions[tool.Name]
			n := 0
			if offered { // calls of unknown names have no action
				n = made[action]
			}
			u.Tools = append(u.Tools, ToolUse{Name: tool.Name, Tokens: cost.Tokens, Calls: n})
			if u.Calls += n; n == 0 && offered {
				u.Never = append(u.Never, tool.Name)
			}
		}
		slices.SortStableFunc(u.Tools, func(a, b ToolUse) int { return cmp.Compare(b.Tokens, a.Tokens) })
		list = append(list, u)
	}
	slices.SortStableFunc(list, func(a, b Upstream) int { return cmp.Compare(b.Raw.Tokens, a.Raw.Tokens) })
	return list, nil
}
