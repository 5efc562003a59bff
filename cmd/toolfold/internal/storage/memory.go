package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/memory"
)

// Memory returns the store of the memory family.
func (db *DB) Memory() memory.Store {
	return memoryStore{db, memorySearches[db.dialect.name]}
}

// memoryStore implements [memory.Store].
type memoryStore struct {
	db     *DB
	search memorySearch
}

// memorySearch finds entries by words, in the dialect of a database.
type memorySearch struct {
	// matches selects the id, which is the column id, of each entry that has
	// the words of its parameter. A condition on id may follow.
	matches, id string

	// latest stands before and after matches to order them by descending id.
	latest [2]string

	// known selects those elements of its parameter, a JSON array of words,
	// that an entry has.
	known string

	// byIndex, run before known in its transaction, has the planner use the
	// index for each word. Empty where it always does.
	byIndex string

	// How the parameter of matches is written: what is around a word, after
	// the beginning of one, between alternatives, and between groups.
	quote, prefix, or, and string
}

var memorySearches = map[goose.Dialect]memorySearch{
	goose.DialectSQLite3: {
		matches: `SELECT rowid AS id FROM memory_index WHERE memory_index MATCH ?`,
		id:      `rowid`,
		latest:  [2]string{``, `ORDER BY rowid DESC`},
		known:   `SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memory_index WHERE memory_index MATCH '"' || value || '"')`,
		quote:   `"`, prefix: "*", or: " OR ", and: " AND ",
	},
	goose.DialectPostgres: {
		matches: `SELECT id FROM memory WHERE lexemes @@ ?::tsquery`,
		id:      `id`,
		// Of words in very many entries not all of them are visited: 1,000 are
		// enough to choose from.
		latest: [2]string{`SELECT id FROM (`, `LIMIT 1000) AS matches ORDER BY id DESC`},
		known: `SELECT word FROM json_array_elements_text(?::json) AS asked (word)
			WHERE EXISTS (SELECT 1 FROM memory WHERE lexemes @@ ('''' || word || '''')::tsquery OFFSET 0)`,
		byIndex: `SET LOCAL enable_seqscan = off`,
		quote:   "'", prefix: ":*", or: " | ", and: " & ",
	},
}

// text writes a condition on words: alternatives in brackets, and a mark after
// the beginnings of words. Words have no quotes in them, see [memory.Word].
func (s memorySearch) text(m memory.Match) string {
	groups := make([]string, len(m))
	for i, any := range m {
		words := make([]string, len(any))
		for j, w := range any {
			words[j] = s.quote + w.Text + s.quote
			if w.Prefix {
				words[j] += s.prefix
			}
		}
		groups[i] = "(" + strings.Join(words, s.or) + ")"
	}
	return strings.Join(groups, s.and)
}

const (
	insertEntry = `INSERT INTO memory (namespace, key, stored_at, words, value) VALUES (?, ?, ?, ?, ?)`
	replaceOld  = `ON CONFLICT (namespace, key) DO UPDATE SET stored_at = excluded.stored_at,
		words = excluded.words, value = excluded.value, revision = memory.revision + 1`
	keepOld = `ON CONFLICT (namespace, key) DO NOTHING`
)

func insert(e memory.Entry) query {
	return sqlf(insertEntry, []byte(e.Namespace), []byte(e.Key), e.StoredAt.UnixMicro(), e.Words, []byte(e.Value))
}

func (s memoryStore) Put(ctx context.Context, e memory.Entry) (replaced bool, err error) {
	revision, err := scalar[int64](ctx, s.db.writer(), insert(e).and(replaceOld+" RETURNING revision"))
	return revision > 1, err
}

