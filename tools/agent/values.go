package agent

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// RegisterIn are the arguments of agent.register.
type RegisterIn struct {
	AgentID      string            `json:"agentId"`
	Description  string            `json:"description"`
	DisplayName  string            `json:"displayName"`
	Capabilities []string          `json:"capabilities"`
	Team         string            `json:"team"`
	Tags         []string          `json:"tags"`
	SystemPrompt string            `json:"systemPrompt"`
	Workflow     []json.RawMessage `json:"workflow"`
	Enabled      bool              `json:"enabled"`
}

// RegisterOut is the result of agent.register.
type RegisterOut struct {
	Registered bool      `json:"registered" doc:"Always true; failures are errors."`
	AgentID    string    `json:"agentId" doc:"Agent ID."`
	Message    string    `json:"message" doc:"Outcome in words."`
	CreatedAt  time.Time `json:"createdAt" doc:"When it was registered."`
}

// UpdateIn are the arguments of agent.update. Nil members do not change.
type UpdateIn struct {
	AgentID      string             `json:"agentId"`
	Description  *string            `json:"description"`
	DisplayName  *string            `json:"displayName"`
	Capabilities *[]string          `json:"capabilities"`
	Team         *string            `json:"team"`
	Tags         *[]string          `json:"tags"`
	SystemPrompt *string            `json:"systemPrompt"`
	Workflow     *[]json.RawMessage `json:"workflow"`
	Enabled      *bool              `json:"enabled"`
}

// UpdateOut is the result of agent.update.
type UpdateOut struct {
	Updated bool   `json:"updated" doc:"Always true; failures are errors."`
	AgentID string `json:"agentId" doc:"Agent ID."`
	Message string `json:"message" doc:"Outcome in words."`
}

// ListIn are the arguments of agent.list.
type ListIn struct {
	Team    string `json:"team"`
	Enabled *bool  `json:"enabled"`
	toolfold.Page
}

// ListOut is the result of agent.list.
type ListOut struct {
	Agents []Item `json:"agents" doc:"By ID."`
	Total  int    `json:"total" doc:"Agents that match, on all pages."`
	toolfold.Paged
	Broken []workspace.BrokenFile `json:"broken,omitempty" doc:"Agent files that cannot be used."`
}

// Item is an agent in agent.list, with the start of its description.
type Item struct {
	AgentID      string   `json:"agentId" doc:"Agent ID."`
	DisplayName  string   `json:"displayName,omitempty" doc:"Name for people."`
	Description  string   `json:"description" doc:"Its purpose."`
	Team         string   `json:"team,omitempty" doc:"Team."`
	Enabled      bool     `json:"enabled" doc:"Whether runs are allowed."`
	Capabilities []string `json:"capabilities,omitempty" doc:"Skills."`
	Trusted      *bool    `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."` // false or nil
}

// RunIn are the arguments of agent.run.
type RunIn struct {
	AgentID   string          `json:"agentId"`
	Input     json.RawMessage `json:"input"`
	SessionID string          `json:"sessionId"`
}

// RunOut is the result of agent.run.
type RunOut struct {
	Error           *engine.Failure     `json:"error,omitempty" doc:"Why it stopped."`
	Success         bool                `json:"success" doc:"Whether it ran to its end."`
	AgentID         string              `json:"agentId" doc:"Agent ID."`
	Source          string              `json:"source" doc:"Its origin; registered precedes file." enum:"registered,file"`
	SessionID       string              `json:"sessionId,omitempty" doc:"Active session to join." format:"uuid"`
	Output          map[string]any      `json:"output" doc:"Outputs by stepId, also of a failing step so far."`
	StepResults     []engine.StepResult `json:"stepResults" doc:"Steps that ran."`
	Abilities       []Ability           `json:"abilities,omitempty" doc:"Those in system prompts of this run."`
	TotalDurationMs int64               `json:"totalDurationMs" doc:"How long it took."`
}

// Failed implements [toolfold.Failing].
func (o RunOut) Failed() bool { return !o.Success }

// Ability is an ability in a system prompt.
type Ability struct {
	AbilityID string `json:"abilityId" doc:"Ability ID."`
	Tokens    int    `json:"tokens" doc:"Tokens of its text."`
}

// GetIn are the arguments of agent.get.
type GetIn struct {
	AgentID string `json:"agentId"`
}

// RemoveIn are the arguments of agent.remove.
type RemoveIn struct {
	AgentID string `json:"agentId"`
}

// RemoveOut is the result of agent.remove.
type RemoveOut struct {
	Removed bool   `json:"removed" doc:"Whether one was removed."`
	AgentID string `json:"agentId" doc:"Agent ID."`
	Message string `json:"message" doc:"Outcome in words."`
}
