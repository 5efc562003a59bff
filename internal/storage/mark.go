package storage

import (
	"context"
	"strings"
)

// Mark returns a text that is not the one of an earlier call if something that the page shows was committed to the store
// in between, by any process. It may also change without a commit. Leases of processes do not change it.
func (db *DB) Mark(ctx context.Context) (string, error) {
	var parts []string
	for _, query := range db.dialect.mark {
		part, err := scalar[string](ctx, db.reader(), sqlf(query))
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " "), nil
}
