package queue

import (
	"context"

	"github.com/riverqueue/river"
)

// Deaf returns jobs whose first client receives none, like a client that loses its connection while
// it starts.
func (j *Jobs) Deaf() *Jobs {
	first := true
	return &Jobs{j.inserter, func(ctx context.Context, c *river.Config) (client, func(), error) {
		if first {
			first = false
			c.Queues = map[string]river.QueueConfig{"nobody": {MaxWorkers: 1}}
		}
		return j.connect(ctx, c)
	}}
}
