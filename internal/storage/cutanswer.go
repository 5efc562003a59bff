package storage

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"
)

// Limits of the answers that servers on a store keep for each other.
const (
	maxCutAnswers = 256 << 20   // bytes of all; beyond it, those that go first are removed
	trimCutEach   = time.Minute // between two removals by one process
)

// CutAnswers stores the whole of answers that were cut. Ids and readers are stored as hashes.
type CutAnswers struct {
	db      *DB
	now     func() time.Time
	trimmed *atomic.Int64 // when old answers were last removed, in microseconds since 1970
}

// CutAnswers returns the store of answers that were cut.
func (db *DB) CutAnswers(now func() time.Time) CutAnswers { return CutAnswers{db, now, &db.cutTrimmed} }

// Put stores an answer until a time. An answer with this id is replaced.
func (s CutAnswers) Put(ctx context.Context, id, reader string, answer json.RawMessage, until time.Time) error {
	if _, err := s.db.writer().exec(ctx, `INSERT INTO cut_answers (id, reader, answer, bytes, until) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`,
		hashed(id), hashed(reader), []byte(answer), len(answer), until.UnixMicro()); err != nil {
		return err
	}
	now, last := s.now(), s.trimmed.Load()
	if now.UnixMicro()-last < trimCutEach.Microseconds() || !s.trimmed.CompareAndSwap(last, now.UnixMicro()) {
		return nil
	}
	return s.Trim(ctx, maxCutAnswers)
}

// Trim removes answers whose time is over, and beyond a number of bytes those that go first.
func (s CutAnswers) Trim(ctx context.Context, most int64) error {
	_, err := s.db.writer().exec(ctx, `DELETE FROM cut_answers WHERE until < ? OR id IN (SELECT id FROM (
		SELECT id, sum(bytes) OVER (ORDER BY until DESC, id) AS newer FROM cut_answers) AS a WHERE newer > ?)`,
		s.now().UnixMicro(), most)
	return err
}

// Get returns an answer of a reader.
func (s CutAnswers) Get(ctx context.Context, id, reader string) (answer json.RawMessage, found bool, err error) {
	return byKey(ctx, s.db, sqlf(`SELECT answer FROM cut_answers WHERE id = ? AND reader = ? AND until >= ?`,
		hashed(id), hashed(reader), s.now().UnixMicro()), into(func(a *json.RawMessage) []any { return []any{(*[]byte)(a)} }))
}
