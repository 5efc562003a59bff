package workbench

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
)

// Tool is an action that a user can try.
type Tool struct {
	*toolfold.Action
	Name   string // that calls it, for tools of other servers SERVER.TOOL
	Schema json.RawMessage
}

// ToolName returns the name by which a user tries an action.
func ToolName(a *toolfold.Action) string {
	if len(a.Aliases) > 0 {
		return a.Aliases[0] // no fold changes it
	}
	return a.FullName()
}

// Tool returns the action that has a name of [ToolName], if the user may call it.
func (b *Workbench) Tool(name string) (t Tool, ok bool) {
	entries := b.Runner.Lookup(name)
	if len(entries) != 1 {
		return t, false
	}
	a := entries[0].Action
	if a == nil || !b.rights.Allow(a) || ToolName(a) != name {
		return t, false
	}
	return Tool{a, name, entry.New(a, a.FullName()).InputSchema()}, true
}

// Own returns the families of this program, with the actions that the user may call.
func (b *Workbench) Own() (own []*toolfold.Family) {
	for _, f := range b.rights.Filter(b.Families()) {
		if f.Server == "" {
			own = append(own, f)
		}
	}
	return slices.Clip(own)
}

// Refusal returns why a call of a tool would be rejected before its action runs; nil if it would run.
func (b *Workbench) Refusal(ctx context.Context, name string, arguments json.RawMessage) *toolfold.Error {
	return b.Runner.Refusal(ctx, name, arguments, "", func(string) bool { return false })
}

// Try calls a tool.
func (b *Workbench) Try(ctx context.Context, name string, arguments json.RawMessage) toolfold.Answer {
	return b.Runner.Call(ctx, name, arguments)
}
