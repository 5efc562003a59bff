package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/toolfold/toolfold/tools"
)

// attempts is how often a change is tried that others get ahead of. Of those
// that meet one gets through each time, so it is also how many can meet and
// all be sure to succeed; pausing in between lets more of them.
const attempts = 20

// Service runs the session actions. It is safe for concurrent use, and
// several may share a store.
type Service struct {
	store Store
	now   func() time.Time
	newID func() string
}

// New returns a service on a store. newID makes UUIDs.
func New(store Store, now func() time.Time, newID func() string) *Service {
	return &Service{store: store, now: now, newID: newID}
}

// moment is the time now, as precise as stores keep it.
func (s *Service) moment() time.Time {
	return s.now().UTC().Truncate(time.Microsecond)
}

// Create opens a session.
func (s *Service) Create(ctx context.Context, in CreateIn) (CreateOut, error) {
	now := s.moment()
	session := Session{
		ID: s.newID(), Initiator: in.Initiator, Task: in.Task, Status: Active,
		Workspace: in.Workspace, Metadata: in.Metadata, CreatedAt: now, UpdatedAt: now,
		Participants: []Participant{{AgentID: in.Initiator, Role: Initiator, JoinedAt: now}},
	}
	if err := s.store.Create(ctx, session); err != nil {
		return CreateOut{}, fmt.Errorf("creating session: %w", err)
	}
	return CreateOut{
		SessionID: session.ID, Initiator: session.Initiator, Task: session.Task,
		Status: session.Status, CreatedAt: now, Workspace: session.Workspace,
	}, nil
}

// Status shows a session.
func (s *Service) Status(ctx context.Context, in StatusIn) (StatusOut, error) {
	session, err := s.find(ctx, in.SessionID)
	if err != nil {
		return StatusOut{}, err
	}
	out := StatusOut{
		SessionID: session.ID, Status: session.Status, Initiator: session.Initiator, Task: session.Task,
		Participants: []Member{}, CreatedAt: session.CreatedAt, UpdatedAt: session.UpdatedAt,
		Summary: session.Summary, Error: session.Failure,
		Workspace: session.Workspace, Metadata: session.Metadata,
	}
	switch session.Status {
	case Completed:
		out.CompletedAt = &session.EndedAt
	case Failed:
		out.FailedAt = &session.EndedAt
	}
	for _, p := range session.Participants {
		out.Participants = append(out.Participants, p.shown())
	}
	return out, nil
}

func (p Participant) shown() Member {
	m := Member{AgentID: p.AgentID, Role: p.Role, JoinedAt: p.JoinedAt}
	if !p.LeftAt.IsZero() {
		m.LeftAt = &p.LeftAt
	}
	return m
}

// Complete ends a session as done.
func (s *Service) Complete(ctx context.Context, in CompleteIn) (CompleteOut, error) {
	session, err := s.change(ctx, in.SessionID, completeFailed, end(Completed, in.Summary, nil))
	if err != nil {
		return CompleteOut{}, err
	}
	return CompleteOut{
		SessionID: session.ID, Status: session.Status, CompletedAt: session.EndedAt, Summary: session.Summary,
	}, nil
}

// Fail ends a session as failed.
func (s *Service) Fail(ctx context.Context, in FailIn) (FailOut, error) {
	session, err := s.change(ctx, in.SessionID, failFailed, end(Failed, "", &in.Error))
	if err != nil {
		return FailOut{}, err
	}
	return FailOut{
		SessionID: session.ID, Status: session.Status, FailedAt: session.EndedAt, Error: *session.Failure,
	}, nil
}

// Join adds an agent to a session.
func (s *Service) Join(ctx context.Context, in JoinIn) (JoinOut, error) {
	session, err := s.change(ctx, in.SessionID, joinFailed, join(in.AgentID, in.Role))
	if err != nil {
		return JoinOut{}, err
	}
	member := session.member(in.AgentID)
	return JoinOut{
		SessionID: session.ID, AgentID: member.AgentID, Role: member.Role,
		JoinedAt: member.JoinedAt, ParticipantCount: session.present(),
	}, nil
}

// Leave takes an agent out of a session.
func (s *Service) Leave(ctx context.Context, in LeaveIn) (LeaveOut, error) {
	session, err := s.change(ctx, in.SessionID, leaveFailed, leave(in.AgentID))
	if err != nil {
		return LeaveOut{}, err
	}
	member := session.member(in.AgentID)
	return LeaveOut{
		SessionID: session.ID, AgentID: member.AgentID,
		LeftAt: member.LeftAt, RemainingParticipants: session.present(),
	}, nil
}

// List lists sessions, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := tools.ParseCursor(in.Cursor, "session.list")
	if err != nil {
		return ListOut{}, err
	}
	query := Query{Status: in.Status, Initiator: in.Initiator, Limit: in.Limit + 1, After: after}
	page, err := s.store.List(ctx, query)
	if err != nil {
		return ListOut{}, fmt.Errorf("listing sessions: %w", err)
	}
	out := ListOut{Sessions: []Item{}, Total: page.Total}
	for i, l := range page.Sessions {
		if i == in.Limit {
			out.HasMore = true
			out.NextCursor = positionOf(page.Sessions[i-1]).Cursor()
			break
		}
		out.Sessions = append(out.Sessions, l.shown())
	}
	return out, nil
}

func (l Listed) shown() Item {
	return Item{
		SessionID: l.ID, Initiator: l.Initiator, Task: l.Task, Status: l.Status,
		ParticipantCount: l.Present, CreatedAt: l.CreatedAt,
	}
}

func (s *Service) find(ctx context.Context, id string) (Session, error) {
	session, found, err := s.store.Get(ctx, strings.ToLower(id))
	if err != nil {
		return Session{}, fmt.Errorf("reading session: %w", err)
	}
	if !found {
		return Session{}, tools.Errorf(NotFound, "there is no session %s", id).WithHint("session.list shows those there are")
	}
	return session, nil
}

// change edits a session as it is stored now. When another change gets ahead,
// it looks again and decides anew: of two agents that take the last place one
// is refused, and neither is lost. Failed is the code for giving up.
func (s *Service) change(ctx context.Context, id, failed string, edit edit) (Session, error) {
	for range attempts {
		session, err := s.find(ctx, id)
		if err != nil {
			return Session{}, err
		}
		session.UpdatedAt = s.moment()
		changed, err := edit(&session, session.UpdatedAt)
		if err != nil || !changed {
			return session, err
		}
		saved, err := s.store.Save(ctx, session)
		if err != nil {
			return Session{}, fmt.Errorf("saving session: %w", err)
		}
		if saved {
			return session, nil
		}
		if err := pause(ctx); err != nil {
			return Session{}, err
		}
	}
	return Session{}, tools.Errorf(failed, "others keep changing the session; this call changed nothing").
		WithHint("call again in a moment")
}

// pause lets those that met at a session come back at different times.
func pause(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(1+rand.IntN(10)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func positionOf(last Listed) tools.Position {
	return tools.Position{CreatedAt: last.CreatedAt, ID: last.ID}
}
