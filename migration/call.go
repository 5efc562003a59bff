// Package migration brings callers of the legacy tools over to the
// consolidated ones: it rewrites their calls and lists what changed.
package migration

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/tools"
)

// Call is a tool call as tools/call carries it.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Rewriter turns legacy calls into consolidated ones.
type Rewriter struct {
	resolver *call.Resolver
}

// NewRewriter returns a rewriter that knows every name of the families.
func NewRewriter(families []*tools.Family) *Rewriter {
	var entries []*tools.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f)...)
	}
	return &Rewriter{call.NewResolver(slices.Concat(entries, legacy.Entries(families), call.FullNames(families)))}
}

// Rewrite returns the call under its consolidated name. A call that is
// consolidated already comes back as it is; an unknown name is an error.
func (r *Rewriter) Rewrite(c Call) (Call, error) {
	entries := r.resolver.Lookup(c.Name)
	if len(entries) == 0 {
		if near := r.resolver.Nearest(c.Name); near != "" {
			return Call{}, fmt.Errorf("unknown tool %q, did you mean %q?", c.Name, near)
		}
		return Call{}, fmt.Errorf("unknown tool %q", c.Name)
	}
	e := entries[0]
	if e.Selector != "" || e.Tool == e.Action.Family.Name {
		return c, nil
	}
	args, err := e.ToCanonical(c.Arguments)
	if err != nil {
		return Call{}, fmt.Errorf("arguments of %s: %w", c.Name, err)
	}
	now := tools.Select(e.Action)
	return Call{Name: now.Tool, Arguments: now.FromCanonical(args)}, nil
}

// RewriteLine rewrites one JSON line: a call, or a whole tools/call request,
// of which everything else stays as it is.
func (r *Rewriter) RewriteLine(line []byte) ([]byte, error) {
	var request ordered.Map
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, fmt.Errorf("reading call: %w", err)
	}
	params, ok := request.Get("params")
	if !ok {
		return r.rewriteObject(line)
	}
	rewritten, err := r.rewriteObject(params.(json.RawMessage))
	if err != nil {
		return nil, err
	}
	request.Set("params", json.RawMessage(rewritten))
	return ordered.JSON(request)
}

// rewriteObject rewrites the name and arguments of an object and keeps its
// other members.
func (r *Rewriter) rewriteObject(raw json.RawMessage) ([]byte, error) {
	var object ordered.Map
	var c Call
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("reading call: %w", err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("reading call: %w", err)
	}
	if c.Name == "" {
		return nil, fmt.Errorf(`reading call: no "name"; a line looks like {"name":"memory_store","arguments":{…}}`)
	}
	now, err := r.Rewrite(c)
	if err != nil {
		return nil, err
	}
	object.Set("name", now.Name)
	if now.Arguments != nil {
		object.Set("arguments", now.Arguments)
	}
	return ordered.JSON(object)
}
