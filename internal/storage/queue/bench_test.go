package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/tools/task"
)

// instantCaller is a caller whose calls return at once.
type instantCaller struct{ diary }

func (instantCaller) Call(context.Context, string, json.RawMessage) toolfold.Answer {
	return toolfold.Answer{Content: json.RawMessage(`{}`)}
}

func BenchmarkQueueSQLite(b *testing.B) { benchmarkQueue(b, storagetest.SQLite(b)) }

func BenchmarkQueuePostgres(b *testing.B) { benchmarkQueue(b, storagetest.Postgres(b)) }

// benchmarkQueue measures submitting tasks, then running them, on a queue that runs 50 at once in
// one process.
func benchmarkQueue(b *testing.B, address string) {
	store := storage.Lazy(address)
	defer store.Close()
	db, err := store.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := db.Queue().Create(b.Context(), testQueue("load", 50), 100); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		const tasks = 1000
		start := time.Now()
		for i := range tasks {
			submitNamed(b, db.Task(), fmt.Sprint(i), 0, nil)
		}
		submitted := time.Now()
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() {
			ended <- queue.New(openerOf(store), instantCaller{}, queue.Options{Workspace: place}).Work(ctx)
		}()
		testwait.Until(b, "all tasks end", func() bool { return count(b, db, task.Queued, task.Running) == 0 })
		b.ReportMetric(tasks/submitted.Sub(start).Seconds(), "submits/s")
		b.ReportMetric(tasks/time.Since(submitted).Seconds(), "runs/s")
		stop()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}
