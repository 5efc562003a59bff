package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Actions checks calls before they are made. *call.Runner implements it.
type Actions interface {
	Names

	// Refusal returns the error that a call would get before its action runs, or nil if the action
	// would run. Paths of its problems begin with at; problems at paths for which open returns true
	// are dropped.
	Refusal(ctx context.Context, name string, args json.RawMessage, at string, open func(path string) bool) *toolfold.Error
}

// Verdict is the result of checking a definition before it runs.
type Verdict struct {
	// Faults are wrong whatever agents, workflows, queues and abilities exist.
	Faults Faults

	// Absent are named agents, workflows, queues and abilities that do not exist now, and inputs
	// that workflows do not accept now. Both may change before the definition runs.
	Absent Faults

	// Unjudged has a line for each tool whose calls cannot be checked, with the reason.
	Unjudged []string
}

// Judge checks a definition more strictly than [Compile]. It also reports arguments that an action
// does not accept, members that no input, result or item has, and names of agents, workflows,
// queues and abilities that do not exist. [Compile] leaves these errors to the steps, so that
// stored definitions still run as far as before. A placeholder counts as present, with any value.
// Itself is the definition's own agent or workflow, which counts as existing.
func Judge(ctx context.Context, d Definition, known Actions, caller toolfold.Caller, itself work.Reference) Verdict {
	d.results = known
	p, faults := compile(d)
	v := Verdict{Faults: faults}
	if known == nil {
		return v
	}
	j := judgement{ctx: ctx, actions: known, caller: caller, verdict: &v, findings: map[work.Reference]finding{
		itself: {described: ordered.MustJSON(map[string]json.RawMessage{"inputSchema": d.InputSchema})}}}
	for _, u := range p.uses {
		j.use(u)
	}
	for _, r := range append(p.names, j.names...) {
		j.refer(r)
	}
	return v
}

// nameUse is an agent, a workflow, a queue or an ability that a definition names.
type nameUse struct {
	step, at string // at is the JSON pointer of the name
	work.Reference
}

// judgement is the check of one definition.
type judgement struct {
	ctx      context.Context
	actions  Actions
	caller   toolfold.Caller
	verdict  *Verdict
	findings map[work.Reference]finding
	names    []nameUse
	made     []string // kinds of which a step creates an object, whose name is not known
}

// finding is the result of looking up a name.
type finding struct {
	absent    string          // why the name is unknown; empty if it exists
	described json.RawMessage // result of the action that reads it; nil for a queue and if it cannot be read
}

// use checks a call of a tool.
func (j *judgement) use(u toolUse) {
	named, makes := u.named(j.actions)
	j.names, j.made = append(j.names, named...), append(j.made, makes)
	if faults := (ToolUses{u}).Check(j.actions); len(faults) > 0 {
		j.verdict.Faults = append(j.verdict.Faults, faults...)
		return
	}
	if u.offered {
		if !u.matches(j.actions) {
			j.addUnjudged(u.name, noToolsNow)
		}
		return
	}
	if len(j.actions.Lookup(u.name)) == 0 {
		j.addUnjudged(u.name, noToolsNow)
		return
	}
	action := u.toAction(j.actions)
	switch {
	case action == nil: // a placeholder selects it
	case action.Family.Category == callctx.Discovery && !action.Forwards():
		j.verdict.Faults = append(j.verdict.Faults, Fault{Step: u.step, Problem: toolfold.Problem{
			Path: u.toolPointer(), Kind: toolfold.ProblemFormat, Got: shorten.Quoted(u.name),
			Want: "action that does work: " + action.FullName() + " is for models that look for tools",
		}})
	case u.open || action.Forwards():
	default:
		j.arguments(u, action)
		j.judgeSubmission(u, action)
	}
}

