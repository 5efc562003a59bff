package session

import (
	"encoding/json"
	"time"
)

// CreateIn are the arguments of session.create.
type CreateIn struct {
	Initiator string          `json:"initiator"`
	Task      string          `json:"task"`
	Workspace string          `json:"workspace"`
	Metadata  json.RawMessage `json:"metadata"`
}

// CreateOut is the result of session.create.
type CreateOut struct {
	SessionID string    `json:"sessionId"`
	Initiator string    `json:"initiator"`
	Task      string    `json:"task"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	Workspace string    `json:"workspace,omitempty"`
}

// StatusIn are the arguments of session.status.
type StatusIn struct {
	SessionID string `json:"sessionId"`
}

// StatusOut is the result of session.status.
type StatusOut struct {
	SessionID    string          `json:"sessionId"`
	Status       string          `json:"status"`
	Initiator    string          `json:"initiator"`
	Task         string          `json:"task"`
	Participants []Member        `json:"participants"`
	CreatedAt    time.Time       `json:"createdAt"`
	UpdatedAt    time.Time       `json:"updatedAt"`
	CompletedAt  *time.Time      `json:"completedAt,omitempty"`
	FailedAt     *time.Time      `json:"failedAt,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	Workspace    string          `json:"workspace,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
}

// Member is a participant as session.status shows it.
type Member struct {
	AgentID  string     `json:"agentId"`
	Role     string     `json:"role"`
	JoinedAt time.Time  `json:"joinedAt"`
	LeftAt   *time.Time `json:"leftAt,omitempty"`
}

// CompleteIn are the arguments of session.complete.
type CompleteIn struct {
	SessionID string `json:"sessionId"`
	Summary   string `json:"summary"`
}

// CompleteOut is the result of session.complete.
type CompleteOut struct {
	SessionID   string    `json:"sessionId"`
	Status      string    `json:"status"`
	CompletedAt time.Time `json:"completedAt"`
	Summary     string    `json:"summary,omitempty"`
}

// ListIn are the arguments of session.list.
type ListIn struct {
	Status    string `json:"status"`
	Initiator string `json:"initiator"`
	Limit     int    `json:"limit"`
	Cursor    string `json:"cursor"`
}

// ListOut is the result of session.list.
type ListOut struct {
	Sessions   []Item `json:"sessions"`
	Total      int    `json:"total"`
	HasMore    bool   `json:"hasMore"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// Item is a session as session.list shows it.
type Item struct {
	SessionID        string    `json:"sessionId"`
	Initiator        string    `json:"initiator"`
	Task             string    `json:"task"`
	Status           string    `json:"status"`
	ParticipantCount int       `json:"participantCount"`
	CreatedAt        time.Time `json:"createdAt"`
}

// JoinIn are the arguments of session.join.
type JoinIn struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
	Role      string `json:"role"`
}

// JoinOut is the result of session.join.
type JoinOut struct {
	SessionID        string    `json:"sessionId"`
	AgentID          string    `json:"agentId"`
	Role             string    `json:"role"`
	JoinedAt         time.Time `json:"joinedAt"`
	ParticipantCount int       `json:"participantCount"`
}

// LeaveIn are the arguments of session.leave.
type LeaveIn struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
}

// LeaveOut is the result of session.leave.
type LeaveOut struct {
	SessionID             string    `json:"sessionId"`
	AgentID               string    `json:"agentId"`
	LeftAt                time.Time `json:"leftAt"`
	RemainingParticipants int       `json:"remainingParticipants"`
}

// FailIn are the arguments of session.fail.
type FailIn struct {
	SessionID string  `json:"sessionId"`
	Error     Failure `json:"error"`
}

// FailOut is the result of session.fail.
type FailOut struct {
	SessionID string    `json:"sessionId"`
	Status    string    `json:"status"`
	FailedAt  time.Time `json:"failedAt"`
	Error     Failure   `json:"error"`
}
