package storage

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolfold/toolfold/internal/run/usage"
)

// Usage returns the store of the counts of calls by legacy names.
func (db *DB) Usage() usage.Store { return usageStore{db} }

// usageStore implements [usage.Store].
type usageStore struct{ db *DB }

func (s usageStore) Add(ctx context.Context, counts []usage.Count) error {
	// The same order in all processes prevents deadlocks.
	counts = slices.Clone(counts)
	slices.SortFunc(counts, func(a, b usage.Count) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Client, b.Client))
	})
	return s.db.transact(ctx, func(e executor) error {
		for _, c := range counts {
			if _, err := e.exec(ctx, `INSERT INTO legacy_calls (name, client, calls, last_at) VALUES (?, ?, ?, ?)
				ON CONFLICT (name, client) DO UPDATE SET calls = legacy_calls.calls + excluded.calls,
					last_at = CASE WHEN excluded.last_at > legacy_calls.last_at THEN excluded.last_at ELSE legacy_calls.last_at END`,
				c.Name, []byte(c.Client), c.Calls, c.Last.UnixMicro()); err != nil {
				return err
			}
		}
		_, err := e.exec(ctx, `DELETE FROM legacy_calls WHERE (name, client) IN (SELECT name, client FROM legacy_calls
			ORDER BY last_at DESC, name, client LIMIT ? OFFSET ?)`, usage.MaxCounts, usage.MaxCounts)
		return err
	})
}

func (s usageStore) Counts(ctx context.Context) ([]usage.Count, error) {
	return all(ctx, s.db.reader(), sqlf(`SELECT name, client, calls, last_at FROM legacy_calls ORDER BY last_at DESC, name, client`),
		into(func(c *usage.Count) []any { return []any{&c.Name, &c.Client, &c.Calls, micros{&c.Last}} }))
}
