// Package session declares the session tool: a record of several agents at
// work on one task. It is bookkeeping; no agent is started.
//
// A session is active until it is completed or failed, and both are final. Its agents have a role.
// An agent that leaves stays in the record, with the time it left. Agents write notes for each
// other and for a successor.
//
// It is not a stable API: see docs/stability.md.
package session

import (
	_ "embed"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
)

var (
	sessionID = toolfold.UUID("sessionId", "Session ID.")
	initiator = toolfold.String{Name: "initiator", Doc: "Agent that opened the session.", MaxLen: 50}
	task      = toolfold.String{Name: "task", Doc: "Task of the session.", MinLen: 1, MaxLen: 5000}
	workspace = toolfold.String{Name: "workspace", Doc: "Folder or project of the session.", MaxLen: 200}
	metadata  = toolfold.Object{Name: "metadata", Doc: "Anything to keep with the session."}
	summary   = toolfold.String{Name: "summary", Doc: "The result.", MaxLen: 5000}
	status    = toolfold.String{Name: "status", Doc: "State of the session.",
		Enum: []string{work.SessionActive, work.SessionCompleted, work.SessionFailed}}
	limit   = toolfold.Int{Name: "limit", Doc: "Most entries to return.", Min: 1, Max: 100}
	agentID = toolfold.String{Name: "agentId", Doc: "Name of the agent.", MinLen: 1, MaxLen: 50}
	role    = toolfold.String{Name: "role", Doc: "Agent's session role.", Enum: []string{Collaborator, Delegate}}
	text    = toolfold.String{Name: "note", Doc: "Message to other agents.", MinLen: 1, MaxLen: 5000}
	next    = toolfold.List{Name: "next", Doc: "Next steps.", Of: toolfold.String{MinLen: 1, MaxLen: 500}, MaxItems: 20}
	to      = toolfold.String{Name: "to", Doc: "Who is to go on.", MaxLen: 50}
	over    = toolfold.Bool{Name: "handover", Doc: "Hand the session over."}
	words   = toolfold.String{Name: "query", Doc: "Words in task, summary and notes.", MaxLen: 200}
	failure = toolfold.Object{
		Name: "error", Doc: "Why it failed.", OfText: map[string]any{"code": "FAILED", "message": nil},
		Required: toolfold.Fields{
			toolfold.String{Name: "code", Doc: "Short name of the failure.", MinLen: 1},
			toolfold.String{Name: "message", Doc: "The failure in words.", MinLen: 1},
		},
		Optional: toolfold.Fields{
			toolfold.String{Name: "taskId", Doc: "Task in which it went wrong."},
			toolfold.Object{Name: "details", Doc: "Further data."},
		},
	}
)

const whoEnds = "A session that another workspace opened is ended by a participant, named in agentId."

//go:embed asks.txt
var asksText string

