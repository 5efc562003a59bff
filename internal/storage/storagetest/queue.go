package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	engine "github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/queue"
	"github.com/toolfold/toolfold/tools/task"
)

// newQueue returns a queue created n seconds after noon.
func newQueue(n int) queue.Queue {
	return queue.Queue{
		ID: taskID(n), Name: fmt.Sprint("queue ", n), Description: "müssen\x00", MaxConcurrency: n,
		DefaultPriority: task.Low, CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
}

// Queue returns the tests of the store of the queue family.
func Queue() Suite {
	return Suite{
		Name: "queue",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"create":      createQueues,
			"list":        listQueues,
			"pause":       pauseQueue,
			"update":      updateQueue,
			"per process": limitProcesses,
			"remove":      removeQueue,
		},
		Durabilities: map[string]func(*testing.T, string){"rate": limitRate},
	}
}

func createQueues(t *testing.T, db *storage.DB) {
	created := newQueue(7)
	create := func(q queue.Queue, limit int) queue.Creation {
		c, err := db.Queue().Create(t.Context(), q, limit)
		noError(t, err)
		return c
	}
	equal(t, create(created, 2), queue.Creation{})
	again := newQueue(8)
	again.Name = created.Name
	equal(t, create(again, 2), queue.Creation{Taken: created.ID})
	equal(t, create(newQueue(9), 2), queue.Creation{Full: true})
	for _, idOrName := range []string{created.ID, created.Name} {
		id, found, err := db.Task().QueueID(t.Context(), idOrName)
		noError(t, err)
		if !found || id != created.ID {
			t.Fatalf("looking for %q: %v, %v", idOrName, id, found)
		}
	}
	if _, found, err := db.Task().QueueID(t.Context(), "nowhere"); found || err != nil {
		t.Fatalf("a queue that is not there: %v, %v", found, err)
	}
	b := newBench(t, db)
	submitted := newTask(1)
	submitted.QueueID, submitted.Priority = created.Name, ""
	equal(t, b.submit(submitted).QueueID, created.ID)
	equal(t, b.get(1).Priority, task.Low)
}

func listQueues(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	for n := range 3 {
		_, err := db.Queue().Create(t.Context(), newQueue(n+1), 100)
		noError(t, err)
	}
	elsewhere := newTask(4)
	elsewhere.QueueID = taskID(2)
	b.submit(newTask(1), newTask(2), newTask(3, taskID(2)), elsewhere)
	b.complete(1)
	first, err := db.Queue().List(t.Context(), queue.Query{Limit: 3})
	noError(t, err)
	equal(t, first.Total, 4)
	equal(t, first.Queues[0].Counts, map[string]int{task.Completed: 1, task.Queued: 1, task.Pending: 1})
	equal(t, first.Queues[1], queue.QueueCounts{Queue: newQueue(1), Counts: map[string]int{}})
	equal(t, first.Queues[2].Counts, map[string]int{task.Queued: 1})
	last := first.Queues[2]
	rest, err := db.Queue().List(t.Context(), queue.Query{Limit: 3, After: &toolfold.Position{CreatedAt: last.CreatedAt, ID: last.ID}})
	noError(t, err)
	equal(t, rest.Queues, []queue.QueueCounts{{Queue: newQueue(3), Counts: map[string]int{}}})
}

func pauseQueue(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	set := func(paused bool) {
		q, found, err := db.Queue().SetPaused(t.Context(), task.DefaultQueue, paused)
		noError(t, err)
		if !found || q.Paused != paused {
			t.Fatalf("pausing: %v, %v", q, found)
		}
	}
	b.submit(newTask(1), newTask(2), newTask(3, taskID(1)))
	first := b.start(1)
	set(true)
	equal(t, b.submit(newTask(4)).Status, task.Paused)
	b.states(task.Running, task.Paused, task.Pending, task.Paused)
	b.finish(engine.Ending{Run: first, Status: task.Completed})
	b.states(task.Completed, task.Paused, task.Paused, task.Paused)
	if run, found := b.claim(); found {
		t.Fatalf("claimed %v in a paused queue", run)
	}
	for status, want := range map[string]int{task.Paused: 3, task.Queued: 0, task.Completed: 1} {
		page, err := b.tasks.List(t.Context(), task.Query{Statuses: []string{status}, Limit: 9})
		noError(t, err)
		equal(t, []int{page.Total, len(page.Tasks)}, []int{want, want})
	}
	list, err := db.Queue().List(t.Context(), queue.Query{Limit: 1})
	noError(t, err)
	equal(t, list.Queues[0].Counts, map[string]int{task.Paused: 3, task.Completed: 1})
	equal(t, b.cancel(4, false), task.Paused)
	set(false)
	b.states(task.Completed, task.Queued, task.Queued, task.Cancelled)
	b.complete(2)
	if _, found, err := db.Queue().SetPaused(t.Context(), "nowhere", true); found || err != nil {
		t.Fatalf("a queue that is not there: %v, %v", found, err)
	}
}

func removeQueue(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	created := newQueue(7)
	_, err := db.Queue().Create(t.Context(), created, 100)
	noError(t, err)
	in, later := newTask(1), newTask(2, taskID(1))
	in.QueueID, later.QueueID = created.ID, created.ID
	b.submit(in, later)
	remove := func(idOrName string) (open int, found bool) {
		q, open, found, err := db.Queue().Remove(t.Context(), idOrName)
		noError(t, err)
		if found {
			equal(t, q.ID, created.ID)
		}
		return open, found
	}
	if open, found := remove(created.Name); open != 2 || !found {
		t.Fatalf("%d open tasks, %v", open, found)
	}
	b.complete(1)
	b.complete(2)
	if open, found := remove(created.Name); open != 0 || !found {
		t.Fatalf("%d open tasks, %v", open, found)
	}
	if _, found := remove(created.ID); found {
		t.Fatal("a queue was removed twice")
	}
	equal(t, b.get(1).QueueID, created.ID)
	made2, err := b.tasks.Submit(t.Context(), in, noon, maxOpen)
	noError(t, err)
	equal(t, made2, task.Submission{})
}

