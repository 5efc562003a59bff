package storage

import (
	"context"
	"database/sql"
	"time"
)

// mostSources limits the records of an upstream. Servers whose settings differ have one for each command or URL; beyond
// the limit, those that were not changed for longest are removed.
const mostSources = 8

// UpstreamRecords stores what servers know of upstreams. A record belongs to the name of an upstream and to its source,
// a digest of its command or URL.
type UpstreamRecords struct {
	db  *DB
	now func() time.Time
}

// UpstreamRecords returns the store of records of upstreams.
func (db *DB) UpstreamRecords(now func() time.Time) UpstreamRecords { return UpstreamRecords{db, now} }

// Versions calls each for every record. A version changes with its record, and is not that of a record that was removed.
func (s UpstreamRecords) Versions(ctx context.Context, each func(name, source string, version int64)) error {
	query := sqlf(`SELECT name, source, version FROM upstream_records`)
	_, err := all(ctx, s.db.reader(), query, func(rows *sql.Rows) (none struct{}, err error) {
		var name []byte
		var source string
		var version int64
		if err = rows.Scan(&name, &source, &version); err == nil {
			each(string(name), source, version)
		}
		return none, err
	})
	return err
}

// Read returns a record and its version. If there is none of this source, the version is 0, and the record is the one
// of the name that was changed last; nil without any.
func (s UpstreamRecords) Read(ctx context.Context, name, source string) (record []byte, version int64, err error) {
	of := ""
	record, _, err = byKey(ctx, s.db, sqlf(`SELECT record, version, source FROM upstream_records WHERE name = ?
		ORDER BY CASE source WHEN ? THEN 0 ELSE 1 END, changed_at DESC, source LIMIT 1`, []byte(name), source),
		into(func(r *[]byte) []any { return []any{r, &version, &of} }))
	if of != source {
		version = 0
	}
	return record, version, err
}

// Replace stores a record in place of the version over; 0 means that there is none. It returns the new version, or 0 if
// the stored record has another version: then nothing is changed.
func (s UpstreamRecords) Replace(ctx context.Context, name, source string, record []byte, over int64) (version int64, err error) {
	now := s.now().UnixMicro()
	version = max(now, over+1)
	if over > 0 {
		n, err := s.db.writer().exec(ctx, `UPDATE upstream_records SET record = ?, version = ?, changed_at = ?
			WHERE name = ? AND source = ? AND version = ?`, record, version, now, []byte(name), source, over)
		if err != nil || n == 0 {
			return 0, err
		}
		return version, nil
	}
	n, err := s.db.writer().exec(ctx, `INSERT INTO upstream_records (name, source, record, version, changed_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (name, source) DO NOTHING`, []byte(name), source, record, version, now)
	if err != nil || n == 0 {
		return 0, err
	}
	_, err = s.db.writer().exec(ctx, `DELETE FROM upstream_records WHERE name = ? AND source <> ? AND source NOT IN (
		SELECT source FROM upstream_records WHERE name = ? ORDER BY changed_at DESC, source LIMIT ?)`,
		[]byte(name), source, []byte(name), mostSources)
	return version, err
}
