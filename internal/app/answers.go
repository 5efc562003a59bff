package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
)

// Answers stores the whole of answers that were cut, for all servers on a store, see [lazy.Answers].
type Answers struct {
	Open func(context.Context) (*storage.DB, error)
}

// Put implements [lazy.Answers].
func (a Answers) Put(ctx context.Context, id, reader string, answer json.RawMessage, until time.Time) error {
	db, err := a.Open(ctx)
	if err != nil {
		return err
	}
	return db.CutAnswers(time.Now).Put(ctx, id, reader, answer, until)
}

// Get implements [lazy.Answers].
func (a Answers) Get(ctx context.Context, id, reader string) (answer json.RawMessage, found bool, err error) {
	db, err := a.Open(ctx)
	if err != nil {
		return nil, false, err
	}
	return db.CutAnswers(time.Now).Get(ctx, id, reader)
}
