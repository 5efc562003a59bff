package storage

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/toolfold/toolfold/tools/memory"
)

// keep moves the entries of a condition into the history, as copies: the caller replaces or
// deletes them. It gives an entry another number only if its own is taken, which is so when it
// was stored while another caller deleted the entry that was there.
func (s memoryStore) keep(ctx context.Context, t executor, condition query, now time.Time) error {
	if !s.history.On() {
		return nil
	}
	q := copyVersions(nextNumber, condition, now)
	if n, err := t.exec(ctx, q.text, q.args...); err != nil || n == 0 {
		return err
	}
	return s.trim(ctx, t, sqlf(`WHERE (namespace, key, workspace) IN (SELECT namespace, key, workspace FROM memory`).with(condition).and(`)`))
}

// keepOne is keep for one stored entry. It returns the number of its version in the history, or its
// own number if there is no history.
func (s memoryStore) keepOne(ctx context.Context, t executor, e memory.Entry, now time.Time) (version int, err error) {
	if !s.history.On() {
		return e.Version, nil
	}
	version, err = scalar[int](ctx, t, copyVersions(nextNumber, at(placeOf(e)), now).and(`RETURNING version`))
	if err != nil {
		return 0, err
	}
	return version, s.trim(ctx, t, at(placeOf(e)))
}

// nextNumber is the number of an entry's version: its own, or the next one if that is taken.
const nextNumber = `(SELECT CASE WHEN memory.revision > coalesce(max(v.version), 0) THEN memory.revision ELSE max(v.version) + 1 END
	FROM memory_versions AS v WHERE v.namespace = memory.namespace AND v.key = memory.key AND v.workspace = memory.workspace)`

// copyVersions copies the entries of a condition into the history, under the number of an expression.
func copyVersions(number string, condition query, now time.Time) query {
	return sqlf(`INSERT INTO memory_versions (namespace, key, workspace, version, stored_at, replaced_at, expires_at, author, tags, value)
		SELECT namespace, key, workspace, `+number+`, stored_at, ?, expires_at, author, tags, value FROM memory`, now.UnixMicro()).with(condition)
}

// trim removes the oldest versions of the entries of a condition that are too many or too large.
func (s memoryStore) trim(ctx context.Context, t executor, condition query) error {
	q := sqlf(`DELETE FROM memory_versions WHERE id IN (SELECT id FROM (
		SELECT id, row_number() OVER latest AS place, sum(length(value)) OVER latest AS bytes FROM memory_versions`).with(condition).
		and(`WINDOW latest AS (PARTITION BY namespace, key, workspace ORDER BY version DESC)) AS ranked WHERE place > ? OR bytes > ?)`,
			s.history.Versions, memory.HistoryBytes)
	_, err := t.exec(ctx, q.text, q.args...)
	return err
}

// visible adds that versions are neither too old nor expired.
func (s memoryStore) visible(q query, now time.Time) query {
	return q.and(`AND replaced_at > ? AND (expires_at IS NULL OR expires_at > ?)`, s.history.Since(now).UnixMicro(), now.UnixMicro())
}

const selectVersion = `SELECT namespace, key, stored_at, expires_at, workspace, author, tags, version, value FROM memory_versions`

func (s memoryStore) Version(ctx context.Context, place memory.Place, number int, now time.Time) (memory.Entry, bool, error) {
	return first(ctx, s.db.reader(), s.visible(sqlf(selectVersion).with(at(place)).and(`AND version = ?`, number), now), scanEntry)
}

// versionsOf adds the condition of the versions of a scope.
func (s memoryStore) versionsOf(q query, scope memory.Scope) query {
	q = q.and(`WHERE true`)
	if scope.Namespace != "" {
		q = q.and(`AND namespace = ?`, []byte(scope.Namespace))
	}
	if scope.Key != "" {
		q = q.and(`AND key = ?`, []byte(scope.Key))
	}
	return s.visible(ofWorkspace(starting(q, scope.Prefix), scope), scope.Now)
}

