package queue_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/tools/task"
)

// load is a test with many tasks and dying processes.
type load struct {
	tasks, chain int
	workers      int
	lease        time.Duration
	deaths       []int // numbers of completed tasks after which a worker is killed
	replaced     bool  // a new worker replaces a killed one
}

// full reports whether to run at full size, for several minutes.
func full() bool { return os.Getenv("TOOLFOLD_LOAD") != "" }

func TestLoadPostgres(t *testing.T) {
	t.Parallel()
	l := load{tasks: 120, chain: 20, workers: 2, lease: 15 * time.Second, deaths: []int{40}}
	if full() {
		l = load{tasks: 10_000, chain: 200, workers: 4, lease: 15 * time.Second, deaths: []int{2500, 5000}}
	}
	l.run(t, storagetest.Postgres(t), "pgx")
}

func TestLoadSQLite(t *testing.T) {
	t.Parallel()
	l := load{tasks: 120, chain: 20, workers: 1, lease: 15 * time.Second, deaths: []int{40}, replaced: true}
	if full() {
		l = load{tasks: 2000, chain: 200, workers: 1, lease: 15 * time.Second, deaths: []int{700}, replaced: true}
	}
	l.run(t, storagetest.SQLite(t), "sqlite")
}

// run submits the tasks while workers run them, kills some of the workers, and checks the result.
func (l load) run(t *testing.T, address, driver string) {
	db, err := storage.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	history := keepHistory(t, address, driver)
	l.prepare(t, db)
	log := filepath.Join(t.TempDir(), "diary")
	var workers []*process
	for range l.workers {
		workers = append(workers, startWorker(t, address, log, l.lease))
	}
	start := time.Now()
	var submitting sync.WaitGroup
	submitting.Go(func() {
		l.submit(t, db)
		t.Logf("%d tasks submitted in %v", l.tasks, time.Since(start).Round(time.Millisecond))
	})
	defer submitting.Wait()
	killed := map[int]time.Time{}
	for i, n := range l.deaths {
		l.await(t, db, n)
		held := fmt.Sprintf("held-%d", i)
		submitNamed(t, db.Task(), held, untilReleased, nil)
		busy := awaitBegun(t, log, held, workers)
		killed[workers[busy].Process.Pid] = time.Now()
		workers[busy].kill()
		release(t, log, held)
		t.Logf("killed a worker after %v, with %d tasks completed", time.Since(start).Round(time.Millisecond), n)
		workers = slices.Delete(workers, busy, busy+1)
		if l.replaced {
			workers = append(workers, startWorker(t, address, log, l.lease))
		}
	}
	submitting.Wait()
	l.tasks += len(l.deaths) // the held tasks
	l.await(t, db, l.tasks)
	took := time.Since(start)
	t.Logf("%d tasks completed in %v: %.0f tasks/s", l.tasks, took.Round(time.Millisecond), float64(l.tasks)/took.Seconds())
	for _, w := range workers {
		w.stop(t)
	}
	history.check(t, l.tasks)
	checkDiary(t, readDiary(t, log), l, killed)
}

// prepare creates the queue of the tasks.
func (l load) prepare(t *testing.T, db *storage.DB) {
	t.Helper()
	q := testQueue("load", 10)
	if _, err := db.Queue().Create(t.Context(), q, 100); err != nil {
		t.Fatal(err)
	}
}

func chained(i int) string { return fmt.Sprintf("chain-%03d", i) }

// submit submits a chain of dependent tasks among many independent ones.
func (l load) submit(t *testing.T, db *storage.DB) {
	store := db.Task()
	var wg sync.WaitGroup
	wg.Go(func() {
		var before []string
		for i := range l.chain {
			id := submitNamed(t, store, chained(i), 1, before)
			before = []string{id}
		}
	})
	numbers := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range numbers {
				submitNamed(t, store, fmt.Sprintf("single-%05d", i), duration(i), nil)
			}
		})
	}
	for i := range l.tasks - l.chain {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
}

// duration returns the milliseconds of a task. Most are short, but enough are long that a killed
// worker usually runs one of them.
func duration(i int) int {
	if i%4 == 0 {
		return 500
	}
	return i % 5
}

func submitNamed(t testing.TB, store task.Store, name string, ms int, dependencies []string) string {
	arguments, err := json.Marshal(map[string]any{"tool": "diary", "arguments": map[string]any{"task": name, "ms": ms}})
	if err != nil {
		t.Error(err)
	}
	now, priority := time.Now().UTC().Truncate(time.Microsecond), task.Medium
	if ms == untilReleased {
		priority = task.Critical
	}
	submitted := task.Task{
		ID: uuid.NewString(), QueueID: loadQueue, Name: name, Input: arguments, Priority: priority, Type: task.Sequential,
		Dependencies: dependencies, Tags: []string{}, Attempt: 1, MaxAttempts: 1, MaxInterruptions: 5, CreatedAt: now,
		Workspace: place,
	}
	if submitted.Dependencies == nil {
		submitted.Dependencies = []string{}
	}
	made, err := store.Submit(context.Background(), submitted, now, 10_000)
	if err != nil || made.Status == "" {
		t.Errorf("submitting %s: %v, %v", name, err, made)
	}
	return submitted.ID
}

