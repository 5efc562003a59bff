package app

import (
	"context"
	"time"

	"github.com/toolfold/toolfold/internal/storage"
)

// Records stores what servers on a store know of upstreams, see [gateway.Records].
type Records struct {
	Open func(context.Context) (*storage.DB, error)
}

func (r Records) do(ctx context.Context, do func(storage.UpstreamRecords) error) error {
	db, err := r.Open(ctx)
	if err != nil {
		return err
	}
	return do(db.UpstreamRecords(time.Now))
}

// Versions implements [gateway.Records].
func (r Records) Versions(ctx context.Context, each func(server, source string, version int64)) error {
	return r.do(ctx, func(s storage.UpstreamRecords) error { return s.Versions(ctx, each) })
}

// Read implements [gateway.Records].
func (r Records) Read(ctx context.Context, server, source string) (record []byte, version int64, err error) {
	err = r.do(ctx, func(s storage.UpstreamRecords) error {
		record, version, err = s.Read(ctx, server, source)
		return err
	})
	return record, version, err
}

// Replace implements [gateway.Records].
func (r Records) Replace(ctx context.Context, server, source string, record []byte, over int64) (version int64, err error) {
	err = r.do(ctx, func(s storage.UpstreamRecords) error {
		version, err = s.Replace(ctx, server, source, record, over)
		return err
	})
	return version, err
}
