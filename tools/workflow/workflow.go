// Package workflow declares the workflow tool: steps in files of the workspace's folder
// .toolfold/workflows, as YAML or JSON. They run only in a trusted workspace.
//
// It is not a stable API: see docs/stability.md.
package workflow

import (
	_ "embed"

	"github.com/toolfold/toolfold"
)

// The states of a workflow. Only active ones run.
const (
	Active   = "active"
	Inactive = "inactive"
	Draft    = "draft"
)

var (
	workflowID  = toolfold.String{Name: "workflowId", Doc: "Workflow ID.", MinLen: 1, MaxLen: 200}
	input       = toolfold.Object{Name: "input", Doc: "As in its inputSchema; see describe."}
	dryRun      = toolfold.Bool{Name: "dryRun", Doc: "Only show steps, model calls and problems."}
	status      = toolfold.String{Name: "status", Doc: "State; only active ones run.", Enum: []string{Active, Inactive, Draft}}
	limit       = toolfold.Int{Name: "limit", Doc: "Most workflows to return.", Min: 1, Max: 100}
	name        = toolfold.String{Name: "name", Doc: "Title.", MinLen: 1, MaxLen: 200}
	version     = toolfold.String{Name: "version", Doc: "Version.", MinLen: 1, MaxLen: 50}
	description = toolfold.String{Name: "description", Doc: "Its purpose.", MaxLen: 2000}
	definition  = toolfold.Any{Name: "definition", Doc: "The file: its YAML text, or an object."}
	inputSchema = toolfold.Object{Name: "inputSchema", Doc: "JSON Schema of input."}
)

//go:embed asks.txt
var asksText string

// Family declares the workflow tool.
var Family = toolfold.Family{
	Name: "workflow", Summary: "Workflows in files", Category: "tasks", Tier: toolfold.Standard,
	Words: "pipelines, procedures, runbook, checklist, routine",
	Doc:   "Workflows are files in .toolfold/workflows; changes count at once.",
	Asks:  asksText,
	Actions: []*toolfold.Action{{
		Name:    "run",
		Legacy:  toolfold.Was("workflow_run"),
		Summary: "Run a workflow's steps; answers when they are done.",
		Words:   "start, execute, procedure, predefined sequence, pipeline, carry out, perform",
		Doc:     "A run that fails answers its error, and the outputs so far. Only active workflows run.",
		Changed: "Runs the file of that id; formerly any id ran the same three steps. " +
			"An unknown id and an input that does not fit are errors.",
		Required:    toolfold.Fields{workflowID},
		Optional:    toolfold.Fields{input, dryRun.With(toolfold.Default(false), toolfold.Added())},
		Effect:      toolfold.Runs,
		Example:     `{"workflowId": "count-notes", "input": {"prefix": "team/"}}`,
		Related:     []string{"workflow.describe", "workflow.list"},
		BecomesTask: true,
		Previews:    dryRun.Name,
		Completes:   toolfold.Method((*Service).Complete),
		Run:         toolfold.Method((*Service).Run),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("workflow_list"),
		Summary:  "List workflows, and files that cannot be used.",
		Words:    "pipelines, files, broken, which runbooks",
		Changed:  "Lists the files there are instead of four samples. Pages: total, hasMore, and nextCursor for the next one.",
		Optional: toolfold.Fields{status, limit.With(toolfold.Default(10)), toolfold.Cursor.With(toolfold.Added())},
		Effect:   toolfold.Reads,
		Example:  `{"status": "active"}`,
		Related:  []string{"workflow.describe"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "describe",
		Legacy:   toolfold.Was("workflow_describe"),
		Summary:  "Read a workflow's steps and input schema.",
		Words:    "details, what steps",
		Changed:  "Describes the file of that id. Steps have their config and dependsOn.",
		Required: toolfold.Fields{workflowID},
		Effect:   toolfold.Reads,
		Example:  `{"workflowId": "count-notes"}`,
		Related:  []string{"workflow.run", "workflow.list"},
		Run:      toolfold.Method((*Service).Describe),
	}, {
		Name:     "check",
		Summary:  "Check a workflow before it is saved, without running it.",
		Words:    "validate, verify, lint, mistakes",
		Required: toolfold.Fields{definition},
		Effect:   toolfold.Reads,
		Example: `{"definition": {"name": "Count notes", "steps": [{"stepId": "count", "type": "tool", ` +
			`"config": {"tool": "memory.list", "arguments": {"limit": 1}}}]}}`,
		Related: []string{"workflow.run"},
		Run:     toolfold.Method((*Service).Check),
	}},
}

// fileRequired and fileOptional are the members of a file. The id defaults to the file's name, and
// the status to active.
var (
	fileRequired = toolfold.Fields{name, toolfold.Any{Name: "steps", Doc: "Steps."}}.Params()
	fileOptional = toolfold.Fields{workflowID, version, description, status, inputSchema}.Params()
)
