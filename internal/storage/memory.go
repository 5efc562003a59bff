package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/memory"
)

// Memory returns the store of the memory family, which keeps the history of its entries.
func (db *DB) Memory(history memory.History) memory.Store {
	return memoryStore{db, memorySearches[db.dialect.name], history}
}

// memoryStore implements [memory.Store].
type memoryStore struct {
	db      *DB
	search  memorySearch
	history memory.History
}

// memorySearch finds entries by words, in the dialect of a database.
type memorySearch struct {
	// matches selects the id, which is the column id, of each entry that has
	// the words of its parameter. A condition on id may follow.
	matches, id string

	// latest is put around matches to order them by descending id.
	latest [2]string

	// known selects the elements of its parameter, a JSON array of words, that occur in an entry.
	known string

	// byIndex makes the planner use the index for each word, if run before known in the same
	// transaction. It is empty if the planner always does.
	byIndex string

	// identity lists the columns of the unique index of entries.
	identity string

	// The syntax of the parameter of matches: around a word, after a prefix, between alternatives,
	// and between groups.
	quote, prefix, or, and string
}

var memorySearches = map[goose.Dialect]memorySearch{
	goose.DialectSQLite3: {
		matches:  `SELECT rowid AS id FROM memory_index WHERE memory_index MATCH ?`,
		id:       `rowid`,
		latest:   [2]string{``, `ORDER BY rowid DESC`},
		known:    `SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM memory_index WHERE memory_index MATCH '"' || value || '"')`,
		identity: `namespace, key, workspace`,
		quote:    `"`, prefix: "*", or: " OR ", and: " AND ",
	},
	goose.DialectPostgres: {
		matches: `SELECT id FROM memory WHERE lexemes @@ ?::tsquery`,
		id:      `id`,
		// For words in very many entries, the newest 1,000 are enough to choose from.
		latest: [2]string{`SELECT id FROM (`, `LIMIT 1000) AS matches ORDER BY id DESC`},
		known: `SELECT word FROM json_array_elements_text(?::json) AS asked (word)
			WHERE EXISTS (SELECT 1 FROM memory WHERE lexemes @@ ('''' || word || '''')::tsquery OFFSET 0)`,
		byIndex:  `SET LOCAL enable_seqscan = off`,
		identity: `namespace, key, sha256(workspace)`,
		quote:    "'", prefix: ":*", or: " | ", and: " & ",
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
	// The revision of an entry that is new is greater than the versions that an earlier entry left.
	insertEntry = `INSERT INTO memory (namespace, key, stored_at, expires_at, workspace, author, tags, words, value, restored, revision)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
			1 + coalesce((SELECT max(version) FROM memory_versions WHERE namespace = ? AND key = ? AND workspace = ?), 0))`

	// An entry whose value and tags stay is the same version.
	replaceOld = ` DO UPDATE SET stored_at = excluded.stored_at, expires_at = excluded.expires_at, author = excluded.author,
		tags = excluded.tags, words = excluded.words, value = excluded.value, restored = excluded.restored, revision = CASE
			WHEN memory.value = excluded.value AND memory.tags IS NOT DISTINCT FROM excluded.tags THEN memory.revision
			WHEN excluded.revision > memory.revision THEN excluded.revision ELSE memory.revision + 1 END`
	replaceExpired = replaceOld + ` WHERE memory.expires_at <= ?`
)

// onConflict adds the action for an existing entry.
func (s memoryStore) onConflict(action string, args ...any) query {
	return sqlf(`ON CONFLICT (`+s.search.identity+`)`+action, args...)
}

// insert inserts an entry. Restored is the version that it is restored from; 0 = it is not.
func insert(e memory.Entry, restored int) query {
	var from any
	if restored > 0 {
		from = restored
	}
	return sqlf(insertEntry, []byte(e.Namespace), []byte(e.Key), e.StoredAt.UnixMicro(), maybeMicros(e.ExpiresAt), []byte(e.Workspace),
		maybeBytes(e.Author), tagsText(e.Tags), e.Words, []byte(e.Value), from, []byte(e.Namespace), []byte(e.Key), []byte(e.Workspace))
}

// tagsText returns the JSON of tags, or NULL if there are no tags.
func tagsText(tags []string) any {
	if len(tags) == 0 {
		return nil
	}
	text, _ := json.Marshal(tags) // strings always encode
	return text
}

func (s memoryStore) Put(ctx context.Context, e memory.Entry, merge func(e, old memory.Entry) memory.Entry) (old *memory.Entry, err error) {
	now := e.StoredAt
	err = s.db.transact(ctx, func(t executor) (err error) {
		old, err = s.put(ctx, t, e, merge, now)
		return err
	})
	return old, err
}

// put begins with a look at the entry that is there. If there is none, another caller may
// store one before put does: then put looks again.
func (s memoryStore) put(ctx context.Context, t executor, e memory.Entry, merge func(e, old memory.Entry) memory.Entry, now time.Time) (
	old *memory.Entry, err error) {
	look := sqlf(selectEntry).with(at(placeOf(e))).and(s.db.dialect.lock)
	for {
		there, found, err := first(ctx, t, look, scanEntry)
		if err != nil {
			return nil, err
		}
		stored := e
		old = nil
		if found && (there.ExpiresAt.IsZero() || there.ExpiresAt.After(now)) {
			old = &there
			if merge != nil {
				stored = merge(e, there)
			}
			if !stored.Same(there) {
				if there.Version, err = s.keepOne(ctx, t, there, now); err != nil {
					return nil, err
				}
			}
		}
		if done, err := s.write(ctx, t, stored, 0, found); done || err != nil {
			return old, err
		}
	}
}

// write inserts an entry, or replaces the one that was seen in its place. It reports false if
// another caller stored one meanwhile.
func (s memoryStore) write(ctx context.Context, t executor, e memory.Entry, restored int, replace bool) (done bool, err error) {
	if !replace {
		return s.place(ctx, t, insert(e, restored).with(s.onConflict(` DO NOTHING`)), placeOf(e))
	}
	q := insert(e, restored).with(s.onConflict(replaceOld))
	n, err := t.exec(ctx, q.text, q.args...)
	return n > 0, err
}

// place inserts an entry and reports whether it did. On PostgreSQL an insert that waited while
// another caller deleted the entry of its place has not seen the version that this left: the new
// entry gets a number after it.
func (s memoryStore) place(ctx context.Context, t executor, q query, place memory.Place) (done bool, err error) {
	n, err := t.exec(ctx, q.text, q.args...)
	if err != nil || n == 0 || t.dialect.lock == "" {
		return n > 0, err
	}
	q = sqlf(`UPDATE memory SET revision = 1 + last FROM (SELECT max(version) AS last FROM memory_versions`).with(at(place)).
		and(`) AS v`).with(at(place)).and(`AND revision <= last`)
	_, err = t.exec(ctx, q.text, q.args...)
	return err == nil, err
}

func placeOf(e memory.Entry) memory.Place {
	return memory.Place{Namespace: e.Namespace, Key: e.Key, Workspace: e.Workspace}
}

// at is the condition that a row is of the entry at a place.
func at(p memory.Place) query {
	return sqlf(`WHERE namespace = ? AND key = ? AND workspace = ?`, []byte(p.Namespace), []byte(p.Key), []byte(p.Workspace))
}

func (s memoryStore) Add(ctx context.Context, e memory.Entry) (added bool, err error) {
	q := insert(e, 0).with(s.onConflict(replaceExpired, e.StoredAt.UnixMicro()))
	err = s.db.transact(ctx, func(t executor) (err error) {
		added, err = s.place(ctx, t, q, placeOf(e))
		return err
	})
	return added && err == nil, err
}

func (s memoryStore) Get(ctx context.Context, place memory.Place, now time.Time) (e memory.Entry, found bool, err error) {
	q := sqlf(selectEntry).with(at(place))
	if !now.IsZero() {
		q = q.and(`AND (expires_at IS NULL OR expires_at > ?)`, now.UnixMicro())
	}
	return byKey(ctx, s.db, q, scanEntry)
}

// alive adds the condition that entries have not expired. Few expired entries exist, so that this
// costs one index lookup.
func alive(q query, now time.Time) query {
	if now.IsZero() {
		return q
	}
	return q.and(`AND id NOT IN (SELECT id FROM memory WHERE expires_at <= ?)`, now.UnixMicro())
}

// Import stores in the order of keys, so that two imports at once wait for
// each other instead of blocking each other. Entries with the same key keep
// their order.
func (s memoryStore) Import(ctx context.Context, entries []memory.Entry, overwrite bool, now time.Time) (stored int, err error) {
	conflict := s.onConflict(replaceExpired, now.UnixMicro())
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b memory.Entry) int {
		return slices.Compare([]string{a.Namespace, a.Key, a.Workspace}, []string{b.Namespace, b.Key, b.Workspace})
	})
	err = s.db.transact(ctx, func(t executor) error {
		stored = 0
		for _, e := range sorted {
			if overwrite {
				if _, err := s.put(ctx, t, e, nil, now); err != nil {
					return err
				}
				stored++
				continue
			}
			done, err := s.place(ctx, t, insert(e, 0).with(conflict), placeOf(e))
			if err != nil {
				return err
			}
			stored += number(done)
		}
		return nil
	})
	return stored, err
}

