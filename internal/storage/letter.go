package storage

import (
	"context"
	"slices"
	"time"
)

// Limits of letters and of the servers that receive them.
const (
	attendTime      = 10 * time.Second // after a server was last seen, it counts as ended
	letterTime      = time.Minute      // for a server to receive a letter
	maxReceived     = 32               // letters that Receive returns at once
	maxReceivedSize = 8 << 20          // bytes of all of them except the last one
	trimLettersEach = time.Minute      // between two removals by one process
)

// Letter is a message of one server to another.
type Letter struct {
	ID      string
	Message []byte
}

// Letters passes messages between the servers on a store.
type Letters struct{ db *DB }

// Letters returns the messages between servers.
func (db *DB) Letters() Letters { return Letters{db} }

// Attend marks a server as attending, and returns the peers that do not attend.
func (l Letters) Attend(ctx context.Context, server string, peers []string) (gone []string, err error) {
	clock := l.db.dialect.clock
	if _, err := l.db.writer().exec(ctx, `INSERT INTO letter_servers (id, seen_at) VALUES (?, `+clock+`)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, server); err != nil {
		return nil, err
	}
	if err := l.trim(ctx); err != nil || len(peers) == 0 {
		return nil, err
	}
	there, err := all(ctx, l.db.reader(), sqlf(`SELECT id FROM letter_servers WHERE seen_at > `+clock+` - ? AND`,
		attendTime.Microseconds()).with(among("id", peers)), only[string])
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(peers), func(id string) bool { return slices.Contains(there, id) }), nil
}

// trim removes old letters and servers.
func (l Letters) trim(ctx context.Context) error {
	now, last := time.Now().UnixMicro(), l.db.lettersTrimmed.Load()
	if now-last < trimLettersEach.Microseconds() || !l.db.lettersTrimmed.CompareAndSwap(last, now) {
		return nil
	}
	since := l.db.dialect.clock + ` - ?`
	_, err := l.db.writer().exec(ctx, `DELETE FROM letter_servers WHERE seen_at < `+since, letterTime.Microseconds())
	if err == nil {
		_, err = l.db.writer().exec(ctx, `DELETE FROM letters WHERE at < `+since, letterTime.Microseconds())
	}
	return err
}

// Leave ends the attendance of a server.
func (l Letters) Leave(ctx context.Context, server string) error {
	_, err := l.db.writer().exec(ctx, `DELETE FROM letter_servers WHERE id = ?`, server)
	if err == nil {
		_, err = l.db.writer().exec(ctx, `DELETE FROM letters WHERE server = ?`, server)
	}
	return err
}

// Send stores a letter to a server. While it has one with the same id, the new one is dropped.
func (l Letters) Send(ctx context.Context, server string, letter Letter) error {
	_, err := l.db.writer().exec(ctx, `INSERT INTO letters (server, id, message, at) VALUES (?, ?, ?, `+l.db.dialect.clock+`)
		ON CONFLICT (server, id) DO NOTHING`, server, letter.ID, letter.Message)
	return err
}

// Receive removes the letters to a server that are done, and returns some of the other ones, the oldest first.
func (l Letters) Receive(ctx context.Context, server string, done []string) ([]Letter, error) {
	if len(done) > 0 {
		remove := sqlf(`DELETE FROM letters WHERE server = ? AND`, server).with(among("id", done))
		if _, err := l.db.writer().exec(ctx, remove.text, remove.args...); err != nil {
			return nil, err
		}
	}
	return all(ctx, l.db.reader(), sqlf(`SELECT id, message FROM (SELECT id, message, at, sum(length(message)) OVER (ORDER BY at, id)
		- length(message) AS earlier FROM letters WHERE server = ?) AS l WHERE earlier < ? ORDER BY at, id LIMIT ?`,
		server, maxReceivedSize, maxReceived),
		into(func(l *Letter) []any { return []any{&l.ID, &l.Message} }))
}