// judgeSubmission checks the run that a call starts: the input of a workflow or script, or the tool call of a task.
func (j *judgement) judgeSubmission(u toolUse, action *toolfold.Action) {
	name := action.FullName()
	if name != submitAction && name != "script.read" && kindOfRun(action) == "" {
		return
	}
	if outer, _ := u.arguments.(map[string]any); outer[callctx.ArgParams] != nil {
		if _, isObject := outer[callctx.ArgParams].(map[string]any); !isObject {
			return // a placeholder, or already a fault
		}
	}
	arguments, at := u.holder("input")
	input, isObject := arguments["input"].(map[string]any)
	if arguments["input"] != nil && !isObject {
		return // a placeholder, or already a fault
	}
	names, _ := u.named(j.actions)
	for _, n := range names {
		if n.Kind != work.Agent && !strings.Contains(n.ID, expression.Opening) {
			j.input(n, input, jsonx.Pointer(at, "input"))
			return
		}
	}
	tool, calls := input["tool"].(string)
	if name != submitAction || !calls || strings.Contains(tool, expression.Opening) ||
		arguments["agentId"] != nil || arguments["workflowId"] != nil {
		return
	}
	inner := toolUse{step: u.step, at: jsonx.Pointer(at, "input"), name: tool, arguments: input["arguments"]}
	if own, isObject := inner.arguments.(map[string]any); isObject {
		inner.action, inner.hasAction = own[callctx.ArgAction].(string)
	} else {
		inner.open = inner.arguments != nil
	}
	j.use(inner)
}

// submitAction creates a task, which runs an agent, a workflow or a tool.
const submitAction = "task.submit"

// holder returns the object that contains the named argument, either the arguments or their params,
// and its JSON pointer.
func (u toolUse) holder(name string) (object map[string]any, at string) {
	at = u.argumentsPointer()
	object, _ = u.arguments.(map[string]any)
	params, _ := object[callctx.ArgParams].(map[string]any)
	if params[name] != nil {
		return params, jsonx.Pointer(at, callctx.ArgParams)
	}
	return object, at
}

// input checks the input of a workflow or script that a step runs.
func (j *judgement) input(run nameUse, input map[string]any, at string) {
	var declared struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if found := j.find(run.Reference); found.described == nil || json.Unmarshal(found.described, &declared) != nil {
		return
	}
	if len(declared.InputSchema) == 0 || string(declared.InputSchema) == "null" {
		return // any input
	}
	schema, err := workspace.BoundSchema(declared.InputSchema)
	if err != nil {
		return // the run reports it
	}
	if input == nil {
		input = map[string]any{}
	}
	problems, err := workspace.CheckWritten(j.ctx, run.ID, schema, ordered.MustJSON(input), placeholders(input, "/input"))
	if err != nil {
		reason := err.Error()
		if refusal, is := errors.AsType[*toolfold.Error](err); is {
			reason = refusal.Message
		}
		j.addUnjudged(run.String(), reason)
	}
	for _, p := range problems {
		p.Path = at + strings.TrimPrefix(p.Path, "/input")
		j.verdict.Absent = append(j.verdict.Absent, Fault{Step: run.step, Problem: p})
	}
}

// noToolsNow is the reason why calls of a server without a known tool list are not checked.
const noToolsNow = "its server offers no tools now"

