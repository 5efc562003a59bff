package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/expression"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// body compiles the config of one step. Its shape was checked against
// configFields.
type body struct {
	*compiler
	step  string
	at    string // of the config
	scope scope
}

func (b body) missing(name string) {
	b.fault(b.step, toolfold.Problem{Path: jsonx.Pointer(b.at, name), Kind: toolfold.ProblemMissing})
}

// textAt compiles the text of a member; an absent member is an empty text.
func (b body) textAt(config map[string]any, name string) text {
	s, _ := config[name].(string)
	return b.text(b.step, jsonx.Pointer(b.at, name), s, b.scope)
}

// exprAt compiles the expression of a member, with or without the braces of a placeholder. It
// returns nil if the member is absent.
func (b body) exprAt(config map[string]any, name string, sc scope) *expression.Expression {
	s, ok := config[name].(string)
	if !ok {
		return nil
	}
	compiled, err := b.expression(plainSource(s), sc)
	if err != nil {
		b.addFault(b.step, jsonx.Pointer(b.at, name), "valid expression: "+err.Error(), nil)
	}
	return compiled
}

// plainSource returns an expression without the braces of a placeholder around it.
func plainSource(s string) string {
	s = strings.TrimSpace(s)
	if before, source, after, wrapped, _ := expression.Placeholder(s); wrapped && before == "" && after == "" {
		return source
	}
	return s
}

func whole(config map[string]any, name string, otherwise int) int {
	n, ok := config[name].(json.Number)
	if !ok {
		return otherwise
	}
	f, err := n.Float64()
	if err != nil {
		return otherwise
	}
	return int(f)
}

func (b body) prompt(config map[string]any) action {
	if _, ok := config["prompt"]; !ok {
		b.missing("prompt")
	}
	p := promptAction{
		prompt: b.textAt(config, "prompt"), maxTokens: whole(config, "maxTokens", 0),
		maxTurns: whole(config, "maxTurns", defaultTurns), answer: b.answer(config),
	}
	p.provider, _ = config["provider"].(string)
	p.model, _ = config["model"].(string)
	if _, own := config["system"]; own {
		p.system = new(b.textAt(config, "system"))
	}
	patterns, _ := config["tools"].([]any)
	for i, pattern := range patterns {
		text, _ := pattern.(string)
		p.tools = append(p.tools, text)
		b.uses = append(b.uses, toolUse{step: b.step, at: jsonx.Index(jsonx.Pointer(b.at, "tools"), i), name: text, offered: true})
	}
	if config["maxTurns"] != nil && len(p.tools) == 0 {
		b.addFault(b.step, jsonx.Pointer(b.at, "maxTurns"), "limit for a model with tools, which are missing", nil)
	}
	b.shapes[b.step] = ofText
	if config["outputSchema"] != nil {
		b.shapes[b.step] = ofSchema(config["outputSchema"])
	}
	b.asks = append(b.asks, promptUse{step: b.step, at: b.at, provider: p.provider, calls: len(p.tools) > 0})
	return p
}

// answer compiles the schema of a prompt's answer; nil if any text will do.
func (b body) answer(config map[string]any) *answerShape {
	if config["outputSchema"] == nil {
		return nil
	}
	shape, err := newAnswerShape(ordered.MustJSON(config["outputSchema"]))
	if err != nil {
		b.addFault(b.step, jsonx.Pointer(b.at, "outputSchema"), "JSON Schema of an object: "+err.Error(), nil)
	}
	return shape
}

func (b body) tool(config map[string]any) action {
	name, ok := config["tool"].(string)
	if !ok {
		b.missing("tool")
		return nil
	}
	use := toolUse{step: b.step, at: b.at, name: name, arguments: config["arguments"], open: config["arguments"] != nil}
	if arguments, ok := config["arguments"].(map[string]any); ok {
		use.action, use.hasAction = arguments[callctx.ArgAction].(string)
		use.open = false
	}
	b.uses = append(b.uses, use)
	b.shapes[b.step] = b.resultOf(use)
	return toolAction{name: name, arguments: b.objectAt(config, "arguments")}
}

