package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/tools/guard"
)

// Guard returns the store of the guard family.
func (db *DB) Guard() guard.Store { return guardStore{db} }

// guardStore implements [guard.Store].
type guardStore struct{ db *DB }

// policyRow is the JSON of a policy on a session.
type policyRow struct {
	Gates     []string `json:"gates"`
	Allowed   []string `json:"allowed,omitempty"`
	Forbidden []string `json:"forbidden,omitempty"`
	Radius    int      `json:"radius,omitempty"`
	By        string   `json:"by,omitempty"`
}

const (
	selectPolicies = `SELECT session_id, policy_id, applied_at, policy, areas FROM session_policies WHERE session_id = ? ORDER BY policy_id`
	putPolicy      = `INSERT INTO session_policies (session_id, policy_id, applied_at, policy, areas) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (session_id, policy_id) DO UPDATE SET applied_at = excluded.applied_at, policy = excluded.policy`
	updateAreas = `UPDATE session_policies SET areas = ? WHERE session_id = ? AND policy_id = ?`
)

func (s guardStore) Bind(ctx context.Context, b guard.Binding, limit int) (ids []string, status string, err error) {
	row, err := json.Marshal(policyRow{b.Gates, b.Allowed, b.Forbidden, b.Radius, b.By})
	if err != nil {
		return nil, "", fmt.Errorf("encoding policy: %w", err)
	}
	err = s.db.transact(ctx, func(e executor) error {
		ids = nil
		now, found, err := first(ctx, e, sqlf(`SELECT status FROM sessions WHERE id = ?`, b.SessionID).and(e.dialect.lock), only[string])
		status = now
		if err != nil || !found || status != work.SessionActive {
			return err
		}
		bound, err := all(ctx, e, sqlf(selectPolicies, b.SessionID), scanBinding)
		if err != nil {
			return err
		}
		for _, other := range bound {
			ids = append(ids, other.PolicyID)
		}
		if !slices.Contains(ids, b.PolicyID) {
			if len(ids) >= limit {
				return nil
			}
			ids = append(ids, b.PolicyID)
			slices.Sort(ids)
		}
		_, err = e.exec(ctx, putPolicy, b.SessionID, b.PolicyID, b.AppliedAt.UnixMicro(), row, []byte(`null`))
		return err
	})
	return ids, status, err
}

func (s guardStore) Active(ctx context.Context, sessions []string) ([]string, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	return all(ctx, s.db.reader(), sqlf(`SELECT id FROM sessions WHERE status = 'active' AND`).with(among("id", sessions)).
		and(`ORDER BY created_at, id`), only[string])
}

func (s guardStore) Claim(ctx context.Context, sessionID string, judge func(*guard.Binding) error) error {
	bound, err := all(ctx, s.db.reader(), sqlf(selectPolicies, sessionID), scanBinding)
	if err != nil || len(bound) == 0 {
		return err
	}
	var refused error
	err = s.db.transact(ctx, func(e executor) error {
		refused = nil
		bound, err := all(ctx, e, sqlf(selectPolicies, sessionID).and(e.dialect.lock), scanBinding)
		if err != nil {
			return err
		}
		for _, b := range bound {
			had := len(b.Areas)
			if refused = judge(&b); refused != nil {
				return errRefused
			}
			if len(b.Areas) == had {
				continue
			}
			areas, err := json.Marshal(b.Areas)
			if err != nil {
				return fmt.Errorf("encoding areas: %w", err)
			}
			if _, err := e.exec(ctx, updateAreas, areas, b.SessionID, b.PolicyID); err != nil {
				return err
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return err
}

// errRefused ends a transaction without changes.
var errRefused = errors.New("refused")

func scanBinding(rows *sql.Rows) (b guard.Binding, err error) {
	var row policyRow
	err = rows.Scan(&b.SessionID, &b.PolicyID, micros{&b.AppliedAt}, fromJSON{&row}, fromJSON{&b.Areas})
	b.Gates, b.Allowed, b.Forbidden, b.Radius, b.By = row.Gates, row.Allowed, row.Forbidden, row.Radius, row.By
	return b, err
}
