package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/storage/queue"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

// oldStep is the last schema step of the stores that the tests upgrade.
const oldStep = 5

// oldRows insert the rows of such a store, with the JSON that was written then.
var oldRows = []string{
	`INSERT INTO memory (namespace, key, stored_at, words, value) VALUES ('n', 'k', 7, '@n #k k', '{"v":1}')`,
	`INSERT INTO agents (agent_id, team, enabled, created_at, profile) VALUES ('a', '', 1, 7, '{"agentId":"a",` +
		`"description":"d","displayName":"A","systemPrompt":"p","workflow":[{"stepId":"s","type":"tool","config":{"tool":"x"},` +
		`"dependsOn":["r"],"timeoutMs":5,"retry":{"maxAttempts":2}}],"enabled":true,"orchestration":{"maxDelegationDepth":0}}')`,
	`INSERT INTO abilities (id, details, content) VALUES ('b', '{"abilityId":"b","tags":["t"],"content":"","priority":7,` +
		`"enabled":true}', 'text')`,
	`INSERT INTO sessions (id, status, created_at, updated_at, ended_at, initiator, task, workspace, summary, failure)
		VALUES ('s', 'failed', 1, 2, 3, 'ann', 'ship', '', '', '{"code":"E","message":"m","taskId":"t","details":{"n":1}}')`,
	`INSERT INTO session_participants (session_id, agent_id, place, role, joined_at) VALUES ('s', 'ann', 0, 'initiator', 1)`,
	`INSERT INTO queues (id, name, description, max_concurrency, default_priority, paused, created_at) VALUES ('q', 'calm', '', 2, 4, 1, 9)`,
	`INSERT INTO tasks (id, queue_id, status, priority, turn, waiting, due_at, attempt, max_attempts, timeout_ms, created_at, ended_at,
			type, agent_id, name, description, tags, dependencies, error, input, output)
		VALUES ('done', 'q', 'completed', 3, 1, 0, 0, 1, 1, 0, 5, 6, 'other', '', 'n', '', '["x"]', '[]', '', '{"tool":"t"}', '{"n":1}')`,
	`INSERT INTO tasks (id, queue_id, status, priority, turn, waiting, due_at, attempt, max_attempts, timeout_ms, created_at,
			type, agent_id, name, description, tags, dependencies, error)
		VALUES ('open', 'q', 'paused', 3, 1, 0, 0, 1, 1, 0, 5, 'other', '', 'n', '', '[]', '["done"]', '')`,
	`INSERT INTO task_dependencies (depends_on, task_id) VALUES ('done', 'open')`,
	`INSERT INTO task_tags (tag, task_id) VALUES ('x', 'done')`,
}

// makeOld makes a store of oldStep.
func makeOld(t *testing.T, pool *sql.DB, d dialect) {
	t.Helper()
	makeAt(t, pool, d, oldStep, oldRows)
}

// oldRiver is the version of River's tables up to schema step 24.
const oldRiver = 6

// makeAt makes a store as it was at an earlier schema step.
func makeAt(t *testing.T, pool *sql.DB, d dialect, step int64, rows []string) {
	t.Helper()
	config := &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)}
	migrator, err := rivermigrate.New(riversqlite.New(pool), config)
	if d.name == goose.DialectPostgres {
		migrator, err = rivermigrate.New(riverdatabasesql.New(pool), config)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: oldRiver}); err != nil {
		t.Fatal(err)
	}
	steps, err := fs.Sub(schema, d.schema)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(d.name, pool, steps, goose.WithTableName(schemaTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if _, err := pool.ExecContext(t.Context(), row); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
	}
	if d.name == goose.DialectSQLite3 { // texts are not bytes there
		for table, columns := range map[string][]string{
			"memory": {"namespace", "key", "value"}, "agents": {"agent_id", "profile"}, "abilities": {"details", "content"},
			"sessions":             {"initiator", "task", "failure"},
			"session_participants": {"agent_id"}, "queues": {"name"}, "task_tags": {"tag"},
			"tasks": {"name", "tags", "dependencies", "input", "output", "agent_id", "description", "error"},
		} {
			for _, c := range columns {
				if _, err := pool.ExecContext(t.Context(), `UPDATE `+table+` SET `+c+` = CAST(`+c+` AS BLOB) WHERE `+c+` IS NOT NULL`); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A store that is at the last step takes no earlier one: a number that was left
// out must stay so, and a new step has the number after the last.
func TestStepsComeInOrder(t *testing.T) {
	t.Parallel()
	leftOut := []int{11, 15, 16}
	for _, folder := range []string{"schema/sqlite", "schema/postgres"} {
		files, err := fs.ReadDir(schema, folder)
		if err != nil {
			t.Fatal(err)
		}
		next := 1
		for _, f := range files {
			for slices.Contains(leftOut, next) {
				next++
			}
			if want := fmt.Sprintf("%04d_", next); !strings.HasPrefix(f.Name(), want) {
				t.Errorf("%s/%s: the next step begins with %s", folder, f.Name(), want)
			}
			next++
		}
	}
}

// A store from before is upgraded, and all that it holds is read.
func TestUpgrade(t *testing.T) {
	eachOld(t, makeOld, checkOld)
}

// eachOld runs check on the store of each database that fill has filled.
func eachOld(t *testing.T, fill func(*testing.T, *sql.DB, dialect), check func(t *testing.T, url string)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "old.db")
		pool, err := sqlitePool(path, sqliteWriter, 1)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, pool, sqliteDialect)
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := emptyPostgres(t)
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		pool := stdlib.OpenDB(*config)
		defer pool.Close()
		fill(t, pool, postgresDialect)
		check(t, url)
	})
}

