package storage

import (
	"context"
	"database/sql"
	"strings"

	"github.com/toolfold/toolfold/tools/memory"
)

// within adds the WHERE clause of a scope.
func within(q query, scope memory.Scope) query {
	if scope.Namespace == "" {
		return starting(q.and(`WHERE true`), scope.Prefix)
	}
	return starting(q.and(`WHERE namespace = ?`, []byte(scope.Namespace)), scope.Prefix)
}

// starting adds that keys start with prefix, as a range of an index. No text
// in UTF-8 has the byte 0xff, so every key with the prefix is below the limit.
func starting(q query, prefix string) query {
	if prefix == "" {
		return q
	}
	return q.and(`AND key >= ? AND key < ?`, []byte(prefix), append([]byte(prefix), 0xff))
}

// pageOf adds the clauses of a page to a selection.
func pageOf(selection string, scope memory.Scope, page memory.Page) query {
	q := within(sqlf(selection), scope)
	if page.After != (memory.Place{}) {
		q = q.and(`AND (namespace, key) > (?, ?)`, []byte(page.After.Namespace), []byte(page.After.Key))
	}
	q = q.and(`ORDER BY namespace, key`)
	if page.Limit > 0 {
		q = q.and(`LIMIT ?`, page.Limit)
	}
	return q
}

func (s memoryStore) Frequency(ctx context.Context, m memory.Match, limit int) (int, error) {
	d := s.db.dialect
	q := sqlf(`SELECT count(*) FROM (`+d.memoryMatches+` LIMIT ?) AS matches`, d.matchText(m), limit)
	return one[int](ctx, s.db.reader(), q)
}

func (s memoryStore) Candidates(ctx context.Context, m memory.Match, limit int) ([]memory.Candidate, error) {
	d := s.db.dialect
	q := sqlf(`SELECT id, stored_at, words FROM memory WHERE id IN (`+d.memoryMatches+` ORDER BY id DESC LIMIT ?)`, d.matchText(m), limit)
	return all(ctx, s.db.reader(), q, func(rows *sql.Rows) (c memory.Candidate, err error) {
		var storedAt int64
		err = rows.Scan(&c.ID, &storedAt, &c.Words)
		c.StoredAt = fromMicros(storedAt)
		return c, err
	})
}

func (s memoryStore) Load(ctx context.Context, ids []int64) (map[int64]memory.Entry, error) {
	entries := map[int64]memory.Entry{}
	if len(ids) == 0 {
		return entries, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(ids)), ", ")
	q := sqlf(`SELECT id, namespace, key, stored_at, value FROM memory WHERE id IN (`+marks+`)`, args...)
	_, err := all(ctx, s.db.reader(), q, func(rows *sql.Rows) (int64, error) {
		var id, storedAt int64
		var namespace, key, value []byte
		err := rows.Scan(&id, &namespace, &key, &storedAt, &value)
		entries[id] = memory.Entry{Namespace: string(namespace), Key: string(key), Value: value, StoredAt: fromMicros(storedAt)}
		return id, err
	})
	return entries, err
}
