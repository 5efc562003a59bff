package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// ClientSession is a client's session of a protocol up to 2025-11-25.
type ClientSession struct {
	Hello      json.RawMessage // params of initialize
	Loaded     []string        // names of loaded tools
	LogLevel   string          // empty if the client did not set one
	Subscribed []string        // URIs of resources that the client watches
}

// ClientSessions stores the sessions of clients over HTTP. It stores hashes of ids and owners, so that readers
// of the store cannot continue a session.
type ClientSessions struct {
	db  *DB
	now func() time.Time
}

// ClientSessions returns the store of clients' sessions.
func (db *DB) ClientSessions(now func() time.Time) ClientSessions { return ClientSessions{db, now} }

// hashed returns the form in which an id is stored. Empty stays empty.
func hashed(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Begin stores a new session.
func (s ClientSessions) Begin(ctx context.Context, id, owner string, hello json.RawMessage) error {
	_, err := s.db.writer().exec(ctx, `INSERT INTO client_sessions (id, owner, hello, seen_at) VALUES (?, ?, ?, ?)`,
		hashed(id), hashed(owner), []byte(hello), s.now().UnixMicro())
	return err
}

// Find returns a session of an owner that was used since a time.
func (s ClientSessions) Find(ctx context.Context, id, owner string, since time.Time) (found ClientSession, ok bool, err error) {
	loaded, subscribed := "", ""
	found, ok, err = byKey(ctx, s.db, sqlf(`SELECT hello, loaded, log_level, COALESCE((SELECT string_agg(u.uri, ? ORDER BY u.uri)
		FROM client_subscriptions AS u WHERE u.session = c.id), '') FROM client_sessions AS c WHERE c.id = ? AND c.owner = ? AND c.seen_at >= ?`,
		"\n", hashed(id), hashed(owner), since.UnixMicro()),
		into(func(c *ClientSession) []any { return []any{fromJSON{&c.Hello}, &loaded, &c.LogLevel, &subscribed} }))
	found.Loaded, found.Subscribed = distinct(loaded), distinct(subscribed)
	return found, ok, err
}

// Load adds tools to those that a session loaded.
func (s ClientSessions) Load(ctx context.Context, id string, tools []string) error {
	_, err := s.db.writer().exec(ctx, `UPDATE client_sessions SET loaded = loaded || ? WHERE id = ?`,
		strings.Join(tools, "\n")+"\n", hashed(id))
	return err
}

// Enter records that a client's session is part of a work session. Other servers then apply its policies.
func (s ClientSessions) Enter(ctx context.Context, id, work string) error {
	_, err := s.db.writer().exec(ctx, `UPDATE client_sessions SET entered = entered || ? WHERE id = ?`, work+"\n", hashed(id))
	return err
}

// Entered returns the work sessions that a client's session is part of, also those that have ended.
func (s ClientSessions) Entered(ctx context.Context, id string) (work []string, err error) {
	text, _, err := byKey(ctx, s.db, sqlf(`SELECT entered FROM client_sessions WHERE id = ?`, hashed(id)), only[string])
	return distinct(text), err
}

// distinct returns the different lines of a text.
func distinct(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// SetLogLevel stores the log level of a session.
func (s ClientSessions) SetLogLevel(ctx context.Context, id, level string) error {
	_, err := s.db.writer().exec(ctx, `UPDATE client_sessions SET log_level = ? WHERE id = ?`, level, hashed(id))
	return err
}

// Subscribe stores that a session watches a resource.
func (s ClientSessions) Subscribe(ctx context.Context, id, uri string) error {
	_, err := s.db.writer().exec(ctx, `INSERT INTO client_subscriptions (session, uri) SELECT id, ? FROM client_sessions WHERE id = ?
		ON CONFLICT (session, uri) DO NOTHING`, uri, hashed(id))
	return err
}

// Unsubscribe is the reverse of Subscribe.
func (s ClientSessions) Unsubscribe(ctx context.Context, id, uri string) error {
	_, err := s.db.writer().exec(ctx, `DELETE FROM client_subscriptions WHERE session = ? AND uri = ?`, hashed(id), uri)
	return err
}

// Use marks sessions as used now, removes those that were not used since a time, and returns which of the ids
// are no sessions any more.
func (s ClientSessions) Use(ctx context.Context, ids []string, since time.Time) (ended []string, err error) {
	_, err = s.db.writer().exec(ctx, `DELETE FROM client_sessions WHERE seen_at < ?`, since.UnixMicro())
	if err == nil {
		_, err = s.db.writer().exec(ctx, `DELETE FROM client_answers WHERE at < ? OR session NOT IN (SELECT id FROM client_sessions)`,
			since.UnixMicro())
	}
	if err == nil {
		_, err = s.db.writer().exec(ctx, `DELETE FROM client_subscriptions WHERE session NOT IN (SELECT id FROM client_sessions)`)
	}
	for _, id := range slices.Sorted(slices.Values(ids)) { // one order, so that no two servers wait for each other
		if err != nil {
			return nil, err
		}
		var n int
		if n, err = s.db.writer().exec(ctx, `UPDATE client_sessions SET seen_at = ? WHERE id = ?`, s.now().UnixMicro(), hashed(id)); n == 0 {
			ended = append(ended, id)
		}
	}
	return ended, err
}

// End removes a session with everything of it.
func (s ClientSessions) End(ctx context.Context, id string) error {
	return s.db.transact(ctx, func(t executor) error {
		_, err := t.exec(ctx, `DELETE FROM client_sessions WHERE id = ?`, hashed(id))
		if err == nil {
			_, err = t.exec(ctx, `DELETE FROM client_answers WHERE session = ?`, hashed(id))
		}
		if err == nil {
			_, err = t.exec(ctx, `DELETE FROM client_subscriptions WHERE session = ?`, hashed(id))
		}
		return err
	})
}

// Hold binds a session to a server until a time, or returns the server that it is bound to now and until when.
// An unknown session can be held by every server.
func (s ClientSessions) Hold(ctx context.Context, id, server string, until time.Time) (by string, freeAt time.Time, err error) {
	now := s.now().UnixMicro()
	n, err := s.db.writer().exec(ctx, `UPDATE client_sessions SET holder = ?, held_until = ? WHERE id = ? AND (holder = ? OR held_until < ?)`,
		server, until.UnixMicro(), hashed(id), server, now)
	if err != nil || n > 0 {
		return "", time.Time{}, err
	}
	type hold struct {
		by    string
		until time.Time
	}
	held, found, err := byKey(ctx, s.db, sqlf(`SELECT holder, held_until FROM client_sessions WHERE id = ?`, hashed(id)),
		into(func(h *hold) []any { return []any{&h.by, micros{&h.until}} }))
	if err != nil || !found {
		return "", time.Time{}, err
	}
	return held.by, held.until, nil
}

// Release ends the hold of a server.
func (s ClientSessions) Release(ctx context.Context, id, server string) error {
	_, err := s.db.writer().exec(ctx, `UPDATE client_sessions SET holder = '', held_until = 0 WHERE id = ? AND holder = ?`, hashed(id), server)
	return err
}

// maxPassed limits the answers of a session that no server has taken.
const maxPassed = 100

// Pass stores a client's answer to a question of another server, if it is the first one. It is dropped if
// too many answers wait to be taken.
func (s ClientSessions) Pass(ctx context.Context, id, question string, answer json.RawMessage) error {
	_, err := s.db.writer().exec(ctx, `INSERT INTO client_answers (session, question, answer, at) SELECT id, ?, ?, ? FROM client_sessions
		WHERE id = ? AND (SELECT count(*) FROM client_answers AS a WHERE a.session = client_sessions.id) < ?
		ON CONFLICT (session, question) DO NOTHING`,
		question, []byte(answer), s.now().UnixMicro(), hashed(id), maxPassed)
	return err
}

// Take removes and returns the answer to a question; found is false if there is none yet.
func (s ClientSessions) Take(ctx context.Context, id, question string) (answer json.RawMessage, found bool, err error) {
	answer, found, err = byKey(ctx, s.db, sqlf(`SELECT answer FROM client_answers WHERE session = ? AND question = ?`, hashed(id), question),
		into(func(a *json.RawMessage) []any { return []any{(*[]byte)(a)} }))
	if err != nil || !found {
		return nil, false, err
	}
	_, err = s.db.writer().exec(ctx, `DELETE FROM client_answers WHERE session = ? AND question = ?`, hashed(id), question)
	return answer, err == nil, err
}
