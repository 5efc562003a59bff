package workflow

import (
	"encoding/json"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// RunIn are the arguments of workflow.run.
type RunIn struct {
	WorkflowID string          `json:"workflowId"`
	Input      json.RawMessage `json:"input"`
	DryRun     bool            `json:"dryRun"`
}

// RunOut is the result of workflow.run.
type RunOut struct {
	Error           *engine.Failure     `json:"error,omitempty" doc:"Why it stopped."`
	Success         bool                `json:"success" doc:"Whether it ran to its end; with dryRun, has no problems."`
	WorkflowID      string              `json:"workflowId" doc:"Workflow ID."`
	StepsCompleted  int                 `json:"stepsCompleted" doc:"Outermost steps that succeeded."`
	Output          any                 `json:"output" doc:"Output of the last step; if one failed, the outputs so far by stepId."`
	StepResults     []engine.StepResult `json:"stepResults" doc:"Outermost steps that ran."`
	TotalDurationMs int64               `json:"totalDurationMs" doc:"How long it took."`
	DryRun          *DryRun             `json:"dryRun,omitempty" doc:"With dryRun: what a run would do."`
}

// DryRun describes a run before it starts.
type DryRun struct {
	Plan       []engine.PlannedStep  `json:"plan,omitempty" doc:"Steps in order; absent if a problem prevents a run."`
	ModelCalls *int                  `json:"modelCalls,omitempty" doc:"At most; absent if unknown."`
	Unknown    []string              `json:"unknown,omitempty" doc:"Why modelCalls is unknown."`
	Problems   []engine.LocatedFault `json:"problems,omitempty" doc:"All problems."`
	Unjudged   []string              `json:"unjudged,omitempty" doc:"What could not be checked, and why."`
	Message    string                `json:"message,omitempty" doc:"Warnings."`
}

// Failed implements [toolfold.Failing]. A dry run that finds problems has not failed.
func (o RunOut) Failed() bool { return !o.Success && o.DryRun == nil }

// ListIn are the arguments of workflow.list.
type ListIn struct {
	Status string `json:"status"`
	toolfold.Page
}

// ListOut is the result of workflow.list.
type ListOut struct {
	Workflows []Item `json:"workflows" doc:"By ID."`
	Total     int    `json:"total" doc:"Workflows that match, on all pages."`
	toolfold.Paged
	Broken []workspace.BrokenFile `json:"broken,omitempty" doc:"Files that cannot be used."`
}

// Item is a workflow in workflow.list.
type Item struct {
	ID        string `json:"id" doc:"Workflow ID."`
	Name      string `json:"name" doc:"Title."`
	Version   string `json:"version" doc:"Version."`
	Status    string `json:"status" doc:"State; only active ones run." enum:"active,inactive,draft"`
	StepCount int    `json:"stepCount" doc:"Outermost steps."`
	Trusted   *bool  `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."` // false or nil
}

// CheckIn are the arguments of workflow.check.
type CheckIn struct {
	Definition json.RawMessage `json:"definition"`
}

// CheckOut is the result of workflow.check.
type CheckOut struct {
	Valid    bool                  `json:"valid" doc:"Whether it has no problems."`
	Reason   string                `json:"reason,omitempty" doc:"Why it is invalid."`
	Problems []engine.LocatedFault `json:"problems,omitempty" doc:"All problems, in the order of the text."`
	Unjudged []string              `json:"unjudged,omitempty" doc:"What could not be checked, and why."`
	Message  string                `json:"message" doc:"Next step."`
}

// DescribeIn are the arguments of workflow.describe.
type DescribeIn struct {
	WorkflowID string `json:"workflowId"`
}

// DescribeOut is the result of workflow.describe.
type DescribeOut struct {
	ID          string          `json:"id" doc:"Workflow ID."`
	Name        string          `json:"name" doc:"Title."`
	Version     string          `json:"version" doc:"Version."`
	Description string          `json:"description" doc:"Its purpose."`
	Status      string          `json:"status" doc:"State; only active ones run." enum:"active,inactive,draft"`
	Steps       []engine.Step   `json:"steps" doc:"Outermost steps."`
	InputSchema json.RawMessage `json:"inputSchema" doc:"JSON Schema of input." type:"object"`
	File        string          `json:"file" doc:"Path in the workspace."`
	// false or nil
	Trusted *bool `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."`
}
