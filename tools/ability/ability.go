// Package ability declares the ability tool: texts of knowledge that are put
// in front of an agent when they fit its task.
//
// Abilities come from two places: those that were registered are in the store,
// and every Markdown file in [Folder] of the workspace is one. Where both have
// the same id the file goes first: it is the team's, reviewed and versioned
// with their work, so what one agent registered must not change it. The stored
// one is seen again when the file is gone. Abilities with a file are changed
// by editing it: register and remove refuse them.
package ability

import "github.com/toolfold/toolfold/tools"

var (
	abilityID = tools.String{Name: "abilityId", Doc: "Ability ID.", MinLen: 1}
	content   = tools.String{Name: "content", Doc: "The text, Markdown.", MaxLen: maxContent}
	name      = tools.String{Name: "displayName", Doc: "Title.", MaxLen: 200}
	about     = tools.String{Name: "description", Doc: "What it is about.", MaxLen: 2000}
	category  = tools.String{Name: "category", Doc: "Subject."}
	tags      = tools.Strings("tags", "Labels; any one matches.")
	audience  = tools.Strings("applicableTo", "Agents it is for; none or * = all.")
	excluded  = tools.Strings("excludeFrom", "Agents it is never for.")
	priority  = tools.Int{Name: "priority", Doc: "Higher goes first.", Min: 1, Max: 100}
	enabled   = tools.Bool{Name: "enabled", Doc: "Whether inject may use it."}
	requires  = tools.List{Name: "requires", Doc: "Abilities that come with it.", Of: tools.String{}, MaxItems: 20}
	conflicts = tools.List{Name: "conflicts", Doc: "Abilities that never come with it.", Of: tools.String{}, MaxItems: 20}
	limit     = tools.Int{Name: "limit", Doc: "Most abilities to return.", Min: 1, Max: 500}
	cursor    = tools.String{Name: "cursor", Doc: "nextCursor of the page before."}

	agentID      = tools.String{Name: "agentId", Doc: "Agent the texts are for."}
	task         = tools.String{Name: "task", Doc: "What it is to do; empty = by priority.", MaxLen: 5000}
	core         = tools.Strings("coreAbilities", "Abilities that go first, related or not.")
	maxAbilities = tools.Int{Name: "maxAbilities", Doc: "Most texts.", Min: 1, Max: 50}
	maxTokens    = tools.Int{Name: "maxTokens", Doc: "Most tokens of combinedContent.", Min: 100, Max: 100000}
	headings     = tools.Bool{Name: "includeMetadata", Doc: "Put a heading above each text."}

	version    = tools.String{Name: "version", Doc: "Version a file gives.", MaxLen: 50}
	author     = tools.String{Name: "author", Doc: "Author a file gives.", MaxLen: 200}
	source     = tools.String{Name: "source", Doc: "store, or the file it is in."}
	total      = tools.Int{Name: "total", Doc: "Abilities that match, on all pages."}
	hasMore    = tools.Bool{Name: "hasMore", Doc: "Whether more follow."}
	nextCursor = tools.String{Name: "nextCursor", Doc: "Pass as cursor for the next page; absent on the last."}
	message    = tools.String{Name: "message", Doc: "What happened, in words."}
	injected   = tools.Strings("injectedAbilities", "IDs in the order of their texts.")
	combined   = tools.String{Name: "combinedContent", Doc: "The texts with rules between them."}
	tokenCount = tools.Int{Name: "tokenCount", Doc: "o200k tokens of combinedContent."}
	truncated  = tools.Bool{Name: "truncated", Doc: "Whether maxTokens kept one out."}

	abilities = tools.List{Name: "abilities", Doc: "Highest priority first.", Of: tools.Object{
		Required: tools.Fields{abilityID, priority, enabled},
		Optional: tools.Fields{name, about, category, tags},
	}}
	broken = tools.List{Name: "broken", Doc: "Files that are no abilities.", Of: tools.Object{
		Required: tools.Fields{
			tools.String{Name: "file", Doc: "Path in the workspace."},
			tools.String{Name: "reason", Doc: "What is wrong."},
		},
		Optional: tools.Fields{tools.Int{Name: "line", Doc: "Where."}},
	}}
	leftOut = tools.List{Name: "leftOut", Doc: "Those that fit but are not in, at most 20.", Of: tools.Object{
		Required: tools.Fields{abilityID, tools.String{Name: "reason", Doc: "Why."}},
	}}

	// details are what register and the front matter of a file have in common.
	details = tools.Fields{
		name, about, category.With(tools.MaxLen(100)), tags.With(atMost(20)), audience, excluded,
		priority.With(tools.Default(50)), enabled.With(tools.Default(true)),
		requires.With(tools.Added()), conflicts.With(tools.Added()),
	}
	newID = abilityID.With(tools.MaxLen(maxID))
)

