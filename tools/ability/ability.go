// Package ability declares the ability tool: texts of knowledge that are put in front of an agent
// if they fit its task.
//
// Abilities are registered in the store, or are files in [Folder] of the workspace: every Markdown
// file, and every subfolder with a SKILL.md, by the Agent Skills specification. Clients see all of
// them as skills. If both have the same id, the registered ability wins, and list reports it. Files
// are only injected in a trusted workspace, and marked as files. They are changed by editing:
// remove rejects them.
//
// It is not a stable API: see docs/stability.md.
package ability

import (
	_ "embed"

	"github.com/toolfold/toolfold"
)

var (
	abilityID = toolfold.String{Name: "abilityId", Doc: "Ability ID.", MinLen: 1}
	content   = toolfold.String{Name: "content", Doc: "The text, Markdown.", MaxLen: maxContent}
	name      = toolfold.String{Name: "displayName", Doc: "Title.", MaxLen: 200}
	about     = toolfold.String{Name: "description", Doc: "Summary.", MaxLen: 2000}
	category  = toolfold.String{Name: "category", Doc: "Subject.", MaxLen: 100}
	tags      = toolfold.List{Name: "tags", Doc: "Labels; any one matches.", Of: toolfold.String{MaxLen: 100}, MaxItems: 20}
	audience  = toolfold.List{Name: "applicableTo", Doc: "Its agents; empty or * = all.", Of: toolfold.String{MaxLen: 100}, MaxItems: 100}
	excluded  = toolfold.List{Name: "excludeFrom", Doc: "Agents it is not for.", Of: toolfold.String{MaxLen: 100}, MaxItems: 100}
	priority  = toolfold.Int{Name: "priority", Doc: "Higher goes first.", Min: 1, Max: 100}
	enabled   = toolfold.Bool{Name: "enabled", Doc: "Whether inject uses it."}
	requires  = toolfold.List{Name: "requires", Doc: "Abilities that come with it.", Of: toolfold.String{MaxLen: maxID}, MaxItems: 20}
	conflicts = toolfold.List{Name: "conflicts", Doc: "Abilities that never come with it.", Of: toolfold.String{MaxLen: maxID}, MaxItems: 20}
	limit     = toolfold.Int{Name: "limit", Doc: "Most abilities to return.", Min: 1, Max: 500}

	agentID = toolfold.String{Name: "agentId", Doc: "Agent the texts are for.", MaxLen: 100}
	task    = toolfold.String{Name: "task", Doc: "Agent's task; empty = all by priority.", MaxLen: 5000}
	core    = toolfold.List{Name: "coreAbilities", Doc: "Abilities that go first, related or not.", Of: toolfold.String{MaxLen: maxID},
		MaxItems: 50}
	maxAbilities = toolfold.Int{Name: "maxAbilities", Doc: "Most texts.", Min: 1, Max: 50}
	maxTokens    = toolfold.Int{Name: "maxTokens", Doc: "Most tokens of combinedContent.", Min: 100, Max: 100000}
	headings     = toolfold.Bool{Name: "includeMetadata", Doc: "Put a heading above each text."}

	version = toolfold.String{Name: "version", Doc: "Version in the file.", MaxLen: 50}
	author  = toolfold.String{Name: "author", Doc: "Author in the file.", MaxLen: 200}

	// details declares the fields of both register and front matter.
	details = toolfold.Fields{
		name, about, category, tags, audience, excluded,
		priority.With(toolfold.Default(50)), enabled.With(toolfold.Default(true)),
		requires.With(toolfold.Added()), conflicts.With(toolfold.Added()),
	}
	newID = abilityID.With(toolfold.MaxLen(maxID))
)

//go:embed asks.txt
var asksText string

// Family declares the ability tool.
var Family = toolfold.Family{
	Name: "ability", Summary: "Knowledge for agents", Category: "agents", Tier: toolfold.Standard,
	Words: "skills, guidelines, knowledge, how-to, prompts, instructions, cheat sheet, playbook, style guide, handbook, library",
	Doc: "Abilities are registered, or are files " + Folder + "/*.md with register's parameters, version and author as YAML front matter, " +
		"or folders there with a SKILL.md. " +
		"A registered one goes before a file of its id.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "register",
		Legacy:  toolfold.Was("ability_register"),
		Summary: "Keep one ability, or replace it.",
		Words:   "teach, add, save, write, new skill, guidelines, how-to, knowledge, publish, write down",
		Doc:     "Ids are lower-case letters, digits, dashes; first a letter.",
		Changed: "Abilities are kept across restarts; requires and conflicts can be given and count. " +
			"replaced reports whether there was one.",
		Required: toolfold.Fields{newID, content},
		Optional: details,
		Effect:   toolfold.Sets,
		Example:  `{"abilityId": "go-errors", "content": "Wrap errors with %w.", "tags": ["go"]}`,
		Related:  []string{"ability.inject", "ability.get"},
		Run:      toolfold.Method((*Service).Register),
	}, {
		Name:     "get",
		Legacy:   toolfold.Was("ability_get"),
		Summary:  "Read one ability with its text.",
		Words:    "show, open, read me, look into",
		Changed:  "source is registered, or file: a file of the workspace.",
		Required: toolfold.Fields{abilityID},
		Effect:   toolfold.Reads,
		Example:  `{"abilityId": "go-errors"}`,
		Related:  []string{"ability.list"},
		Run:      toolfold.Method((*Service).Get),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("ability_list"),
		Summary:  "List abilities, highest priority first.",
		Words:    "browse, enumerate, catalogue",
		Changed:  "Pages: hasMore, and nextCursor for the next one. broken names files that could not be read.",
		Optional: toolfold.Fields{category, tags, enabled, limit.With(toolfold.Default(50)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"tags": ["go"], "limit": 10}`,
		Related:  []string{"ability.get"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:    "inject",
		Legacy:  toolfold.Was("ability_inject"),
		Means:   "join-texts",
		Summary: "Join the texts that fit an agent's task.",
		Words:   "select, gather, relevant knowledge, token limit, what fits, assemble, background reading",
		Changed: "Unrelated texts stay out. requires and conflicts count. Tokens are counted, headings and rules included, " +
			"and never exceed maxTokens; a text that is too long is passed over. injected and leftOut have the reasons, with scores.",
		Required: toolfold.Fields{agentID, task},
		Optional: toolfold.Fields{
			core, maxAbilities.With(toolfold.Default(10)), maxTokens.With(toolfold.Default(50000)), headings.With(toolfold.Default(false)),
		},
		Effect:  toolfold.Reads,
		Example: `{"agentId": "coder", "task": "Fix Go errors"}`,
		Related: []string{"ability.register", "ability.list"},
		Run:     toolfold.Method((*Service).Inject),
	}, {
		Name:     "remove",
		Legacy:   toolfold.Was("ability_remove"),
		Summary:  "Remove a registered ability.",
		Words:    "delete, forget",
		Changed:  "An ability that is a file of the workspace is refused.",
		Required: toolfold.Fields{abilityID},
		Effect:   toolfold.Deletes,
		Example:  `{"abilityId": "go-errors"}`,
		Related:  []string{"ability.list"},
		Run:      toolfold.Method((*Service).Remove),
	}},
}
