package workbench

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
)

// Activity counts the recorded calls from a time to another, which may be zero, by hour and action. It opens the store.
func (b *Workbench) Activity(ctx context.Context, since, until time.Time) ([]storage.Activity, error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return nil, err
	}
	return db.Activity(ctx, since, until, time.Now())
}

// Called returns the last recorded call of each action. It opens the store.
func (b *Workbench) Called(ctx context.Context) (storage.Called, error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return storage.Called{}, err
	}
	return db.Called(ctx)
}

// Mark returns a text that is another one after each change of the store, see [storage.DB.Mark]. It opens
// the store.
func (b *Workbench) Mark(ctx context.Context) (string, error) {
	db, err := b.store.Open(ctx)
	if err != nil {
		return "", err
	}
	return db.Mark(ctx)
}
