package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Definition is the steps of an agent or a workflow, with their context.
type Definition struct {
	Steps []Step

	// StepsAt is the JSON pointer of the steps in the enclosing object, such as /workflow. Paths of
	// faults begin with it.
	StepsAt string

	// System is the system prompt of prompt steps that have none, and SystemAt its JSON pointer. It
	// may have placeholders for input and agent.
	System, SystemAt string

	// AgentFields are the profile fields that expressions may read from agent. Nil if no agent runs
	// the steps.
	AgentFields []string

	// InputSchema is the JSON Schema of the input. [Judge] checks expressions against it. Nil
	// allows any object.
	InputSchema json.RawMessage

	results entry.Names // actions with known results; nil = expressions are not checked against results
}

// Program is a checked definition that can run. It is safe for concurrent use.
type Program struct {
	steps  *list
	system text
	uses   ToolUses
	asks   []promptUse
	names  []nameUse
}

// Limits of the expressions of a definition.
const (
	maxExpressions     = 1000
	maxExpressionBytes = 64 << 10 // source of all expressions
)

// Compile checks a definition and returns its program, or all faults. If known is nil, tools are
// not checked.
func Compile(d Definition, known Names) (*Program, Faults) {
	p, faults := compile(d)
	if faults = append(faults, p.uses.Check(known)...); len(faults) > 0 {
		return nil, faults
	}
	return p, nil
}

// Check checks a definition that is compiled later, except its tools. It returns their uses.
func Check(d Definition) (ToolUses, Faults) {
	p, faults := compile(d)
	return p.uses, faults
}

// compile checks everything except tools. The program must not run if there are faults.
func compile(d Definition) (*Program, Faults) {
	c := &compiler{seen: map[string]bool{}, kinds: map[string]string{}, agentFields: d.AgentFields, results: d.results,
		shapes: map[string]*expression.Shape{}, input: ofInput(d.InputSchema)}
	sc := scope{names: []string{inputName, errorsName}, steps: map[string]bool{}, depth: 1}
	if d.AgentFields != nil {
		sc.names = append(sc.names, agentName)
	}
	c.collect(d.Steps)
	p := &Program{system: c.text("", d.SystemAt, d.System, sc)}
	p.steps = c.list(d.Steps, d.StepsAt, sc, inOrder)
	if c.count > MaxSteps {
		c.fault("", toolfold.Problem{Path: d.StepsAt, Kind: toolfold.ProblemLength, Max: new(float64(MaxSteps)), Got: c.count})
	}
	p.uses, p.asks, p.names = c.uses, c.asks, c.names
	return p, c.faults
}

// ParseSteps parses a list of steps from JSON and checks its structure. Paths of faults begin with
// at. [Compile] checks the content of the steps.
func ParseSteps(raw json.RawMessage, at string) ([]Step, Faults) {
	var items []any
	if err := jsonx.Decode(raw, &items); err != nil {
		return nil, Faults{{Problem: toolfold.Problem{Path: at, Kind: toolfold.ProblemType, Want: "array", Got: "something else"}}}
	}
	if len(items) > MaxSteps {
		return nil, Faults{{Problem: toolfold.Problem{Path: at, Kind: toolfold.ProblemLength, Max: new(float64(MaxSteps)), Got: len(items)}}}
	}
	// All steps are checked at once: a schema is compiled for each check.
	const name = "steps"
	list := toolfold.List{Name: name, Of: toolfold.Object{Optional: stepFields}}
	var faults Faults
	for _, p := range validate.Fields([]toolfold.Param{list.Param()}, map[string]any{name: items}) {
		index, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/"+name+"/"), "/")
		id := ""
		if i, err := strconv.Atoi(index); err == nil && i < len(items) {
			object, _ := items[i].(map[string]any)
			id, _ = object["stepId"].(string)
		}
		p.Path = at + strings.TrimPrefix(p.Path, "/"+name)
		faults = append(faults, Fault{Step: id, Problem: p})
	}
	if len(faults) > 0 {
		return nil, faults
	}
	var steps []Step
	if err := json.Unmarshal(raw, &steps); err != nil {
		return nil, Faults{{Problem: toolfold.Problem{Path: at, Kind: toolfold.ProblemFormat, Want: "list of steps"}}}
	}
	return steps, nil
}

