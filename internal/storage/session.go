package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/tools/session"
)

// Session returns the store of the session family.
func (db *DB) Session() session.Store { return sessionStore{db} }

// sessionStore implements [session.Store].
type sessionStore struct{ db *DB }

// failureRow is the JSON of a failure.
type failureRow struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	TaskID  string          `json:"taskId,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// handOverRow is the JSON of a hand-over.
type handOverRow struct {
	AgentID string    `json:"agentId"`
	To      string    `json:"to,omitempty"`
	Note    string    `json:"note"`
	Next    []string  `json:"next,omitempty"`
	At      time.Time `json:"createdAt"`
}

// rowText returns the JSON of a row, or nil if row is nil.
func rowText[R any](row *R) (any, error) {
	if row == nil {
		return nil, nil
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", *row, err)
	}
	return text, nil
}

// rowsOf returns the JSON of the failure and the hand-over of a session, each nil if it is absent.
func rowsOf(s session.Session) (failure, handOver any, err error) {
	if failure, err = rowText((*failureRow)(s.Failure)); err == nil {
		handOver, err = rowText((*handOverRow)(s.HandOver))
	}
	return failure, handOver, err
}

const (
	insertSession = `INSERT INTO sessions
		(id, status, created_at, updated_at, ended_at, initiator, task, workspace, creator_workspace, summary, metadata, failure,
		handover)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// A change is stored only if it was made to the current version.
	updateSession = `UPDATE sessions SET status = ?, updated_at = ?, ended_at = ?, summary = ?, failure = ?, handover = ?,
		version = version + 1
		WHERE id = ? AND version = ?`
	putParticipant = `INSERT INTO session_participants (session_id, agent_id, place, role, joined_at, left_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (session_id, agent_id) DO UPDATE SET role = excluded.role, joined_at = excluded.joined_at, left_at = excluded.left_at`
	// One statement, so that participants and version match.
	selectSession = `SELECT s.id, s.status, s.created_at, s.updated_at, s.ended_at, s.version,
			s.initiator, s.task, s.workspace, s.creator_workspace, s.summary, s.metadata, s.failure, s.handover,
			p.agent_id, p.role, p.joined_at, p.left_at
		FROM sessions s JOIN session_participants p ON p.session_id = s.id WHERE s.id = ? ORDER BY p.place`
	selectListed = `SELECT id, initiator, task, status, created_at, updated_at, workspace, handover,
			(SELECT count(*) FROM session_participants p WHERE p.session_id = sessions.id AND p.left_at IS NULL)
		FROM sessions`
)

func (s sessionStore) Create(ctx context.Context, created session.Session) error {
	failure, handOver, err := rowsOf(created)
	if err != nil {
		return err
	}
	return s.db.transact(ctx, func(t executor) error {
		_, err := t.exec(ctx, insertSession, created.ID, created.Status,
			created.CreatedAt.UnixMicro(), created.UpdatedAt.UnixMicro(), maybeMicros(created.EndedAt),
			[]byte(created.Initiator), []byte(created.Task), []byte(created.Workspace), []byte(created.CreatorWorkspace),
			[]byte(created.Summary), maybeText(created.Metadata), failure, handOver)
		if err != nil {
			return err
		}
		return putParticipants(ctx, t, created)
	})
}

func (s sessionStore) Save(ctx context.Context, changed session.Session) (saved bool, err error) {
	return s.save(ctx, changed, nil)
}

func (s sessionStore) AddNote(ctx context.Context, changed session.Session, n session.Note) (saved bool, err error) {
	return s.save(ctx, changed, &n)
}

// save stores a session and a note, which may be nil.
func (s sessionStore) save(ctx context.Context, changed session.Session, note *session.Note) (saved bool, err error) {
	failure, handOver, err := rowsOf(changed)
	if err != nil {
		return false, err
	}
	err = s.db.transact(ctx, func(t executor) error {
		n, err := t.exec(ctx, updateSession, changed.Status,
			changed.UpdatedAt.UnixMicro(), maybeMicros(changed.EndedAt), []byte(changed.Summary), failure, handOver,
			changed.ID, changed.Version)
		saved = n > 0
		if err != nil || !saved {
			return err
		}
		if note != nil {
			_, err := t.exec(ctx, `INSERT INTO session_notes (session_id, number, agent_id, created_at, note) VALUES (?, ?, ?, ?, ?)`,
				changed.ID, changed.Version+1, []byte(note.AgentID), note.At.UnixMicro(), []byte(note.Text))
			if err != nil {
				return err
			}
		}
		return putParticipants(ctx, t, changed)
	})
	return saved && err == nil, err
}

