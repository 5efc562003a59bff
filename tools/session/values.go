package session

import (
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
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
	SessionID string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	Initiator string    `json:"initiator" doc:"Agent that opened the session."`
	Task      string    `json:"task" doc:"Task of the session."`
	Status    string    `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	CreatedAt time.Time `json:"createdAt" doc:"When it was opened."`
	Workspace string    `json:"workspace,omitempty" doc:"Folder or project of the session."`
}

// StatusIn are the arguments of session.status.
type StatusIn struct {
	SessionID string `json:"sessionId"`
	toolfold.Page
}

// StatusOut is the result of session.status.
type StatusOut struct {
	SessionID    string          `json:"sessionId" doc:"Session ID." format:"uuid"`
	Status       string          `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	Initiator    string          `json:"initiator" doc:"Agent that opened the session."`
	Task         string          `json:"task" doc:"Task of the session."`
	Participants []Participant   `json:"participants" doc:"Agents in joining order."`
	CreatedAt    time.Time       `json:"createdAt" doc:"When it was opened."`
	UpdatedAt    time.Time       `json:"updatedAt" doc:"When it last changed."`
	CompletedAt  *time.Time      `json:"completedAt,omitempty" doc:"When it was completed."`
	FailedAt     *time.Time      `json:"failedAt,omitempty" doc:"When it failed."`
	Summary      string          `json:"summary,omitempty" doc:"The result."`
	Error        *Failure        `json:"error,omitempty" doc:"Why it failed."`
	Workspace    string          `json:"workspace,omitempty" doc:"Folder or project of the session."`
	Metadata     json.RawMessage `json:"metadata,omitempty" doc:"Anything to keep with the session." type:"object"`

	HandOver *HandOver `json:"handover,omitempty" doc:"Handed over: session.join takes it up."`

	Stale      bool   `json:"stale,omitempty" doc:"Active, but unchanged for a day."`
	NoteCount  int    `json:"noteCount,omitempty" doc:"Notes of the session."`
	Notes      []Note `json:"notes,omitempty" doc:"Latest first."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of earlier notes."`
}

// BindCursor works like the method of [toolfold.Paged].
func (s *StatusOut) BindCursor(bind func(cursor string) string) {
	if s.NextCursor != "" {
		s.NextCursor = bind(s.NextCursor)
	}
}

// NoteIn are the arguments of session.note.
type NoteIn struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
	Note      string `json:"note"`

	// Each of these fields makes the note a hand-over.
	HandOver bool     `json:"handover"`
	Next     []string `json:"next"`
	To       string   `json:"to"`
}

// NoteOut is the result of session.note.
type NoteOut struct {
	SessionID string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	AgentID   string    `json:"agentId" doc:"Name of the agent."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was noted."`
}

// CompleteIn are the arguments of session.complete.
type CompleteIn struct {
	SessionID string `json:"sessionId"`
	Summary   string `json:"summary"`
	AgentID   string `json:"agentId"` // may be empty
}

// CompleteOut is the result of session.complete.
type CompleteOut struct {
	SessionID   string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	Status      string    `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	CompletedAt time.Time `json:"completedAt" doc:"When it was completed."`
	Summary     string    `json:"summary,omitempty" doc:"The result."`
}

// ListIn are the arguments of session.list.
type ListIn struct {
	Status    string `json:"status"`
	Initiator string `json:"initiator"`
	AgentID   string `json:"agentId"`
	Workspace string `json:"workspace"`
	Query     string `json:"query"`
	toolfold.Page
}

// ListOut is the result of session.list.
type ListOut struct {
	Sessions []Item `json:"sessions" doc:"Handed over first, then of this workspace, then others."`
	Total    int    `json:"total" doc:"Sessions that match, on all pages."`
	Message  string `json:"message,omitempty" doc:"Next step if no session matches."`
	toolfold.Paged
}

// JoinIn are the arguments of session.join.
type JoinIn struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
	Role      string `json:"role"`
}

// JoinOut is the result of session.join.
type JoinOut struct {
	SessionID        string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	AgentID          string    `json:"agentId" doc:"Name of the agent."`
	Role             string    `json:"role" doc:"Agent's session role." enum:"initiator,collaborator,delegate"`
	JoinedAt         time.Time `json:"joinedAt" doc:"When the agent joined, or joined again."`
	ParticipantCount int       `json:"participantCount" doc:"Agents present."`
}

// LeaveIn are the arguments of session.leave.
type LeaveIn struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
}

// LeaveOut is the result of session.leave.
type LeaveOut struct {
	SessionID             string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	AgentID               string    `json:"agentId" doc:"Name of the agent."`
	LeftAt                time.Time `json:"leftAt" doc:"When the agent left."`
	RemainingParticipants int       `json:"remainingParticipants" doc:"Agents still present."`
}

// FailIn are the arguments of session.fail.
type FailIn struct {
	SessionID string  `json:"sessionId"`
	Error     Failure `json:"error"`
	AgentID   string  `json:"agentId"` // may be empty
}

// FailOut is the result of session.fail.
type FailOut struct {
	SessionID string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	Status    string    `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	FailedAt  time.Time `json:"failedAt" doc:"When it failed."`
	Error     Failure   `json:"error" doc:"Why it failed."`
}
