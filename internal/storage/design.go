package storage

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/toolfold/toolfold/tools/design"
)

// Design returns the store of the design family.
func (db *DB) Design() design.Store {
	return designStore{db}
}

// designStore implements [design.Store].
type designStore struct {
	db *DB
}

const (
	insertDesign = `INSERT INTO designs (id, type, format, name, content, documentation, content_hash, documentation_hash, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	selectDesign = `SELECT id, type, format, name, created_at, content, documentation FROM designs WHERE id = ?`
	selectWrote  = `SELECT EXISTS (SELECT 1 FROM designs WHERE content_hash = ?) OR EXISTS (SELECT 1 FROM designs ` +
		`WHERE documentation_hash = ?)`
)

func (s designStore) Put(ctx context.Context, d design.Design) (createdAt time.Time, err error) {
	_, err = s.db.writer().exec(ctx, insertDesign, d.ID, d.Type, d.Format, []byte(d.Name),
		[]byte(d.Content), []byte(d.Documentation), hash(d.Content), hash(d.Documentation), d.CreatedAt.UnixMicro())
	if err != nil {
		return time.Time{}, err
	}
	micros, err := scalar[int64](ctx, s.db.reader(), sqlf(`SELECT created_at FROM designs WHERE id = ?`, d.ID))
	return fromMicros(micros), err
}

func (s designStore) Get(ctx context.Context, id string) (d design.Design, found bool, err error) {
	return first(ctx, s.db.reader(), sqlf(selectDesign, id), into(func(d *design.Design) []any {
		return []any{&d.ID, &d.Type, &d.Format, &d.Name, micros{&d.CreatedAt}, &d.Content, &d.Documentation}
	}))
}

func (s designStore) Wrote(ctx context.Context, text string) (bool, error) {
	sum := hash(text)
	return scalar[bool](ctx, s.db.reader(), sqlf(selectWrote, sum, sum))
}

func (s designStore) List(ctx context.Context, q design.Query) (page design.Page, err error) {
	picked := ` WHERE true`
	var args []any
	if q.Type != "" {
		picked, args = ` WHERE type = ?`, []any{q.Type}
	}
	page.Total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM designs`+picked, args...))
	if err != nil {
		return design.Page{}, err
	}
	list := sqlf(`SELECT id, type, format, name, created_at FROM designs`+picked, args...)
	if q.After != nil {
		list = list.and(`AND (created_at, id) < (?, ?)`, q.After.CreatedAt.UnixMicro(), q.After.ID)
	}
	list = list.and(`ORDER BY created_at DESC, id DESC LIMIT ?`, q.Limit)
	page.Designs, err = all(ctx, s.db.reader(), list, into(func(l *design.Item) []any {
		return []any{&l.ID, &l.Type, &l.Format, &l.Name, micros{&l.CreatedAt}}
	}))
	return page, err
}

// hash is the SHA-256 of a text, or nil for an empty text, which identifies no file.
func hash(text string) any {
	if text == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