func (s sessionStore) Notes(ctx context.Context, id string, before, limit int) (list []session.Note, total int, err error) {
	total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM session_notes WHERE session_id = ?`, id))
	if err != nil {
		return nil, 0, err
	}
	q := sqlf(`SELECT number, agent_id, created_at, note FROM session_notes WHERE session_id = ?`, id)
	if before > 0 {
		q = q.and(`AND number < ?`, before)
	}
	list, err = all(ctx, s.db.reader(), q.and(`ORDER BY number DESC LIMIT ?`, limit),
		into(func(n *session.Note) []any { return []any{&n.Number, &n.AgentID, micros{&n.At}, &n.Text} }))
	return list, total, err
}

func putParticipants(ctx context.Context, e executor, s session.Session) error {
	for place, p := range s.Participants {
		_, err := e.exec(ctx, putParticipant,
			s.ID, []byte(p.AgentID), place, p.Role, p.JoinedAt.UnixMicro(), maybeMicros(p.LeftAt))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s sessionStore) Get(ctx context.Context, id string) (found session.Session, ok bool, err error) {
	rows, err := all(ctx, s.db.reader(), sqlf(selectSession, id), scanSession)
	if err != nil || len(rows) == 0 {
		return session.Session{}, false, err
	}
	found = rows[0]
	for _, row := range rows[1:] {
		found.Participants = append(found.Participants, row.Participants...)
	}
	return found, true, nil
}

// scanSession reads a session with one of its participants.
func scanSession(rows *sql.Rows) (s session.Session, err error) {
	var p session.Participant
	var failure *failureRow
	var handOver *handOverRow
	err = rows.Scan(&s.ID, &s.Status, micros{&s.CreatedAt}, micros{&s.UpdatedAt}, micros{&s.EndedAt}, &s.Version,
		&s.Initiator, &s.Task, &s.Workspace, &s.CreatorWorkspace, &s.Summary, (*[]byte)(&s.Metadata), fromJSON{&failure},
		fromJSON{&handOver},
		&p.AgentID, &p.Role, micros{&p.JoinedAt}, micros{&p.LeftAt})
	s.Participants = []session.Participant{p}
	s.Failure, s.HandOver = (*session.Failure)(failure), (*session.HandOver)(handOver)
	return s, err
}

func (s sessionStore) List(ctx context.Context, q session.Query) (page session.Page, err error) {
	picked := sqlf(`WHERE true`)
	if q.Status != "" {
		picked = picked.and(`AND status = ?`, q.Status)
	}
	if len(q.Workspaces) > 0 {
		picked = picked.and(`AND`).with(among("workspace", bytesOf(q.Workspaces)))
	}
	if len(q.Except) > 0 {
		picked = picked.and(`AND NOT`).with(among("workspace", bytesOf(q.Except)))
	}
	if q.HandedOver != nil {
		picked = picked.and(map[bool]string{true: `AND handover IS NOT NULL`, false: `AND handover IS NULL`}[*q.HandedOver])
	}
	has := wordIn[s.db.dialect.name]
	for _, word := range q.Words {
		picked = picked.and(`AND (`+has("task")+` OR `+has("summary")+` OR EXISTS (
			SELECT 1 FROM session_notes n WHERE n.session_id = sessions.id AND `+has("n.note")+`))`,
			[]byte(word), []byte(word), []byte(word))
	}
	if q.Initiator != "" {
		picked = picked.and(`AND initiator = ?`, []byte(q.Initiator))
	}
	if q.AgentID != "" {
		picked = picked.and(`AND id IN (SELECT session_id FROM session_participants WHERE agent_id = ? AND left_at IS NULL)`, []byte(q.AgentID))
	}
	page.Total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM sessions`).with(picked))
	if err != nil {
		return session.Page{}, err
	}
	if q.After != nil {
		picked = picked.and(`AND (created_at, id) < (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	list := sqlf(selectListed).with(picked).and(`ORDER BY created_at DESC, id DESC LIMIT ?`, q.Limit)
	page.Sessions, err = all(ctx, s.db.reader(), list, func(rows *sql.Rows) (l session.Item, err error) {
		var handOver *handOverRow
		err = rows.Scan(&l.ID, &l.Initiator, &l.Task, &l.Status, micros{&l.CreatedAt}, micros{&l.UpdatedAt}, &l.Workspace,
			fromJSON{&handOver}, &l.Present)
		l.HandOver = (*session.HandOver)(handOver)
		return l, err
	})
	return page, err
}
