package workflow

import (
	"encoding/json"

	"github.com/toolfold/toolfold/engine"
)

// RunIn are the arguments of workflow.run.
type RunIn struct {
	WorkflowID string          `json:"workflowId"`
	Input      json.RawMessage `json:"input"`
}

// RunOut is the result of workflow.run.
type RunOut struct {
	Success         bool                `json:"success"`
	WorkflowID      string              `json:"workflowId"`
	StepsCompleted  int                 `json:"stepsCompleted"`
	Output          any                 `json:"output"`
	StepResults     []engine.StepResult `json:"stepResults"`
	TotalDurationMs int64               `json:"totalDurationMs"`
	Error           *engine.Failure     `json:"error,omitempty"`
}

// ListIn are the arguments of workflow.list.
type ListIn struct {
	Status string `json:"status"`
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// ListOut is the result of workflow.list.
type ListOut struct {
	Workflows  []Item          `json:"workflows"`
	Total      int             `json:"total"`
	HasMore    bool            `json:"hasMore"`
	NextCursor string          `json:"nextCursor,omitempty"`
	Broken     []engine.Broken `json:"broken,omitempty"`
}

// Item is a workflow as workflow.list shows it.
type Item struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Status    string `json:"status"`
	StepCount int    `json:"stepCount"`
}

// DescribeIn are the arguments of workflow.describe.
type DescribeIn struct {
	WorkflowID string `json:"workflowId"`
}

// DescribeOut is the result of workflow.describe.
type DescribeOut struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Status      string          `json:"status"`
	Steps       []Step          `json:"steps"`
	InputSchema json.RawMessage `json:"inputSchema"`
	File        string          `json:"file"`
}

// Step is a step as workflow.describe shows it.
type Step struct {
	StepID      string          `json:"stepId"`
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"`
	DependsOn   []string        `json:"dependsOn,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
}
