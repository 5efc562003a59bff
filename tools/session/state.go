package session

import (
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Bounds of a session.
const (
	MaxPresent = 10  // agents in it at once
	MaxJoined  = 100 // agents that were ever in it
	MaxNotes   = 1000
)

// Codes of what sessions refuse.
const (
	MaxParticipants      = "SESSION_MAX_PARTICIPANTS"
	AgentNotParticipant  = "SESSION_AGENT_NOT_PARTICIPANT"
	InitiatorCannotLeave = "SESSION_INITIATOR_CANNOT_LEAVE"
	TooManyNotes         = "SESSION_TOO_MANY_NOTES"
)

// Codes of changes that gave way to others again and again.
const (
	completeFailed = "SESSION_COMPLETE_FAILED"
	joinFailed     = "SESSION_JOIN_FAILED"
	leaveFailed    = "SESSION_LEAVE_FAILED"
	failFailed     = "SESSION_FAIL_FAILED"
	noteFailed     = "SESSION_NOTE_FAILED"
)

// edit changes a session at a moment, or refuses. It is not changed when the
// session already is as asked, so that there is nothing to save.
type edit func(s *Session, now time.Time) (changed bool, err error)

// ender is a caller that ends a session.
type ender struct {
	agent     string // empty = of the caller only the workspace is known
	workspace string
	anywhere  bool // it ends sessions of every workspace
}

// check refuses agents that are not in the session, and callers of other workspaces than its creator's
// that name no agent. All callers end a session without any workspace.
func (e ender) check(s *Session) error {
	switch {
	case e.agent != "":
		_, err := s.presentMember(e.agent)
		return err
	case e.anywhere, s.Workspace == "" && s.CreatorWorkspace == "", s.CreatorWorkspace == e.workspace:
		return nil
	}
	return toolfold.Errorf(AgentNotParticipant, "another workspace opened the session, %q", shorten.Quoted(s.CreatorWorkspace)).
		About(toolfold.ProblemMissing, "agentId").
		WithHint("if you are in the session, pass your agentId (in it: %s); else leave the session to them, with session.join and session.note",
			strings.Join(s.agents(), ", "))
}

// end is the way from active to one of the final states.
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

// join adds an agent, or takes up the membership of one that left. It takes up what another
// agent handed over.
func join(agent, role string) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		member, taken := s.member(agent), s.HandOver != nil && s.HandOver.AgentID != agent
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

// stay is the change of a session that gets a note: the agent has to be present. A hand-over that
// is not nil replaces the one before.
func stay(agent string, over *HandOver) edit {
	return func(s *Session, now time.Time) (bool, error) {
		if err := s.mustBeActive(); err != nil {
			return false, err
		}
		if over != nil {
			over.At = now
			s.HandOver = over
		}
		_, err := s.presentMember(agent)
		return err == nil, err
	}
}

func (s *Session) mustBeActive() error {
	if s.Status == work.SessionActive {
		return nil
	}
	return work.EndedSession(s.Status)
}

// member returns an agent's membership for change, nil when it never joined.
func (s *Session) member(agent string) *Participant {
	for i := range s.Participants {
		if s.Participants[i].AgentID == agent {
			return &s.Participants[i]
		}
	}
	return nil
}

// presentMember returns the membership of an agent that is present, for change.
func (s *Session) presentMember(agent string) (*Participant, error) {
	member := s.member(agent)
	if member == nil || !member.LeftAt.IsZero() {
		return nil, toolfold.Errorf(AgentNotParticipant, "%q is not in the session", agent).
			WithHint("in the session: %s; session.join adds agents", strings.Join(s.agents(), ", "))
	}
	return member, nil
}

// agents lists the agents that are present.
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
