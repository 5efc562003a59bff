// Package migration moves callers of the legacy tools to the consolidated ones: it rewrites their
// calls, and generates the migration guide.
//
// It is not a stable API: see docs/stability.md.
package migration

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/legacy"
)

// Call is a tool call in the form of tools/call.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Rewriter rewrites legacy calls to consolidated ones.
type Rewriter struct {
	resolver *call.Resolver
	legacy   map[string]*Tool // by legacy name
	sorted   []string         // legacy names
}

// Tool is a legacy tool and the action that replaces it.
type Tool struct {
	Old    toolfold.OldName
	Action *toolfold.Action
}

// NewRewriter returns a rewriter for all names of the families.
func NewRewriter(families []*toolfold.Family) *Rewriter {
	var entries []*entry.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	r := &Rewriter{call.NewResolver(slices.Concat(entries, legacy.Entries(families), call.FullNames(families))), map[string]*Tool{}, nil}
	for _, f := range families {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				if old.Name != entry.Select(a).Tool { // some tools keep their name
					r.legacy[old.Name] = &Tool{old, a}
				}
			}
		}
	}
	r.sorted = slices.Sorted(maps.Keys(r.legacy))
	return r
}

// Names returns the legacy names, sorted.
func (r *Rewriter) Names() []string { return r.sorted }

// Tool returns the tool with a legacy name, or nil.
func (r *Rewriter) Tool(name string) *Tool { return r.legacy[name] }

// Rewrite returns the call under its consolidated name, in the form that the default list teaches.
// dropped lists the paths of arguments that were left out because the legacy name ignored them.
// Arguments in params count as the server reads them. A consolidated call is returned unchanged. An
// unknown name is an error, and so are arguments that the server would reject: Rewrite does not
// repair calls.
func (r *Rewriter) Rewrite(c Call) (now Call, dropped []string, err error) {
	entries := r.resolver.Lookup(c.Name)
	if len(entries) == 0 {
		if near := r.resolver.Nearest(c.Name); near != "" {
			return Call{}, nil, fmt.Errorf("unknown tool %q, did you mean %q?", c.Name, near)
		}
		return Call{}, nil, fmt.Errorf("unknown tool %q", c.Name)
	}
	e := entries[0]
	if e.Action.Apart {
		return r.rewriteInner(Call{Name: entry.Select(e.Action).Tool, Arguments: c.Arguments})
	}
	if e.Selector != "" || e.Tool == entry.Select(e.Action).Tool {
		return c, nil, nil
	}
	args, err := unfold(c.Arguments)
	if err == nil {
		args, err = e.ToCanonical(args)
	}
	if err != nil {
		return Call{}, nil, fmt.Errorf("arguments of %s: %w", c.Name, err)
	}
	if e.Legacy {
		fields := toolfold.Param{Name: callctx.ArgFields, Kind: toolfold.KindAny}
		args, dropped = prune("", args, append(e.Action.Params(), fields))
	}
	selected := entry.Select(e.Action).In(entry.FormObject)
	return Call{Name: selected.Tool, Arguments: selected.FromCanonical(args)}, dropped, nil
}

// rewriteInner rewrites the call inside the arguments of a call to an action such as tool_call. An
// inner call that has no legacy name, or cannot be read, stays unchanged.
func (r *Rewriter) rewriteInner(c Call) (now Call, dropped []string, err error) {
	var outer ordered.Map
	var inner Call
	if !jsontext.Value(c.Arguments).IsValid() || json.Unmarshal(c.Arguments, &outer) != nil || json.Unmarshal(c.Arguments, &inner) != nil {
		return c, nil, nil
	}
	if r.legacy[inner.Name] == nil {
		return c, nil, nil
	}
	rewritten, dropped, err := r.Rewrite(inner)
	if err != nil {
		return Call{}, nil, err
	}
	outer.Set(callctx.ForwardName, rewritten.Name)
	outer.Set(callctx.ForwardArguments, rewritten.Arguments)
	for i, path := range dropped {
		dropped[i] = "/" + callctx.ForwardArguments + path
	}
	return Call{Name: c.Name, Arguments: ordered.MustJSON(outer)}, dropped, nil
}