const (
	selectHeading = `SELECT id, namespace, key, stored_at, expires_at, workspace, tags, length(value), revision FROM memory`
	entryColumns  = `namespace, key, stored_at, expires_at, workspace, author, tags, revision, value`
	selectEntry   = `SELECT ` + entryColumns + ` FROM memory`
)

func (s memoryStore) Headings(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Heading, error) {
	return all(ctx, s.db.reader(), s.pageOf(selectHeading, scope, page), scanHeading)
}

func (s memoryStore) Newest(ctx context.Context, scope memory.Scope, after memory.Moment, limit int) ([]memory.Heading, error) {
	q := s.within(sqlf(selectHeading), scope)
	if after != (memory.Moment{}) {
		q = q.and(`AND (stored_at, id) < (?, ?)`, after.StoredAt.UnixMicro(), after.ID)
	}
	return all(ctx, s.db.reader(), q.and(`ORDER BY stored_at DESC, id DESC LIMIT ?`, limit), scanHeading)
}

var scanHeading = into(func(h *memory.Heading) []any {
	return []any{&h.ID, &h.Namespace, &h.Key, micros{&h.StoredAt}, micros{&h.ExpiresAt}, &h.Workspace, fromJSON{&h.Tags}, &h.Size, &h.Version}
})

func (s memoryStore) Entries(ctx context.Context, scope memory.Scope, page memory.Page) ([]memory.Entry, error) {
	return all(ctx, s.db.reader(), s.pageOf(selectEntry, scope, page), scanEntry)
}

