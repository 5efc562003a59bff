package agent

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/engine"
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
	Registered bool      `json:"registered"`
	AgentID    string    `json:"agentId"`
	Message    string    `json:"message"`
	CreatedAt  time.Time `json:"createdAt"`
}

// ListIn are the arguments of agent.list.
type ListIn struct {
	Team    string `json:"team"`
	Enabled *bool  `json:"enabled"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
}

// ListOut is the result of agent.list.
type ListOut struct {
	Agents     []Item          `json:"agents"`
	Total      int             `json:"total"`
	HasMore    bool            `json:"hasMore"`
	NextCursor string          `json:"nextCursor,omitempty"`
	Broken     []engine.Broken `json:"broken,omitempty"`
}

// Item is an agent as agent.list shows it.
type Item struct {
	AgentID      string   `json:"agentId"`
	DisplayName  string   `json:"displayName,omitempty"`
	Description  string   `json:"description"`
	Team         string   `json:"team,omitempty"`
	Enabled      bool     `json:"enabled"`
	Capabilities []string `json:"capabilities,omitempty"`
}

// RunIn are the arguments of agent.run.
type RunIn struct {
	AgentID   string          `json:"agentId"`
	Input     json.RawMessage `json:"input"`
	SessionID string          `json:"sessionId"`
}

// RunOut is the result of agent.run.
type RunOut struct {
	Success         bool                `json:"success"`
	AgentID         string              `json:"agentId"`
	SessionID       string              `json:"sessionId,omitempty"`
	Output          map[string]any      `json:"output"`
	StepResults     []engine.StepResult `json:"stepResults"`
	TotalDurationMs int64               `json:"totalDurationMs"`
	Error           *engine.Failure     `json:"error,omitempty"`
}

// GetIn are the arguments of agent.get.
type GetIn struct {
	AgentID string `json:"agentId"`
}

// GetOut is the result of agent.get.
type GetOut struct {
	AgentID       string         `json:"agentId"`
	DisplayName   string         `json:"displayName,omitempty"`
	Version       string         `json:"version,omitempty"`
	Description   string         `json:"description"`
	Role          string         `json:"role,omitempty"`
	Expertise     []string       `json:"expertise,omitempty"`
	Capabilities  []string       `json:"capabilities,omitempty"`
	Team          string         `json:"team,omitempty"`
	Tags          []string       `json:"tags,omitempty"`
	Enabled       bool           `json:"enabled"`
	SystemPrompt  string         `json:"systemPrompt,omitempty"`
	Workflow      []engine.Step  `json:"workflow,omitempty"`
	Orchestration *Orchestration `json:"orchestration,omitempty"`
	Source        string         `json:"source"`
	CreatedAt     *time.Time     `json:"createdAt,omitempty"`
}

// RemoveIn are the arguments of agent.remove.
type RemoveIn struct {
	AgentID string `json:"agentId"`
}

// RemoveOut is the result of agent.remove.
type RemoveOut struct {
	Removed bool   `json:"removed"`
	AgentID string `json:"agentId"`
	Message string `json:"message"`
}
