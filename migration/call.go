// Package migration brings callers of the legacy tools over to the
// consolidated ones: it rewrites their calls and lists what changed.
package migration

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/jsonx"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/reserved"
	"github.com/toolfold/toolfold/legacy"
)

// Call is a tool call as tools/call carries it.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Rewriter turns legacy calls into consolidated ones.
type Rewriter struct {
	resolver *call.Resolver
	legacy   map[string]*oldTool // by legacy name
}

// oldTool is a legacy tool and the action that stands for it.
type oldTool struct {
	old    toolfold.OldName
	action *toolfold.Action
}

// NewRewriter returns a rewriter that knows every name of the families.
func NewRewriter(families []*toolfold.Family) *Rewriter {
	var entries []*entry.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	r := &Rewriter{call.NewResolver(slices.Concat(entries, legacy.Entries(families), call.FullNames(families))), map[string]*oldTool{}}
	for _, f := range families {
		for _, a := range f.Actions {
			for _, old := range a.Legacy {
				if old.Name != entry.Select(a).Tool { // some are called as they were
					r.legacy[old.Name] = &oldTool{old, a}
				}
			}
		}
	}
	return r
}

// Rewrite returns the call under its consolidated name, and the paths of the
// arguments that it leaves out because the legacy name ignored them. A call
// that is consolidated already comes back as it is; an unknown name is an
// error.
func (r *Rewriter) Rewrite(c Call) (now Call, dropped []string, err error) {
	entries := r.resolver.Lookup(c.Name)
	if len(entries) == 0 {
		if near := r.resolver.Nearest(c.Name); near != "" {
			return Call{}, nil, fmt.Errorf("unknown tool %q, did you mean %q?", c.Name, near)
		}
		return Call{}, nil, fmt.Errorf("unknown tool %q", c.Name)
	}
	e := entries[0]
	if e.Selector != "" || e.Tool == entry.Select(e.Action).Tool {
		return c, nil, nil
	}
	args, err := e.ToCanonical(c.Arguments)
	if err != nil {
		return Call{}, nil, fmt.Errorf("arguments of %s: %w", c.Name, err)
	}
	fields := toolfold.Param{Name: reserved.Fields, Kind: toolfold.KindAny}
	args, dropped = prune("", args, append(e.Action.Params(), fields))
	selected := entry.Select(e.Action)
	return Call{Name: selected.Tool, Arguments: selected.FromCanonical(args)}, dropped, nil
}

// prune takes out of an object, or of the objects in a list, the members that
// params does not have, or not with that value, and returns their paths: legacy
// names ignore them, present ones refuse them. Other values stay as they are.
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
		_ = json.Unmarshal(value, &text) // what is no text stays empty
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

// RewriteLine rewrites one JSON line: a call, or a whole tools/call request,
// of which everything else stays as it is. Dropped has the paths of arguments
// that the legacy name ignored.
func (r *Rewriter) RewriteLine(line []byte) (now []byte, dropped []string, err error) {
	var request ordered.Map
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, nil, fmt.Errorf("reading call: %w", err)
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

// rewriteObject rewrites the name and arguments of an object and keeps its
// other members.
func (r *Rewriter) rewriteObject(raw json.RawMessage) (rewritten []byte, dropped []string, err error) {
	var object ordered.Map
	var c Call
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, nil, fmt.Errorf("reading call: %w", err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, nil, fmt.Errorf("reading call: %w", err)
	}
	if c.Name == "" {
		return nil, nil, fmt.Errorf(`reading call: no "name"; a line looks like {"name":"memory_store","arguments":{…}}`)
	}
	now, dropped, err := r.Rewrite(c)
	if err != nil {
		return nil, nil, err
	}
	object.Set("name", now.Name)
	if now.Arguments != nil {
		object.Set("arguments", now.Arguments)
	}
	rewritten, err = ordered.JSON(object)
	return rewritten, dropped, err
}
