// Package script declares the script tool: JavaScript programs that call actions, of which only
// what they return comes back.
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
	id    = toolfold.UUID("id", "Run to go on with.")
	// outcome has a member for each unknown call.
	outcome = toolfold.Object{
		Name: "outcome", Doc: `The outcome of unknown calls, by number: "done", "not done" or {"result": …}.`,
	}
)

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
		Either:      toolfold.Fields{code, id},
		Optional:    toolfold.Fields{code, id, input, outcome},
		Effect:      toolfold.Runs,
		Example:     `{"code": "const {keys} = await memory.list({});\nreturn keys.map(k => k.key)"}`,
		Related:     []string{"script.read", "task.status"},
		BecomesTask: true,
		Run:         toolfold.Method((*Service).Run),
	}, {
		Name:     "read",
		Summary:  "Run a script that only reads.",
		Words:    "query, analyse, count, compare",
		Required: toolfold.Fields{code},
		Optional: toolfold.Fields{input},
		Effect:   toolfold.Reads,
		Example:  `{"code": "return (await memory.list({})).total"}`,
		Related:  []string{"script.run"},
		Run:      toolfold.Method((*Service).Read),
	}},
}