// arguments checks the arguments of a call.
func (j *judgement) arguments(u toolUse, action *toolfold.Action) {
	at := u.argumentsPointer()
	places := placeholders(u.arguments, at)
	params := jsonx.Pointer(at, callctx.ArgParams)
	if slices.Contains(places, params) {
		return // the other arguments depend on the value of params
	}
	open := func(path string) bool {
		return slices.ContainsFunc(places, func(place string) bool {
			// If a schema combines other schemas, the placeholder may cause a problem at an
			// enclosing path.
			return jsonx.Within(path, place) || action.Input != nil && jsonx.Within(place, path)
		})
	}
	refused := j.actions.Refusal(j.ctx, u.name, ordered.MustJSON(u.arguments), at, open)
	switch {
	case refused == nil:
		j.either(u, action)
	case refused.Code == toolfold.PermissionDenied:
		j.addUnjudged(u.name, "it is not permitted here")
	case refused.Code == toolfold.UpstreamError:
		j.addUnjudged(u.name, noToolsNow)
	case len(refused.Problems) == 0:
		j.verdict.Faults = append(j.verdict.Faults, Fault{Step: u.step, Problem: toolfold.Problem{
			Path: u.toolPointer(), Kind: toolfold.ProblemFormat, Want: "tool that can be called: " + refused.Message, Got: shorten.Quoted(u.name),
		}})
	}
	if refused != nil && refused.Code == toolfold.InvalidInput {
		for _, p := range refused.Problems {
			j.verdict.Faults = append(j.verdict.Faults, Fault{Step: u.step, Problem: p})
		}
	}
}

// either checks that a call has one of the parameters of which the action requires at least one.
func (j *judgement) either(u toolUse, action *toolfold.Action) {
	e := u.entry(j.actions)
	whole, _ := u.arguments.(map[string]any)
	params, _ := whole[callctx.ArgParams].(map[string]any)
	has := func(p toolfold.Param) bool {
		return whole[e.Spelling(p.Name)] != nil || params[e.Spelling(p.Name)] != nil
	}
	needs := action.Either.Params()
	_, text := whole[callctx.ArgParams].(string)
	if len(needs) == 0 || text || slices.ContainsFunc(slices.Concat(needs, action.Instead.Params()), has) {
		return
	}
	j.verdict.Faults = append(j.verdict.Faults, Fault{Step: u.step, Problem: toolfold.Problem{
		Path: jsonx.Pointer(u.argumentsPointer(), e.Spelling(needs[0].Name)), Kind: toolfold.ProblemMissing,
	}})
}

// placeholders lists the JSON pointers of texts with placeholders in a value.
func placeholders(value any, at string) (places []string) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, expression.Opening) {
			places = append(places, at)
		}
	case []any:
		for i, inner := range v {
			places = append(places, placeholders(inner, jsonx.Index(at, i))...)
		}
	case map[string]any:
		for name, inner := range v {
			places = append(places, placeholders(inner, jsonx.Pointer(at, name))...)
		}
	}
	return places
}

func (j *judgement) addUnjudged(tool, why string) {
	if line := fmt.Sprintf("calls of %s: %s", shorten.Quoted(tool), why); !slices.Contains(j.verdict.Unjudged, line) {
		j.verdict.Unjudged = append(j.verdict.Unjudged, line)
	}
}

// toAction returns the action that a use calls, or nil if it is not known.
func (u toolUse) toAction(known entry.Names) *toolfold.Action {
	e := u.entry(known)
	if e == nil {
		return nil
	}
	return e.Action
}

func (u toolUse) entry(known entry.Names) *entry.Entry {
	if known == nil {
		return nil
	}
	for _, e := range known.Lookup(u.name) {
		if e.Selector == "" || e.Selector == u.action {
			return e
		}
	}
	return nil
}

// existence has the actions for a kind of object: one that returns its account, and makes, which creates
// one.
type existence struct {
	work.Account
	makes string
}

var existences = map[string]existence{
	work.Agent:    {work.Accounts[work.Agent], "agent.register"},
	work.Workflow: {work.Accounts[work.Workflow], ""},
	work.Stored:   {work.Accounts[work.Stored], "script.save"},
	"ability":     {work.Account{Action: "ability.get", NotFound: "ABILITY_NOT_FOUND"}, "ability.register"},
	"queue":       {work.Account{NotFound: work.QueueNotFound}, "queue.create"},
}

