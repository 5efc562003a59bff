// Package script declares the script tool: JavaScript programs that call actions, of which only
// what they return comes back.
//
// Scripts may have names. They are saved in the store, or are files in [Folder] of a trusted workspace,
// with description and inputSchema in a head. If both have the same name, the saved script wins, and list
// reports it. A saved script runs with the rights that its caller and whoever saved it have in common.
//
// It is not a stable API: see docs/stability.md.
package script

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/script"
)

var (
	code  = toolfold.String{Name: "code", Doc: "JavaScript.", MinLen: 1, MaxLen: script.MaxSource}
	input = toolfold.Any{Name: "input", Doc: "Value of input in it."}
	id    = toolfold.UUID("id", "Run to go on with, or whose script to save.")
	// outcome has a member for each unknown call.
	outcome = toolfold.Object{
		Name: "outcome", Doc: `The outcome of unknown calls, by number: "done", "not done" or {"result": …}.`,
	}

	name        = toolfold.String{Name: "name", Doc: "Name of the script.", MinLen: 1, MaxLen: maxName}
	description = toolfold.String{Name: "description", Doc: "Its purpose.", MaxLen: 2000}
	inputSchema = toolfold.Object{Name: "inputSchema", Doc: "JSON Schema of input."}
	overwrite   = toolfold.Bool{Name: "overwrite", Doc: "Replace another version."}
	limit       = toolfold.Int{Name: "limit", Doc: "Most scripts to return.", Min: 1, Max: 500}
)

// maxName limits the name of a script, in characters.
const maxName = 64

//go:embed asks.txt
var asksText string

// Family declares the script tool.
var Family = toolfold.Family{
	Name: "script", Summary: "Many calls by one JavaScript: await family.action({…})", Category: "tasks", Tier: toolfold.Extended,
	Words: "program, code, javascript, loop, batch, aggregate, join, combine",
	Doc: "Every action is a function: await family.action(arguments), or tools.call(name, arguments) by the exact name. Promise.all " +
		"makes calls in parallel. Only the result comes back: return (await memory.list({})).total.",
	Asks: asksText,
	Actions: []*toolfold.Action{{
		Name:    "run",
		Summary: "Run a script; no write is lost or made twice.",
		Words:   "execute code, many calls at once, loop over results",
		Doc: "The run outlives its process and goes on after its last answer. It stops with unknown where a call may have been " +
			"done: go on with id and outcome.",
		Either:      toolfold.Fields{code, name, id},
		Optional:    toolfold.Fields{code, name, id, input, outcome},
		Effect:      toolfold.Runs,
		Example:     `{"code": "const {keys} = await memory.list({});\nreturn keys.map(k => k.key)"}`,
		Related:     []string{"script.read"},
		BecomesTask: true,
		Run:         toolfold.Method((*Service).Run),
	}, {
		Name:     "read",
		Summary:  "Run a script that only reads.",
		Words:    "query, analyse, count, compare",
		Either:   toolfold.Fields{code, name},
		Optional: toolfold.Fields{code, name, input},
		Effect:   toolfold.Reads,
		Example:  `{"code": "return (await memory.list({})).total"}`,
		Related:  []string{"script.run"},
		Run:      toolfold.Method((*Service).Read),
	}, {
		Name:    "save",
		Summary: "Make a script callable by name.",
		Words:   "reuse a program",
		Doc: "Names are lower-case letters, digits, dashes and underscores. description and inputSchema may stand in the code: " +
			headBegin + ", YAML, " + headEnd + ", each on its own line. Without code and id, your last script.run that ended well is saved.",
		Required: toolfold.Fields{name},
		Optional: toolfold.Fields{code, id, description, inputSchema, overwrite.With(toolfold.Default(false))},
		Effect:   toolfold.Sets,
		Example:  `{"name": "count-notes", "code": "return (await memory.list({})).total", "description": "Number of notes."}`,
		Related:  []string{"script.run", "script.show"},
		Run:      toolfold.Method((*Service).Save),
	}, {
		Name:     "list",
		Summary:  "List scripts.",
		Words:    "reusable programs",
		Optional: toolfold.Fields{limit.With(toolfold.Default(50)), toolfold.Cursor},
		Effect:   toolfold.Reads,
		Example:  `{}`,
		Related:  []string{"script.show"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "show",
		Summary:  "Read the code of a script.",
		Words:    "source of a program",
		Required: toolfold.Fields{name},
		Effect:   toolfold.Reads,
		Example:  `{"name": "count-notes"}`,
		Related:  []string{"script.list"},
		Run:      toolfold.Method((*Service).Show),
	}, {
		Name:     "delete",
		Summary:  "Delete a script.",
		Words:    "remove a program",
		Required: toolfold.Fields{name},
		Effect:   toolfold.Deletes,
		Example:  `{"name": "count-notes"}`,
		Related:  []string{"script.list"},
		Run:      toolfold.Method((*Service).Delete),
	}},
}
