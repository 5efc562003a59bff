package trace

import (
	"slices"
	"time"
)

// tree holds the spans of a trace as a tree.
type tree struct {
	spans      []*node // parents before children
	roots      []*node
	label      string // of the first root
	status     string
	start, end time.Time

	caller, workspace string // of the first root
}

// node is a span in its tree.
type node struct {
	Span
	depth    int
	end      time.Time // now for a running span
	parent   *node     // nil for a root
	children []*node   // in order of their start
}

func (t *tree) duration() time.Duration { return t.end.Sub(t.start) }

func (n *node) duration() time.Duration { return n.end.Sub(n.Start) }

// newTree builds the tree of a trace from its spans, which must be in order of their start. A span
// whose parent is missing is a root. Running spans count as interrupted if their process has been
// silent for too long.
func newTree(spans []Span, lastReport, now time.Time) *tree {
	t := &tree{status: Success, start: spans[0].Start}
	nodes := make([]*node, len(spans))
	byID := map[string]*node{}
	for i, s := range spans {
		n := &node{Span: s, end: s.Start.Add(s.Duration(now))}
		if s.Status == Running && lastReport.Before(now.Add(-Silence)) {
			n.Status, n.Code, n.Message = Failure, Interrupted, InterruptedMessage
			n.end = maxTime(s.Start, lastReport)
		}
		nodes[i], byID[s.ID] = n, n
	}
	for _, n := range nodes {
		if around := byID[n.Parent]; around != nil && !n.Root && around != n {
			n.parent = around
			around.children = append(around.children, n)
		} else {
			t.roots = append(t.roots, n)
		}
	}
	for _, root := range t.roots {
		t.walk(root, 0)
	}
	for _, n := range t.spans {
		t.end = maxTime(t.end, n.end)
	}
	slices.SortStableFunc(t.roots, func(a, b *node) int { return a.Start.Compare(b.Start) })
	first := slices.IndexFunc(t.roots, func(n *node) bool { return n.Root })
	root := t.roots[max(first, 0)]
	t.label, t.caller, t.workspace = root.Label, root.Caller, root.Workspace
	for _, root := range t.roots { // roots whose parent is missing do not determine the status
		switch {
		case root.Root && root.Status == Failure:
			t.status = Failure
		case root.Root && root.Status == Running && t.status == Success:
			t.status = Running
		}
	}
	return t
}

func (t *tree) walk(n *node, depth int) {
	n.depth = depth
	t.spans = append(t.spans, n)
	for _, child := range n.children {
		t.walk(child, depth+1)
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