// compiler compiles one definition and collects its faults.
type compiler struct {
	agentFields []string
	uses        ToolUses
	asks        []promptUse
	names       []nameUse
	results     entry.Names                  // see Definition
	shapes      map[string]*expression.Shape // of the outputs of compiled steps, by id
	input       *expression.Shape
	expressions int // number compiled so far; sourceBytes is their size
	sourceBytes int
	all         []string          // every stepId of the definition
	seen        map[string]bool   // ids of compiled steps
	kinds       map[string]string // types of steps by id
	count       int
	faults      Faults
}

// collect records the ids of a list for suggestions in faults. Nested ids are recorded when their
// list is compiled.
func (c *compiler) collect(steps []Step) {
	for _, s := range steps {
		c.all = append(c.all, s.StepID)
	}
}

// scope is the names that the expressions of a step may use.
type scope struct {
	names []string
	steps map[string]bool // steps that run before it
	depth int             // number of enclosing lists

	shapes expression.Shapes // of the variables of enclosing loops
}

func (s scope) with(steps ...string) scope {
	wider := scope{names: s.names, depth: s.depth, shapes: s.shapes, steps: make(map[string]bool, len(s.steps)+len(steps))}
	for id := range s.steps {
		wider.steps[id] = true
	}
	for _, id := range steps {
		wider.steps[id] = true
	}
	return wider
}

func (s scope) naming(names ...string) scope {
	s.names = append(slices.Clone(s.names), names...)
	return s
}

// shaped returns the scope with the shape of a variable.
func (s scope) shaped(name string, shape *expression.Shape) scope {
	s.shapes = maps.Clone(s.shapes)
	if s.shapes == nil {
		s.shapes = expression.Shapes{}
	}
	s.shapes[name] = shape
	return s
}

// list compiles a list of steps.
func (c *compiler) list(steps []Step, at string, sc scope, usual arrangement) *list {
	if sc.depth > MaxNesting {
		c.addFault("", at, fmt.Sprintf("nesting of at most %d levels", MaxNesting), sc.depth)
		return nil
	}
	order := c.order(steps, at, usual)
	l := &list{limit: order.limit, outer: sc.depth == 1}
	for i, s := range steps {
		before := make([]string, 0, len(steps))
		for _, j := range order.before(i) {
			before = append(before, steps[j].StepID)
		}
		n := c.step(s, jsonx.Index(at, i), sc.with(before...))
		n.after = order.after[i]
		l.nodes = append(l.nodes, n)
	}
	return l
}

// step compiles one step.
func (c *compiler) step(s Step, at string, sc scope) *node {
	c.count++
	switch {
	case s.StepID == "":
		c.fault("", toolfold.Problem{Path: at + "/stepId", Kind: toolfold.ProblemMissing})
	case c.seen[s.StepID]:
		c.addFault(s.StepID, at+"/stepId", "stepId that no other step has", shorten.Quoted(s.StepID))
	}
	c.seen[s.StepID], c.kinds[s.StepID] = true, s.Type
	n := &node{id: s.StepID, kind: s.Type, timeout: time.Duration(s.TimeoutMs) * time.Millisecond, attempts: 1, goesOn: s.ContinueOnError,
		idempotent: s.Idempotent}
	if s.Retry != nil {
		n.attempts, n.backoff = 3, time.Second
		if s.Retry.MaxAttempts > 0 {
			n.attempts = s.Retry.MaxAttempts
		}
		if s.Retry.BackoffMs > 0 {
			n.backoff = time.Duration(s.Retry.BackoffMs) * time.Millisecond
		}
	}
	config, ok := c.config(s, at)
	if !ok {
		return n
	}
	b := body{compiler: c, step: s.StepID, at: at + "/config", scope: sc}
	switch s.Type {
	case TypePrompt:
		n.act = b.prompt(config)
	case TypeTool:
		n.act = b.tool(config)
	case TypeProgram:
		n.act = b.script(config, s.Retry != nil)
	case TypeDelegate:
		n.act = b.delegate(config)
	case TypeConditional:
		n.act = b.conditional(config)
	case TypeLoop:
		n.act = b.loop(config)
	case TypeParallel:
		n.act = b.parallel(config)
	}
	if n.timeout == 0 && (s.Type == TypePrompt || s.Type == TypeTool) {
		n.timeout = defaultTimeout
		if config["tools"] != nil {
			n.timeout = callingTimeout
		}
	}
	return n
}

