package page

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/trace"
)

// graph has the steps of the workflow that a task runs, as it was defined when the task was submitted.
type graph struct {
	Workflow string
	Rows     []row
}

// row has steps that may run at the same time. They wait for the rows before.
type row []*node

// node is a step of a workflow.
type node struct {
	ID, Name, Type, Does string
	After                []string // the steps it waits for, if the workflow names any
	Groups               []group  // of the steps in it

	Runs, Failed int
	Status       string // of its last run in the traces; empty = no recorded run
	Took         time.Duration
}

// group has steps in a step: the branch of a condition, or the body of a loop.
type group struct {
	Label string
	Rows  []row
}

// step is a step of a definition, see [engine.Step].
type step struct {
	StepID, Name, Type string
	DependsOn          []string
	Config             map[string]json.RawMessage
}

// graphOf returns the graph of a task's workflow, nil for other tasks.
func (p *Page) graphOf(ctx context.Context, task result) (*graph, error) {
	id, _ := task["taskId"].(string)
	set, err := p.definitions(ctx, id)
	if err != nil {
		return nil, err
	}
	name := workflowOf(task)
	raw, found := set["workflow "+name]
	if !found {
		return nil, nil
	}
	var definition struct{ Steps []step }
	if err := json.Unmarshal(raw, &definition); err != nil {
		return nil, err
	}
	nodes := map[string]*node{}
	g := &graph{Workflow: name, Rows: rowsOf(definition.Steps, false, nodes, 0)}
	return g, p.follow(ctx, id, nodes)
}

// workflowOf returns the id of the workflow that a task runs: its own, or that of its call of workflow.run.
func workflowOf(task result) string {
	if id, _ := task["workflowId"].(string); id != "" {
		return id
	}
	input, _ := task["input"].(result)
	arguments, _ := input["arguments"].(result)
	id, _ := arguments["workflowId"].(string)
	return id
}

// deepest is the number of levels of a graph that are shown.
const deepest = 10

// rowsOf returns steps in rows, and adds them to nodes by id. Without dependencies they run in order, or all at once.
func rowsOf(steps []step, atOnce bool, nodes map[string]*node, depth int) []row {
	if depth == deepest {
		return nil
	}
	declared := slices.ContainsFunc(steps, func(s step) bool { return len(s.DependsOn) > 0 })
	place := map[string]int{} // row by id
	for range steps {         // a chain of dependencies is at most as long
		for _, s := range steps {
			for _, on := range s.DependsOn {
				place[s.StepID] = max(place[s.StepID], min(place[on]+1, len(steps)-1))
			}
		}
	}
	rows := make([]row, len(steps))
	for i, s := range steps {
		at := 0
		switch {
		case declared:
			at = place[s.StepID]
		case !atOnce:
			at = i
		}
		n := &node{ID: s.StepID, Name: s.Name, Type: s.Type, Does: doing(s), After: s.DependsOn}
		nodes[s.StepID] = n
		for _, part := range []struct{ member, label string }{{"then", "if true"}, {"else", "if false"}, {"steps", ""}} {
			var inner []step
			if json.Unmarshal(s.Config[part.member], &inner) != nil || len(inner) == 0 {
				continue // of another form than this type of step has
			}
			label := part.label
			if label == "" {
				label = map[string]string{"loop": "each time", "parallel": "at once"}[s.Type]
			}
			n.Groups = append(n.Groups, group{label, rowsOf(inner, s.Type == "parallel", nodes, depth+1)})
		}
		rows[at] = append(rows[at], n)
	}
	return slices.DeleteFunc(rows, func(r row) bool { return len(r) == 0 })
}

// doing returns what a step calls or decides by.
func doing(s step) string {
	for _, member := range []string{"tool", "name", "code", "agentId", "condition", "items", "while", "until"} {
		if text, ok := ordered.Text(s.Config[member]); ok {
			line, _, _ := strings.Cut(strings.TrimSpace(text), "\n") // of a script
			return shorten.To(line, 100)
		}
	}
	return ""
}

// mostRuns is how many traces of a task are read for a graph: a task has one for each attempt and interruption.
const mostRuns = 5

// follow sets what the traces of a task have of its steps. Later runs of the task count before earlier ones.
func (p *Page) follow(ctx context.Context, taskID string, nodes map[string]*node) error {
	list, err := p.ask(ctx, "trace.list", result{"taskId": taskID, "limit": mostRuns, "include_fields": []string{"traces"}})
	if err != nil {
		return permitted(err)
	}
	traces, _ := list["traces"].([]any)
	done := map[string]bool{}
	for _, one := range traces {
		summary, _ := one.(result)
		all, err := p.ask(ctx, "trace.get", result{"traceId": summary["traceId"], "limit": 1000})
		if err != nil {
			return permitted(err)
		}
		spans, _ := all["spans"].([]any)
		now := map[string]bool{}
		for _, one := range stepSpans(spans) {
			label, _ := one["label"].(string)
			id := strings.TrimPrefix(label, "step ")
			n := nodes[id]
			if n == nil || done[id] {
				continue
			}
			now[id] = true
			n.Runs++
			n.Status, _ = one["status"].(string)
			n.Took += time.Duration(number(one["durationMs"]) * float64(time.Millisecond))
			if n.Status == trace.Failure {
				n.Failed++
			}
		}
		for id := range now {
			done[id] = true
		}
	}
	return nil
}

// stepSpans returns the spans of the steps of the outermost run. Runs in it may have steps of the same names. A span comes
// before those in it, which are deeper.
func stepSpans(spans []any) (steps []result) {
	outermost, inner := -1, -1 // depths of the runs around the present span; -1 = no run
	for _, one := range spans {
		span, _ := one.(result)
		depth, kind := int(number(span["depth"])), span["kind"]
		if depth <= outermost {
			outermost = -1
		}
		if depth <= inner {
			inner = -1
		}
		switch {
		case kind == trace.Step && outermost >= 0 && inner < 0:
			steps = append(steps, span)
		case kind != trace.Workflow && kind != trace.Agent:
		case outermost < 0:
			outermost = depth
		case inner < 0:
			inner = depth
		}
	}
	return steps
}
