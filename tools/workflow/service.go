package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Folder of the workspace holds workflow files.
const Folder = ".toolfold/workflows"

// Codes of the workflow tool.
const (
	NotFound  = "WORKFLOW_NOT_FOUND"
	NotActive = "WORKFLOW_NOT_ACTIVE"
)

// maxFileSize is the maximum size of a workflow file, in bytes.
const maxFileSize = 128 << 10

// Service runs the workflow actions. It is safe for concurrent use.
type Service struct {
	// CheckCode rejects the source of a script that can only fail, with a [*toolfold.Error]. If it is nil, scripts
	// are only checked when they run.
	CheckCode func(ctx context.Context, source string) error

	folder workspace.Folder
	files  *workspace.Files[workflow]
	runner *engine.Runner
	tools  engine.Actions
}

// New returns the service for the workflows of a workspace. Known has the tools that steps may
// call; if it is nil, tools are not checked before a run.
func New(folder workspace.Folder, runner *engine.Runner, known engine.Actions) *Service {
	files := workspace.NewFiles(folder.Dir, Folder, []string{".yaml", ".yml", ".json"}, maxFileSize, parseFile)
	return &Service{folder: folder, files: files, runner: runner, tools: known}
}

// workflow is a checked file. Its tools and its references to other files are checked at each use,
// because they change while the file stays the same.
type workflow struct {
	WorkflowID  string          `json:"workflowId"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Status      string          `json:"status"`
	InputSchema json.RawMessage `json:"inputSchema"`

	file   string
	steps  []engine.Step
	schema workspace.Schema // of InputSchema, if it is set
	uses   engine.ToolUses
	places workspace.Document
}

func (w workflow) definition() engine.Definition {
	return engine.Definition{Steps: w.steps, StepsAt: "/steps", InputSchema: w.InputSchema}
}

func (w workflow) reference() work.Reference {
	return work.Reference{Kind: work.Workflow, ID: w.WorkflowID}
}

// parseFile parses the text of a file.
func parseFile(file string, text []byte) (workflow, *workspace.BrokenFile) {
	doc, broken := workspace.Parse(file, text)
	if broken != nil {
		return workflow{}, broken
	}
	w, faults := read(doc)
	if len(faults) == 0 {
		w.uses, faults = engine.Check(w.definition())
	}
	if len(faults) > 0 {
		return workflow{}, faults.AsBroken(doc)
	}
	w.places = doc.Places(append(w.uses.Pointers(), "/workflowId")...)
	return w, nil
}

// read decodes a workflow and checks everything except the contents of the steps. With faults, the
// workflow has its readable parts.
func read(doc workspace.Document) (w workflow, faults engine.Faults) {
	doc.Unquoted(version.Name)
	faults = engine.CheckDocument(doc, fileRequired, fileOptional)
	w = workflow{WorkflowID: workspace.Stem(doc.File), Version: "1", Status: Active, file: doc.File}
	if raw, has := doc.Value["steps"]; has {
		steps, more := engine.ParseSteps(ordered.MustJSON(raw), "/steps")
		if w.steps = steps; len(more)+len(steps) == 0 {
			more = engine.Faults{wrong("/steps", "it has no steps")}
		}
		faults = append(faults, more...)
	}
	if len(faults) == 0 {
		if err := doc.Decode(&w); err != nil {
			faults = append(faults, wrong("", err.Error()))
		}
	}
	schema, has := doc.Value[inputSchema.Name].(map[string]any)
	if has {
		w.InputSchema = ordered.MustJSON(schema)
		var err error
		if w.schema, err = workspace.BoundSchema(w.InputSchema); err == nil {
			_, err = validate.Schema(w.InputSchema, map[string]any{}, "")
		}
		if err != nil {
			faults = append(faults, wrong("/inputSchema", "inputSchema: "+err.Error()))
		}
	}
	return w, faults
}

func wrong(path, why string) engine.Fault {
	return engine.Fault{Problem: toolfold.Problem{Path: path, Kind: toolfold.ProblemFormat}, Words: why}
}

// load returns all workflows, sorted by id, and the broken files. The first file with an id wins.
func (s *Service) load(ctx context.Context) ([]workflow, []workspace.BrokenFile, error) {
	files, broken, err := s.files.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading workflows: %w", err)
	}
	var list []workflow
	from := map[string]string{}
	for _, f := range files {
		w := f.Value
		if other := from[w.WorkflowID]; other != "" {
			broken = append(broken, *w.places.AsBroken("/workflowId", "workflowId %q is taken by %s", w.WorkflowID, other))
			continue
		}
		if faults := w.uses.Check(s.tools); len(faults) > 0 {
			broken = append(broken, *faults.AsBroken(w.places))
			continue
		}
		from[w.WorkflowID] = w.file
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b workflow) int { return strings.Compare(a.WorkflowID, b.WorkflowID) })
	return list, broken, nil
}

// find returns the workflow with an id.
func (s *Service) find(ctx context.Context, id string) (workflow, error) {
	list, broken, err := s.load(ctx)
	if err != nil {
		return workflow{}, err
	}
	var ids []string
	for _, w := range list {
		if w.WorkflowID == id {
			return w, nil
		}
		ids = append(ids, w.WorkflowID)
	}
	for _, b := range broken {
		if b.Stem() == id {
			return workflow{}, toolfold.Errorf(workspace.FileBroken, "workflow %q cannot be used: %s", shorten.Quoted(id), b.Text()).
				WithHint("mend the file")
		}
	}
	e := toolfold.Errorf(NotFound, "there is no workflow %q", shorten.Quoted(id))
	near := suggest.Nearest(id, ids)
	switch {
	case near != "":
		return workflow{}, e.WithHint("did you mean %q?", near)
	case len(ids) == 0:
		return workflow{}, e.WithHint("there are no workflows; they are files, such as %s/count-notes.yaml: %s", Folder, sample)
	case len(ids) > fewIDs:
		return workflow{}, e.WithHint("there are %s and more: workflow.list", strings.Join(ids[:fewIDs], ", "))
	}
	return workflow{}, e.WithHint("there are %s", strings.Join(ids, ", "))
}

// sample is the workflow file in the example of workflow.run.
const sample = `{name: Count notes, steps: [{stepId: count, type: tool, config: {tool: memory.list,` +
	` arguments: {prefix: "{{ input.prefix }}", limit: 1}}}]}`

// fewIDs limits the workflows that an error names.
const fewIDs = 5

// List lists workflows, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.After("workflow.list")
	if err != nil {
		return ListOut{}, err
	}
	list, broken, err := s.load(ctx)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Workflows: []Item{}}
	if after == "" { // once, not on every page
		out.Broken = workspace.Brief(Folder, broken)
	}
	list = slices.DeleteFunc(list, func(w workflow) bool { return in.Status != "" && in.Status != w.Status })
	out.Total = len(list)
	list = slices.DeleteFunc(list, func(w workflow) bool { return w.WorkflowID <= after })
	list, out.Paged = toolfold.CutPage(list, in.Limit, func(last workflow) string { return toolfold.CursorOf(last.WorkflowID) })
	for _, w := range list {
		out.Workflows = append(out.Workflows, Item{
			ID: w.WorkflowID, Name: w.Name, Version: w.Version, Status: w.Status, StepCount: len(w.steps),
			Trusted: s.folder.Mark(workspace.InFile),
		})
	}
	return out, nil
}

// Describe reads a workflow.
func (s *Service) Describe(ctx context.Context, in DescribeIn) (DescribeOut, error) {
	w, err := s.find(ctx, in.WorkflowID)
	if err != nil {
		return DescribeOut{}, err
	}
	return s.describe(w), nil
}

func (s *Service) describe(w workflow) DescribeOut {
	out := DescribeOut{
		ID: w.WorkflowID, Name: w.Name, Version: w.Version, Description: w.Description,
		Status: w.Status, InputSchema: w.InputSchema, File: w.file, Trusted: s.folder.Mark(workspace.InFile),
	}
	if out.InputSchema == nil {
		out.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	for _, step := range w.steps {
		step.Name = cmp.Or(step.Name, step.StepID)
		out.Steps = append(out.Steps, step)
	}
	return out
}

// Runnable returns the active workflows of a trusted workspace, sorted by id; other workspaces have
// no runnable workflows.
func (s *Service) Runnable(ctx context.Context) ([]DescribeOut, error) {
	if !s.folder.IsTrusted() {
		return nil, nil
	}
	list, _, err := s.load(ctx)
	var runnable []DescribeOut
	for _, w := range list {
		if w.Status == Active {
			runnable = append(runnable, s.describe(w))
		}
	}
	return runnable, err
}

// Check reads a definition like a workflow file and lists all its faults, including faults that a
// run would meet only in a step. It stores nothing.
func (s *Service) Check(ctx context.Context, in CheckIn) (CheckOut, error) {
	text, isText := []byte(in.Definition), false
	var written string
	if isText = json.Unmarshal(in.Definition, &written) == nil; isText {
		text = []byte(written)
	}
	if len(text) > maxFileSize {
		return CheckOut{}, toolfold.Errorf(toolfold.InvalidInput, "definition has %d bytes, the limit of a file is %d", len(text), maxFileSize).
			About(toolfold.ProblemRefused, "definition")
	}
	doc, broken := workspace.Parse("definition.yaml", text)
	if broken != nil {
		found := engine.LocatedFault{Kind: toolfold.ProblemFormat}
		if isText {
			found.Line, found.Column = broken.Line, broken.Column
		}
		return CheckOut{Reason: broken.Reason, Problems: []engine.LocatedFault{found}, Message: mendIt}, nil
	}
	w, faults := read(doc)
	judged, unjudged, warnings := s.judge(ctx, w)
	faults = append(faults, judged...)
	out := CheckOut{Valid: len(faults) == 0, Unjudged: unjudged}
	if out.Valid {
		out.Message = "save it as " + Folder + "/ID.yaml; workflow.run calls it by ID"
		if len(warnings) > 0 {
			out.Message += "; but " + strings.Join(warnings, "; ")
		}
		return out, nil
	}
	more := 0
	out.Problems, more = faults.Locate(doc, isText)
	out.Reason, out.Message = faults.AsBroken(doc).Reason, mendIt
	if more > 0 {
		out.Message = fmt.Sprintf("%d more problems are not shown: %s", more, mendIt)
	}
	return out, nil
}

const mendIt = "mend it and check it again"

// judge returns all faults in the steps of a workflow, the calls that cannot be checked, and
// warnings about providers of models.
func (s *Service) judge(ctx context.Context, w workflow) (faults engine.Faults, unjudged, warnings []string) {
	verdict := engine.Judge(ctx, w.definition(), s.tools, s.runner.Caller, w.reference())
	if len(verdict.Faults) == 0 {
		program, _ := engine.Compile(w.definition(), nil)
		faults, warnings = s.runner.Providers.Check(program)
		codes, more := s.judgeCodes(ctx, w)
		faults, verdict.Unjudged = append(faults, codes...), append(verdict.Unjudged, more...)
	}
	return slices.Concat(verdict.Faults, verdict.Absent, faults), verdict.Unjudged, warnings
}

// judgeCodes returns the faults of the scripts in a workflow, and the scripts that cannot be checked.
func (s *Service) judgeCodes(ctx context.Context, w workflow) (faults engine.Faults, unjudged []string) {
	if s.CheckCode == nil {
		return nil, nil
	}
	uses, _ := engine.Check(w.definition())
	for _, c := range uses.Codes() {
		err := s.CheckCode(ctx, c.Source)
		refused, ok := errors.AsType[*toolfold.Error](err)
		switch {
		case err == nil:
		case ok:
			faults = append(faults, engine.Fault{Step: c.Step, Problem: toolfold.Problem{
				Path: c.At, Kind: toolfold.ProblemFormat, Want: "script that can run: " + refused.Message,
			}})
		default:
			unjudged = append(unjudged, fmt.Sprintf("the script of step %s: %v", shorten.Quoted(c.Step), err))
		}
	}
	return faults, unjudged
}

// dryRun describes a run that does not start.
func (s *Service) dryRun(ctx context.Context, w workflow) RunOut {
	faults, unjudged, warnings := s.judge(ctx, w)
	dry := &DryRun{Unjudged: unjudged}
	more := 0
	if dry.Problems, more = faults.Locate(w.places, false); more > 0 {
		warnings = append(warnings, fmt.Sprintf("%d more problems are not shown", more))
	}
	dry.Message = strings.Join(warnings, "; ")
	if program, wrong := engine.Compile(w.definition(), s.tools); len(wrong) == 0 {
		plan := program.Plan(ctx, s.tools, s.runner.Caller, w.reference())
		dry.Plan, dry.Unknown = plan.Steps, plan.Unknown
		if len(plan.Unknown) == 0 {
			dry.ModelCalls = &plan.ModelCalls
		}
	}
	return RunOut{Success: len(faults) == 0, WorkflowID: w.WorkflowID, StepResults: []engine.StepResult{}, DryRun: dry}
}

// Run runs a workflow. A run that cannot start is an error. A failed step is a result with the
// failure and the earlier outputs. A dry run neither runs nor stores anything.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	w, raw, err := s.begin(ctx, in)
	if err != nil {
		return RunOut{}, err
	}
	if in.DryRun {
		return s.dryRun(ctx, w), nil
	}
	values, err := engine.Input(raw)
	if err != nil {
		return RunOut{}, err
	}
	program, faults := engine.Compile(w.definition(), s.tools)
	if len(faults) == 0 {
		faults, _ = s.runner.Providers.Check(program)
	}
	if len(faults) > 0 {
		return RunOut{}, toolfold.Errorf(workspace.FileBroken, "workflow %q cannot be used: %s", w.WorkflowID, faults.AsBroken(w.places).Text()).
			WithHint("mend the file")
	}
	ctx, refused := engine.Enter(ctx, engine.WorkflowJob, w.WorkflowID, -1)
	if refused != nil {
		return RunOut{}, refused
	}
	r := s.runner.Run(ctx, engine.Job{Kind: engine.WorkflowJob, ID: w.WorkflowID, Program: program, Input: values})
	out := RunOut{
		Success: r.Failure == nil, WorkflowID: w.WorkflowID, StepsCompleted: r.Completed, Output: r.Last,
		StepResults: r.Steps, TotalDurationMs: r.DurationMs, Error: r.Failure,
	}
	if r.Failure != nil {
		out.Output = r.Outputs
	}
	if out.StepResults == nil {
		out.StepResults = []engine.StepResult{}
	}
	return out, nil
}

// Complete returns the arguments of a run. If the input is incomplete, the user adds the missing
// values.
func (s *Service) Complete(ctx context.Context, in RunIn) (RunIn, error) {
	_, raw, err := s.begin(ctx, in)
	in.Input = raw
	return in, err
}

// begin returns the workflow of a run and its input.
func (s *Service) begin(ctx context.Context, in RunIn) (w workflow, input json.RawMessage, err error) {
	if w, err = s.findToRun(ctx, in.WorkflowID); err != nil {
		return workflow{}, nil, err
	}
	if !s.folder.IsTrusted() {
		return workflow{}, nil, toolfold.Errorf(workspace.Untrusted, "workflow %q is the file %s of a workspace that is not trusted",
			w.WorkflowID, w.file).
			WithHint("%s", s.folder.HowToTrust())
	}
	if w.Status != Active {
		return workflow{}, nil, toolfold.Errorf(NotActive, "workflow %q is %s, and only active ones run", w.WorkflowID, w.Status).
			WithHint("set status: active in %s", w.file)
	}
	if in.DryRun {
		ctx = callctx.WithoutUser(ctx) // an incomplete input is an error
	}
	input, err = w.input(ctx, in.Input)
	return w, input, err
}

// findToRun returns the workflow for a run. A task uses the workflow at its submission, as long as
// its id still exists. The current file decides whether it is active, unless that file is broken at
// the moment.
func (s *Service) findToRun(ctx context.Context, id string) (workflow, error) {
	present, err := s.find(ctx, id)
	definition, pinned := work.Pinned(ctx, work.Reference{Kind: work.Workflow, ID: id})
	if !pinned {
		return present, err
	}
	var then DescribeOut
	if err := json.Unmarshal(definition, &then); err != nil {
		return workflow{}, fmt.Errorf("decoding workflow of a task: %w", err)
	}
	if refused, ok := errors.AsType[*toolfold.Error](err); ok && refused.Code == workspace.FileBroken {
		present, err = workflow{Status: Active, file: then.File}, nil
	}
	if err != nil {
		return workflow{}, err
	}
	schema, err := workspace.BoundSchema(then.InputSchema)
	if err != nil {
		return workflow{}, fmt.Errorf("reading inputSchema of a task: %w", err)
	}
	return workflow{
		WorkflowID: then.ID, Name: then.Name, Version: then.Version, Description: then.Description, Status: present.Status,
		InputSchema: then.InputSchema, file: present.file, steps: then.Steps, schema: schema, places: present.places,
	}, nil
}

// input validates an input by the schema, after adding the schema's defaults of outermost
// properties.
func (w workflow) input(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	args, problems, err := workspace.CheckInput(ctx, w.WorkflowID, w.schema, raw)
	if form := w.missing(problems); err == nil && form != nil && ask.CanAsk(ctx) {
		if raw, err = w.complete(ctx, raw, *form); err == nil {
			args, problems, err = workspace.CheckInput(ctx, w.WorkflowID, w.schema, raw)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		e := &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems, Example: w.example()}
		return nil, e.WithHint("workflow.describe has the inputSchema of %s", w.WorkflowID)
	}
	return ordered.JSON(args)
}

// example returns a call of the workflow with a value for each required property, if the schema
// declares its type in the plain way.
func (w workflow) example() json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type    any
			Default any
			Enum    []any
		}
		Required []string
	}
	input := map[string]any{}
	if jsonx.Decode(w.InputSchema, &schema) == nil {
		byType := map[string]any{"string": "…", "integer": 1, "number": 1, "boolean": true, "array": []any{}, "object": map[string]any{}}
		for _, name := range schema.Required {
			p := schema.Properties[name]
			kind, _ := p.Type.(string) // null if several types are possible
			input[name] = byType[kind]
			if p.Default != nil {
				input[name] = p.Default
			} else if len(p.Enum) > 0 {
				input[name] = p.Enum[0]
			}
		}
	}
	return ordered.MustJSON(ordered.Map{{Key: "workflowId", Value: w.WorkflowID}, {Key: "input", Value: input}})
}