// emptyPostgres returns the URL of an empty schema of the test database. Without one the test is skipped.
func emptyPostgres(t *testing.T) string {
	t.Helper()
	base := os.Getenv("TOOLFOLD_TEST_POSTGRES")
	if base == "" {
		t.Skip("set TOOLFOLD_TEST_POSTGRES to the URL of a PostgreSQL database to run this test")
	}
	config, err := pgx.ParseConfig(base)
	if err != nil {
		t.Fatal(err)
	}
	name := "toolfold_test_" + uuid.NewString()[:8]
	pool := stdlib.OpenDB(*config)
	t.Cleanup(func() { pool.Close() })
	if _, err := pool.ExecContext(t.Context(), `CREATE SCHEMA `+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.ExecContext(context.WithoutCancel(t.Context()), `DROP SCHEMA `+name+` CASCADE`) })
	return base + map[bool]string{true: "&", false: "?"}[strings.Contains(base, "?")] + "search_path=" + name
}

// Traces of an older store are listed, and found by their label.
func TestUpgradedTracesAreListed(t *testing.T) {
	rows := []string{`INSERT INTO traces (id, label, label_at, open, failed, started_at, ended_at, heard_at, spans, bytes)
		VALUES ('old', 'memory.get', 5, 0, 1, 5, 9, 9, 1, 10)`}
	eachOld(t, func(t *testing.T, pool *sql.DB, d dialect) { makeAt(t, pool, d, 24, rows) }, func(t *testing.T, url string) {
		db, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, q := range []trace.Query{{}, {Label: "memory.get"}, {MinDuration: 4 * time.Microsecond}} {
			q.Limit = 5
			page, err := db.Trace().List(t.Context(), q)
			if err != nil || page.Total != 1 || page.Traces[0].ID != "old" || page.Traces[0].Workspace != "" {
				t.Errorf("%+v: %+v, %v", q, page, err)
			}
		}
	})
}

// taskRows are the tasks and jobs of a store of schema step 24, as they were written then: one
// task waits for a worker, the worker of one has died, and the time of two has come.
var taskRows = []string{
	openTask("waiting", `'queued', 0, 0, NULL, ''`),
	openTask("running", `'running', 1, 0, 'dead', ''`),
	openTask("scheduled", `'pending', 0, 1795802056677175, NULL, ''`),
	openTask("repeated", `'pending', 0, 1795802056677175, NULL, '@every 1m'`),
	`INSERT INTO task_workers (id, workspace, expires_at) VALUES ('dead', 'w', 1795802054788000)`,
	`INSERT INTO river_job (args, attempt, kind, max_attempts, metadata, queue, state)
		VALUES ('{}', 0, 'toolfold_work', 25, '{"river:unique_nonce":"4211e38bcbd02383"}', 'w50e721e49c013f00c62cf59f2163542a', 'available')`,
	`INSERT INTO river_job (args, attempt, attempted_at, kind, max_attempts, metadata, queue, state)
		VALUES ('{}', 1, '2026-11-27 17:54:00.781', 'toolfold_work', 25, '{"river:unique_nonce":"fc6668cc65b2635c"}',
			'w50e721e49c013f00c62cf59f2163542a', 'running')`,
}