// script compiles a call of script.run. The code has no placeholders: values reach it as its input.
func (b body) script(config map[string]any, retries bool) action {
	if config["code"] == nil && config["name"] == nil {
		b.missing("code")
	}
	if config["code"] != nil && config["name"] != nil {
		b.addFault(b.step, jsonx.Pointer(b.at, "name"), "code or name, not both", config["name"])
	}
	if retries {
		b.addFault(b.step, strings.TrimSuffix(b.at, "/config")+"/retry",
			"script that tries again itself, with catch: answers to its calls are recorded, so that retry would get the same ones", nil)
	}
	b.uses = append(b.uses, toolUse{step: b.step, at: b.at, name: work.Script, arguments: config, inline: true})
	arguments := template{object: map[string]template{}}
	for name, value := range config {
		if arguments.object[name] = (template{literal: value}); name != "code" {
			arguments.object[name] = b.template(value, jsonx.Pointer(b.at, name))
		}
	}
	return scriptAction{toolAction{name: work.Script, arguments: arguments}}
}

func (b body) delegate(config map[string]any) action {
	var agents []string
	for _, name := range []string{"agentId", "targetAgent", "targetAgentId"} {
		if id, ok := config[name].(string); ok && !slices.Contains(agents, id) {
			agents = append(agents, id)
			b.names = append(b.names, nameUse{b.step, jsonx.Pointer(b.at, name), work.Reference{Kind: work.Agent, ID: id}})
		}
	}
	switch len(agents) {
	case 0:
		b.missing("agentId")
		return nil
	case 1:
	default:
		b.addFault(b.step, jsonx.Pointer(b.at, "agentId"), "single agent, not "+strings.Join(agents, " and "), nil)
	}
	agent := b.text(b.step, jsonx.Pointer(b.at, "agentId"), agents[0], b.scope)
	return delegateAction{agent: agent, input: b.objectAt(config, "input")}
}

// objectAt compiles a member that is an object or one placeholder.
func (b body) objectAt(config map[string]any, name string) template {
	value := config[name]
	path := jsonx.Pointer(b.at, name)
	switch v := value.(type) {
	case nil, map[string]any:
	case string:
		if t := b.template(v, path); t.text != nil && len(t.text.parts) == 1 {
			return t
		}
		b.fault(b.step, toolfold.Problem{Path: path, Kind: toolfold.ProblemType, Want: "object", Got: "string"})
		return template{}
	default:
		b.fault(b.step, toolfold.Problem{Path: path, Kind: toolfold.ProblemType, Want: "object", Got: jsonx.TypeName(value)})
		return template{}
	}
	return b.template(value, path)
}

// template compiles the placeholders in every text of a value.
func (b body) template(value any, at string) template {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, expression.Opening) {
			return template{text: new(b.text(b.step, at, v, b.scope))}
		}
	case map[string]any:
		t := template{object: make(map[string]template, len(v))}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t.object[name] = b.template(v[name], jsonx.Pointer(at, name))
		}
		return t
	case []any:
		t := template{list: make([]template, len(v))}
		for i, inner := range v {
			t.list[i] = b.template(inner, jsonx.Index(at, i))
		}
		return t
	}
	return template{literal: value}
}

func (b body) conditional(config map[string]any) action {
	condition := b.exprAt(config, "condition", b.scope)
	if config["condition"] == nil {
		b.missing("condition")
	}
	if config["then"] == nil && config["else"] == nil {
		b.missing("then")
	}
	yes, no := b.stepsAt(config, "then", b.scope, inOrder), b.stepsAt(config, "else", b.scope, inOrder)
	b.shapes[b.step] = b.outputs(yes, no)
	return conditionalAction{condition: condition, yes: yes, no: no}
}

func (b body) parallel(config map[string]any) action {
	b.needSteps(config)
	l := b.stepsAt(config, "steps", b.scope, atOnce)
	if l == nil {
		return nil
	}
	l.limit = whole(config, "maxConcurrency", levelConcurrency)
	b.shapes[b.step] = b.outputs(l)
	return parallelAction{l}
}

