package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/internal/run/audit"
)

// Audit returns the store of who called what.
func (db *DB) Audit() audit.Store { return auditStore{db} }

// auditStore implements [audit.Store].
type auditStore struct{ db *DB }

func (s auditStore) Append(ctx context.Context, entries []audit.Entry) error {
	return s.db.transact(ctx, func(e executor) error {
		for _, one := range entries {
			details, err := json.Marshal(one)
			if err != nil {
				return fmt.Errorf("encoding entry of the audit: %w", err)
			}
			ended := 1
			if one.Ended.IsZero() {
				ended = 0
			}
			if _, err := e.exec(ctx, `INSERT INTO audit (call, ended, at, caller, details) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (call, ended) DO NOTHING`, one.ID, ended, one.Began.UnixMicro(), []byte(one.Caller), details); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s auditStore) List(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	list := sqlf(`SELECT details FROM audit
		WHERE (ended = 1 OR NOT EXISTS (SELECT 1 FROM audit AS e WHERE e.call = audit.call AND e.ended = 1))`)
	if !q.Since.IsZero() {
		list = list.and(`AND at >= ?`, q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		list = list.and(`AND at < ?`, q.Until.UnixMicro())
	}
	if q.Caller != "" {
		list = list.and(`AND caller = ?`, []byte(q.Caller))
	}
	if q.After != nil {
		list = list.and(`AND (at, call) > (?, ?)`, q.After.Began.UnixMicro(), q.After.ID)
	}
	return all(ctx, s.db.reader(), list.and(`ORDER BY at, call LIMIT ?`, q.Limit),
		into(func(e *audit.Entry) []any { return []any{fromJSON{e}} }))
}

func (s auditStore) Prune(ctx context.Context, before time.Time) error {
	return s.db.transact(ctx, func(e executor) error {
		_, err := e.exec(ctx, `DELETE FROM audit WHERE at < ?`, before.UnixMicro())
		return err
	})
}
