package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Comparison holds the changes between two lists.
type Comparison struct {
	Before  Cost     `json:"before"`
	After   Cost     `json:"after"`
	Growth  float64  `json:"growth"` // of tokens, in percent; 0 or 100 if the first list is empty
	Changes []Change `json:"changes"`
}

// Change is a tool that differs between two lists.
type Change struct {
	Tool   string   `json:"tool"`
	Kind   string   `json:"kind"` // added, removed or changed
	Before int      `json:"before"`
	After  int      `json:"after"`
	What   []string `json:"what,omitempty"` // of a changed tool, such as "description", "+limit", "-cursor", "hints"
}

// Compare compares two lists by tool names. It leaves out equal tools.
func Compare(before, after List) (Comparison, error) {
	var c Comparison
	was := map[string]Tool{}
	for _, t := range before.Tools {
		was[t.Name] = t
	}
	stays := map[string]bool{}
	for _, t := range after.Tools {
		stays[t.Name] = true
		n, err := t.cost()
		if err != nil {
			return c, err
		}
		c.After = c.After.Add(n)
		old, known := was[t.Name]
		if !known {
			c.Changes = append(c.Changes, Change{Tool: t.Name, Kind: "added", After: n.Tokens})
			continue
		}
		o, err := old.cost()
		if err != nil {
			return c, err
		}
		if what := difference(old, t); what != nil {
			c.Changes = append(c.Changes, Change{Tool: t.Name, Kind: "changed", Before: o.Tokens, After: n.Tokens, What: what})
		}
	}
	for _, t := range before.Tools {
		n, err := t.cost()
		if err != nil {
			return c, err
		}
		c.Before = c.Before.Add(n)
		if !stays[t.Name] {
			c.Changes = append(c.Changes, Change{Tool: t.Name, Kind: "removed", Before: n.Tokens})
		}
	}
	switch {
	case c.Before.Tokens > 0:
		c.Growth = 100 * float64(c.After.Tokens-c.Before.Tokens) / float64(c.Before.Tokens)
	case c.After.Tokens > 0:
		c.Growth = 100
	}
	return c, nil
}

func (t Tool) cost() (Cost, error) {
	text, err := t.definition()
	if err != nil {
		return Cost{}, err
	}
	return countText(text)
}

// difference lists the changed parts of a tool; nil if nothing changed.
func difference(before, after Tool) []string {
	var what []string
	if before.Description != after.Description {
		what = append(what, "description")
	}
	old, now := parameters(before), parameters(after)
	for _, name := range now.names {
		switch {
		case old.schemas[name] == nil:
			what = append(what, "+"+name)
		case !bytes.Equal(old.schemas[name], now.schemas[name]):
			what = append(what, "~"+name)
		}
	}
	for _, name := range old.names {
		if now.schemas[name] == nil {
			what = append(what, "-"+name)
		}
	}
	if len(what) == 0 || what[0] == "description" && len(what) == 1 {
		if !bytes.Equal(before.InputSchema, after.InputSchema) {
			what = append(what, "schema")
		}
	}
	a, _ := json.Marshal(before.Annotations)
	b, _ := json.Marshal(after.Annotations)
	if !bytes.Equal(a, b) {
		what = append(what, "hints")
	}
	return what
}

type parameterList struct {
	names   []string // sorted
	schemas map[string]json.RawMessage
}

func parameters(t Tool) parameterList {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &s) // without an object there are no parameters
	p := parameterList{schemas: s.Properties}
	for name := range s.Properties {
		p.names = append(p.names, name)
	}
	slices.Sort(p.names)
	return p
}

// Check returns an error if the list grew by more than limit percent.
func (c Comparison) Check(limit float64) error {
	if c.Growth <= limit {
		return nil
	}
	return fmt.Errorf("the list grew from %d to %d tokens, by %.1f %%, more than %g %%", c.Before.Tokens, c.After.Tokens, c.Growth, limit)
}