// refers has the parameters, by action, that must name an existing object. Other actions use names
// as labels or filters.
var refers = map[string][]string{
	"agent.run": {"agentId"}, "agent.get": {"agentId"}, "agent.update": {"agentId"},
	"script.run": {"name"}, "script.read": {"name"}, "script.show": {"name"},
	"workflow.run": {"workflowId"}, "workflow.describe": {"workflowId"},
	"ability.get": {"abilityId"}, "task.submit": {"agentId", "workflowId", "queueId"}, "task.list": {"queueId"},
	"queue.update": {"queueId"}, "queue.pause": {"queueId"}, "queue.resume": {"queueId"}, "queue.remove": {"queueId"},
}

// named returns the names in the arguments of a call, and the kind of object that the call creates,
// empty if it creates no object.
func (u toolUse) named(known entry.Names) (names []nameUse, makes string) {
	e := u.entry(known)
	if e == nil {
		return nil, ""
	}
	action := e.Action.FullName()
	for kind, x := range existences {
		if x.makes == action {
			makes = kind
		}
	}
	at := u.argumentsPointer()
	whole, _ := u.arguments.(map[string]any)
	params, _ := whole[callctx.ArgParams].(map[string]any)
	for _, name := range refers[action] {
		kind := strings.TrimSuffix(name, "Id")
		if strings.HasPrefix(action, "script.") {
			kind = work.Stored
		}
		add := func(holder map[string]any, at string) {
			if id, _ := holder[e.Spelling(name)].(string); id != "" {
				names = append(names, nameUse{u.step, jsonx.Pointer(at, e.Spelling(name)), work.Reference{
					Kind: kind, ID: id}})
			}
		}
		add(whole, at)
		add(params, jsonx.Pointer(at, callctx.ArgParams))
	}
	return names, makes
}

// refer checks that a name exists.
func (j *judgement) refer(r nameUse) {
	if strings.Contains(r.ID, expression.Opening) || slices.Contains(j.made, r.Kind) {
		return
	}
	if why := j.find(r.Reference).absent; why != "" {
		j.verdict.Absent = append(j.verdict.Absent, Fault{Step: r.step, Problem: toolfold.Problem{
			Path: r.at, Kind: toolfold.ProblemFormat, Want: "known " + r.Kind + ": " + why, Got: shorten.Quoted(r.ID),
		}})
	}
}

// find looks up a name and caches the result.
func (j *judgement) find(r work.Reference) finding {
	found, known := j.findings[r]
	if !known {
		found = j.lookUp(r)
		j.findings[r] = found
	}
	return found
}

// lookUp looks up a name. If it cannot be read for another reason, it counts as existing.
func (j *judgement) lookUp(r work.Reference) finding {
	x := existences[r.Kind]
	if x.Action == "" {
		return finding{absent: j.lookUpQueue(r.ID)}
	}
	_, param := r.Action()
	answer := j.caller.Call(j.ctx, x.Action, ordered.MustJSON(map[string]string{param: r.ID}))
	if answer.Err == nil {
		return finding{described: answer.Content}
	}
	if answer.Err.Code != x.NotFound {
		return finding{}
	}
	why := answer.Err.Message
	if near, _, found := strings.Cut(answer.Err.Hint, "?"); found && strings.HasPrefix(near, "did you mean") {
		why += ", " + near + "?"
	}
	return finding{absent: why}
}

// lookUpQueue returns why the id or name of a queue is unknown, or an empty string if the queue
// exists or the queues cannot be listed.
func (j *judgement) lookUpQueue(id string) string {
	cursor := ""
	for {
		page, err := toolfold.Do[struct {
			Queues     []struct{ QueueID, Name string }
			NextCursor string
		}](j.ctx, j.caller, "queue.list", map[string]any{"limit": 100, toolfold.Cursor.Name: cursor})
		if err != nil {
			return ""
		}
		for _, q := range page.Queues {
			if q.QueueID == id || q.Name == id {
				return ""
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return fmt.Sprintf("there is no queue %q", shorten.Quoted(id))
		}
	}
}