// Family declares the session tool.
var Family = toolfold.Family{
	Name: "session", Summary: "Agents at work on one task", Category: "sessions", Tier: toolfold.Standard,
	Words: "collaboration, team, case, engagement, war room, meeting",
	Doc:   "A session is active until completed or failed, and both are final. It starts no agent.",
	Asks:  asksText,
	Actions: []*toolfold.Action{{
		Name:     "create",
		Legacy:   toolfold.Was("session_create"),
		Summary:  "Open a session; its initiator is the first participant.",
		Words:    "start, begin, new, set up, collaborate, team, joint work, launch",
		Changed:  "Sessions are kept across restarts. Without workspace it is that of the server.",
		Required: toolfold.Fields{initiator.With(toolfold.MinLen(1)), task},
		Optional: toolfold.Fields{workspace, metadata},
		Effect:   toolfold.Adds,
		Example:  `{"initiator": "planner", "task": "Ship release 2.1"}`,
		Related:  []string{"session.join"},
		Run:      toolfold.Method((*Service).Create),
		Enters:   true,
	}, {
		Name:     "note",
		Summary:  "Leave a note for who goes on.",
		Words:    "hand over, handoff, tell the others, message, comment, progress so far, pass on, brief, log entry, write to colleagues",
		Doc:      "next, to or handover make it a hand-over: session.list shows the session first until an agent joins it.",
		Required: toolfold.Fields{sessionID, agentID, text},
		Optional: toolfold.Fields{next, to, over.With(toolfold.Default(false))},
		Effect:   toolfold.Adds,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "planner", "note": "Tag is missing."}`,
		Related:  []string{"session.status"},
		Run:      toolfold.Method((*Service).Note),
	}, {
		Name:     "status",
		Legacy:   toolfold.Was("session_status"),
		Summary:  "Show a session, its notes and how it ended.",
		Words:    "show, details, state, attendees",
		Changed:  "Shows workspace, metadata, summary, error, failedAt and leftAt. Tasks were never counted per participant: taskCount is gone.",
		Required: toolfold.Fields{sessionID},
		Optional: toolfold.Fields{
			limit.With(toolfold.Default(10), toolfold.Added()), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"sessionId": "00000000-0000-4000-8000-000000000001"}`,
		Related: []string{"session.list"},
		Run:     toolfold.Method((*Service).Status),
	}, {
		Name:     "complete",
		Legacy:   toolfold.Was("session_complete"),
		Summary:  "End an active session as done.",
		Words:    "finish, done, close, wrap up, end successfully, goals met, sign off, success",
		Changed:  "session.status shows the summary. " + whoEnds,
		Required: toolfold.Fields{sessionID},
		Optional: toolfold.Fields{summary, agentID.With(toolfold.Added())},
		Effect:   toolfold.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "summary": "Released on Friday."}`,
		Related:  []string{"session.fail"},
		Run:      toolfold.Method((*Service).Complete),
	}, {
		Name:    "list",
		Legacy:  toolfold.Was("session_list"),
		Summary: "List sessions, newest first.",
		Words:   "which sessions, running, history, past, started by, active sessions, latest, open cases",
		Changed: "Pages: hasMore, and nextCursor for the next one. participantCount counts those present. Sessions of the server's " +
			"workspace come before others.",
		Optional: toolfold.Fields{
			status, initiator, agentID.With(toolfold.Added()), workspace.With(toolfold.Added()), words.With(toolfold.Added()),
			limit.With(toolfold.Default(20)), toolfold.Cursor.With(toolfold.Added()),
		},
		Effect:  toolfold.Reads,
		Example: `{"status": "active", "limit": 5}`,
		Related: []string{"session.status", "session.join"},
		Run:     toolfold.Method((*Service).List),
	}, {
		Name:    "join",
		Legacy:  toolfold.Was("session_join"),
		Summary: "Add an agent to an active session, or bring it back.",
		Words:   "enter, take part, participate, invite, collaborate, sit in, let in, add",
		Doc:     "At most 10 are present. One that is in already stays as it is.",
		Changed: "Joining again after leaving takes up the same membership, with the role asked for now. Agents that left do " +
			"not count towards the 10.",
		Required: toolfold.Fields{sessionID, agentID},
		Optional: toolfold.Fields{role.With(toolfold.Default(Collaborator))},
		Effect:   toolfold.Adds,
		Once:     true, // a second join changes nothing
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.leave", "session.list"},
		Run:      toolfold.Method((*Service).Join),
		Enters:   true,
	}, {
		Name:     "leave",
		Legacy:   toolfold.Was("session_leave"),
		Summary:  "Take an agent, not the initiator, out of an active session.",
		Words:    "quit, step out, drop out, sign out, pull off, take off",
		Changed:  "remainingParticipants counts only those present. A finished session is refused with SESSION_INVALID_TRANSITION.",
		Required: toolfold.Fields{sessionID, agentID},
		Effect:   toolfold.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.join"},
		Run:      toolfold.Method((*Service).Leave),
	}, {
		Name:     "fail",
		Legacy:   toolfold.Was("session_fail"),
		Summary:  "End an active session as failed, with the reason.",
		Words:    "abort, give up, broken, unsuccessful, lost, write off",
		Changed:  "session.status shows the error. The answer has all of the error, taskId and details included. " + whoEnds,
		Required: toolfold.Fields{sessionID, failure},
		Optional: toolfold.Fields{agentID.With(toolfold.Added())},
		Effect:   toolfold.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "error": {"code": "BUILD_BROKEN", "message": "main does not compile"}}`,
		Related:  []string{"session.complete"},
		Run:      toolfold.Method((*Service).Fail),
	}},
}
