// Package agent declares the agent tool: profiles with a system prompt and
// steps, and their runs.
//
// A profile is registered in the store, or it is a file in the workspace's folder .toolfold/agents,
// as YAML or JSON with the same fields. If both have the same id, the registered one wins, and list
// reports it. Files run only in a trusted workspace.
//
// It is not a stable API: see docs/stability.md.
package agent

import (
	_ "embed"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
)

var (
	agentID      = toolfold.String{Name: "agentId", Doc: "Agent ID.", MinLen: 1, MaxLen: 50}
	description  = toolfold.String{Name: "description", Doc: "Its purpose.", MinLen: 1, MaxLen: 1000}
	displayName  = toolfold.String{Name: "displayName", Doc: "Name for people.", MaxLen: 100}
	capabilities = toolfold.List{Name: "capabilities", Doc: "Skills.", Of: toolfold.String{MaxLen: 200}, MaxItems: 50}
	team         = toolfold.String{Name: "team", Doc: "Team.", MaxLen: 100}
	tags         = toolfold.List{Name: "tags", Doc: "Labels.", Of: toolfold.String{MaxLen: 100}, MaxItems: 20}
	systemPrompt = toolfold.String{Name: "systemPrompt", Doc: "May have {{ input.x }}.", MaxLen: 10_000}
	enabled      = toolfold.Bool{Name: "enabled", Doc: "Whether runs are allowed."}
	workflow     = engine.StepsField("workflow", "Without any, one prompt with the input.")
	input        = toolfold.Object{Name: "input", Doc: "Input of the steps."}
	sessionID    = toolfold.UUID("sessionId", "Active session to join.")
	limit        = toolfold.Int{Name: "limit", Doc: "Most agents to return.", Min: 1, Max: 100}

	version       = toolfold.String{Name: "version", Doc: "Version of the file.", MaxLen: 50}
	role          = toolfold.String{Name: "role", Doc: "Agent's role.", MaxLen: 200}
	expertise     = toolfold.List{Name: "expertise", Doc: "Areas of knowledge.", Of: toolfold.String{MaxLen: 200}, MaxItems: 50}
	orchestration = toolfold.Object{Name: "orchestration", Doc: "Delegation settings.", Optional: toolfold.Fields{
		toolfold.Int{Name: "maxDelegationDepth", Doc: "How deep its delegations may go.", Max: engine.MaxDepth}.With(toolfold.Min(0)),
	}}
)

// changeable declares the fields of a profile except id and description; details adds the fields of
// a new profile.
var (
	changeable = toolfold.Fields{displayName, capabilities, team, tags, systemPrompt, workflow, enabled}
	details    = append(slices.Clone(changeable[:len(changeable)-1]), enabled.With(toolfold.Default(true)))
)

//go:embed asks.txt
var asksText string

// Family declares the agent tool.
var Family = toolfold.Family{
	Name: "agent", Summary: "Agents to run", Category: "agents", Tier: toolfold.Core,
	Words: "assistants, specialists, bots, profiles, prompts, tools, persona, character, role, roster",
	Doc: "Agents are registered, or files in .toolfold/agents. Configs of steps: " + engine.ConfigUsages() + ". " +
		"Steps also take dependsOn, timeoutMs, retry {maxAttempts, backoffMs}, continueOnError. Texts take {{ expressions }} over input, " +
		"steps.<id>, errors.<id>, agent, in loops item (or as), index, previous; ?? gives a default. " +
		"tools are actions that the model may call, such as memory.*.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:     "register",
		Legacy:   toolfold.Was("agent_register"),
		Summary:  "Add an agent.",
		Words:    "create, define, new, custom, set up, profile, prompt, own steps",
		Doc:      "Steps: describe agent.",
		Changed:  "Keeps systemPrompt and workflow, and refuses a workflow that cannot run. Agents are kept in the store, not in agents.json.",
		Required: toolfold.Fields{agentID, description},
		Optional: details,
		Effect:   toolfold.Adds,
		Once:     true, // an existing agent is an error
		Example: `{"agentId": "keeper", "description": "Looks up notes.", ` +
			`"workflow": [{"stepId": "notes", "name": "Look", "type": "tool", "config": {"tool": "memory.list"}}]}`,
		Related: []string{"agent.run", "agent.get"},
		Run:     toolfold.Method((*Service).Register),
	}, {
		Name:     "update",
		Summary:  "Change the given fields of a registered agent.",
		Words:    "edit, modify, rename, enable, disable, new prompt, correct",
		Doc:      "Other fields stay; a list replaces the whole list. Steps as in register.",
		Required: toolfold.Fields{agentID},
		Optional: append(slices.Clone(changeable), description),
		Effect:   toolfold.Sets,
		Example:  `{"agentId": "keeper", "description": "Looks up notes of the team."}`,
		Related:  []string{"agent.get", "agent.register"},
		Run:      toolfold.Method((*Service).Update),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("agent_list"),
		Summary:  "List agents, registered ones and files.",
		Words:    "available, team, enumerate, roster",
		Changed:  "Pages: hasMore, and nextCursor for the next one. broken has the files that cannot be used.",
		Optional: toolfold.Fields{team, enabled, limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"limit": 10}`,
		Related:  []string{"agent.get"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:    "run",
		Legacy:  toolfold.Was("agent_run"),
		Summary: "Run an agent's steps; answers when they are done.",
		Words:   "start, execute, delegate, invoke, ask",
		Doc: "A run that fails answers its error, and the outputs so far. Abilities that fit join the system prompt. " +
			"Agents delegate at most 5 deep.",
		Changed: "Branches, loops and parallel steps run. An agent without steps sends the input to a model under its system prompt. " +
			"The agent joins the session it is run in. abilities names those in its prompts.",
		Required:    toolfold.Fields{agentID},
		Optional:    toolfold.Fields{input, sessionID},
		Effect:      toolfold.Runs,
		Example:     `{"agentId": "keeper", "input": {"question": "Which notes are stale?"}}`,
		Related:     []string{"agent.list", "agent.get"},
		BecomesTask: true,
		Run:         toolfold.Method((*Service).Run),
	}, {
		Name:     "get",
		Legacy:   toolfold.Was("agent_get"),
		Summary:  "Read an agent.",
		Words:    "show, details, profile, instructions, persona sheet",
		Changed:  "Shows systemPrompt and whole steps. orchestration has maxDelegationDepth only: there are no shared workspaces.",
		Required: toolfold.Fields{agentID},
		Effect:   toolfold.Reads,
		Example:  `{"agentId": "keeper"}`,
		Related:  []string{"agent.run"},
		Run:      toolfold.Method((*Service).Get),
	}, {
		Name:     "remove",
		Legacy:   toolfold.Was("agent_remove"),
		Summary:  "Remove a registered agent.",
		Words:    "delete, fire, dismiss",
		Doc:      "An agent that is a file goes when its file goes.",
		Required: toolfold.Fields{agentID},
		Effect:   toolfold.Deletes,
		Example:  `{"agentId": "keeper"}`,
		Related:  []string{"agent.register"},
		Run:      toolfold.Method((*Service).Remove),
	}},
}