func (s memoryStore) Get(ctx context.Context, namespace, key string) (e memory.Entry, found bool, err error) {
	q := sqlf(`SELECT namespace, key, stored_at, value FROM memory WHERE namespace = ? AND key = ?`, []byte(namespace), []byte(key))
	return byKey(ctx, s.db, q, scanEntry)
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
	slices.SortStableFunc(sorted, func(a, b memory.Entry) int {
		return slices.Compare([]string{a.Namespace, a.Key}, []string{b.Namespace, b.Key})
	})
	err = s.db.transact(ctx, func(t executor) error {
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

func (s memoryStore) Headings(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Heading, error) {
	q := pageOf(`SELECT namespace, key, stored_at, length(value) FROM memory`, scope, page)
	return all(ctx, s.db.reader(), q, func(rows *sql.Rows) (h memory.Heading, err error) {
		var namespace, key []byte
		var storedAt int64
		err = rows.Scan(&namespace, &key, &storedAt, &h.Size)
		h.Namespace, h.Key, h.StoredAt = string(namespace), string(key), fromMicros(storedAt)
		return h, err
	})
}

func (s memoryStore) Entries(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Entry, error) {
	q := pageOf(`SELECT namespace, key, stored_at, value FROM memory`, scope, page)
	return all(ctx, s.db.reader(), q, scanEntry)
}

func (s memoryStore) Count(ctx context.Context, scope memory.Scope) (int, error) {
	return scalar[int](ctx, s.db.reader(), within(sqlf(`SELECT count(*) FROM memory`), scope))
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
	err := s.db.transact(ctx, func(t executor) error {
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

func (s memoryStore) DeleteAll(ctx context.Context, namespace, prefix string, naming int) (deleted int, first []string, err error) {
	name := starting(sqlf(`SELECT key FROM memory WHERE namespace = ?`, []byte(namespace)), prefix).and(`ORDER BY key LIMIT ?`, naming)
	remove := starting(sqlf(`DELETE FROM memory WHERE namespace = ?`, []byte(namespace)), prefix)
	err = s.db.transact(ctx, func(t executor) (err error) {
		first, err = all(ctx, t, name, func(rows *sql.Rows) (string, error) {
			var key []byte
			err := rows.Scan(&key)
			return string(key), err
		})
		if err == nil {
			deleted, err = t.exec(ctx, remove.text, remove.args...)
		}
		return err
	})
	return deleted, first, err
}

func scanEntry(rows *sql.Rows) (memory.Entry, error) {
	var namespace, key, value []byte
	var storedAt int64
	err := rows.Scan(&namespace, &key, &storedAt, &value)
	return memory.Entry{Namespace: string(namespace), Key: string(key), Value: value, StoredAt: fromMicros(storedAt)}, err
}

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

func (s memoryStore) Matching(ctx context.Context, scope memory.Scope, m memory.Match, limit int) ([]int64, error) {
	q := sqlf(s.search.latest[0]).with(s.matches(scope, m)).and(s.search.latest[1]+` LIMIT ?`, limit)
	return all(ctx, s.db.reader(), q, scanID)
}

func (s memoryStore) CountMatching(ctx context.Context, scope memory.Scope, m memory.Match, limit int) (int, error) {
	return scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM (`).with(s.matches(scope, m)).and(`LIMIT ?) AS matches`, limit))
}

// matches selects the ids of the entries of a scope that match.
func (s memoryStore) matches(scope memory.Scope, m memory.Match) query {
	q := sqlf(s.search.matches, s.search.text(m))
	if scope.Prefix != "" {
		keys := within(sqlf(`AND `+s.search.id+` IN (SELECT id FROM memory`), scope)
		q = q.and(keys.text+`)`, keys.args...)
	}
	return q
}

func (s memoryStore) Known(ctx context.Context, words []string) ([]string, error) {
	list, err := json.Marshal(words)
	if err != nil {
		return nil, err
	}
	known := sqlf(s.search.known, string(list))
	scan := func(rows *sql.Rows) (word string, err error) { return word, rows.Scan(&word) }
	if s.search.byIndex == "" {
		return all(ctx, s.db.reader(), known, scan)
	}
	var found []string
	err = s.db.transact(ctx, func(t executor) error {
		if _, err := t.exec(ctx, s.search.byIndex); err != nil {
			return err
		}
		found, err = all(ctx, t, known, scan)
		return err
	})
	return found, err
}

func (s memoryStore) LastID(ctx context.Context) (int64, error) {
	return scalar[int64](ctx, s.db.reader(), sqlf(`SELECT coalesce(max(id), 0) FROM memory`))
}

func (s memoryStore) Candidates(ctx context.Context, ids []int64) ([]memory.Candidate, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q := sqlf(`SELECT id, stored_at, words FROM memory WHERE`).with(among("id", ids))
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
	q := sqlf(`SELECT id, namespace, key, stored_at, value FROM memory WHERE`).with(among("id", ids))
	_, err := all(ctx, s.db.reader(), q, func(rows *sql.Rows) (int64, error) {
		var id, storedAt int64
		var namespace, key, value []byte
		err := rows.Scan(&id, &namespace, &key, &storedAt, &value)
		entries[id] = memory.Entry{Namespace: string(namespace), Key: string(key), Value: value, StoredAt: fromMicros(storedAt)}
		return id, err
	})
	return entries, err
}

// Reindex changes the oldest entries of the table memory_outdated, which a
// schema step fills. On PostgreSQL another process that does the same waits.
func (s memoryStore) Reindex(ctx context.Context, limit int, words func(memory.Entry) string) (left bool, err error) {
	err = s.db.transact(ctx, func(t executor) error {
		ids, err := all(ctx, t, sqlf(`SELECT id FROM memory_outdated ORDER BY id LIMIT ?`+s.db.dialect.lock, limit), scanID)
		if err != nil {
			return err
		}
		for _, id := range ids {
			list, err := all(ctx, t, sqlf(`SELECT namespace, key, stored_at, value FROM memory WHERE id = ?`+s.db.dialect.lock, id), scanEntry)
			if err != nil {
				return err
			}
			for _, e := range list {
				if _, err := t.exec(ctx, `UPDATE memory SET words = ? WHERE id = ?`, words(e), id); err != nil {
					return err
				}
			}
			if _, err := t.exec(ctx, `DELETE FROM memory_outdated WHERE id = ?`, id); err != nil {
				return err
			}
		}
		rest, err := all(ctx, t, sqlf(`SELECT id FROM memory_outdated LIMIT 1`), scanID)
		left = len(rest) > 0
		return err
	})
	return left, err
}

func scanID(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) }