func updateQueue(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	q := newQueue(1)
	_, err := db.Queue().Create(t.Context(), q, 100)
	noError(t, err)
	for n := range 3 {
		pending := newTask(n + 1)
		pending.QueueID = q.ID
		b.submit(pending)
	}
	b.start(1)
	if run, found := b.claim(); found {
		t.Fatalf("claimed %v above the limit", run)
	}
	q.Description, q.MaxConcurrency, q.PerProcess, q.DefaultPriority, q.RatePerMinute = "new", 2, true, task.Low, 60
	for _, idOrName := range []string{q.ID, q.Name} {
		got, found, err := db.Queue().Update(t.Context(), idOrName, func(stored *queue.Queue) {
			stored.Description, stored.MaxConcurrency, stored.PerProcess, stored.DefaultPriority = q.Description, 2, true, q.DefaultPriority
			stored.RatePerMinute = 60
		})
		noError(t, err)
		equal(t, found, true)
		equal(t, got, q)
	}
	page, err := db.Queue().List(t.Context(), queue.Query{Limit: 9})
	noError(t, err)
	equal(t, page.Queues[1].Queue, q)
	b.start(2)
	_, found, err := db.Queue().Update(t.Context(), "nowhere", func(*queue.Queue) { t.Error("changed") })
	noError(t, err)
	equal(t, found, false)
}

// limitRate checks that two processes on one store, which claim at the same moment, start
// exactly as many tasks a minute as their queue allows, whatever their clocks are. A start that
// the database dated far in the future, before its clock was set back, holds nothing back.
func limitRate(t *testing.T, url string) {
	const rate = 4
	dbs := []*storage.DB{Open(t, url), Open(t, url)}
	q := newQueue(1)
	q.MaxConcurrency, q.RatePerMinute = 100, rate
	_, err := dbs[0].Queue().Create(t.Context(), q, 100)
	noError(t, err)
	var ledgers []engine.Ledger
	places := []string{place, "elsewhere"}
	for i, db := range dbs {
		ledger, _, err := db.Work()
		noError(t, err)
		noError(t, ledger.Enter(t.Context(), places[i], places[i], long))
		ledgers = append(ledgers, ledger)
		for n := range 40 {
			pending := newTask(40*i + n)
			pending.QueueID, pending.Workspace = q.ID, places[i]
			_, err := db.Task().Submit(t.Context(), pending, pending.CreatedAt, maxOpen)
			noError(t, err)
		}
	}
	claim := func(clocks ...time.Duration) (started int) { // each process has its own
		var all sync.WaitGroup
		claimed := make([]int, len(clocks))
		for i, clock := range clocks {
			all.Go(func() {
				tasks, err := ledgers[i].Claim(t.Context(), places[i], places[i], 9, time.Now().Add(clock))
				if err != nil {
					t.Error(err)
				}
				claimed[i] = len(tasks)
			})
		}
		all.Wait()
		for _, n := range claimed {
			started += n
		}
		return started
	}
	raw := Raw(t, url)
	pass := func(d time.Duration) { // for the database: earlier starts are longer ago
		_, err := raw.ExecContext(t.Context(), fmt.Sprintf(`UPDATE queue_starts SET at = at - %d`, d.Microseconds()))
		noError(t, err)
	}
	const day = 24 * time.Hour
	for _, clocks := range [][]time.Duration{{0, 0}, {0, -30 * time.Second}, {0, 2 * time.Minute}, {-time.Hour, day}} {
		equal(t, claim(clocks...), rate)
		equal(t, claim(clocks...), 0)
		equal(t, claim(clocks[1], clocks[0]), 0)
		n, err := ledgers[0].Wake(t.Context(), places[0], places[0])
		noError(t, err)
		equal(t, n, 0)
		pass(time.Minute)
	}
	equal(t, claim(0), rate)
	pass(-30 * time.Second) // the clock was set back a little
	equal(t, claim(0), 0)
	pass(-day)
	equal(t, claim(0), rate)
	equal(t, claim(0), 0)
	_, _, err = dbs[1].Queue().Update(t.Context(), q.ID, func(stored *queue.Queue) { stored.RatePerMinute = 0 })
	noError(t, err)
	equal(t, claim(0, 0) > rate, true)
}

// limitProcesses checks that a limit holds in each process.
func limitProcesses(t *testing.T, db *storage.DB) {
	b := newBench(t, db)
	noError(t, b.ledger.Enter(t.Context(), "another", place, long))
	q := newQueue(1)
	q.PerProcess = true
	_, err := db.Queue().Create(t.Context(), q, 100)
	noError(t, err)
	for n := range 3 {
		pending := newTask(n + 1)
		pending.QueueID = q.ID
		b.submit(pending)
	}
	for i, want := range []int{1, 0} {
		for _, who := range []string{worker, "another"} {
			n, err := b.ledger.Wake(t.Context(), who, place)
			noError(t, err)
			equal(t, []int{i, n}, []int{i, want})
			claimed, err := b.ledger.Claim(t.Context(), who, place, 9, noon)
			noError(t, err)
			equal(t, []int{i, len(claimed)}, []int{i, want})
		}
	}
}
