package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
)

// The roles of a participant.
const (
	Initiator    = "initiator"
	Collaborator = "collaborator"
	Delegate     = "delegate"
)

// Session is a session as it is stored. Times are UTC in whole microseconds.
type Session struct {
	ID, Initiator, Task, Status string
	Workspace                   string          // that the session is about; may be empty
	CreatorWorkspace            string          // of the caller that made it; its callers may end it
	Metadata                    json.RawMessage // nil = none
	Summary                     string          // of a completed session; may be empty
	Failure                     *Failure        // of a failed session
	CreatedAt, UpdatedAt        time.Time
	EndedAt                     time.Time // zero while active
	HandOver                    *HandOver // that no agent has taken up; nil for none

	// Version counts how often the session was saved.
	Version int

	// Participants are in the order they first joined; each agent is there
	// once, and the initiator is the first.
	Participants []Participant
}

// Participant is an agent's membership of a session, also in the result of
// session.status.
type Participant struct {
	AgentID  string    `json:"agentId" doc:"Name of the agent."`
	Role     string    `json:"role" doc:"Agent's session role." enum:"initiator,collaborator,delegate"`
	JoinedAt time.Time `json:"joinedAt" doc:"When the agent joined, or joined again."`
	LeftAt   time.Time `json:"leftAt,omitzero" doc:"When the agent left."` // zero while present
}

// Note is a message of a participant to the others, also in the result of
// session.status.
type Note struct {
	Number  int       `json:"-"` // of the session's version that it made: later notes have higher ones
	AgentID string    `json:"agentId" doc:"Name of the agent."`
	Text    string    `json:"note" doc:"Message to other agents."`
	At      time.Time `json:"createdAt" doc:"When it was noted."`
}

// HandOver leaves a session to whoever goes on, also in the results of session.list and
// session.status.
type HandOver struct {
	AgentID string    `json:"agentId" doc:"Name of the agent."`
	To      string    `json:"to,omitempty" doc:"Who is to go on."`
	Note    string    `json:"note" doc:"Message to other agents."`
	Next    []string  `json:"next,omitempty" doc:"Next steps."`
	At      time.Time `json:"createdAt" doc:"When it was noted."`
}

// Failure describes the failure of a session.
type Failure struct {
	Code    string          `json:"code" doc:"Short name of the failure."`
	Message string          `json:"message" doc:"The failure in words."`
	TaskID  string          `json:"taskId,omitempty" doc:"Task in which it went wrong."`
	Details json.RawMessage `json:"details,omitempty" doc:"Further data." type:"object"`
}

// Store keeps sessions. Methods are safe for concurrent use, also by several
// processes.
type Store interface {
	// Create keeps a new session, at version 0.
	Create(ctx context.Context, s Session) error

	// Get returns a session; found is false where there is none.
	Get(ctx context.Context, id string) (s Session, found bool, err error)

	// Save replaces a session and raises its version, if the stored version
	// still is s.Version; otherwise it changes nothing and saved is false.
	// ID, Initiator, Task, both workspaces, Metadata and CreatedAt never change,
	// and participants are never removed.
	Save(ctx context.Context, s Session) (saved bool, err error)

	// AddNote saves a session as Save does, and a note with the new version as its
	// number.
	AddNote(ctx context.Context, s Session, n Note) (saved bool, err error)

	// Notes returns the notes of a session, the latest first, at most limit: those
	// with a number below before, where that is not zero. total counts all.
	Notes(ctx context.Context, id string, before, limit int) (list []Note, total int, err error)

	// List returns sessions, newest first, those of one moment by falling id.
	List(ctx context.Context, q Query) (Page, error)
}

// Query picks sessions. Empty texts do not filter.
type Query struct {
	Status, Initiator string
	AgentID           string // takes part and has not left
	Workspace, Except string // of this workspace, of all but this one
	HandedOver        *bool  // with a hand-over that no agent has taken up, or without; nil = all

	// Words are each in the task, the summary or a note; A to Z are equal to a to z.
	Words []string

	Limit int
	After *toolfold.Position // nil = from the newest
}

// Page is a part of a list.
type Page struct {
	Sessions []Listed
	Total    int // of all sessions that the query picks, After and Limit aside
}

// Listed is a session as session.list shows it. The store leaves Stale out.
type Listed struct {
	ID        string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	Initiator string    `json:"initiator" doc:"Agent that opened the session."`
	Task      string    `json:"task" doc:"Task of the session."`
	Status    string    `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	Present   int       `json:"participantCount" doc:"Agents present."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was opened."`
	Stale     bool      `json:"stale,omitempty" doc:"Active, but unchanged for a day."`
	Workspace string    `json:"workspace,omitempty" doc:"Workspace of the session, if it is another one."`
	UpdatedAt time.Time `json:"-"`

	// HandOver is nil for a session that is in the hands of its agents.
	HandOver *HandOver `json:"handover,omitempty" doc:"Handed over: session.join takes it up."`

	part int // of the list that it is in
}
