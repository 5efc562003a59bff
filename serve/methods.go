package serve

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// method is a method that is answered here once mcp-go has admitted its request.
type method struct {
	standIn mcp.MCPMethod // the method that mcp-go checks; it knows no prompts and no resources
	name    string        // parameter that the header Mcp-Name repeats; empty = no parameter

	// concurrent marks requests that may take long: on stdio they run concurrently with later
	// messages.
	concurrent bool

	// returnsTools marks methods that answer with tools; clients may cache them as long as
	// tools/list.
	returnsTools bool

	// old marks methods that ended with 2026-07-28.
	old bool

	// handle appends the members of the result and ends the answer.
	handle handler
}

// own returns the members of mcp-go's answer to method as that are not marks of every result, see
// [admission.read].
func (m *method) own() []string {
	if m.returnsTools {
		return []string{"tools"}
	}
	return []string{"tools", "content", "ttlMs", "cacheScope"}
}

// Methods that mcp-go does not define.
const (
	methodDescribe      = "tools/describe"
	methodDescribeBatch = "tools/describe_batch"
)

type handler = func(s *Server, ctx context.Context, r *request, out []byte) ([]byte, *protocolError)

// ownMethods returns the methods that a server with these options answers here.
func (o Options) ownMethods() map[mcp.MCPMethod]*method {
	tools := func(handle handler) *method {
		return &method{standIn: mcp.MethodToolsList, returnsTools: true, handle: handle}
	}
	other := func(handle handler) *method {
		return &method{standIn: mcp.MethodToolsList, concurrent: true, handle: handle}
	}
	named := func(name string, handle handler) *method {
		return &method{standIn: mcp.MethodToolsCall, name: name, concurrent: true, handle: handle}
	}
	old := func(handle handler) *method { return &method{standIn: mcp.MethodToolsList, old: true, handle: handle} }
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
