// Package session declares the session tool: a record of several agents at
// work on one task. It is bookkeeping; no agent is started.
//
// A session is active until it is completed or failed, and both are final.
// The agents that are in it have a role; leaving keeps their row, with the
// time they left.
package session

import "github.com/toolfold/toolfold/tools"

var (
	sessionID = tools.UUID("sessionId", "The session.")
	initiator = tools.String{Name: "initiator", Doc: "Agent that opened it.", MaxLen: 50}
	task      = tools.String{Name: "task", Doc: "What it is about.", MinLen: 1, MaxLen: 5000}
	workspace = tools.String{Name: "workspace", Doc: "Its folder or project.", MaxLen: 200}
	metadata  = tools.Object{Name: "metadata", Doc: "Anything to keep with it."}
	summary   = tools.String{Name: "summary", Doc: "What was achieved.", MaxLen: 5000}
	status    = tools.String{Name: "status", Doc: "Its state.", Enum: []string{Active, Completed, Failed}}
	limit     = tools.Int{Name: "limit", Doc: "Most sessions to return.", Min: 1, Max: 100}
	cursor    = tools.String{Name: "cursor", Doc: "nextCursor of the page before."}
	agentID   = tools.String{Name: "agentId", Doc: "Its name.", MinLen: 1, MaxLen: 50}
	role      = tools.String{Name: "role", Doc: "Part it takes.", Enum: []string{Collaborator, Delegate}}
	failure   = tools.Object{
		Name: "error", Doc: "Why it failed.",
		Required: tools.Fields{
			tools.String{Name: "code", Doc: "Short name of the failure.", MinLen: 1},
			tools.String{Name: "message", Doc: "What went wrong.", MinLen: 1},
		},
		Optional: tools.Fields{
			tools.String{Name: "taskId", Doc: "Task in which it went wrong."},
			tools.Object{Name: "details", Doc: "Anything that helps."},
		},
	}

	anyRole     = role.With(tools.OneOf(Initiator, Collaborator, Delegate))
	createdAt   = tools.Time("createdAt", "When it was opened.")
	updatedAt   = tools.Time("updatedAt", "When it last changed.")
	completedAt = tools.Time("completedAt", "When it was completed.")
	failedAt    = tools.Time("failedAt", "When it failed.")
	joinedAt    = tools.Time("joinedAt", "When the agent joined, or joined again.")
	leftAt      = tools.Time("leftAt", "When the agent left.")
	present     = tools.Int{Name: "participantCount", Doc: "Agents present."}
	remaining   = tools.Int{Name: "remainingParticipants", Doc: "Agents still present."}
	total       = tools.Int{Name: "total", Doc: "Sessions that match, on all pages."}
	hasMore     = tools.Bool{Name: "hasMore", Doc: "Whether more follow."}
	nextCursor  = tools.String{Name: "nextCursor", Doc: "Pass as cursor for the next page; absent on the last."}

	participants = tools.List{Name: "participants", Doc: "Agents in the order they came.", Of: tools.Object{
		Required: tools.Fields{agentID, anyRole, joinedAt}, Optional: tools.Fields{leftAt},
	}}
	sessions = tools.List{Name: "sessions", Doc: "Newest first.", Of: tools.Object{
		Required: tools.Fields{sessionID, initiator, task, status, present, createdAt},
	}}
)