func (s memoryStore) Versions(ctx context.Context, scope memory.Scope, latest bool, after memory.VersionPosition, limit int) (
	[]memory.Version, error) {
	q := s.versionsOf(sqlf(`SELECT id, namespace, key, stored_at, expires_at, workspace, tags, length(value), version, author, replaced_at,
		NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.namespace = v.namespace AND m.key = v.key AND m.workspace = v.workspace
			AND (m.expires_at IS NULL OR m.expires_at > ?)) FROM memory_versions AS v`, scope.Now.UnixMicro()), scope)
	if latest {
		if after.Moment != (memory.Moment{}) {
			q = q.and(`AND (replaced_at, id) < (?, ?)`, after.StoredAt.UnixMicro(), after.ID)
		}
		q = q.and(`ORDER BY replaced_at DESC, id DESC`)
	} else {
		if after.Place != (memory.Place{}) {
			q = q.and(`AND (namespace, key, workspace, version) > (?, ?, ?, ?)`, []byte(after.Namespace), []byte(after.Key),
				[]byte(after.Workspace), after.Number)
		}
		q = q.and(`ORDER BY namespace, key, workspace, version`)
	}
	return all(ctx, s.db.reader(), q.and(`LIMIT ?`, limit), into(func(v *memory.Version) []any {
		return []any{&v.ID, &v.Namespace, &v.Key, micros{&v.StoredAt}, micros{&v.ExpiresAt}, &v.Workspace, fromJSON{&v.Tags}, &v.Size,
			&v.Number, orZero(&v.Author), micros{&v.ReplacedAt}, &v.Deleted}
	}))
}

func (s memoryStore) CountVersions(ctx context.Context, scope memory.Scope) (int, error) {
	return scalar[int](ctx, s.db.reader(), s.versionsOf(sqlf(`SELECT count(*) FROM memory_versions`), scope))
}

func (s memoryStore) Restore(ctx context.Context, place memory.Place, number int, by memory.Restorer) (r memory.RestoreResult, err error) {
	look := sqlf(`SELECT ` + entryColumns + `, coalesce(restored, 0) FROM memory`).with(at(place)).and(s.db.dialect.lock)
	type row struct {
		memory.Entry
		restored int
	}
	pick := s.visible(sqlf(selectVersion).with(at(place)), by.Now)
	if number > 0 {
		pick = pick.and(`AND version = ?`, number)
	}
	pick = pick.and(`ORDER BY version DESC`)
	err = s.db.transact(ctx, func(t executor) error {
		for {
			r = memory.RestoreResult{}
			there, found, err := first(ctx, t, look, func(rows *sql.Rows) (there row, err error) {
				err = rows.Scan(append(entryPlaces(&there.Entry), &there.restored)...)
				return there, err
			})
			if err != nil {
				return err
			}
			if found && (there.ExpiresAt.IsZero() || there.ExpiresAt.After(by.Now)) {
				r.Current = &there.Entry
				switch {
				case number == there.Version:
					r.From = number
					return nil
				case number == 0 && there.restored > 0:
					r.From = there.restored
					return nil
				}
			}
			versions, err := all(ctx, t, pick, scanEntry)
			if err != nil || len(versions) == 0 {
				return err
			}
			r.From = versions[0].Version
			i := slices.IndexFunc(versions, func(v memory.Entry) bool { return r.Current == nil || !r.Current.Same(v) })
			if i < 0 {
				return nil
			}
			version := versions[i]
			r.From = version.Version
			if r.Current != nil {
				if r.Current.Version, err = s.keepOne(ctx, t, *r.Current, by.Now); err != nil {
					return err
				}
			}
			version.Author, version.StoredAt, version.Words = by.Author, by.Now, by.Words(version)
			if done, err := s.write(ctx, t, version, r.From, found); done || err != nil {
				r.Done = done
				return err
			}
		}
	})
	return r, err
}

// Purge removes a version also if it is too old or has expired. Entries go without a copy.
func (s memoryStore) Purge(ctx context.Context, scope memory.Scope, keys []string, naming int) (p memory.PurgeResult, err error) {
	which := under(scope)
	if keys != nil {
		which = which.and(`AND`).with(among("key", bytesOf(keys)))
	}
	s.history = memory.History{}
	err = s.db.transact(ctx, func(t executor) (err error) {
		p = memory.PurgeResult{Keys: []string{}}
		p.Entries, err = s.remove(ctx, t, alive(which, scope.Now), scope.Now, func(key string) {
			if len(p.Keys) < naming {
				p.Keys = append(p.Keys, key)
			}
		})
		if err != nil {
			return err
		}
		versions := sqlf(`DELETE FROM memory_versions`).with(which)
		p.Versions, err = t.exec(ctx, versions.text, versions.args...)
		return err
	})
	return p, err
}
