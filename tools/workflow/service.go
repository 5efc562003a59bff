package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
	"github.com/toolfold/toolfold/tools"
)

// Folder is where workflow files lie in the workspace.
const Folder = ".toolfold/workflows"

// Codes of what workflows refuse.
const (
	NotFound  = "WORKFLOW_NOT_FOUND"
	NotActive = "WORKFLOW_NOT_ACTIVE"
	Broken    = "WORKFLOW_FILE_BROKEN"
)

// Service runs the workflow actions. It is safe for concurrent use.
type Service struct {
	workspace string
	runner    *engine.Runner
	tools     tools.Names
}

// New returns the service for the workflows of a workspace; an empty one has
// none. Known tells which tools steps may call; nil is not checked before
// they run.
func New(workspace string, runner *engine.Runner, known tools.Names) *Service {
	return &Service{workspace, runner, known}
}

// workflow is a file that was read and checked.
type workflow struct {
	WorkflowID  string          `json:"workflowId"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Status      string          `json:"status"`
	InputSchema json.RawMessage `json:"inputSchema"`

	steps   []engine.Step
	program *engine.Program
	file    string
}

// load reads all workflows, by id, and the files that cannot be used. The
// first file of an id counts.
func (s *Service) load() ([]workflow, []engine.Broken, error) {
	files, broken, err := engine.ReadFiles(s.workspace, Folder)
	if err != nil {
		return nil, nil, fmt.Errorf("reading workflows: %w", err)
	}
	var list []workflow
	from := map[string]string{}
	for _, f := range files {
		w, wrong := s.read(f)
		if wrong == nil && from[w.WorkflowID] != "" {
			wrong = new(f.Fault("/workflowId", "workflowId %q is that of %s", w.WorkflowID, from[w.WorkflowID]))
		}
		if wrong != nil {
			broken = append(broken, *wrong)
			continue
		}
		from[w.WorkflowID] = f.Path
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b workflow) int { return strings.Compare(a.WorkflowID, b.WorkflowID) })
	return list, broken, nil
}

func (s *Service) read(f engine.File) (workflow, *engine.Broken) {
	if faults := f.Check(fileRequired, fileOptional); len(faults) > 0 {
		return workflow{}, new(f.Faults(faults))
	}
	w := workflow{WorkflowID: f.Stem(), Version: "1", Status: Active, file: f.Path}
	list, faults := engine.ParseSteps(ordered.MustJSON(f.Value["steps"]), "/steps")
	if len(faults) > 0 {
		return workflow{}, new(f.Faults(faults))
	}
	if err := f.Decode(&w); err != nil {
		return workflow{}, new(f.Fault("", "%v", err))
	}
	w.steps = list
	if len(list) == 0 {
		return workflow{}, new(f.Fault("/steps", "it has no steps"))
	}
	if len(w.InputSchema) > 0 {
		if _, err := tools.CheckSchema(w.InputSchema, map[string]any{}, ""); err != nil {
			return workflow{}, new(f.Fault("/inputSchema", "inputSchema: %v", err))
		}
	}
	w.program, faults = engine.Compile(engine.Definition{Steps: list, StepsAt: "/steps"}, s.tools)
	if len(faults) > 0 {
		return workflow{}, new(f.Faults(faults))
	}
	return w, nil
}

// find returns the workflow of an id.
func (s *Service) find(id string) (workflow, error) {
	list, broken, err := s.load()
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
			return workflow{}, tools.Errorf(Broken, "workflow %q cannot be used: %s", tools.Shorten(id), b.Text()).WithHint("mend the file")
		}
	}
	return workflow{}, unknown(id, ids)
}

// fewIDs is how many workflows an error names.
const fewIDs = 5

func unknown(id string, ids []string) error {
	e := tools.Errorf(NotFound, "there is no workflow %q", tools.Shorten(id))
	near := suggest.Nearest(id, ids)
	switch {
	case near != "":
		return e.WithHint("did you mean %q?", near)
	case len(ids) == 0:
		return e.WithHint("there are none; workflows are files in %s", Folder)
	case len(ids) > fewIDs:
		return e.WithHint("there are %s and more: workflow.list", strings.Join(ids[:fewIDs], ", "))
	}
	return e.WithHint("there are %s", strings.Join(ids, ", "))
}

// List lists workflows, a page at a time.
func (s *Service) List(_ context.Context, in ListIn) (ListOut, error) {
	list, broken, err := s.load()
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Workflows: []Item{}, Broken: broken}
	for _, w := range list {
		if in.Status != "" && in.Status != w.Status {
			continue
		}
		out.Total++
		switch {
		case w.WorkflowID <= in.Cursor:
		case len(out.Workflows) == in.Limit:
			out.HasMore = true
		default:
			out.Workflows = append(out.Workflows, Item{w.WorkflowID, w.Name, w.Version, w.Status, len(w.steps)})
		}
	}
	if out.HasMore {
		out.NextCursor = out.Workflows[in.Limit-1].ID
	}
	return out, nil
}

// Describe reads a workflow.
func (s *Service) Describe(_ context.Context, in DescribeIn) (DescribeOut, error) {
	w, err := s.find(in.WorkflowID)
	if err != nil {
		return DescribeOut{}, err
	}
	out := DescribeOut{
		ID: w.WorkflowID, Name: w.Name, Version: w.Version, Description: w.Description,
		Status: w.Status, InputSchema: w.InputSchema, File: w.file,
	}
	if out.InputSchema == nil {
		out.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	for _, step := range w.steps {
		out.Steps = append(out.Steps, Step{
			StepID: step.StepID, Name: cmp.Or(step.Name, step.StepID), Type: step.Type,
			Description: step.Description, DependsOn: step.DependsOn, Config: step.Config,
		})
	}
	return out, nil
}

// Run runs a workflow. What keeps it from starting is an error; a step that
// fails is a result that says so, with the outputs of those before.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	w, err := s.find(in.WorkflowID)
	if err != nil {
		return RunOut{}, err
	}
	if w.Status != Active {
		return RunOut{}, tools.Errorf(NotActive, "workflow %q is %s, and only active ones run", w.WorkflowID, w.Status).
			WithHint("set status: active in %s", w.file)
	}
	values, err := w.input(in.Input)
	if err != nil {
		return RunOut{}, err
	}
	ctx, refused := engine.Enter(ctx, engine.WorkflowJob, w.WorkflowID, -1)
	if refused != nil {
		return RunOut{}, refused
	}
	job := engine.Job{Kind: engine.WorkflowJob, ID: w.WorkflowID, Program: w.program, Input: values}
	return report(w, s.runner.Run(ctx, job)), nil
}

// input checks an input against the schema, with the defaults that the schema
// gives its outermost properties.
func (w workflow) input(raw json.RawMessage) (map[string]any, error) {
	args, refused := tools.ParseArgs(raw)
	if refused != nil {
		return nil, refused
	}
	if len(w.InputSchema) > 0 {
		w.defaults(args)
		problems, err := tools.CheckSchema(w.InputSchema, args, "/input")
		if err != nil {
			return nil, fmt.Errorf("checking input: %w", err)
		}
		if len(problems) > 0 {
			e := &tools.Error{Code: tools.InvalidInput, Problems: problems}
			return nil, e.WithHint("workflow.describe has the inputSchema of %s", w.WorkflowID)
		}
	}
	return engine.Input(ordered.MustJSON(args))
}

func (w workflow) defaults(args tools.Args) {
	var schema struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(w.InputSchema, &schema) != nil {
		return // its properties are of another shape, such as true
	}
	for name, p := range schema.Properties {
		if _, given := args[name]; given || len(p.Default) == 0 {
			continue
		}
		if value, refused := tools.ParseArgs([]byte(`{"default":` + string(p.Default) + `}`)); refused == nil {
			args[name] = value["default"]
		}
	}
}

func report(w workflow, r engine.Result) RunOut {
	out := RunOut{
		Success: r.Failure == nil, WorkflowID: w.WorkflowID, StepsCompleted: len(r.Outputs), Output: r.Last,
		StepResults: r.Steps, TotalDurationMs: r.DurationMs, Error: r.Failure,
	}
	if r.Failure != nil {
		out.Output = r.Outputs
	}
	if out.StepResults == nil {
		out.StepResults = []engine.StepResult{}
	}
	return out
}
