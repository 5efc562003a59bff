package storage

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/toolfold/toolfold/tools/memory"
)

// memoryStore implements [memory.Store].
type memoryStore struct {
	db *DB
}

const (
	insertEntry = `INSERT INTO memory (namespace, key, stored_at, words, value) VALUES (?, ?, ?, ?, ?)`
	replaceOld  = `ON CONFLICT (namespace, key) DO UPDATE SET stored_at = excluded.stored_at,
		words = excluded.words, value = excluded.value, revision = memory.revision + 1`
	keepOld = `ON CONFLICT (namespace, key) DO NOTHING`
)

func insert(e memory.Entry) query {
	return sqlf(insertEntry, []byte(e.Namespace), []byte(e.Key), e.StoredAt.UnixMicro(), memory.IndexText(e), []byte(e.Value))
}

func (s memoryStore) Put(ctx context.Context, e memory.Entry) (replaced bool, err error) {
	revision, err := one[int64](ctx, s.db.writer(), insert(e).and(replaceOld+" RETURNING revision"))
	return revision > 1, err
}

func (s memoryStore) Get(ctx context.Context, namespace, key string) (memory.Entry, error) {
	q := sqlf(`SELECT namespace, key, stored_at, value FROM memory WHERE namespace = ? AND key = ?`, []byte(namespace), []byte(key))
	list, err := all(ctx, s.db.reader(), q, scanEntry)
	if err == nil && len(list) == 0 {
		err = memory.ErrNotFound
	}
	if err != nil {
		return memory.Entry{}, err
	}
	return list[0], nil
}

// Import stores in the order of keys, so that two imports at once wait for
// each other instead of blocking each other. Entries with the same key keep
// their order.
func (s memoryStore) Import(ctx context.Context, entries []memory.Entry, overwrite bool) (stored int, err error) {
	conflict := keepOld
	if overwrite {
		conflict = replaceOld
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, byPlace)
	err = s.db.transact(ctx, func(t tx) error {
		stored = 0
		for _, e := range sorted {
			q := insert(e).and(conflict)
			n, err := t.exec(ctx, q.text, q.args...)
			if err != nil {
				return err
			}
			stored += n
		}
		return nil
	})
	return stored, err
}

func (s memoryStore) Headings(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Entry, error) {
	q := pageOf(`SELECT namespace, key, stored_at, NULL FROM memory`, scope, page)
	return all(ctx, s.db.reader(), q, scanEntry)
}

func (s memoryStore) Entries(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Entry, error) {
	q := pageOf(`SELECT namespace, key, stored_at, value FROM memory`, scope, page)
	return all(ctx, s.db.reader(), q, scanEntry)
}

func (s memoryStore) Count(ctx context.Context, scope memory.Scope) (int, error) {
	return one[int](ctx, s.db.reader(), within(sqlf(`SELECT count(*) FROM memory`), scope))
}

func (s memoryStore) Totals(ctx context.Context, scope memory.Scope) ([]memory.Totals, error) {
	q := within(sqlf(`SELECT namespace, count(*), sum(length(value)) FROM memory`), scope).and(`GROUP BY namespace ORDER BY namespace`)
	return all(ctx, s.db.reader(), q, func(rows *sql.Rows) (t memory.Totals, err error) {
		var namespace []byte
		err = rows.Scan(&namespace, &t.Count, &t.Bytes)
		t.Namespace = string(namespace)
		return t, err
	})
}

// Delete removes in the order of keys, for the reason that Import does.
func (s memoryStore) Delete(ctx context.Context, namespace string, keys []string) ([]string, error) {
	gone := map[string]bool{}
	err := s.db.transact(ctx, func(t tx) error {
		clear(gone)
		for _, key := range slices.Sorted(slices.Values(keys)) {
			n, err := t.exec(ctx, `DELETE FROM memory WHERE namespace = ? AND key = ?`, []byte(namespace), []byte(key))
			if err != nil {
				return err
			}
			gone[key] = gone[key] || n > 0
		}
		return nil
	})
	deleted := []string{}
	for _, key := range keys {
		if gone[key] {
			deleted = append(deleted, key)
			delete(gone, key)
		}
	}
	return deleted, err
}

func (s memoryStore) DeleteAll(ctx context.Context, namespace, prefix string) ([]string, error) {
	q := starting(sqlf(`DELETE FROM memory WHERE namespace = ?`, []byte(namespace)), prefix).and(`RETURNING key`)
	var keys []string
	err := s.db.transact(ctx, func(t tx) (err error) {
		keys, err = all(ctx, t, q, func(rows *sql.Rows) (string, error) {
			var key []byte
			err := rows.Scan(&key)
			return string(key), err
		})
		return err
	})
	slices.Sort(keys)
	return keys, err
}

func byPlace(a, b memory.Entry) int {
	return slices.Compare([]string{a.Namespace, a.Key}, []string{b.Namespace, b.Key})
}

func scanEntry(rows *sql.Rows) (memory.Entry, error) {
	var namespace, key, value []byte
	var storedAt int64
	err := rows.Scan(&namespace, &key, &storedAt, &value)
	return memory.Entry{Namespace: string(namespace), Key: string(key), Value: value, StoredAt: fromMicros(storedAt)}, err
}

func fromMicros(t int64) time.Time { return time.UnixMicro(t).UTC() }
