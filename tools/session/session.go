// Package session declares the session tool: a record of several agents at
// work on one task. It is bookkeeping; no agent is started.
//
// A session is active until it is completed or failed, and both are final.
// The agents that are in it have a role; leaving keeps their row, with the
// time they left.
package session

import "github.com/toolfold/toolfold/tools"

var (
	sessionID = tools.UUID("sessionId", "Session ID.")
	initiator = tools.String{Name: "initiator", Doc: "Agent that opened the session.", MaxLen: 50}
	task      = tools.String{Name: "task", Doc: "What the session is about.", MinLen: 1, MaxLen: 5000}
	workspace = tools.String{Name: "workspace", Doc: "Folder or project of the session.", MaxLen: 200}
	metadata  = tools.Object{Name: "metadata", Doc: "Anything to keep with the session."}
	summary   = tools.String{Name: "summary", Doc: "What was achieved.", MaxLen: 5000}
	status    = tools.String{Name: "status", Doc: "State of the session.", Enum: []string{Active, Completed, Failed}}
	limit     = tools.Int{Name: "limit", Doc: "Most sessions to return.", Min: 1, Max: 100}
	agentID   = tools.String{Name: "agentId", Doc: "Name of the agent.", MinLen: 1, MaxLen: 50}
	role      = tools.String{Name: "role", Doc: "Agent's session role.", Enum: []string{Collaborator, Delegate}}
	failure   = tools.Object{
		Name: "error", Doc: "Why it failed.",
		Required: tools.Fields{
			tools.String{Name: "code", Doc: "Short name of the failure.", MinLen: 1},
			tools.String{Name: "message", Doc: "What went wrong.", MinLen: 1},
		},
		Optional: tools.Fields{
			tools.String{Name: "taskId", Doc: "Task in which it went wrong."},
			tools.Object{Name: "details", Doc: "Further data."},
		},
	}
)

// Family declares the session tool.
var Family = tools.Family{
	Name: "session", Summary: "Records of agents at work on one task", Category: "sessions", Tier: tools.Standard,
	Words: "collaboration, joint work of agents, team, case, engagement, war room, meeting",
	Doc:   "A session is active until completed or failed, and both are final. It starts no agent.",
	Actions: []*tools.Action{{
		Name:     "create",
		Legacy:   tools.Was("session_create"),
		Summary:  "Open a session; its initiator is the first participant.",
		Words:    "start, begin, new, set up, kick off work together, collaborate, team, joint work, open a case file, launch",
		Changed:  "Sessions are kept across restarts.",
		Required: tools.Fields{initiator.With(tools.MinLen(1)), task},
		Optional: tools.Fields{workspace, metadata},
		Effect:   tools.Adds,
		Example:  `{"initiator": "planner", "task": "Ship release 2.1"}`,
		Related:  []string{"session.join"},
		Run:      tools.Method((*Service).Create),
		Enters:   true,
	}, {
		Name:     "status",
		Legacy:   tools.Was("session_status"),
		Summary:  "Show a session and how it ended.",
		Words:    "show, details, who takes part, is it still active, how is it going, why did it fail, how did it turn out, state, attendees",
		Changed:  "Shows workspace, metadata, summary, error, failedAt and leftAt. Tasks were never counted per participant: taskCount is gone.",
		Required: tools.Fields{sessionID},
		Effect:   tools.Reads,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001"}`,
		Related:  []string{"session.list"},
		Run:      tools.Method((*Service).Status),
	}, {
		Name:     "complete",
		Legacy:   tools.Was("session_complete"),
		Summary:  "End an active session as done.",
		Words:    "finish, done, close, wrap up, end successfully, mark as done, close the case, goals met, sign off, success",
		Changed:  "session.status shows the summary.",
		Required: tools.Fields{sessionID},
		Optional: tools.Fields{summary},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "summary": "Released on Friday."}`,
		Related:  []string{"session.fail"},
		Run:      tools.Method((*Service).Complete),
	}, {
		Name:    "list",
		Legacy:  tools.Was("session_list"),
		Summary: "List sessions, newest first.",
		Words:   "which sessions, running, history, past, started by, active sessions, past, latest, open cases",
		Changed: "Pages: hasMore, and nextCursor for the next one. participantCount counts those present.",
		Optional: tools.Fields{
			status, initiator, limit.With(tools.Default(20)), tools.Cursor.With(tools.Added()),
		},
		Effect:  tools.Reads,
		Example: `{"status": "active", "limit": 5}`,
		Related: []string{"session.status", "session.join"},
		Run:     tools.Method((*Service).List),
	}, {
		Name:     "join",
		Legacy:   tools.Was("session_join"),
		Summary:  "Add an agent to an active session, or bring it back.",
		Words:    "enter, take part, participate, become a participant, invite, add an agent, collaborate, sit in, let in, add",
		Doc:      "At most 10 are present. One that is in already stays as it is.",
		Changed:  "Joining again after leaving takes up the same membership, with the role asked for now. Agents that left do not count towards the 10.",
		Required: tools.Fields{sessionID, agentID},
		Optional: tools.Fields{role.With(tools.Default(Collaborator))},
		Effect:   tools.Adds,
		Once:     true, // who is in stays in
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.leave", "session.list"},
		Run:      tools.Method((*Service).Join),
		Enters:   true,
	}, {
		Name:     "leave",
		Legacy:   tools.Was("session_leave"),
		Summary:  "Take an agent, not the initiator, out of an active session.",
		Words:    "quit, step out, drop out, no longer needed, remove an agent, sign out, pull off, take off",
		Changed:  "remainingParticipants counts only those present. A finished session is refused with SESSION_INVALID_TRANSITION.",
		Required: tools.Fields{sessionID, agentID},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "agentId": "reviewer"}`,
		Related:  []string{"session.join"},
		Run:      tools.Method((*Service).Leave),
	}, {
		Name:     "fail",
		Legacy:   tools.Was("session_fail"),
		Summary:  "End an active session as failed, with the reason.",
		Words:    "abort, give up, broken, report an error, stop the work, unsuccessful, lost, write off",
		Changed:  "session.status shows the error. The answer has all of the error, taskId and details included.",
		Required: tools.Fields{sessionID, failure},
		Effect:   tools.Sets,
		Example:  `{"sessionId": "00000000-0000-4000-8000-000000000001", "error": {"code": "BUILD_BROKEN", "message": "main does not compile"}}`,
		Related:  []string{"session.complete"},
		Run:      tools.Method((*Service).Fail),
	}},
}
