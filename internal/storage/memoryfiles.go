package storage

import (
	"cmp"
	"context"
	"slices"

	"github.com/toolfold/toolfold/tools/memory"
)

func (s memoryStore) Marks(ctx context.Context, folder string, keys []string) ([]memory.Mark, error) {
	q := sqlf(`SELECT namespace, key, digest, stamp FROM memory_files WHERE folder = ?`, []byte(folder))
	if keys != nil {
		q = q.and(`AND`).with(among("key", bytesOf(keys)))
	}
	return all(ctx, s.db.reader(), q, into(func(m *memory.Mark) []any { return []any{&m.Namespace, &m.Key, &m.Digest, &m.Stamp} }))
}

// PutMarks writes in the order of keys, for the same reason as Import.
func (s memoryStore) PutMarks(ctx context.Context, folder string, marks []memory.Mark) error {
	sorted := slices.SortedFunc(slices.Values(marks), func(a, b memory.Mark) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Key, b.Key))
	})
	return s.db.transact(ctx, func(t executor) error {
		for _, m := range sorted {
			q := sqlf(`DELETE FROM memory_files WHERE folder = ? AND namespace = ? AND key = ?`, []byte(folder), []byte(m.Namespace), []byte(m.Key))
			if m.Digest != "" {
				q = sqlf(`INSERT INTO memory_files (folder, namespace, key, digest, stamp) VALUES (?, ?, ?, ?, ?)
					ON CONFLICT (folder, namespace, key) DO UPDATE SET digest = excluded.digest, stamp = excluded.stamp`,
					[]byte(folder), []byte(m.Namespace), []byte(m.Key), m.Digest, m.Stamp)
			}
			if _, err := t.exec(ctx, q.text, q.args...); err != nil {
				return err
			}
		}
		return nil
	})
}
