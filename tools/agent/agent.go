// Package agent declares the agent tool: profiles with a system prompt and
// steps, and their runs.
//
// A profile is registered, and then stands in the store, or it is a file in
// the workspace's folder .toolfold/agents, as YAML or JSON with the same
// fields. Where both have an id, the registered one counts, and list says so.
// Files run only in a workspace that the user trusts.
package agent

import (
	"slices"

	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/tools"
)

var (
	agentID      = tools.String{Name: "agentId", Doc: "Agent ID.", MinLen: 1, MaxLen: 50}
	description  = tools.String{Name: "description", Doc: "What it is for.", MinLen: 1, MaxLen: 1000}
	displayName  = tools.String{Name: "displayName", Doc: "Name for people.", MaxLen: 100}
	capabilities = tools.List{Name: "capabilities", Doc: "Skills.", Of: tools.String{MaxLen: 200}, MaxItems: 50}
	team         = tools.String{Name: "team", Doc: "Team.", MaxLen: 100}
	tags         = tools.List{Name: "tags", Doc: "Labels.", Of: tools.String{MaxLen: 100}, MaxItems: 20}
	systemPrompt = tools.String{Name: "systemPrompt", Doc: "May have {{ input.x }}.", MaxLen: 10_000}
	enabled      = tools.Bool{Name: "enabled", Doc: "Whether runs are allowed."}
	workflow     = engine.StepsField("workflow", "Without any, one prompt with the input.")
	input        = tools.Object{Name: "input", Doc: "What steps read as input."}
	sessionID    = tools.UUID("sessionId", "Active session to join.")
	limit        = tools.Int{Name: "limit", Doc: "Most agents to return.", Min: 1, Max: 100}

	version       = tools.String{Name: "version", Doc: "Version of the file.", MaxLen: 50}
	role          = tools.String{Name: "role", Doc: "Agent's role.", MaxLen: 200}
	expertise     = tools.List{Name: "expertise", Doc: "Areas of knowledge.", Of: tools.String{MaxLen: 200}, MaxItems: 50}
	orchestration = tools.Object{Name: "orchestration", Doc: "Delegation settings.", Optional: tools.Fields{
		tools.Int{Name: "maxDelegationDepth", Doc: "How deep its delegations may go.", Max: engine.MaxDepth}.With(tools.Min(0)),
	}}
)

// changeable declares the fields of a profile but for its id and description,
// details the same with what applies to a new one.
var (
	changeable = tools.Fields{displayName, capabilities, team, tags, systemPrompt, workflow, enabled}
	details    = append(slices.Clone(changeable[:len(changeable)-1]), enabled.With(tools.Default(true)))
)

// Family declares the agent tool.
var Family = tools.Family{
	Name: "agent", Summary: "Agents to run", Category: "agents", Tier: tools.Core,
	Words: "assistants, specialists, bots, profiles, prompts, tools, persona, character, role, roster",
	Doc: "Agents are registered, or files in .toolfold/agents. Configs of steps: " + engine.ConfigUsages() + ". " +
		"Steps also take dependsOn, timeoutMs, retry {maxAttempts, backoffMs}, continueOnError. Texts take {{ expressions }} over input, " +
		"steps.<id>, errors.<id>, agent, in loops item (or as), index, previous; ?? gives a default. " +
		"tools are actions that the model may call, such as memory.*.",
	Actions: []*tools.Action{{
		Name:     "register",
		Legacy:   tools.Was("agent_register"),
		Summary:  "Add an agent.",
		Words:    "create, define, new, custom, set up, profile, prompt, own steps, write a persona",
		Doc:      "Steps: describe agent.",
		Changed:  "Keeps systemPrompt and workflow, and refuses a workflow that cannot run. Agents are kept in the store, not in agents.json.",
		Required: tools.Fields{agentID, description},
		Optional: details,
		Effect:   tools.Adds,
		Once:     true, // what is there is refused
		Example: `{"agentId": "keeper", "description": "Looks up notes.", ` +
			`"workflow": [{"stepId": "notes", "name": "Look", "type": "tool", "config": {"tool": "memory.list"}}]}`,
		Related: []string{"agent.run", "agent.get"},
		Run:     tools.Method((*Service).Register),
	}, {
		Name:     "update",
		Summary:  "Change the given fields of a registered agent.",
		Words:    "edit, modify, rename, enable, disable, new prompt, add a step, correct",
		Doc:      "What is not sent stays; a list replaces the whole list. Steps as in register.",
		Required: tools.Fields{agentID},
		Optional: append(slices.Clone(changeable), description),
		Effect:   tools.Sets,
		Example:  `{"agentId": "keeper", "description": "Looks up notes of the team."}`,
		Related:  []string{"agent.get", "agent.register"},
		Run:      tools.Method((*Service).Update),
	}, {
		Name:     "list",
		Legacy:   tools.Was("agent_list"),
		Summary:  "List agents, registered ones and files.",
		Words:    "which agents are there, available, team, enumerate, roster, who is there",
		Changed:  "Pages: hasMore, and nextCursor for the next one. broken has the files that cannot be used.",
		Optional: tools.Fields{team, enabled, limit.With(tools.Default(50)), tools.Cursor.With(tools.Added())},
		Effect:   tools.Reads,
		Example:  `{"limit": 10}`,
		Related:  []string{"agent.get"},
		Run:      tools.Method((*Service).List),
	}, {
		Name:    "run",
		Legacy:  tools.Was("agent_run"),
		Summary: "Run an agent's steps; answers when they are done.",
		Words:   "start, execute, let it work, delegate, invoke, ask",
		Doc: "A failing step is a result with success=false, error and the outputs so far. Abilities that fit join the system prompt. " +
			"Agents delegate at most 5 deep.",
		Changed: "Branches, loops and parallel steps run. An agent without steps sends the input to a model under its system prompt. " +
			"The agent joins the session it is run in. abilities names those in its prompts.",
		Required: tools.Fields{agentID},
		Optional: tools.Fields{input, sessionID},
		Effect:   tools.Runs,
		Example:  `{"agentId": "keeper"}`,
		Related:  []string{"agent.list", "agent.get"},
		Run:      tools.Method((*Service).Run),
	}, {
		Name:     "get",
		Legacy:   tools.Was("agent_get"),
		Summary:  "Read an agent.",
		Words:    "show, details, profile, what does it do, prompt and steps, instructions, persona sheet",
		Changed:  "Shows systemPrompt and whole steps. orchestration has maxDelegationDepth only: there are no shared workspaces.",
		Required: tools.Fields{agentID},
		Effect:   tools.Reads,
		Example:  `{"agentId": "keeper"}`,
		Related:  []string{"agent.run"},
		Run:      tools.Method((*Service).Get),
	}, {
		Name:     "remove",
		Legacy:   tools.Was("agent_remove"),
		Summary:  "Remove a registered agent.",
		Words:    "delete, get rid of, fire, dismiss",
		Doc:      "An agent that is a file goes when its file goes.",
		Required: tools.Fields{agentID},
		Effect:   tools.Deletes,
		Example:  `{"agentId": "keeper"}`,
		Related:  []string{"agent.register"},
		Run:      tools.Method((*Service).Remove),
	}},
}
