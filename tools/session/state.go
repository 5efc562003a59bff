package session

import (
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of a session.
const (
	MaxPresent = 10  // agents present at once
	MaxJoined  = 100 // agents that ever joined
	MaxNotes   = 1000
)

// Error codes of rejected changes.
const (
	MaxParticipants      = "SESSION_MAX_PARTICIPANTS"
	AgentNotParticipant  = "SESSION_AGENT_NOT_PARTICIPANT"
	InitiatorCannotLeave = "SESSION_INITIATOR_CANNOT_LEAVE"
	TooManyNotes         = "SESSION_TOO_MANY_NOTES"
)

// Error codes of changes that collided with other changes too often.
const (
	completeFailed = "SESSION_COMPLETE_FAILED"
	joinFailed     = "SESSION_JOIN_FAILED"
	leaveFailed    = "SESSION_LEAVE_FAILED"
	failFailed     = "SESSION_FAIL_FAILED"
	noteFailed     = "SESSION_NOTE_FAILED"
)

// edit changes a session, or returns an error. Changed is false if there is nothing to save.
type edit func(s *Session, now time.Time) (changed bool, err error)

// ender is a caller that ends a session.
type ender struct {
	agent     string // empty = only the workspace is known
	workspace string
	names     []string // of the workspace in stored sessions
	anywhere  bool     // it may end sessions of every workspace
}

// check returns an error for agents that are not in the session, and for callers without an agent
// whose workspace is not the creator's. All callers may end a session without any workspace.
func (e ender) check(s *Session) error {
	switch {
	case e.agent != "":
		_, err := s.presentMember(e.agent)
		return err
	case e.anywhere, s.Workspace == "" && s.CreatorWorkspace == "", s.CreatorWorkspace == e.workspace,
		slices.Contains(e.names, s.CreatorWorkspace):
		return nil
	}
	return toolfold.Errorf(AgentNotParticipant, "another workspace opened the session, %q", shorten.Quoted(s.CreatorWorkspace)).
		About(toolfold.ProblemMissing, "agentId").
		WithHint("if you are in the session, pass your agentId (in it: %s); else leave the session to them, with session.join and session.note",
			strings.Join(s.agents(), ", "))
}

// end changes an active session to one of the final states.
func end(by ender, state, summary string, failure *Failure) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		if err := by.check(s); err != nil {
			return false, err
		}
		s.Status, s.Summary, s.Failure, s.EndedAt, s.HandOver = state, summary, failure, now, nil
		return true, nil
	}
}

// join adds an agent, or renews the membership of one that left. It ends a hand-over, also of an
// agent of the same name: the next conversation of a client has the same name.
func join(agent, role string) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		member, taken := s.member(agent), s.HandOver != nil
		if taken {
			s.HandOver = nil
		}
		if member != nil && member.LeftAt.IsZero() {
			return taken, nil
		}
		if s.present() >= MaxPresent {
			return false, toolfold.Errorf(MaxParticipants, "%d agents are in the session, which is the most", MaxPresent).
				WithHint("one of them has to leave first: %s", strings.Join(s.agents(), ", "))
		}
		if member == nil && len(s.Participants) >= MaxJoined {
			return false, toolfold.Errorf(MaxParticipants, "%d agents have been in the session, which is the most", MaxJoined).
				WithHint("one of them may come back, or open another session")
		}
		joined := Participant{AgentID: agent, Role: role, JoinedAt: now}
		if member == nil {
			s.Participants = append(s.Participants, joined)
		} else {
			*member = joined
		}
		return true, nil
	}
}

func leave(agent string) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		member, err := s.presentMember(agent)
		if err != nil {
			return false, err
		}
		if member.Role == Initiator {
			return false, toolfold.Errorf(InitiatorCannotLeave, "%q opened the session and stays while it is active", agent).
				WithHint("end it with session.complete or session.fail")
		}
		member.LeftAt = now
		return true, nil
	}
}

// stay is the edit for adding a note: the agent must be present. A hand-over that is not nil
// replaces the previous one.
func stay(agent string, over *HandOver) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		if _, err := s.presentMember(agent); err != nil {
			return false, err
		}
		if over != nil {
			over.At = now
			s.HandOver = over
		}
		return true, nil
	}
}

func (s *Session) mustBeActive() error {
	if s.Status == work.SessionActive {
		return nil
	}
	return work.EndedSession(s.Status)
}

// member returns an agent's membership, which may be changed, or nil if the agent never joined.
func (s *Session) member(agent string) *Participant {
	for i := range s.Participants {
		if s.Participants[i].AgentID == agent {
			return &s.Participants[i]
		}
	}
	return nil
}

// presentMember is member for an agent that must be present.
func (s *Session) presentMember(agent string) (*Participant, error) {
	member := s.member(agent)
	if member == nil || !member.LeftAt.IsZero() {
		return nil, toolfold.Errorf(AgentNotParticipant, "%q is not in the session", agent).
			WithHint("in the session: %s; session.join adds agents", strings.Join(s.agents(), ", "))
	}
	return member, nil
}

// agents lists the present agents.
func (s *Session) agents() []string {
	var list []string
	for _, p := range s.Participants {
		if p.LeftAt.IsZero() {
			list = append(list, p.AgentID)
		}
	}
	return list
}

func (s *Session) present() int { return len(s.agents()) }
