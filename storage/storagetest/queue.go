package storagetest

import (
	"fmt"
	"testing"
	"time"

	engine "github.com/toolfold/toolfold/engine/queue"
	"github.com/toolfold/toolfold/storage"
	"github.com/toolfold/toolfold/tools"
	"github.com/toolfold/toolfold/tools/queue"
)

// newQueue is a queue that was made n seconds after noon.
func newQueue(n int) queue.Queue {
	return queue.Queue{
		ID: taskID(n), Name: fmt.Sprint("queue ", n), Description: "müssen\x00", MaxConcurrency: n,
		DefaultPriority: engine.Low, CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
}

func createQueues(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.tasks.AddDefaultQueue(t.Context(), noon.Add(time.Hour))) // changes nothing
	made := newQueue(7)
	taken, err := db.Queue().Create(t.Context(), made)
	noError(t, err)
	equal(t, taken, "")
	again := newQueue(8)
	again.Name = made.Name
	taken, err = db.Queue().Create(t.Context(), again)
	noError(t, err)
	equal(t, taken, made.ID)
	for _, idOrName := range []string{made.ID, made.Name} {
		found, ok, err := db.Task().Queue(t.Context(), idOrName)
		noError(t, err)
		if !ok || found.ID != made.ID || found.DefaultPriority != engine.Low {
			t.Fatalf("looking for %q: %v, %v", idOrName, found, ok)
		}
	}
	if _, ok, err := db.Task().Queue(t.Context(), "nowhere"); ok || err != nil {
		t.Fatalf("a queue that is not there: %v, %v", ok, err)
	}
	limits, err := b.ledger.Limits(t.Context())
	noError(t, err)
	equal(t, limits, []engine.Limit{{QueueID: engine.Default, Most: engine.DefaultConcurrency}, {QueueID: made.ID, Most: 7}})
}

func listQueues(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	for n := range 3 {
		_, err := db.Queue().Create(t.Context(), newQueue(n+1))
		noError(t, err)
	}
	elsewhere := newTask(4)
	elsewhere.QueueID = taskID(2)
	b.submit(newTask(1), newTask(2), newTask(3, taskID(2)), elsewhere)
	b.complete(1)
	first, err := db.Queue().List(t.Context(), queue.Query{Limit: 3})
	noError(t, err)
	equal(t, first.Total, 4)
	equal(t, first.Queues[0].Counts, map[string]int{engine.Completed: 1, engine.Queued: 1, engine.Pending: 1})
	equal(t, first.Queues[1], queue.Counted{Queue: newQueue(1), Counts: map[string]int{}})
	equal(t, first.Queues[2].Counts, map[string]int{engine.Queued: 1})
	last := first.Queues[2]
	rest, err := db.Queue().List(t.Context(), queue.Query{Limit: 3, After: &tools.Position{CreatedAt: last.CreatedAt, ID: last.ID}})
	noError(t, err)
	equal(t, rest.Queues, []queue.Counted{{Queue: newQueue(3), Counts: map[string]int{}}})
}

func pauseQueue(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	set := func(paused bool) {
		q, found, err := db.Queue().SetPaused(t.Context(), engine.Default, paused, noon.Add(time.Hour))
		noError(t, err)
		if !found || q.Paused != paused {
			t.Fatalf("pausing: %v, %v", q, found)
		}
	}
	b.submit(newTask(1), newTask(2), newTask(3, taskID(2)))
	b.start(2)
	set(true)
	b.submit(newTask(4))
	b.states(engine.Paused, engine.Running, engine.Pending, engine.Paused)
	b.finish(engine.Ending{Ticket: engine.Ticket{TaskID: taskID(2), Turn: 1}, Status: engine.Completed})
	b.states(engine.Paused, engine.Completed, engine.Paused, engine.Paused)
	equal(t, b.claim(engine.Ticket{TaskID: taskID(1), Turn: 1}), engine.Stale)
	equal(t, b.release(noon.Add(time.Hour)), 0)
	set(false)
	b.states(engine.Queued, engine.Completed, engine.Queued, engine.Queued)
	b.complete(1)
	if _, found, err := db.Queue().SetPaused(t.Context(), "nowhere", true, noon); found || err != nil {
		t.Fatalf("a queue that is not there: %v, %v", found, err)
	}
}
