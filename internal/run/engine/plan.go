package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Plan describes a run before it starts.
type Plan struct {
	Steps      []PlannedStep
	ModelCalls int      // at most; invalid if Unknown has entries
	Unknown    []string // why the number of model calls is unknown; nil if it is known
}

// PlannedStep is a step of a [Plan].
type PlannedStep struct {
	StepID    string   `json:"stepId" doc:"Step."`
	Type      string   `json:"type" doc:"Kind." enum:"prompt,tool,conditional,loop,parallel,delegate,script"`
	DependsOn []string `json:"dependsOn,omitempty" doc:"Prerequisite steps."` // nil for steps that run in order
	Tool      string   `json:"tool,omitempty" doc:"Action it calls."`
	AgentID   string   `json:"agentId,omitempty" doc:"Agent it runs, as written."`
	Attempts  int      `json:"attempts,omitempty" doc:"At most; absent for one."`

	// Rounds is zero if the items of a loop are known only when it runs.
	Rounds int `json:"rounds,omitempty" doc:"At most."`

	// ModelCalls counts the calls of a prompt in all its attempts.
	ModelCalls int `json:"modelCalls,omitempty" doc:"At most, in one round."`

	// Steps are the steps of a loop, a parallel block, or the agent or workflow that the step runs.
	// A plan shows each agent and workflow once.
	Steps []PlannedStep `json:"steps,omitempty" doc:"Steps within it."`
	Then  []PlannedStep `json:"then,omitempty" doc:"Steps if the condition is true."`
	Else  []PlannedStep `json:"else,omitempty" doc:"Steps if the condition is false."`
}

// mostModelCalls limits the model calls that a plan counts.
const mostModelCalls = 1_000_000

// Plan returns the plan of a run; itself is the agent or workflow of the program. It uses caller to
// read the agents and workflows that steps run. If known is nil, it ignores agents and workflows
// that tool steps run.
func (p *Program) Plan(ctx context.Context, known Names, caller toolfold.Caller, itself work.Reference) Plan {
	l := &planner{ctx: ctx, known: known, caller: caller, calls: map[work.Reference]int{}, open: []work.Reference{itself}}
	var plan Plan
	plan.Steps, plan.ModelCalls = l.list(p, p.steps, "")
	plan.Unknown = l.unknown
	return plan
}

// planner is the state of one Plan call.
type planner struct {
	ctx     context.Context
	known   Names
	caller  toolfold.Caller
	unknown []string
	calls   map[work.Reference]int // model calls of the agents and workflows in the plan
	open    []work.Reference       // the run and the nested runs at this place, innermost last
}

// list plans a list in the order in which its steps may start. Owner is the name of the nested
// agent or workflow, and empty for the steps of the program.
func (l *planner) list(p *Program, steps *list, owner string) (planned []PlannedStep, calls int) {
	if steps == nil {
		return nil, 0
	}
	for _, i := range steps.order() {
		n := steps.nodes[i]
		step, inner := l.step(p, n, owner)
		if steps.limit > 1 {
			for _, j := range n.after {
				step.DependsOn = append(step.DependsOn, steps.nodes[j].id)
			}
		}
		planned = append(planned, step)
		calls = l.bounded(calls+inner, owner, n)
	}
	return planned, calls
}

