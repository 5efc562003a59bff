package storage

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// seenTables are the tables that the page shows, those that refer to others first.
var seenTables = strings.Fields(`memory_versions memory session_notes session_policies session_participants sessions
	task_questions task_steps task_progress task_tags task_dependencies tasks queues traces`)

// unseenTables are the tables whose changes do not change the mark, with the reason.
var unseenTables = map[string]string{
	"trace_spans": "changes with its trace", "trace_terms": "changes with its trace", "trace_errors": "changes with its trace",
	"memory_vectors": "made from the notes", "memory_files": "compares notes with files", "memory_outdated": "lists notes to index",
	"task_workers": "leases", "task_refusals": "lasts for moments", "queue_starts": "starts of the last minute",
	"agents": "has no view", "abilities": "has no view", "designs": "has no view", "scans": "has no view", "findings": "has no view",
	"timers": "has no view", "legacy_calls": "has no view", "scripts": "has no view", "audit": "has no view",
	"client_sessions": "has no view", "cut_answers": "has no view", "client_answers": "has no view",
	"letters": "lasts for moments", "letter_servers": "lasts for moments", "client_subscriptions": "has no view",
	"upstream_records": "is read by its versions", "caller_logins": "has no view",
	"metrics": "has no live view", "metric_series": "has no live view",
	"metric_points": "has no live view", "metric_blocks": "has no live view", "store_changes": "is the mark",
}

func markOf(t *testing.T, db *DB) string {
	t.Helper()
	text, err := db.Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each statement that changes a table that the page shows changes the mark. No other table does.
func TestMarkOfEveryTable(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		tables, triggers := `SELECT name FROM sqlite_master WHERE type = 'table'`,
			`SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%store_changes%'`
		if name == goose.DialectPostgres {
			tables = `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`
			triggers = `SELECT DISTINCT event_object_table::text FROM information_schema.triggers
				WHERE trigger_schema = current_schema() AND action_statement LIKE '%store_change%'`
		}
		counted, err := all(t.Context(), db.reader(), sqlf(triggers), only[string])
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(counted); !slices.Equal(counted, slices.Sorted(slices.Values(seenTables))) {
			t.Errorf("changes are counted of %v", counted)
		}
		every, err := all(t.Context(), db.reader(), sqlf(tables), only[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range every {
			own := strings.HasPrefix(table, "river_") || strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "memory_index") ||
				table == schemaTable
			if !own && !slices.Contains(seenTables, table) && unseenTables[table] == "" {
				t.Errorf("changes of %s are not counted, without a reason", table)
			}
		}

		fillRandom(t, db, rand.New(rand.NewPCG(3, 0)), 8)
		before := markOf(t, db)
		for _, table := range seenTables {
			if _, err := db.writer().exec(t.Context(), `CREATE TABLE copy_`+table+` AS SELECT * FROM `+table); err != nil {
				t.Fatal(err)
			}
			names := `SELECT name FROM pragma_table_info('` + table + `')`
			if name == goose.DialectPostgres {
				names = `SELECT column_name::text FROM information_schema.columns WHERE table_schema = current_schema()
					AND table_name = '` + table + `' AND is_generated = 'NEVER' AND is_identity = 'NO'`
			}
			columns, err := all(t.Context(), db.reader(), sqlf(names), only[string])
			if err != nil {
				t.Fatal(err)
			}
			list := strings.Join(columns, ", ")
			update := `UPDATE ` + table + ` SET ` + columns[0] + ` = ` + columns[0]
			insert := `INSERT INTO ` + table + ` (` + list + `) SELECT ` + list + ` FROM copy_` + table
			for _, change := range []string{update, `DELETE FROM ` + table, insert, `DELETE FROM ` + table} {
				n, err := db.writer().exec(t.Context(), change)
				if err != nil || n == 0 {
					t.Fatalf("%s: %d rows, %v", change, n, err)
				}
				now := markOf(t, db)
				if now == before {
					t.Errorf("the mark stays the same after %s", change)
				}
				before = now
			}
		}
	})
}

// An idle process does not change the mark: it renews its lease, and looks for tasks.
func TestMarkIgnoresLeases(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		db := archiveStore(t, name)
		work, _, err := db.Work()
		if err != nil {
			t.Fatal(err)
		}
		before, now, leases := markOf(t, db), time.Now(), map[int64]bool{}
		for i, step := range []func(context.Context) error{
			func(ctx context.Context) error { return work.Enter(ctx, "worker", "w", time.Minute) },
			func(ctx context.Context) error { _, err := work.Renew(ctx, "worker", 90*time.Second); return err },
			func(ctx context.Context) error { _, err := work.Renew(ctx, "worker", 2*time.Minute); return err },
			func(ctx context.Context) error { _, err := work.Claim(ctx, "worker", "w", 1, now); return err },
			func(ctx context.Context) error { _, err := work.Wake(ctx, "worker", "w"); return err },
			func(ctx context.Context) error { _, err := work.Rescue(ctx, now, time.Second); return err }, // shortens the lease
			func(ctx context.Context) error { _, err := work.Prune(ctx, now); return err },
			func(ctx context.Context) error { return work.Leave(ctx, "worker", now) },
		} {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
			lease, err := scalar[int64](t.Context(), db.reader(), sqlf(`SELECT COALESCE(max(expires_at), 0) FROM task_workers`))
			if err != nil {
				t.Fatal(err)
			}
			leases[lease] = true
			if mark := markOf(t, db); mark != before {
				t.Errorf("step %d changes the mark: %s, then %s", i, before, mark)
			}
		}
		if len(leases) < 5 {
			t.Errorf("the lease had the ends %v", slices.Sorted(maps.Keys(leases)))
		}
	})
}

// A page that loads while a change is not committed yet is told again after the commit.
func TestMarkOfOpenTransaction(t *testing.T) {
	t.Parallel()
	db := archiveStore(t, goose.DialectPostgres)
	fillRandom(t, db, rand.New(rand.NewPCG(3, 0)), 1, "traces")
	during := map[string]bool{}
	err := db.transact(t.Context(), func(e executor) error {
		during[markOf(t, db)] = true
		_, err := e.exec(t.Context(), `UPDATE traces SET failed = failed + 1`)
		during[markOf(t, db)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := markOf(t, db); during[after] || len(during) != 2 {
		t.Errorf("the marks during a transaction were %v, then %s", during, fmt.Sprint(after))
	}
}