func (s memoryStore) Count(ctx context.Context, scope memory.Scope) (int, error) {
	return scalar[int](ctx, s.db.reader(), s.within(sqlf(`SELECT count(*) FROM memory`), scope))
}

func (s memoryStore) Totals(ctx context.Context, scope memory.Scope) ([]memory.Totals, error) {
	q := s.within(sqlf(`SELECT namespace, count(*), sum(length(value)) FROM memory`), scope).and(`GROUP BY namespace ORDER BY namespace`)
	return all(ctx, s.db.reader(), q, into(func(t *memory.Totals) []any { return []any{&t.Namespace, &t.Count, &t.Bytes} }))
}

func (s memoryStore) Existing(ctx context.Context, scope memory.Scope, keys []string) ([]string, error) {
	if len(keys) == 0 {
		return []string{}, nil
	}
	q := sqlf(`SELECT DISTINCT key FROM memory WHERE namespace = ? AND`, []byte(scope.Namespace)).with(among("key", bytesOf(keys)))
	return all(ctx, s.db.reader(), alive(ofWorkspace(q, scope), scope.Now).and(`ORDER BY key`), only[string])
}

func (s memoryStore) Delete(ctx context.Context, scope memory.Scope, keys []string) ([]string, error) {
	gone := map[string]bool{}
	deleted := []string{}
	if len(keys) == 0 {
		return deleted, nil
	}
	q := sqlf(`WHERE namespace = ? AND`, []byte(scope.Namespace)).with(among("key", bytesOf(keys)))
	err := s.db.transact(ctx, func(t executor) error {
		clear(gone)
		_, err := s.remove(ctx, t, alive(ofWorkspace(q, scope), scope.Now), scope.Now, func(key string) { gone[key] = true })
		return err
	})
	for _, key := range keys {
		if gone[key] {
			deleted = append(deleted, key)
			delete(gone, key)
		}
	}
	return deleted, err
}

func (s memoryStore) DeleteAll(ctx context.Context, scope memory.Scope, naming int) (deleted int, first []string, err error) {
	err = s.db.transact(ctx, func(t executor) (err error) {
		first = []string{}
		deleted, err = s.remove(ctx, t, alive(under(scope), scope.Now), scope.Now, func(key string) {
			if len(first) < naming {
				first = append(first, key)
			}
		})
		return err
	})
	return deleted, first, err
}