func openTask(id, rest string) string {
	return `INSERT INTO tasks (id, queue_id, priority, waiting, attempt, max_attempts, timeout_ms, created_at, type, workspace,
			agent_id, name, description, tags, dependencies, error, input, status, turn, due_at, worker_id, schedule)
		VALUES ('` + id + `', 'default', 3, 0, 1, 1, 0, 1795802036677175, 'sequential', 'w', '', '` + id + `', '', '[]', '[]', '',
			'{"tool":"memory.store","arguments":{"key":"k","value":{}}}', ` + rest + `)`
}

// The tasks of a store from before River's tables were changed run, and no job of its dead worker is left.
func TestUpgradedTasksRun(t *testing.T) {
	eachOld(t, func(t *testing.T, pool *sql.DB, d dialect) {
		makeAt(t, pool, d, 24, taskRows)
		for _, row := range map[goose.Dialect][]string{
			goose.DialectSQLite3: {
				`UPDATE river_job SET attempted_by = '["dead"]' WHERE state = 'running'`,
				`UPDATE tasks SET workspace = CAST(workspace AS BLOB)`,
				`UPDATE task_workers SET workspace = CAST(workspace AS BLOB)`,
			},
			goose.DialectPostgres: {`UPDATE river_job SET attempted_by = '{dead}' WHERE state = 'running'`},
		}[d.name] {
			if _, err := pool.ExecContext(t.Context(), row); err != nil {
				t.Fatal(err)
			}
		}
	}, func(t *testing.T, url string) {
		db, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ran := make(chan struct{}, 100)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		ended := make(chan error)
		open := func(context.Context) (queue.Ledger, *queue.Jobs, error) { return db.Work() }
		go func() {
			ended <- queue.New(open, callReporter(ran), queue.Options{Workspace: "w", Tick: 20 * time.Millisecond}).Work(ctx)
		}()
		for n := range 4 {
			select {
			case <-ran:
			case <-ctx.Done():
				t.Fatalf("%d tasks ran, want 4", n)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"waiting", "running", "scheduled"} {
			if got, _, err := db.Task().Get(t.Context(), id); err != nil || got.Status != task.Completed {
				t.Errorf("%s is %s, %v", id, got.Status, err)
			}
		}
		left, err := scalar[int](t.Context(), db.reader(), sqlf(`SELECT count(*) FROM river_job WHERE state = 'running'`))
		if err != nil || left > 0 {
			t.Errorf("%d jobs are running for ever, %v", left, err)
		}
	})
}

// callReporter is a caller that reports each call.
type callReporter chan<- struct{}

func (d callReporter) Call(context.Context, string, json.RawMessage) toolfold.Answer {
	d <- struct{}{}
	return toolfold.Answer{Content: json.RawMessage(`{}`)}
}

func (callReporter) Lookup(name string) []*entry.Entry {
	return []*entry.Entry{{Tool: name, Action: &toolfold.Action{Name: name, Effect: toolfold.Sets, Family: &toolfold.Family{Name: "test"}}}}
}

func (callReporter) Nearest(string) string { return "" }

// noteRows are notes of a store of schema step 24, one of a workspace that is known and one of which it is not.
var noteRows = []string{
	`INSERT INTO memory (namespace, key, stored_at, workspace, words, value) VALUES ('n', 'k', 7, 'shop', '` +
		memory.IndexText(memory.Entry{Namespace: "n", Key: "k", Workspace: "shop", Value: []byte(`"shop"`)}) + `', '"shop"')`,
	`INSERT INTO memory (namespace, key, stored_at, expires_at, revision, words, value) VALUES ('n', 'old', 8, 99, 3, '` +
		memory.IndexText(memory.Entry{Namespace: "n", Key: "old", Value: []byte(`"old"`)}) + `', '"old"')`,
	`INSERT INTO memory_vectors (id, stored_at, model, vector) SELECT id, stored_at, 'm', value FROM memory`,
}

// Notes of a store in which workspaces did not identify them keep the workspace that they had. Those without one
// belong to all.
func TestUpgradedNotesHaveWorkspaces(t *testing.T) {
	eachOld(t, func(t *testing.T, pool *sql.DB, d dialect) {
		makeAt(t, pool, d, 24, noteRows)
		if d.name == goose.DialectSQLite3 {
			if _, err := pool.ExecContext(t.Context(), `UPDATE memory SET workspace = CAST(workspace AS BLOB)`); err != nil {
				t.Fatal(err)
			}
		}
	}, func(t *testing.T, url string) {
		db, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		got, err := db.Memory(memory.History{}).Entries(t.Context(), memory.Scope{}, memory.Page{})
		if diff := cmp.Diff([]memory.Entry{
			{Namespace: "n", Key: "k", Workspace: "shop", Value: json.RawMessage(`"shop"`), StoredAt: fromMicros(7), Version: 1},
			{Namespace: "n", Key: "old", Workspace: memory.User, Value: json.RawMessage(`"old"`), StoredAt: fromMicros(8),
				ExpiresAt: fromMicros(99), Version: 3},
		}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		if vectors, err := db.Memory(memory.History{}).Vectors(t.Context(), memory.Scope{}, "m", 9); len(vectors) != 2 || err != nil {
			t.Errorf("%d vectors are left, %v", len(vectors), err)
		}
		notes := memory.New(db.Memory(memory.History{}), func() time.Time { return fromMicros(9) })
		notes.Workspace = "site"
		for _, key := range []string{"k", "old"} { // beside those that there are
			out, err := notes.Store(t.Context(), memory.StoreIn{Namespace: "n", Key: key, Value: json.RawMessage(`"site"`)})
			if err != nil || out.Replaced {
				t.Errorf("%+v, %v", out, err)
			}
		}
		for workspace, want := range map[string]string{"shop": "k", memory.User: "old", "site": "k old"} {
			out, err := notes.Search(t.Context(), memory.SearchIn{Query: "k old", Workspace: workspace, Page: toolfold.Page{Limit: 9}})
			var keys []string
			for _, r := range out.Results {
				keys = append(keys, r.Key)
			}
			slices.Sort(keys)
			if strings.Join(keys, " ") != want || err != nil {
				t.Errorf("%s has %v, %v, want %s", workspace, keys, err, want)
			}
		}
	})
}

// A copy of an upgrade is reused where it has what the store has. Where the copy was put
// back and the store went on from there, it is an old one: another is made, and named.
func TestUpgradeReusesCurrentCopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	pool, err := sqlitePool(path, sqliteWriter, 1)
	if err != nil {
		t.Fatal(err)
	}
	makeOld(t, pool, sqliteDialect)
	upgraded := func() (output string) {
		t.Helper()
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		db, err := Open(t.Context(), "sqlite://"+path, Log(slog.New(slog.NewTextHandler(&log, nil))))
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	putBack := func() {
		t.Helper()
		before, err := os.ReadFile(path + ".step5")
		if err == nil {
			err = os.WriteFile(path, before, 0o600)
		}
		if err == nil {
			pool, err = sqlitePool(path, sqliteWriter, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := upgraded()
	putBack()
	again := upgraded()
	putBack()
	if _, err := pool.ExecContext(t.Context(), `UPDATE memory SET stored_at = 8`); err != nil {
		t.Fatal(err)
	}
	later := upgraded()
	for log, want := range map[string]string{first: path + ".step5\n", again: path + ".step5\n", later: path + ".step5.2\n"} {
		if !strings.HasSuffix(log, "copy="+want) {
			t.Errorf("it said %q, want the copy %q", log, want)
		}
	}
	copied, err := sqlitePool(path+".step5.2", sqliteReader, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var storedAt int
	if err := copied.QueryRowContext(t.Context(), `SELECT stored_at FROM memory`).Scan(&storedAt); err != nil || storedAt != 8 {
		t.Errorf("the copy has %d, %v", storedAt, err)
	}
	if files, err := filepath.Glob(path + ".step*"); err != nil || len(files) != 2 {
		t.Errorf("there are %v, %v", files, err)
	}
}

func checkOld(t *testing.T, url string) {
	t.Helper()
	db, err := Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	compare := func(got any, found bool, err error, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || !found || err != nil {
			t.Errorf("found %v, %v (-want +got)\n%s", found, err, diff)
		}
	}
	at := memory.Place{Namespace: "n", Key: "k", Workspace: memory.User}
	e, found, err := db.Memory(memory.History{}).Get(t.Context(), at, fromMicros(8))
	compare(e, found, err, memory.Entry{Namespace: "n", Key: "k", Workspace: memory.User,
		Value: json.RawMessage(`{"v":1}`), StoredAt: fromMicros(7), Version: 1})
	notes := memory.New(db.Memory(memory.History{}), func() time.Time { return fromMicros(9) })
	if _, err := notes.Store(t.Context(), memory.StoreIn{Namespace: "n", Key: "k2", Value: json.RawMessage(`"v"`),
		Tags: []string{"t"}}); err != nil {
		t.Error(err)
	}
	for query, want := range map[string]int{"k": 2, "k2": 1, "t": 1} {
		out, err := notes.Search(t.Context(), memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 9}})
		if err != nil || out.Count != want {
			t.Errorf("%s finds %+v, %v, want %d", query, out.Results, err, want)
		}
	}
	p, found, err := db.Agent().Get(t.Context(), "a")
	compare(p, found, err, agent.Profile{
		AgentID: "a", Description: "d", DisplayName: "A", SystemPrompt: "p", Enabled: true, Source: agent.Registered, CreatedAt: fromMicros(7),
		Workflow: []engine.Step{{
			StepID: "s", Type: "tool", Config: json.RawMessage(`{"tool":"x"}`), DependsOn: []string{"r"}, TimeoutMs: 5,
			Retry: &engine.Retry{MaxAttempts: 2},
		}},
		Orchestration: &agent.Orchestration{MaxDelegationDepth: new(0)},
	})
	a, found, err := db.Ability().Get(t.Context(), "b")
	compare(a, found, err, ability.Ability{ID: "b", Tags: []string{"t"}, Content: "text", Priority: 7, Enabled: true})
	s, found, err := db.Session().Get(t.Context(), "s")
	compare(s.Failure, found, err, &session.Failure{Code: "E", Message: "m", TaskID: "t", Details: json.RawMessage(`{"n":1}`)})
	done, found, err := db.Task().Get(t.Context(), "done")
	compare(done, found, err, task.Task{MaxInterruptions: 5,
		ID: "done", QueueID: "q", Name: "n", Input: json.RawMessage(`{"tool":"t"}`), Output: json.RawMessage(`{"n":1}`), InputBytes: 12,
		OutputBytes: 7,
		Priority:    task.Medium, Type: "other", Status: task.Completed, Dependencies: []string{}, Tags: []string{"x"},
		Attempt: 1, MaxAttempts: 1, Turn: 1, CreatedAt: fromMicros(5), EndedAt: fromMicros(6),
	})
	// Whose workspace an open task is for is not known: it neither runs nor fails,
	// and is not released, until a retry says so.
	open, _, err := db.Task().Get(t.Context(), "open")
	if err != nil || open.Status != task.Pending {
		t.Errorf("the open task is %s, %q, %v", open.Status, open.Error, err)
	}
	ledger, _, err := db.Work()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := ledger.Release(t.Context(), fromMicros(9)); n != 0 || err != nil {
		t.Errorf("%d tasks of no workspace are released, %v", n, err)
	}
	if _, _, err := db.Queue().SetPaused(t.Context(), "calm", false); err != nil {
		t.Fatal(err)
	}
	retried, blocked, err := db.Task().Retry(t.Context(), task.Retrial{TaskID: "open", Workspace: "w", At: fromMicros(9)})
	if err != nil || len(blocked) > 0 || retried.Status != task.Queued || retried.Workspace != "w" {
		t.Errorf("retried: %v, %v, %v", retried, blocked, err)
	}
	page, err := db.Task().List(t.Context(), task.Query{Tags: []string{"x"}, Limit: 1})
	if err != nil || page.Total != 1 {
		t.Errorf("%d tasks with the tag, %v", page.Total, err)
	}
}

// Sessions of a store that did not know where they were made are ended from the workspace that they name, as before.
func TestUpgradedSessionsHaveCreators(t *testing.T) {
	eachOld(t, func(t *testing.T, pool *sql.DB, d dialect) {
		makeAt(t, pool, d, 28, []string{
			`INSERT INTO sessions (id, status, created_at, updated_at, initiator, task, workspace, summary)
				VALUES ('s', 'active', 1, 2, 'ann', 'ship', 'shop', '')`,
			`INSERT INTO session_participants (session_id, agent_id, place, role, joined_at) VALUES ('s', 'ann', 0, 'initiator', 1)`,
		})
	}, func(t *testing.T, url string) {
		db, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		sessions := session.New(db.Session(), func() time.Time { return fromMicros(9) }, uuid.NewString)
		for _, step := range []struct {
			workspace string
			ends      bool
		}{{"site", false}, {"", false}, {"shop", true}} {
			sessions.Workspace = step.workspace
			out, err := sessions.Complete(t.Context(), session.CompleteIn{SessionID: "s"})
			if (err == nil) != step.ends {
				t.Errorf("%q: %+v, %v", step.workspace, out, err)
			}
		}
	})
}