// config decodes the config of a step and checks it against the fields of the step's type.
func (c *compiler) config(s Step, at string) (config map[string]any, ok bool) {
	fields, known := configFields[s.Type]
	if !known {
		p := toolfold.Problem{Path: at + "/type", Kind: toolfold.ProblemEnum, Got: shorten.Quoted(s.Type), Allowed: Types,
			Suggest: suggest.Nearest(s.Type, Types)}
		if s.Type == "" {
			p = toolfold.Problem{Path: at + "/type", Kind: toolfold.ProblemMissing}
		}
		c.fault(s.StepID, p)
		return nil, false
	}
	config = map[string]any{}
	if len(s.Config) > 0 {
		if err := jsonx.Decode(s.Config, &config); err != nil {
			c.fault(s.StepID, toolfold.Problem{Path: at + "/config", Kind: toolfold.ProblemType, Want: "object", Got: "something else"})
			return nil, false
		}
	}
	problems := validate.Fields(fields.Params(), config)
	for _, p := range problems {
		p.Path = at + "/config" + p.Path
		c.fault(s.StepID, p)
	}
	return config, len(problems) == 0
}

// mostPlaceholders limits the described faulty placeholders of one text.
const mostPlaceholders = 5

// text compiles a text with placeholders.
func (c *compiler) text(step, at, s string, sc scope) text {
	const want = "text with valid placeholders: "
	t, faults := compileText(s, func(source string) (*expression.Expression, error) { return c.expression(source, sc) })
	for _, err := range faults[:min(len(faults), mostPlaceholders)] {
		c.addFault(step, at, want+err.Error(), nil)
	}
	if more := len(faults) - mostPlaceholders; more > 0 {
		c.addFault(step, at, fmt.Sprintf("%s%d more are faulty", want, more), nil)
	}
	return t
}

// expression compiles an expression and checks the steps and fields that it reads.
func (c *compiler) expression(source string, sc scope) (*expression.Expression, error) {
	c.expressions++
	c.sourceBytes += len(source)
	if c.expressions > maxExpressions || c.sourceBytes > maxExpressionBytes {
		return nil, fmt.Errorf("the definition has more than %d expressions or %d bytes of them", maxExpressions, maxExpressionBytes)
	}
	compiled, mentions, err := expression.Compile(source, sc.names, []string{stepsName, errorsName})
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Concat(mentions[stepsName], mentions[errorsName]) {
		if !sc.steps[id] {
			return nil, c.unknownStep(id, sc)
		}
	}
	for _, field := range mentions[agentName] {
		if c.agentFields != nil && !slices.Contains(c.agentFields, field) {
			return nil, fmt.Errorf("agent has no field %q%s", field, suggestion(suggest.Nearest(field, c.agentFields)))
		}
	}
	if c.results != nil {
		if absent := expression.Absent(source, c.known(sc)); len(absent) > 0 {
			return nil, errors.New(strings.Join(absent, "; "))
		}
	}
	return compiled, nil
}

// unknownStep returns why steps.<id> has no value: there is no such step, or it does not run before
// this one.
func (c *compiler) unknownStep(id string, sc scope) error {
	if slices.Contains(c.all, id) {
		return fmt.Errorf("step %q does not run before this one", shorten.Quoted(id))
	}
	var visible []string
	for known := range sc.steps {
		visible = append(visible, known)
	}
	slices.Sort(visible)
	near := suggest.Nearest(id, visible)
	switch {
	case isName(near):
		near = stepsName + "." + near
	case near != "": // an id that is not a plain name needs brackets
		near = stepsName + "[" + strconv.Quote(near) + "]"
	}
	return fmt.Errorf("there is no step %q%s", shorten.Quoted(id), suggestion(near))
}

func suggestion(near string) string {
	if near == "" {
		return ""
	}
	return ", did you mean " + near + "?"
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