// Family declares the session tool.
var Family = tools.Family[*Service]{
	Name: "session", Summary: "Records of agents at work on one task", Category: tools.Sessions, Tier: tools.Standard,
	Words: "collaboration, joint work of agents, team",
	Doc:   "A session is active until completed or failed, and both are final. It starts no agent.",
	Actions: []tools.Action[*Service]{{
		Name:     "create",
		Legacy:   tools.Was("session_create"),
		Summary:  "Open a session; its initiator is the first participant.",
		Words:    "start, begin, new, set up, kick off work together, collaborate, team, joint work",
		Changed:  "Sessions are kept across restarts.",
		Required: tools.Fields{initiator.With(tools.MinLen(1)), task},
		Optional: tools.Fields{workspace, metadata},
		Returns:  tools.Fields{sessionID, initiator, task, status, createdAt, workspace},
		Effect:   tools.Adds,
		Example:  `{"initiator": "planner", "task": "Ship release 2.1"}`,
		Related:  []string{"session.join"},
		Run:      tools.Method((*Service).Create),
	}, {
		Name:     "status",
		Legacy:   tools.Was("session_status"),
		Summary:  "Show a session and how it ended.",
		Words:    "show, details, who takes part, is it still active, how is it going, why did it fail",
		Changed:  "Shows workspace, metadata, summary, error, failedAt and leftAt. Tasks were never counted per participant: taskCount is gone.",
		Required: tools.Fields{sessionID},
		Returns: tools.Fields{
			sessionID, status, initiator, task, participants, createdAt, updatedAt, completedAt, failedAt,
			summary, failure, workspace, metadata,
		},
		Effect:  tools.Reads,
		Example: `{"sessionId": "00000000-0000-4000-8000-000000000001"}`,
		Related: []string{"session.list"},
		Run:     tools.Method((*Service).Status),
	}, {
		Name:     "complete",
		Legacy:   tools.Was("session_complete"),
		Summary:  "End an active session as done.",
		Words:    "finish, done, close, wrap up, end successfully, mark as done",
		Changed:  "session.status shows the summary.",
		Required: tools.Fields{sessionID},
		Optional: tools.Fields{summary},
		Returns:  tools.Fields{sessionID, status, completedAt, summary},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "summary": "Released on Friday."}`,
		Related:  []string{"session.fail"},
		Run:      tools.Method((*Service).Complete),
	}, {
		Name:    "list",
		Legacy:  tools.Was("session_list"),
		Summary: "List sessions, newest first.",
		Words:   "which sessions, running, history, past, started by, active sessions",
		Changed: "Pages: hasMore, and nextCursor for the next one. participantCount counts those present.",
		Optional: tools.Fields{
			status, initiator, limit.With(tools.Default(20)), cursor.With(tools.Added()),
		},
		Returns: tools.Fields{sessions, total, hasMore, nextCursor},
		Effect:  tools.Reads,
		Example: `{"status": "active", "limit": 5}`,
		Related: []string{"session.status", "session.join"},
		Run:     tools.Method((*Service).List),
	}, {
		Name:     "join",
		Legacy:   tools.Was("session_join"),
		Summary:  "Add an agent to an active session, or bring it back.",
		Words:    "enter, take part, participate, become a participant, invite, add an agent, collaborate",
		Doc:      "At most 10 are present. One that is in already stays as it is.",
		Changed:  "Joining again after leaving takes up the same membership, with the role asked for now. Agents that left do not count towards the 10.",
		Required: tools.Fields{sessionID, agentID},
		Optional: tools.Fields{role.With(tools.Default(Collaborator))},
		Returns:  tools.Fields{sessionID, agentID, anyRole, joinedAt, present},
		Effect:   tools.Adds,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.leave", "session.list"},
		Run:      tools.Method((*Service).Join),
	}, {
		Name:     "leave",
		Legacy:   tools.Was("session_leave"),
		Summary:  "Take an agent, not the initiator, out of an active session.",
		Words:    "quit, step out, drop out, no longer needed, remove an agent",
		Changed:  "remainingParticipants counts only those present. A finished session is refused with SESSION_INVALID_TRANSITION.",
		Required: tools.Fields{sessionID, agentID},
		Returns:  tools.Fields{sessionID, agentID, leftAt, remaining},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.join"},
		Run:      tools.Method((*Service).Leave),
	}, {
		Name:     "fail",
		Legacy:   tools.Was("session_fail"),
		Summary:  "End an active session as failed, with the reason.",
		Words:    "abort, give up, broken, report an error, stop the work, unsuccessful",
		Changed:  "session.status shows the error. The answer has all of the error, taskId and details included.",
		Required: tools.Fields{sessionID, failure},
		Returns:  tools.Fields{sessionID, status, failedAt, failure},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "error": {"code": "BUILD_BROKEN", "message": "main does not compile"}}`,
		Related:  []string{"session.complete"},
		Run:      tools.Method((*Service).Fail),
	}},
}