// under is the condition that a row is in the namespace and workspace of a scope, under its prefix.
func under(scope memory.Scope) query {
	return ofWorkspace(starting(sqlf(`WHERE namespace = ?`, []byte(scope.Namespace)), scope.Prefix), scope)
}

// removeAtOnce bounds the entries that one statement removes.
const removeAtOnce = 500

// remove moves the entries of a condition into the history, and calls name with each key, in order. It
// locks them in the order of their places, for the reason that Import does.
func (s memoryStore) remove(ctx context.Context, t executor, condition query, now time.Time, name func(key string)) (int, error) {
	q := sqlf(`SELECT id, key FROM memory`).with(condition).and(`ORDER BY namespace, key, workspace` + s.db.dialect.lock)
	ids, err := all(ctx, t, q, func(rows *sql.Rows) (id int64, err error) {
		var key string
		err = rows.Scan(&id, &key)
		name(key)
		return id, err
	})
	for part := range slices.Chunk(ids, removeAtOnce) {
		which := sqlf(`WHERE`).with(among("id", part))
		if err := s.keep(ctx, t, which, now); err != nil {
			return 0, err
		}
		q := sqlf(`DELETE FROM memory`).with(which)
		if _, err := t.exec(ctx, q.text, q.args...); err != nil {
			return 0, err
		}
	}
	return len(ids), err
}

// Expire reads before it takes the writer's lock: usually there is nothing to remove. Without a
// history, it leaves versions until they expire: other processes of the store may keep them.
func (s memoryStore) Expire(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	const tooOld = "replaced_at <= ?"
	micros := now.UnixMicro()
	for _, gone := range []struct {
		table, condition string
		until            int64
	}{
		{"memory", "expires_at <= ?", micros},
		{"memory_versions", "expires_at <= ?", micros},
		{"memory_versions", tooOld, s.history.Since(now).UnixMicro()},
	} {
		if gone.condition == tooOld && !s.history.On() {
			continue
		}
		ids, err := all(ctx, s.db.reader(), sqlf(`SELECT id FROM `+gone.table+` WHERE `+gone.condition+` LIMIT ?`, gone.until, limit-removed),
			only[int64])
		if err != nil {
			return removed, err
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids) // the order of other deletions
		// An entry stored again meanwhile stays.
		q := sqlf(`DELETE FROM `+gone.table+` WHERE `+gone.condition+` AND`, gone.until).with(among("id", ids))
		n, err := s.db.writer().exec(ctx, q.text, q.args...)
		removed += n
		if err != nil || removed >= limit {
			return removed, err
		}
	}
	return removed, nil
}

// entryPlaces returns the destinations of the columns of [selectEntry].
func entryPlaces(e *memory.Entry) []any {
	return []any{&e.Namespace, &e.Key, micros{&e.StoredAt}, micros{&e.ExpiresAt}, &e.Workspace, orZero(&e.Author), fromJSON{&e.Tags},
		&e.Version, (*[]byte)(&e.Value)}
}

var scanEntry = into(entryPlaces)

// within adds the WHERE clause of a scope.
func (s memoryStore) within(q query, scope memory.Scope) query {
	q = q.and(`WHERE true`)
	if scope.Namespace != "" {
		q = q.and(`AND namespace = ?`, []byte(scope.Namespace))
	}
	if scope.Key != "" {
		q = q.and(`AND key = ?`, []byte(scope.Key))
	}
	q = alive(ofWorkspace(starting(q, scope.Prefix), scope), scope.Now)
	if marks := (memory.Scope{Tags: scope.Tags}).Marks(); len(marks) > 0 {
		q = q.and(`AND id IN (`+s.search.matches+`)`, s.search.text(marks))
	}
	return q
}

// ofWorkspace adds the condition on the workspace of a scope.
func ofWorkspace(q query, scope memory.Scope) query {
	if scope.Workspace != "" {
		q = q.and(`AND workspace = ?`, []byte(scope.Workspace))
	}
	if scope.Except != "" {
		q = q.and(`AND workspace <> ?`, []byte(scope.Except))
	}
	return q
}

// starting adds the condition that keys start with prefix, as a range of an index. No text in UTF-8
// has the byte 0xff, so every key with the prefix is below the limit.
func starting(q query, prefix string) query {
	if prefix == "" {
		return q
	}
	return q.and(`AND key >= ? AND key < ?`, []byte(prefix), append([]byte(prefix), 0xff))
}

