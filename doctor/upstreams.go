package doctor

import (
	"cmp"
	"slices"
)

// Folded is a server whose tools are served too: its own list, and what became of it.
type Folded struct {
	List    List
	Held    int               // tools that wait for the user's approval
	Fails   string            // why it cannot be used, or failed when it was asked last; empty = it did not
	Cost    Cost              // as the surface lists it
	Actions map[string]string // full names of the actions that its tools are offered as, by tool
}

// Upstream says what a server costs as it is and folded, and what is called of it.
type Upstream struct {
	Name    string    `json:"name"`
	Problem string    `json:"problem,omitempty"` // why nothing is known of it; all below Fails is empty then
	Fails   string    `json:"fails,omitempty"`   // why it cannot be used, or failed when it was asked last
	Held    int       `json:"held,omitempty"`    // tools that wait for the user's approval
	Raw     Cost      `json:"raw"`
	Folded  Cost      `json:"folded"`
	Calls   int       `json:"calls"` // of its tools, among the calls counted
	Tools   []ToolUse `json:"tools"` // the most expensive first
	Never   []string  `json:"never"` // tools that are offered and were not called, in the order of the list
}

// ToolUse is a tool of a server with what it costs in the server's own list, and how
// often it was called.
type ToolUse struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Calls  int    `json:"calls"`
}

// Upstreams holds servers against the calls that were made. The servers whose lists cost the most go first.
func Upstreams(servers []Folded, calls []Call) ([]Upstream, error) {
	made := map[string]int{}
	for _, c := range calls {
		made[c.Action]++
	}
	list := []Upstream{}
	for _, f := range servers {
		u := Upstream{Name: f.List.Server, Problem: f.List.Problem, Fails: f.Fails, Held: f.Held, Folded: f.Cost,
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