func atMost(items int) tools.Refinement {
	return func(p *tools.Param) { p.MaxItems = items }
}

// Family declares the ability tool.
var Family = tools.Family[*Service]{
	Name: "ability", Summary: "Knowledge texts for agents", Category: tools.Agents, Tier: tools.Standard,
	Words: "skills, guidelines, knowledge, how-to, prompts, instructions",
	Doc: "Abilities are registered, or are files " + Folder + "/*.md with register's parameters, version and author as YAML front matter. " +
		"A file goes before a registered one of its id.",
	Actions: []tools.Action[*Service]{{
		Name:    "register",
		Legacy:  tools.Was("ability_register"),
		Summary: "Keep one ability, or replace it.",
		Words:   "teach, add, save, write, new skill, guidelines, how-to, knowledge",
		Doc:     "The id is lower-case letters, digits and dashes, a letter first.",
		Changed: "Abilities are kept across restarts; requires and conflicts can be given and count. " +
			"replaced tells whether there was one. An id that a file of the workspace has is refused.",
		Required: tools.Fields{newID, content},
		Optional: details,
		Returns:  tools.Fields{tools.Bool{Name: "registered", Doc: "True."}, abilityID, tools.Bool{Name: "replaced", Doc: "Whether there was one."}, message},
		Effect:   tools.Sets,
		Example:  `{"abilityId": "go-errors", "content": "Wrap errors with %w.", "tags": ["go"]}`,
		Related:  []string{"ability.inject", "ability.get"},
		Run:      tools.Method((*Service).Register),
	}, {
		Name:     "get",
		Legacy:   tools.Was("ability_get"),
		Summary:  "Read one ability with its text.",
		Words:    "show, open, text of a skill",
		Changed:  "source tells where it is from: store, or a path in the workspace.",
		Required: tools.Fields{abilityID},
		Returns: tools.Fields{
			abilityID, name, version, about, category, tags, content, author, source,
			requires, conflicts, audience, excluded, priority, enabled,
		},
		Effect:  tools.Reads,
		Example: `{"abilityId": "go-errors"}`,
		Related: []string{"ability.list"},
		Run:     tools.Method((*Service).Get),
	}, {
		Name:     "list",
		Legacy:   tools.Was("ability_list"),
		Summary:  "List abilities, highest priority first.",
		Words:    "which skills are there, guidelines that exist, browse, enumerate",
		Changed:  "Pages: hasMore, and nextCursor for the next one. broken names files that could not be read.",
		Optional: tools.Fields{category, tags, enabled, limit.With(tools.Default(50)), cursor.With(tools.Added())},
		Returns:  tools.Fields{abilities, total, hasMore, nextCursor, broken},
		Effect:   tools.Reads,
		Example:  `{"tags": ["go"], "limit": 10}`,
		Related:  []string{"ability.get"},
		Run:      tools.Method((*Service).List),
	}, {
		Name:    "inject",
		Legacy:  tools.Was("ability_inject"),
		Summary: "Join the texts that fit an agent's task.",
		Words:   "select, gather, relevant knowledge, context for a prompt, token limit, what fits",
		Changed: "Unrelated texts stay out. requires and conflicts count. Tokens are counted, headings and rules included, " +
			"and never exceed maxTokens; a text that is too long is passed over. leftOut says why.",
		Required: tools.Fields{agentID, task},
		Optional: tools.Fields{
			core, maxAbilities.With(tools.Default(10)), maxTokens.With(tools.Default(50000)), headings.With(tools.Default(false)),
		},
		Returns: tools.Fields{agentID, injected, combined, tokenCount, truncated, leftOut},
		Effect:  tools.Reads,
		Example: `{"agentId": "coder", "task": "Fix Go errors"}`,
		Related: []string{"ability.register", "ability.list"},
		Run:     tools.Method((*Service).Inject),
	}, {
		Name:     "remove",
		Legacy:   tools.Was("ability_remove"),
		Summary:  "Remove a registered ability.",
		Words:    "delete, forget, get rid of a skill",
		Changed:  "An ability that is a file of the workspace is refused.",
		Required: tools.Fields{abilityID},
		Returns:  tools.Fields{tools.Bool{Name: "removed", Doc: "Whether there was one."}, abilityID, message},
		Effect:   tools.Deletes,
		Example:  `{"abilityId": "go-errors"}`,
		Related:  []string{"ability.list"},
		Run:      tools.Method((*Service).Remove),
	}},
}
