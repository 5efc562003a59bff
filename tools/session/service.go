package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/system/clock"
)

// attempts limits the attempts at a change that collides with other changes. One of the colliding
// changes succeeds each time, so 20 concurrent changes all succeed.
const attempts = 20

// maxJSON limits metadata, and a whole failure, in bytes.
const maxJSON = 64 << 10

// Service runs the session actions. It is safe for concurrent use. Several services may share a
// store.
type Service struct {
	store Store
	now   func() time.Time
	newID func() string

	// Workspace is the workspace of all callers, and of new sessions for which the creator names no
	// other workspace. Folder is its path; empty if it has none.
	Workspace, Folder string
}

// byUser reports whether the user of this machine makes the call.
type byUser bool

// ByUser returns a context for a session action that the user of this machine calls from the shell.
// Such calls may end sessions of every workspace.
func ByUser(ctx context.Context) context.Context { return callctx.With[byUser](ctx, true) }

// New returns a service on a store. newID returns a new UUID.
func New(store Store, now func() time.Time, newID func() string) *Service {
	return &Service{store: store, now: clock.Micros(now), newID: newID}
}

// Create opens a session.
func (s *Service) Create(ctx context.Context, in CreateIn) (CreateOut, error) {
	if err := checkSize("metadata", len(in.Metadata)); err != nil {
		return CreateOut{}, err
	}
	now := s.now()
	session := Session{
		ID: s.newID(), Initiator: in.Initiator, Task: in.Task, Status: work.SessionActive,
		Workspace: s.workspaceOf(in.Workspace), CreatorWorkspace: s.Workspace,
		Metadata: in.Metadata, CreatedAt: now, UpdatedAt: now,
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

// workspaceOf returns the workspace that a call names. An empty name, the path of the server's
// folder and a relative path to it, such as a dot, mean the server's workspace.
func (s *Service) workspaceOf(given string) string {
	path := given
	if !filepath.IsAbs(path) && strings.HasPrefix(path, ".") {
		path = filepath.Join(s.Folder, path)
	}
	if given == "" || s.Folder != "" && filepath.Clean(path) == filepath.Clean(s.Folder) {
		return s.Workspace
	}
	return given
}

// names returns the names of a workspace in stored sessions: that of the server also has its path
// in sessions of earlier versions.
func (s *Service) names(workspace string) []string {
	switch {
	case workspace == "":
		return nil
	case workspace == s.Workspace && s.Folder != "":
		return []string{workspace, s.Folder}
	}
	return []string{workspace}
}

func checkSize(name string, size int) error {
	if size <= maxJSON {
		return nil
	}
	return toolfold.Errorf(toolfold.InvalidInput, "%s has %d bytes, the limit is %d", name, size, maxJSON).
		About(toolfold.ProblemRefused, name).
		WithHint("keep large data elsewhere, such as with memory.store, and name its key here")
}

// Status shows a session.
func (s *Service) Status(ctx context.Context, in StatusIn) (StatusOut, error) {
	session, err := s.find(ctx, in.SessionID)
	if err != nil {
		return StatusOut{}, err
	}
	before, err := noteCursor(in.Cursor)
	if err != nil {
		return StatusOut{}, err
	}
	notes, total, err := s.store.Notes(ctx, session.ID, before, in.Limit+1)
	if err != nil {
		return StatusOut{}, fmt.Errorf("reading notes: %w", err)
	}
	var paged toolfold.Paged
	out := StatusOut{
		Stale: s.isStale(session.Status, session.UpdatedAt), NoteCount: total,
		SessionID: session.ID, Status: session.Status, Initiator: session.Initiator, Task: session.Task,
		Participants: session.Participants, CreatedAt: session.CreatedAt, UpdatedAt: session.UpdatedAt,
		Summary: session.Summary, Error: session.Failure,
		Workspace: session.Workspace, Metadata: session.Metadata, HandOver: session.HandOver,
	}
	switch session.Status {
	case work.SessionCompleted:
		out.CompletedAt = &session.EndedAt
	case work.SessionFailed:
		out.FailedAt = &session.EndedAt
	}
	out.Notes, paged = toolfold.CutPage(notes, in.Limit, func(last Note) string { return toolfold.CursorOf(strconv.Itoa(last.Number)) })
	out.NextCursor = paged.NextCursor
	return out, nil
}

// noteCursor returns the number of the previous page's last note, or zero for the first page.
func noteCursor(cursor string) (number int, err error) {
	after, err := toolfold.Page{Cursor: cursor}.After("session.status")
	if err != nil || after == "" {
		return 0, err
	}
	if number, err = strconv.Atoi(after); err != nil {
		return 0, toolfold.Errorf(toolfold.InvalidInput, "cursor is not one that session.status returned").
			About(toolfold.ProblemRefused, "cursor").
			WithHint("pass nextCursor of the page before, or no cursor for the latest notes")
	}
	return number, nil
}

// staleAfter is the time without activity after which an active session is
// reported as stale.
const staleAfter = 24 * time.Hour

func (s *Service) isStale(status string, updatedAt time.Time) bool {
	return status == work.SessionActive && s.now().Sub(updatedAt) >= staleAfter
}

// Note adds a note of a participant.
func (s *Service) Note(ctx context.Context, in NoteIn) (NoteOut, error) {
	_, total, err := s.store.Notes(ctx, strings.ToLower(in.SessionID), 0, 1)
	if err != nil {
		return NoteOut{}, fmt.Errorf("counting notes: %w", err)
	}
	if total >= MaxNotes {
		return NoteOut{}, toolfold.Errorf(TooManyNotes, "the session has %d notes, which is the most", MaxNotes).
			WithHint("keep longer records elsewhere, such as with memory.store")
	}
	var over *HandOver
	note := in.Note
	if in.HandOver || len(in.Next) > 0 || in.To != "" {
		over = &HandOver{AgentID: in.AgentID, To: in.To, Note: in.Note, Next: in.Next}
		note = over.text()
	}
	add := func(ctx context.Context, session Session) (saved bool, err error) {
		return s.store.AddNote(ctx, session, Note{AgentID: in.AgentID, Text: note, At: session.UpdatedAt})
	}
	session, err := s.changeBy(ctx, in.SessionID, noteFailed, stay(in.AgentID, over), add)
	if err != nil {
		return NoteOut{}, err
	}
	return NoteOut{SessionID: session.ID, AgentID: in.AgentID, CreatedAt: session.UpdatedAt}, nil
}

// text returns the hand-over as a note, which stays after an agent takes it up.
func (o HandOver) text() string {
	text := o.Note
	if o.To != "" {
		text = "for " + o.To + ": " + text
	}
	for _, step := range o.Next {
		text += "\n- " + step
	}
	return text
}

// Complete ends a session as done.
func (s *Service) Complete(ctx context.Context, in CompleteIn) (CompleteOut, error) {
	session, err := s.change(ctx, in.SessionID, completeFailed, end(s.ender(ctx, in.AgentID), work.SessionCompleted, in.Summary, nil))
	if err != nil {
		return CompleteOut{}, err
	}
	return CompleteOut{
		SessionID: session.ID, Status: session.Status, CompletedAt: session.EndedAt, Summary: session.Summary,
	}, nil
}

// Fail ends a session as failed.
func (s *Service) Fail(ctx context.Context, in FailIn) (FailOut, error) {
	if err := checkSize("error", len(in.Error.Code)+len(in.Error.Message)+len(in.Error.TaskID)+len(in.Error.Details)); err != nil {
		return FailOut{}, err
	}
	session, err := s.change(ctx, in.SessionID, failFailed, end(s.ender(ctx, in.AgentID), work.SessionFailed, "", &in.Error))
	if err != nil {
		return FailOut{}, err
	}
	return FailOut{
		SessionID: session.ID, Status: session.Status, FailedAt: session.EndedAt, Error: *session.Failure,
	}, nil
}

// ender returns the caller of an action that ends a session; agent may be empty.
func (s *Service) ender(ctx context.Context, agent string) ender {
	return ender{agent: agent, workspace: s.Workspace, names: s.names(s.Workspace), anywhere: bool(callctx.Of[byUser](ctx))}
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
	page, err := s.page(ctx, in)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Total: page.Total}
	out.Sessions, out.Paged = toolfold.CutPage(page.Sessions, in.Limit, func(last Item) string {
		at := positionOf(last)
		at.ID = fmt.Sprintf("%d %s", last.part, at.ID)
		return at.Cursor()
	})
	if page.Total == 0 {
		out.Message = "no session matches; session.list without filters shows all, session.create opens one"
	}
	for i := range out.Sessions {
		l := &out.Sessions[i]
		if slices.Contains(s.names(s.Workspace), l.Workspace) {
			l.Workspace = ""
		}
		l.Task, l.Stale = callctx.Brief(ctx, "sessions.task", l.Task), s.isStale(l.Status, l.UpdatedAt)
	}
	return out, nil
}

// maxWords limits the words of a query.
const maxWords = 10

// page reads a page and one more entry. The parts of the list are: handed-over sessions of this
// workspace, its other sessions, and sessions of other workspaces. The id in a cursor begins with
// the number of the part.
func (s *Service) page(ctx context.Context, in ListIn) (page Page, err error) {
	after, err := in.Position("session.list")
	if err != nil {
		return Page{}, err
	}
	words := strings.Fields(in.Query)
	if len(words) > maxWords {
		return Page{}, toolfold.Errorf(toolfold.InvalidInput, "query has %d words, the limit is %d", len(words), maxWords).
			About(toolfold.ProblemRefused, "query").WithHint("keep the words that few sessions have")
	}
	mine := Query{Status: in.Status, Initiator: in.Initiator, AgentID: in.AgentID, Words: words,
		Workspaces: s.names(s.workspaceOf(in.Workspace))}
	handed, others := mine, mine
	handed.HandedOver, mine.HandedOver = new(true), new(false)
	others.Workspaces, others.Except = nil, s.names(s.Workspace)
	parts := []Query{handed, mine, others}
	if in.Workspace != "" || s.Workspace == "" {
		parts = parts[:2]
	}
	page.Sessions = []Item{}
	first := 0
	if after != nil {
		number, id, _ := strings.Cut(after.ID, " ")
		after.ID = id
		if first, err = strconv.Atoi(number); err != nil || first < 0 || first >= len(parts) {
			return Page{}, toolfold.Errorf(toolfold.InvalidInput, "cursor is not one that session.list returned").
				About(toolfold.ProblemRefused, "cursor").WithHint("pass nextCursor of the page before, or no cursor")
		}
	}
	for i, part := range parts {
		part.Limit = in.Limit + 1 - len(page.Sessions)
		switch {
		case i < first:
			part.Limit = 0
		case i == first:
			part.After = after
		}
		more, err := s.store.List(ctx, part)
		if err != nil {
			return Page{}, fmt.Errorf("listing sessions: %w", err)
		}
		for j := range more.Sessions {
			more.Sessions[j].part = i
		}
		page.Sessions, page.Total = append(page.Sessions, more.Sessions...), page.Total+more.Total
	}
	return page, nil
}

func (s *Service) find(ctx context.Context, id string) (Session, error) {
	session, found, err := s.store.Get(ctx, strings.ToLower(id))
	if err != nil {
		return Session{}, fmt.Errorf("reading session: %w", err)
	}
	if !found {
		return Session{}, work.MissingSession(id)
	}
	return session, nil
}

// change reads, edits and saves a session. If another change was saved in between, it starts again:
// so no change is lost, and if two agents take the last place, one of them gets an error. Failed is
// the error code after too many attempts.
func (s *Service) change(ctx context.Context, id, failed string, edit edit) (Session, error) {
	return s.changeBy(ctx, id, failed, edit, s.store.Save)
}

// changeBy is change with another save function than [Store.Save].
func (s *Service) changeBy(ctx context.Context, id, failed string, edit edit,
	save func(context.Context, Session) (bool, error)) (Session, error) {
	for range attempts {
		session, err := s.find(ctx, id)
		if err != nil {
			return Session{}, err
		}
		session.UpdatedAt = s.now()
		changed, err := edit(&session, session.UpdatedAt)
		if err != nil || !changed {
			return session, err
		}
		saved, err := save(ctx, session)
		if err != nil {
			return Session{}, fmt.Errorf("saving session: %w", err)
		}
		if saved {
			return session, nil
		}
		// Calls that collided try again after different delays.
		select {
		case <-ctx.Done():
			return Session{}, ctx.Err()
		case <-time.After(time.Duration(1+rand.IntN(10)) * time.Millisecond):
		}
	}
	return Session{}, toolfold.Errorf(failed, "other calls keep changing the session; this call changed nothing").
		WithHint("call again in a moment")
}

func positionOf(last Item) toolfold.Position {
	return toolfold.Position{CreatedAt: last.CreatedAt, ID: last.ID}
}