func (b body) loop(config map[string]any) action {
	if config["items"] == nil && config["while"] == nil && config["until"] == nil {
		b.fault(b.step, toolfold.Problem{Path: jsonx.Pointer(b.at, "items"), Kind: toolfold.ProblemMissing})
	}
	inner := b.scope.naming(indexName, previousName)
	if config["items"] != nil {
		inner = inner.naming(itemName).shaped(itemName, b.itemOf(config["items"], b.scope))
	}
	as, named := config["as"].(string)
	if named {
		b.checkName(as, config["items"] != nil)
		inner = inner.naming(as).shaped(as, inner.shapes[itemName])
	}
	b.needSteps(config)
	before := closed(b.stepNames(config)) // the results of the steps are not known yet
	inner = inner.shaped(previousName, before)
	l := b.stepsAt(config, "steps", inner, inOrder)
	ids := l.ids()
	b.shapes[b.step] = b.rounds(l)
	return loopAction{
		items: b.items(config), as: as, limit: whole(config, "maxIterations", 100), body: l,
		while: b.exprAt(config, "while", inner.with(ids...)),
		until: b.exprAt(config, "until", inner.with(ids...)),
	}
}

// stepNames returns the ids of the steps of a round as members of an object.
func (b body) stepNames(config map[string]any) map[string]*expression.Shape {
	names := map[string]*expression.Shape{}
	steps, _ := config["steps"].([]any)
	for _, s := range steps {
		step, _ := s.(map[string]any)
		if id, ok := step["stepId"].(string); ok {
			names[id] = nil
		}
	}
	return names
}

// checkName adds a fault if expressions cannot use the name of an item.
func (b body) checkName(as string, items bool) {
	taken := slices.Contains(b.scope.names, as) ||
		slices.Contains([]string{stepsName, errorsName, itemName, indexName, previousName, agentName}, as) || strings.HasPrefix(as, "__")
	switch {
	case !items:
		b.addFault(b.step, jsonx.Pointer(b.at, "as"), "name for an item of items, which are missing", as)
	case taken || !isName(as):
		b.addFault(b.step, jsonx.Pointer(b.at, "as"), "plain name that nothing else has", shorten.Quoted(as))
	}
}

// items compiles the items of a loop: a literal list or an expression. It
// returns nil if the loop has no items.
func (b body) items(config map[string]any) *template {
	switch v := config["items"].(type) {
	case nil:
		return nil
	case []any:
		return new(b.template(expression.Value(v).([]any), jsonx.Pointer(b.at, "items")))
	case string:
		compiled := b.exprAt(config, "items", b.scope)
		return &template{text: &text{parts: []part{{expr: compiled, source: v}}}}
	}
	b.fault(b.step, toolfold.Problem{Path: jsonx.Pointer(b.at, "items"), Kind: toolfold.ProblemType, Want: "array",
		Got: jsonx.TypeName(config["items"])})
	return nil
}

func (b body) needSteps(config map[string]any) {
	if list, _ := config["steps"].([]any); len(list) == 0 {
		b.missing("steps")
	}
}

// stepsAt compiles a nested list of steps; nil if it is absent or invalid.
func (b body) stepsAt(config map[string]any, name string, sc scope, usual arrangement) *list {
	if config[name] == nil {
		return nil
	}
	at := jsonx.Pointer(b.at, name)
	steps, faults := ParseSteps(ordered.MustJSON(config[name]), at)
	if len(faults) > 0 {
		b.faults = append(b.faults, faults...)
		return nil
	}
	b.collect(steps)
	if b.count > MaxSteps {
		return nil // reported as one fault of the definition
	}
	sc.depth++
	return b.list(steps, at, sc, usual)
}

// ids returns the ids of a list; it is nil for a nil list.
func (l *list) ids() []string {
	if l == nil {
		return nil
	}
	ids := make([]string, len(l.nodes))
	for i, n := range l.nodes {
		ids[i] = n.id
	}
	return ids
}