// unfold moves the members of params, an object or its JSON text, next to the other arguments, as
// the server does. Null and empty text count as no params.
func unfold(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	var members, inside ordered.Map
	if !jsontext.Value(raw).IsValid() {
		return nil, errors.New("they are not valid JSON, or have a member twice")
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	params, ok := members.Get(callctx.ArgParams)
	if !ok {
		return raw, nil
	}
	var text string
	if json.Unmarshal(params.(json.RawMessage), &text) == nil {
		params = json.RawMessage(cmp.Or(strings.TrimSpace(text), "null"))
	}
	if !jsontext.Value(params.(json.RawMessage)).IsValid() || json.Unmarshal(params.(json.RawMessage), &inside) != nil {
		return nil, errors.New("params is no JSON object")
	}
	flat := ordered.Map{}
	for _, m := range members {
		if m.Key != callctx.ArgParams {
			flat.Set(m.Key, m.Value)
		}
	}
	for _, m := range inside {
		beside, twice := flat.Get(m.Key)
		switch {
		case !twice || string(beside.(json.RawMessage)) == "null":
			flat.Set(m.Key, m.Value)
		case string(m.Value.(json.RawMessage)) != "null" && !same(beside.(json.RawMessage), m.Value.(json.RawMessage)):
			return nil, fmt.Errorf("%s is given twice, with different values", m.Key)
		}
	}
	return ordered.MustJSON(flat), nil
}

// same reports whether two JSON values are equal.
func same(a, b json.RawMessage) bool {
	var x, y any
	return jsonx.Decode(a, &x) == nil && jsonx.Decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

// prune removes members of an object, or of the objects in a list, that params does not declare, or
// whose value is obsolete. It returns their paths. Legacy names ignore such members, the new names
// reject them. Other values stay unchanged.
func prune(path string, raw json.RawMessage, params []toolfold.Param) (pruned json.RawMessage, dropped []string) {
	inside := func(path string, raw json.RawMessage, params []toolfold.Param) json.RawMessage {
		raw, more := prune(path, raw, params)
		dropped = append(dropped, more...)
		return raw
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		for i := range list {
			list[i] = inside(jsonx.Index(path, i), list[i], params)
		}
		return ordered.MustJSON(list), dropped
	}
	var members ordered.Map
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return raw, nil
	}
	known := ordered.Map{}
	for _, m := range members {
		at, value := jsonx.Pointer(path, m.Key), m.Value.(json.RawMessage)
		i := slices.IndexFunc(params, func(p toolfold.Param) bool { return p.Name == m.Key })
		var text string
		_ = json.Unmarshal(value, &text) // stays empty for other types
		switch {
		case i < 0, params[i].Obsolete(text):
			dropped = append(dropped, at)
			continue
		case len(params[i].Members()) > 0 && !params[i].Loose:
			value = inside(at, value, params[i].Members())
		}
		known.Set(m.Key, value)
	}
	return ordered.MustJSON(known), dropped
}

// RewriteLine rewrites one JSON line: a call, or a whole tools/call request, whose other members
// stay unchanged. For dropped, see [Rewriter.Rewrite].
func (r *Rewriter) RewriteLine(line []byte) (now []byte, dropped []string, err error) {
	var request ordered.Map
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, nil, fmt.Errorf("reading call: %w", err)
	}
	if !jsontext.Value(line).IsValid() {
		return nil, nil, errors.New("reading call: it has a member twice, which no server takes")
	}
	params, ok := request.Get("params")
	if !ok {
		return r.rewriteObject(line)
	}
	rewritten, dropped, err := r.rewriteObject(params.(json.RawMessage))
	if err != nil {
		return nil, nil, err
	}
	request.Set("params", json.RawMessage(rewritten))
	now, err = ordered.JSON(request)
	return now, dropped, err
}

// rewriteObject rewrites the name and the arguments of an object. Other members stay unchanged.
func (r *Rewriter) rewriteObject(raw json.RawMessage) (rewritten []byte, dropped []string, err error) {
	var object ordered.Map
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, nil, fmt.Errorf("reading call: %w", err)
	}
	var c Call
	if name, ok := object.Get("name"); ok {
		_ = json.Unmarshal(name.(json.RawMessage), &c.Name) // stays empty for other types
	}
	if c.Name == "" {
		return nil, nil, fmt.Errorf(`reading call: no "name"; a line looks like {"name":"memory_store","arguments":{…}}`)
	}
	member := "arguments"
	if _, ok := object.Get("input"); ok { // the form of model logs
		member = "input"
	}
	if arguments, ok := object.Get(member); ok {
		c.Arguments = arguments.(json.RawMessage)
	}
	now, dropped, err := r.Rewrite(c)
	if err != nil {
		return nil, nil, err
	}
	object.Set("name", now.Name)
	if now.Arguments != nil {
		object.Set(member, now.Arguments)
	}
	rewritten, err = ordered.JSON(object)
	return rewritten, dropped, err
}
