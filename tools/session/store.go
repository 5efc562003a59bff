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

// Session is a stored session. Times are UTC in whole microseconds.
type Session struct {
	ID, Initiator, Task, Status string
	Workspace                   string          // workspace of the session; may be empty
	CreatorWorkspace            string          // workspace of the creator; its callers may end the session
	Metadata                    json.RawMessage // nil = no metadata
	Summary                     string          // of a completed session; may be empty
	Failure                     *Failure        // of a failed session
	CreatedAt, UpdatedAt        time.Time
	EndedAt                     time.Time // zero while active
	HandOver                    *HandOver // not taken up yet; nil = no hand-over

	// Version counts how often the session was saved.
	Version int

	// Participants has each agent once, in the order of their first joining; the initiator is
	// first.
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

// Note is a message of a participant to the other participants, also in the result of
// session.status.
type Note struct {
	Number  int       `json:"-"` // session version after the note: later notes have higher numbers
	AgentID string    `json:"agentId" doc:"Name of the agent."`
	Text    string    `json:"note" doc:"Message to other agents."`
	At      time.Time `json:"createdAt" doc:"When it was noted."`
}

// HandOver leaves a session to a successor. It is also in the results of session.list and
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

// Store stores sessions. Methods are safe for concurrent use, also by several processes.
type Store interface {
	// Create stores a new session, with version 0.
	Create(ctx context.Context, s Session) error

	// Get returns a session; found is false if there is no such session.
	Get(ctx context.Context, id string) (s Session, found bool, err error)

	// Save replaces a session and increments its version if the stored version is s.Version.
	// Otherwise it changes nothing, and saved is false. ID, Initiator, Task, both workspaces,
	// Metadata and CreatedAt never change, and participants are never removed.
	Save(ctx context.Context, s Session) (saved bool, err error)

	// AddNote saves a session as Save does, and adds a note whose number is the new version.
	AddNote(ctx context.Context, s Session, n Note) (saved bool, err error)

	// Notes returns at most limit notes of a session, latest first. If before is not zero, their
	// numbers are below it. total counts all notes.
	Notes(ctx context.Context, id string, before, limit int) (list []Note, total int, err error)

	// List returns sessions by descending creation time, then by descending id.
	List(ctx context.Context, q Query) (Page, error)
}

// Query selects sessions. Empty fields do not filter.
type Query struct {
	Status, Initiator string
	AgentID           string // a present participant

	// Only these workspaces; all workspaces except these. A workspace is several if it has a path.
	Workspaces, Except []string
	HandedOver         *bool // with or without a pending hand-over; nil = all

	// Words must each be in the task, the summary or a note. The letters A to Z match a to z.
	Words []string

	Limit int
	After *toolfold.Position // nil = from the newest on
}

// Page is a part of a list.
type Page struct {
	Sessions []Item
	Total    int // all selected sessions, ignoring After and Limit
}

// Item is a session in session.list. The store does not set Stale.
type Item struct {
	ID        string    `json:"sessionId" doc:"Session ID." format:"uuid"`
	Initiator string    `json:"initiator" doc:"Agent that opened the session."`
	Task      string    `json:"task" doc:"Task of the session."`
	Status    string    `json:"status" doc:"State of the session." enum:"active,completed,failed"`
	Present   int       `json:"participantCount" doc:"Agents present."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was opened."`
	Stale     bool      `json:"stale,omitempty" doc:"Active, but unchanged for a day."`
	Workspace string    `json:"workspace,omitempty" doc:"Workspace of the session, if it is another one."`
	UpdatedAt time.Time `json:"-"`

	// HandOver is nil if no hand-over is pending.
	HandOver *HandOver `json:"handover,omitempty" doc:"Handed over: session.join takes it up."`

	part int // index of its part of the list
}