// order returns the indexes of the steps, each after the steps that it waits for.
func (l *list) order() (order []int) {
	for len(order) < len(l.nodes) { // compile rejects cycles
		for i, n := range l.nodes {
			waits := slices.ContainsFunc(n.after, func(j int) bool { return !slices.Contains(order, j) })
			if !waits && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	return order
}

func (l *planner) step(p *Program, n *node, owner string) (step PlannedStep, calls int) {
	step = PlannedStep{StepID: n.id, Type: n.kind}
	if n.attempts > 1 {
		step.Attempts = n.attempts
	}
	switch a := n.act.(type) {
	case promptAction:
		calls = l.prompt(a, n, owner)
		step.ModelCalls = calls * n.attempts
	case toolAction:
		step.Tool = a.name
		if r, runs := p.started(n.id, l.known); runs {
			step.Steps, calls = l.nested(r, n, owner)
		}
	case scriptAction:
		step.Tool = a.call.name
		step.Steps, calls = l.nested(work.Reference{Kind: work.Stored}, n, owner)
	case delegateAction:
		step.AgentID = a.agent.written()
		step.Steps, calls = l.nested(work.Reference{Kind: work.Agent, ID: step.AgentID}, n, owner)
	case conditionalAction:
		var no int
		step.Then, calls = l.list(p, a.yes, owner)
		step.Else, no = l.list(p, a.no, owner)
		calls = max(calls, no)
	case parallelAction:
		step.Steps, calls = l.list(p, a.steps, owner)
	case loopAction:
		step.Steps, calls = l.list(p, a.body, owner)
		switch {
		case a.items == nil:
			step.Rounds = a.limit
		case a.items.text == nil:
			step.Rounds = len(a.items.list)
		case calls > 0:
			l.doubt(owner, n, "its items are known when it runs: at most %d rounds, of at most %d model calls each", a.limit, calls)
		}
		calls *= step.Rounds
	}
	return step, l.bounded(calls*n.attempts, owner, n)
}

// prompt returns the maximum number of model calls of one attempt.
func (l *planner) prompt(a promptAction, n *node, owner string) int {
	calls := 1
	if len(a.tools) > 0 {
		calls = a.maxTurns
	}
	if a.answer != nil {
		calls++ // a response that does not fit is corrected once
	}
	for _, action := range offerable(l.known) {
		if kindOfRun(action) != "" && slices.ContainsFunc(a.tools, action.AllowedBy) {
			l.doubt(owner, n, "its model may call %s", action.FullName())
		}
	}
	return calls
}

// nested plans the run of an agent, a workflow or a script within a step.
func (l *planner) nested(r work.Reference, n *node, owner string) (steps []PlannedStep, calls int) {
	if r.Kind == work.Stored {
		l.doubt(owner, n, "its script may run agents, which call models")
		return nil, 0
	}
	if r.ID == "" || strings.Contains(r.ID, expression.Opening) {
		l.doubt(owner, n, "its %s is known when it runs", r.Kind)
		return nil, 0
	}
	if slices.Contains(l.open, r) {
		l.doubt(owner, n, "%s would run within itself", r)
		return nil, 0
	}
	if len(l.open) > MaxDepth {
		l.doubt(owner, n, "%s would be more than %d runs deep", r, MaxDepth)
		return nil, 0
	}
	if calls, planned := l.calls[r]; planned {
		return nil, calls
	}
	answer := l.caller.Call(l.ctx, work.Accounts[r.Kind].Action, ordered.MustJSON(map[string]string{r.Kind + "Id": r.ID}))
	var definition struct{ Steps, Workflow []Step }
	if answer.Err != nil {
		l.doubt(owner, n, "%s: %s", r, answer.Err.Message)
	} else if err := json.Unmarshal(answer.Content, &definition); err != nil {
		l.doubt(owner, n, "%s cannot be read", r)
	} else if own := slices.Concat(definition.Steps, definition.Workflow); len(own) == 0 {
		calls = 1 // an agent without steps calls a model once
	} else {
		p, _ := compile(Definition{Steps: own}) // its run reports faults
		l.open = append(l.open, r)
		steps, calls = l.list(p, p.steps, r.String()+", ")
		l.open = l.open[:len(l.open)-1]
	}
	l.calls[r] = calls
	return steps, calls
}

// bounded limits calls to mostModelCalls and records an excess as unknown.
func (l *planner) bounded(calls int, owner string, n *node) int {
	if calls > mostModelCalls {
		l.doubt(owner, n, "more than %d model calls", mostModelCalls)
	}
	return min(calls, mostModelCalls)
}

func (l *planner) doubt(owner string, n *node, format string, args ...any) {
	if line := owner + "step " + shorten.Quoted(n.id) + ": " + fmt.Sprintf(format, args...); !slices.Contains(l.unknown, line) {
		l.unknown = append(l.unknown, line)
	}
}

// started returns the agent, workflow or script that a tool step runs, and false if it runs none of them. If the
// id is known only when the step runs, it is empty or has a placeholder.
func (p *Program) started(step string, known Names) (r work.Reference, runs bool) {
	at := slices.IndexFunc(p.uses, func(u toolUse) bool { return u.step == step && !u.offered })
	if at < 0 || known == nil {
		return work.Reference{}, false
	}
	u := p.uses[at]
	later := u.open || strings.Contains(u.action, expression.Opening) // the action is known when the step runs
	for _, e := range known.Lookup(u.name) {
		if e.Action == nil || kindOfRun(e.Action) == "" || e.Selector != "" && e.Selector != u.action && !later {
			continue
		}
		r.Kind = kindOfRun(e.Action)
		if names, _ := u.named(known); len(names) > 0 {
			r = names[0].Reference // a second one in params is a fault
		}
		return r, true
	}
	return work.Reference{}, false
}

// kindOfRun returns the kind, such as agent, that an action runs directly, and an empty string for
// other actions.
func kindOfRun(a *toolfold.Action) string {
	for kind := range work.Accounts {
		if name, _ := (work.Reference{Kind: kind}).Action(); a.FullName() == name {
			return kind
		}
	}
	return ""
}

// written returns the text with the source of its placeholders.
func (t text) written() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.plain); p.expr != nil {
			b.WriteString("{{ " + p.source + " }}")
		}
	}
	return b.String()
}
