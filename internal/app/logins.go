package app

import (
	"context"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/system/seal"
)

// Logins stores the logins of callers at upstreams for all servers on a store, encrypted. It implements
// the Vault of package upstream.
type Logins struct {
	Open func(context.Context) (*storage.DB, error)
	Keys *seal.Keys
}

// Read returns the entry of a caller at an upstream; nil if there is no entry.
func (l Logins) Read(ctx context.Context, caller, upstream string) (entry []byte, err error) {
	db, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	return db.CallerLogins(l.Keys).Read(ctx, caller, upstream)
}

// Update changes the entry of a caller at an upstream, one process at a time, see [storage.CallerLogins.Update].
func (l Logins) Update(ctx context.Context, caller, upstream string, edit func(entry []byte) ([]byte, error)) error {
	db, err := l.Open(ctx)
	if err != nil {
		return err
	}
	return db.CallerLogins(l.Keys).Update(ctx, caller, upstream, edit)
}
