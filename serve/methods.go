package serve

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// method is one that is answered here, once mcp-go has found its request in order.
type method struct {
	as   mcp.MCPMethod // mcp-go checks it as this one: it knows no prompt and no resource
	name string        // the parameter that the header Mcp-Name repeats; empty = none

	// aside says that the request may take long: on stdio it runs beside what follows.
	aside bool

	// listed methods answer with tools, which may be kept as long as their list.
	listed bool

	// old methods ended with 2026-07-28.
	old bool

	// handle appends the members of the result and ends the answer.
	handle handler
}

// own returns the members of mcp-go's answer to the method that stands for this one which
// are no marks of every result.
func (m *method) own() []string {
	if m.listed {
		return []string{"tools"}
	}
	return []string{"tools", "content", "ttlMs", "cacheScope"}
}

// Methods that mcp-go has no name for.
const (
	methodDescribe      = "tools/describe"
	methodDescribeBatch = "tools/describe_batch"
)

type handler = func(s *Server, ctx context.Context, r *request, out []byte) ([]byte, *protocolError)

// answered returns the methods that a server with these options answers here.
func (o Options) answered() map[mcp.MCPMethod]*method {
	tools := func(handle handler) *method { return &method{as: mcp.MethodToolsList, listed: true, handle: handle} }
	other := func(handle handler) *method { return &method{as: mcp.MethodToolsList, aside: true, handle: handle} }
	named := func(name string, handle handler) *method {
		return &method{as: mcp.MethodToolsCall, name: name, aside: true, handle: handle}
	}
	old := func(handle handler) *method { return &method{as: mcp.MethodToolsList, old: true, handle: handle} }
	all := map[mcp.MCPMethod]*method{
		mcp.MethodToolsList: tools((*Server).list),
		methodDescribe:      tools((*Server).describe),
		methodDescribeBatch: tools((*Server).describe),
		mcp.MethodToolsCall: named("name", (*Server).call),
	}
	if o.Prompts != nil {
		all[mcp.MethodPromptsList] = other((*Server).listPrompts)
		all[mcp.MethodPromptsGet] = named("name", (*Server).getPrompt)
	}
	if o.Skills != nil {
		all[methodSkillsList] = other((*Server).listSkills)
		all[methodSkillsGet] = other((*Server).getSkill)
		all[methodDirectoryRead] = other((*Server).readDirectory)
	}
	if o.Resources != nil {
		all[mcp.MethodResourcesList] = other((*Server).listResources)
		all[mcp.MethodResourcesTemplatesList] = other((*Server).listTemplates)
		all[mcp.MethodResourcesRead] = named("uri", (*Server).readResource)
		all[mcp.MethodResourcesSubscribe] = old((*Server).subscribe)
		all[mcp.MethodResourcesUnsubscribe] = old((*Server).unsubscribe)
	}
	if o.Tasks != nil {
		all[methodTasksGet] = other((*Server).aboutTask)
		all[methodTasksUpdate] = other((*Server).aboutTask)
		all[methodTasksCancel] = other((*Server).aboutTask)
	}
	if o.Prompts != nil || o.Resources != nil {
		all[mcp.MethodCompletionComplete] = other((*Server).complete)
	}
	return all
}
