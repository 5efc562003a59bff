package storage

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/tools/memory"
)

// current joins the vectors of a model for the current values of entries.
const current = `memory_vectors AS v ON v.id = memory.id AND v.stored_at = memory.stored_at AND v.model = ?`

func (s memoryStore) WithoutVector(ctx context.Context, model string, limit int) ([]memory.StoredEntry, error) {
	q := sqlf(`SELECT memory.id, namespace, key, memory.stored_at, expires_at, workspace, author, tags, revision, value
		FROM memory LEFT JOIN `+current+` WHERE v.id IS NULL ORDER BY memory.id DESC LIMIT ?`, model, limit)
	return all(ctx, s.db.reader(), q, into(func(e *memory.StoredEntry) []any {
		return append([]any{&e.ID}, entryPlaces(&e.Entry)...)
	}))
}

// PutVectors stores in the order of ids, for the same reason as Import.
func (s memoryStore) PutVectors(ctx context.Context, model string, list []memory.EntryVector) error {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b memory.EntryVector) int { return cmp.Compare(a.ID, b.ID) })
	return s.db.transact(ctx, func(t executor) error {
		for _, v := range sorted {
			bytes := make([]byte, len(v.Vector))
			for i, c := range v.Vector {
				bytes[i] = byte(c)
			}
			_, err := t.exec(ctx, `INSERT INTO memory_vectors (id, stored_at, model, vector)
				SELECT id, stored_at, ?, ? FROM memory WHERE id = ? AND stored_at = ?
				ON CONFLICT (id) DO UPDATE SET stored_at = excluded.stored_at, model = excluded.model, vector = excluded.vector`,
				model, bytes, v.ID, v.StoredAt.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s memoryStore) Vectors(ctx context.Context, scope memory.Scope, model string, limit int) ([]memory.EntryVector, error) {
	q := sqlf(`SELECT memory.id, memory.stored_at, vector FROM memory JOIN `+current+` WHERE memory.id IN (`, model).
		with(s.within(sqlf(`SELECT id FROM memory`), scope)).and(`) ORDER BY memory.id DESC LIMIT ?`, limit)
	return all(ctx, s.db.reader(), q, into(func(v *memory.EntryVector) []any {
		return []any{&v.ID, micros{&v.StoredAt}, fromBytes{&v.Vector}}
	}))
}

// fromBytes scans bytes into a vector.
type fromBytes struct{ to *embed.Vector }

// Scan implements [sql.Scanner].
func (s fromBytes) Scan(value any) error {
	bytes, _ := value.([]byte)
	*s.to = make(embed.Vector, len(bytes))
	for i, b := range bytes {
		(*s.to)[i] = int8(b)
	}
	return nil
}
