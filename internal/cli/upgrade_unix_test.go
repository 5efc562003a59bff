//go:build unix

package cli

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// restore replaces the sandbox's store by one of an earlier version. Files are named by the last schema
// step. Their servers were killed with one ended task and open ones: running, due soon, scheduled for
// 2099, dependent, and in a paused queue. Step 5 is from before workspaces. Step 17 is of the workspace
// "fixture", with schedules and a workflow.
func restore(t *testing.T, m *sandbox, step int) {
	t.Helper()
	read := func(ending string) []byte {
		file, err := os.Open(filepath.Join("testdata", "stores", fmt.Sprintf("step%d.%s.gz", step, ending)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(unzipped)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if m.store == "" {
		path := filepath.Join(m.home, "old.db")
		m.store = "sqlite://" + path
		m.write(t, path, string(read("db")))
		return
	}
	address, err := url.Parse(m.store)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("pgx", m.store)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	// Without arguments, all statements of the text are run.
	dump := strings.ReplaceAll(string(read("sql")), "SCHEMA.", address.Query().Get("search_path")+".")
	if _, err := pool.ExecContext(t.Context(), dump); err != nil {
		t.Fatal(err)
	}
}

// tasksByName returns the ids of all tasks that no schedule has made.
func (c *client) tasksByName(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		Tasks []struct{ TaskID, Name, ScheduleID string }
	}
	if err := json.Unmarshal([]byte(c.call(t, "task.list", `{"limit":100}`)), &list); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, one := range list.Tasks {
		if one.ScheduleID == "" {
			ids[one.Name] = one.TaskID
		}
	}
	return ids
}

func (c *client) status(t *testing.T, id string, want ...string) {
	t.Helper()
	c.expect(t, "task.status", fmt.Sprintf(`{"taskId":%q}`, id), want...)
}

// oldPlace is a sandbox with a store of an earlier version.
func oldPlace(t *testing.T, store string, step int) sandbox {
	m := newSandbox(t)
	m.store = store
	m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), `{"providers":{"slow":{"type":"command","command":["cat"]}}}`)
	m.write(t, filepath.Join(m.workspace, ".toolfold", "workflows", "two.yaml"), `name: Two
steps:
  - {stepId: one, type: tool, config: {tool: memory.store, arguments: {key: wf/one, value: "{{ input.n }}"}}}
  - {stepId: two, type: tool, config: {tool: memory.get, arguments: {key: wf/one}}}
`)
	restore(t, &m, step)
	return m
}

// Open tasks of a store from before workspaces neither run nor fail. They stay pending until task.retry
// in the right folder, and their waitsFor explains that.
func TestTasksFromBeforeWorkspaces(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := oldPlace(t, store, 5)
		c := m.client(t, "--workspace-name", "fixture")
		ids := c.tasksByName(t)
		open := []string{"paused", "running", "dependent", "scheduled", "due", "queued"}
		if len(ids) != len(open)+1 {
			t.Fatalf("there are %v", ids)
		}
		c.status(t, ids["done"], `"status":"completed"`)
		time.Sleep(2 * time.Second) // several rounds of a worker
		for _, name := range open {
			c.status(t, ids[name], `"status":"pending"`,
				`"waitsFor":"it was submitted before tasks belonged to a workspace: call task.retry in the folder that it is for"`)
		}
		c.expect(t, "queue.resume", `{"queueId":"held"}`)
		for _, name := range open {
			c.expect(t, "task.retry", fmt.Sprintf(`{"taskId":%q}`, ids[name]), ids[name])
		}
		for _, name := range open {
			if name == "scheduled" {
				c.status(t, ids[name], `"status":"pending"`, `"nextAt":"2099-01-01T00:00:00Z"`, `"waitsFor":"its time, nextAt"`)
				continue
			}
			c.wait(t, ids[name], `"status":"completed"`, `"attempt":1`)
		}
		for _, key := range []string{"note", "task/paused", "task/dependent", "agent/due", "agent/queued"} {
			c.expect(t, "memory.get", fmt.Sprintf(`{"key":%q}`, key), `"found":true`)
		}
	})
}

// Open tasks of a store with workspaces go on at their time.
func TestOpenTasksSurviveAnUpgrade(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := oldPlace(t, store, 17)
		c := m.client(t, "--workspace-name", "fixture")
		ids := c.tasksByName(t)
		if len(ids) != 10 {
			t.Fatalf("there are %v", ids)
		}
		c.status(t, ids["done"], `"status":"completed"`)
		c.wait(t, ids["running"], `"status":"completed"`, `"interruptions":1`)
		c.wait(t, ids["dependent"], `"status":"completed"`)
		c.wait(t, ids["due"], `"status":"completed"`)
		c.status(t, ids["scheduled"], `"status":"pending"`, `"nextAt":"2099-01-01T00:00:00Z"`)
		c.status(t, ids["yearly"], `"status":"pending"`, `-01-01T00:00:00Z"`, `"waitsFor":"the next time of its schedule"`)
		c.status(t, ids["cron"], `"status":"pending"`, `"waitsFor":"the next time of its schedule"`)
		for _, name := range []string{"paused", "workflow", "queued"} {
			c.status(t, ids[name], `"status":"paused"`, `queue.resume`)
		}
		c.expect(t, "queue.resume", `{"queueId":"held"}`)
		for _, name := range []string{"paused", "workflow", "queued"} {
			c.wait(t, ids[name], `"status":"completed"`)
		}
		for _, key := range []string{"note", "task/paused", "task/dependent", "agent/due", "agent/queued", "agent/cron", "wf/one"} {
			c.expect(t, "memory.get", fmt.Sprintf(`{"key":%q}`, key), `"found":true`)
		}
	})
}

// Before its schema is changed, a SQLite store is copied once, including its log, to a file that only
// its owner can read. An earlier version can open the copy.
func TestStoreIsCopiedBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	m := oldPlace(t, "", 5)
	before := m.client(t)
	before.expect(t, "memory.get", `{"key":"note"}`, `"is":"here"`)
	path := strings.TrimPrefix(m.store, "sqlite://")
	copied := path + ".step5"
	if log := before.stderr.String(); strings.Count(log, copied) != 1 {
		t.Errorf("the log is %q, want %s in it", log, copied)
	}
	info, err := os.Stat(copied)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v", info.Mode())
	}
	again := m.client(t)
	again.expect(t, "memory.get", `{"key":"note"}`, `"is":"here"`)
	if files, err := filepath.Glob(path + "*step*"); err != nil || len(files) != 1 || strings.Contains(again.stderr.String(), "copy") {
		t.Errorf("there are %v, %v; the second start said %q", files, err, again.stderr.String())
	}
	pool, err := sql.Open("sqlite", "file:"+copied+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var step, tasks int
	row := pool.QueryRowContext(context.Background(), `SELECT (SELECT max(version_id) FROM toolfold_schema), (SELECT count(*) FROM tasks)`)
	if err := row.Scan(&step, &tasks); err != nil {
		t.Fatal(err)
	}
	if step != 5 || tasks != 7 {
		t.Errorf("the copy is at step %d and has %d tasks", step, tasks)
	}
}