// pageOf adds the clauses of a page to a selection.
func (s memoryStore) pageOf(selection string, scope memory.Scope, page memory.Page) query {
	q := s.within(sqlf(selection), scope)
	if page.After != (memory.Place{}) {
		q = q.and(`AND (namespace, key, workspace) > (?, ?, ?)`, []byte(page.After.Namespace), []byte(page.After.Key),
			[]byte(page.After.Workspace))
	}
	q = q.and(`ORDER BY namespace, key, workspace`)
	if page.Limit > 0 {
		q = q.and(`LIMIT ?`, page.Limit)
	}
	return q
}

func (s memoryStore) Matching(ctx context.Context, scope memory.Scope, m memory.Match, limit int) ([]int64, error) {
	q := sqlf(s.search.latest[0]).with(s.matches(scope, m)).and(s.search.latest[1]+` LIMIT ?`, limit)
	return all(ctx, s.db.reader(), q, only[int64])
}

func (s memoryStore) CountMatching(ctx context.Context, scope memory.Scope, m memory.Match, limit int) (int, error) {
	return scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM (`).with(s.matches(scope, m)).and(`LIMIT ?) AS matches`, limit))
}

// matches selects the ids of the entries of a scope that match.
func (s memoryStore) matches(scope memory.Scope, m memory.Match) query {
	q := sqlf(s.search.matches, s.search.text(slices.Concat(scope.Marks(), m)))
	if !scope.Now.IsZero() {
		q = q.and(`AND `+s.search.id+` NOT IN (SELECT id FROM memory WHERE expires_at <= ?)`, scope.Now.UnixMicro())
	}
	if scope.Prefix != "" {
		keys := s.within(sqlf(`SELECT id FROM memory`), memory.Scope{Namespace: scope.Namespace, Prefix: scope.Prefix})
		q = q.and(`AND ` + s.search.id + ` IN (`).with(keys).and(`)`)
	}
	return q
}

func (s memoryStore) Known(ctx context.Context, words []string) ([]string, error) {
	list, err := json.Marshal(words)
	if err != nil {
		return nil, err
	}
	known := sqlf(s.search.known, string(list))
	if s.search.byIndex == "" {
		return all(ctx, s.db.reader(), known, only[string])
	}
	var found []string
	err = s.db.transact(ctx, func(t executor) error {
		if _, err := t.exec(ctx, s.search.byIndex); err != nil {
			return err
		}
		found, err = all(ctx, t, known, only[string])
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
	q := sqlf(`SELECT id, stored_at, workspace, words FROM memory WHERE`).with(among("id", ids))
	return all(ctx, s.db.reader(), q, into(func(c *memory.Candidate) []any {
		return []any{&c.ID, micros{&c.StoredAt}, &c.Workspace, &c.Words}
	}))
}

func (s memoryStore) Load(ctx context.Context, ids []int64) (map[int64]memory.Entry, error) {
	entries := map[int64]memory.Entry{}
	if len(ids) == 0 {
		return entries, nil
	}
	q := sqlf(`SELECT id, ` + entryColumns + ` FROM memory WHERE`).with(among("id", ids))
	_, err := all(ctx, s.db.reader(), q, func(rows *sql.Rows) (id int64, err error) {
		var e memory.Entry
		err = rows.Scan(append([]any{&id}, entryPlaces(&e)...)...)
		entries[id] = e
		return id, err
	})
	return entries, err
}

// Reindex changes the oldest entries of the table memory_outdated, which a
// schema step fills. On PostgreSQL another process that does the same waits.
func (s memoryStore) Reindex(ctx context.Context, limit int, words func(memory.Entry) string) (left bool, err error) {
	err = s.db.transact(ctx, func(t executor) error {
		ids, err := all(ctx, t, sqlf(`SELECT id FROM memory_outdated ORDER BY id LIMIT ?`+s.db.dialect.lock, limit), only[int64])
		if err != nil {
			return err
		}
		for _, id := range ids {
			list, err := all(ctx, t, sqlf(selectEntry+` WHERE id = ?`+s.db.dialect.lock, id), scanEntry)
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
		rest, err := all(ctx, t, sqlf(`SELECT id FROM memory_outdated LIMIT 1`), only[int64])
		left = len(rest) > 0
		return err
	})
	return left, err
}
