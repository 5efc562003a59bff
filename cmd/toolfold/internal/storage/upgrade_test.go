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

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
	"github.com/toolfold/toolfold/tools/task"
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

// makeOld makes a store as it was before.
func makeOld(t *testing.T, pool *sql.DB, d dialect) {
	t.Helper()
	if err := d.migrateQueue(t.Context(), pool); err != nil {
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
	if _, err := provider.UpTo(t.Context(), oldStep); err != nil {
		t.Fatal(err)
	}
	for _, row := range oldRows {
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
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "old.db")
		pool, err := sqlitePool(path, sqliteWriter, 1)
		if err != nil {
			t.Fatal(err)
		}
		makeOld(t, pool, sqliteDialect)
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		checkOld(t, (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		base := os.Getenv("TOOLFOLD_TEST_POSTGRES")
		if base == "" {
			t.Skip("set TOOLFOLD_TEST_POSTGRES to the URL of a PostgreSQL database to run this test")
		}
		config, err := pgx.ParseConfig(base)
		if err != nil {
			t.Fatal(err)
		}
		name := "toolfold_test_" + uuid.NewString()[:8]
		config.RuntimeParams["search_path"] = name
		pool := stdlib.OpenDB(*config)
		defer pool.Close()
		if _, err := pool.ExecContext(t.Context(), `CREATE SCHEMA `+name); err != nil {
			t.Fatal(err)
		}
		defer pool.ExecContext(context.WithoutCancel(t.Context()), `DROP SCHEMA `+name+` CASCADE`)
		makeOld(t, pool, postgresDialect)
		checkOld(t, base+map[bool]string{true: "&", false: "?"}[strings.Contains(base, "?")]+"search_path="+name)
	})
}

// A copy of an upgrade is reused where it has what the store has. Where the copy was put
// back and the store went on from there, it is an old one: another is made, and named.
func TestCopiesBeforeUpgradesAreOfTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	pool, err := sqlitePool(path, sqliteWriter, 1)
	if err != nil {
		t.Fatal(err)
	}
	makeOld(t, pool, sqliteDialect)
	upgraded := func() (said string) {
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
	for said, want := range map[string]string{first: path + ".step5\n", again: path + ".step5\n", later: path + ".step5.2\n"} {
		if !strings.HasSuffix(said, "copy="+want) {
			t.Errorf("it said %q, want the copy %q", said, want)
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
	e, found, err := db.Memory().Get(t.Context(), memory.Place{Namespace: "n", Key: "k"}, fromMicros(8))
	compare(e, found, err, memory.Entry{Namespace: "n", Key: "k", Value: json.RawMessage(`{"v":1}`), StoredAt: fromMicros(7)})
	notes := memory.New(db.Memory(), func() time.Time { return fromMicros(9) })
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