// awaitBegun waits until one of the workers has begun a task, and returns its index.
func awaitBegun(t *testing.T, log, name string, workers []*process) int {
	t.Helper()
	pid := 0
	testwait.Until(t, "a worker begins "+name, func() bool {
		for _, n := range readDiary(t, log) {
			if n.task == name {
				pid = n.pid
			}
		}
		return pid != 0
	})
	return slices.IndexFunc(workers, func(w *process) bool { return w.Process.Pid == pid })
}

// await waits until n tasks have completed, as long as tasks keep completing.
func (l load) await(t *testing.T, db *storage.DB, n int) {
	t.Helper()
	for completed := -1; completed < n; {
		testwait.Until(t, fmt.Sprintf("more than %d of %d tasks complete", completed, n), func() bool {
			before := completed
			completed = count(t, db, task.Completed)
			return completed > before
		})
	}
}

// count returns the number of tasks in some states.
func count(t testing.TB, db *storage.DB, statuses ...string) int {
	t.Helper()
	page, err := db.Task().List(t.Context(), task.Query{Statuses: statuses, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

// history holds every state of every task, written by the database.
type history struct {
	pool *sql.DB
}

var historyTriggers = map[string][]string{
	"sqlite": {
		`CREATE TABLE test_history (task_id TEXT, status TEXT)`,
		`CREATE TRIGGER test_new AFTER INSERT ON tasks BEGIN INSERT INTO test_history VALUES (new.id, new.status); END`,
		`CREATE TRIGGER test_change AFTER UPDATE OF status ON tasks BEGIN INSERT INTO test_history VALUES (new.id, new.status); END`,
	},
	"pgx": {
		`CREATE TABLE test_history (task_id text, status text)`,
		`CREATE FUNCTION test_note() RETURNS trigger AS $$ BEGIN INSERT INTO test_history VALUES (new.id,` +
			` new.status); RETURN new; END $$ LANGUAGE plpgsql`,
		`CREATE TRIGGER test_new AFTER INSERT OR UPDATE OF status ON tasks FOR EACH ROW EXECUTE FUNCTION test_note()`,
	},
}

func keepHistory(t *testing.T, address, driver string) history {
	t.Helper()
	pool := storagetest.Raw(t, address)
	for _, statement := range historyTriggers[driver] {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return history{pool}
}

// check requires that every task completed once and never ended otherwise.
func (h history) check(t *testing.T, tasks int) {
	t.Helper()
	for query, want := range map[string]int{
		`SELECT count(*) FROM tasks`:                                                                 tasks,
		`SELECT count(*) FROM tasks WHERE status = 'completed'`:                                      tasks,
		`SELECT count(*) FROM test_history WHERE status = 'completed'`:                               tasks,
		`SELECT count(DISTINCT task_id) FROM test_history WHERE status = 'completed'`:                tasks,
		`SELECT count(*) FROM test_history WHERE status IN ('failed', 'cancelled', 'timeout')`:       0,
		`SELECT count(*) FROM tasks WHERE status = 'completed' AND (output IS NULL OR attempt <> 1)`: 0,
	} {
		var got int
		if err := h.pool.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %d, want %d", query, got, want)
		}
	}
}

// checkDiary requires that every task ran, again only if its process was killed, never in two
// processes at once, and the chain in order.
func checkDiary(t *testing.T, notes []note, l load, killed map[int]time.Time) {
	t.Helper()
	runs := map[string][]note{}
	repeated := 0
	for _, n := range notes {
		list := runs[n.task]
		if n.what == "begin" && len(list) > 0 {
			repeated++
			last := list[len(list)-1]
			if died, ok := killed[last.pid]; !ok || last.what != "end" && n.at.Before(died) {
				t.Errorf("%s began in process %d while process %d had it (%s)", n.task, n.pid, last.pid, last.what)
			}
		}
		runs[n.task] = append(list, n)
	}
	t.Logf("%d runs were repeated because their process was killed", repeated)
	if repeated < len(killed) {
		t.Errorf("%d runs were repeated, want one at least for each process that was killed", repeated)
	}
	if len(runs) != l.tasks {
		t.Errorf("%d tasks were run, want %d", len(runs), l.tasks)
	}
	var ends []time.Time
	for i := range l.chain {
		steps := runs[chained(i)]
		if len(ends) > 0 && steps[0].at.Before(ends[len(ends)-1]) {
			t.Errorf("%s began before the one that it depends on had ended", chained(i))
		}
		last := slices.IndexFunc(steps, func(n note) bool { return n.what == "end" })
		if last < 0 {
			t.Fatalf("%s never ended", chained(i))
		}
		ends = append(ends, steps[last].at)
	}
}
