package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/tools/memory"
)

func fileURL(path string) string {
	return (&url.URL{Scheme: "sqlite", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}).String()
}

// openFile opens a new store in a file.
func openFile(t *testing.T) (db *DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "secret.db")
	db, err := Open(t.Context(), fileURL(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

// mendable wants an error that says what is wrong and what to do about it, and
// nothing of where the store is.
func mendable(t *testing.T, err error, words, hint string) {
	t.Helper()
	var failure *toolfold.Error
	if !errors.As(err, &failure) || failure.Code != Unavailable {
		t.Fatalf("%v, want %s", err, Unavailable)
	}
	if !strings.Contains(failure.Message, words) || !strings.Contains(failure.Hint, hint) {
		t.Errorf("%q and %q, want %q and %q", failure.Message, failure.Hint, words, hint)
	}
	if text := failure.Message + failure.Hint; strings.Contains(text, "secret") || strings.Contains(text, "127.0.0.1") ||
		strings.Contains(text, "SQL logic") {
		t.Errorf("%q says too much", text)
	}
}

func TestErrorsHaveHints(t *testing.T) {
	t.Parallel()
	entry := memory.Entry{Namespace: "n", Key: "k", Value: []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)}
	for name, test := range map[string]struct{ setting, words, hint string }{
		"disk full": {`PRAGMA max_page_count = 1`, "disk of the store is full; nothing was changed", "free some space"},
		"read-only": {`PRAGMA query_only = ON`, "read-only", "writable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _ := openFile(t)
			if _, err := db.write.ExecContext(t.Context(), test.setting); err != nil {
				t.Fatal(err)
			}
			_, err := db.Memory(memory.History{}).Put(t.Context(), entry, nil)
			mendable(t, err, test.words, test.hint)
		})
	}
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		db, path := openFile(t)
		other, err := sqlitePool(path, sqliteWriter, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		held, err := other.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Rollback()
		if _, err := db.write.ExecContext(t.Context(), `PRAGMA busy_timeout = 20`); err != nil {
			t.Fatal(err)
		}
		_, err = db.Memory(memory.History{}).Put(t.Context(), entry, nil)
		mendable(t, err, "another program has the store locked", "call again")
	})
	t.Run("newer schema", func(t *testing.T) {
		t.Parallel()
		db, path := openFile(t)
		if _, err := db.write.ExecContext(t.Context(), `INSERT INTO `+schemaTable+` (version_id, is_applied) VALUES (999, 1)`); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), fileURL(path))
		mendable(t, err, "newer toolfold", "use a newer toolfold")
	})
	t.Run("no folder", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "secret")
		_, err := Open(t.Context(), fileURL(filepath.Join(dir, "x.db")))
		mendable(t, err, "folder of the store does not exist", "make it")
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Error("the folder was made")
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		_, err := Open(t.Context(), "postgres://u:secret@127.0.0.1:1/d")
		mendable(t, err, "PostgreSQL cannot be reached", "look whether it runs")
	})
}

// What belongs to something else is refused, and neither changed nor joined by
// other files.
func TestNotOurs(t *testing.T) {
	t.Parallel()
	other := func(settings ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			pool, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range append(settings, `CREATE TABLE places (id INTEGER)`) {
				if _, err := pool.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			if err := pool.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]func(t *testing.T, path string){
		"a database":          other(),
		"with a log":          other(`PRAGMA journal_mode = WAL`),
		"marked as another's": other(`PRAGMA application_id = 7`),
		"no database": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("a letter\n", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "secret.db")
			test(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(t.Context(), fileURL(path))
			mendable(t, err, "belongs to something else; it was not changed", "name a file")
			after, _ := os.ReadFile(path)
			if string(before) != string(after) {
				t.Error("the file was changed")
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 {
				t.Errorf("there are %v", files)
			}
		})
	}
}

// An empty file, an empty database, and a store from before stores were marked
// are opened, and marked.
func TestOurs(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, path string){
		"an empty file": func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"an empty database": func(t *testing.T, path string) { execute(t, path, `CREATE TABLE x (y)`, `DROP TABLE x`) },
		"unmarked": func(t *testing.T, path string) {
			db, err := Open(t.Context(), fileURL(path))
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, path, `PRAGMA application_id = 0`)
		},
		"unmarked, with all of it in the log": func(t *testing.T, path string) {
			source := filepath.Join(t.TempDir(), "running.db")
			db, err := Open(t.Context(), fileURL(source))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, ending := range []string{"", "-wal"} { // as after a kill
				text, err := os.ReadFile(source + ending)
				if err != nil {
					t.Fatal(err)
				}
				if ending == "" {
					copy(text[68:72], []byte{0, 0, 0, 0}) // the mark
				}
				if err := os.WriteFile(path+ending, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			prepare(t, path)
			db, err := Open(t.Context(), fileURL(path))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			id, err := scalar[int](t.Context(), db.reader(), sqlf(`PRAGMA application_id`))
			if id != applicationID || err != nil {
				t.Errorf("the mark is %x, %v", id, err)
			}
		})
	}
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, s := range statements {
		if _, err := pool.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// Waiting for another process that opens the store ends with the context, and
// the file that both lock is the user's alone.
func TestLockFile(t *testing.T) {
	t.Parallel()
	_, path := openFile(t)
	info, err := os.Stat(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("the lock file has mode %o, want 600", mode)
	}
	held, err := lockedfile.OpenFile(path+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	if _, err := Open(ctx, fileURL(path)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
}

// A server that takes connections and does not answer holds up no caller for
// longer than the caller's context, and callers share one attempt.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan net.Conn, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	lazy := Lazy(fmt.Sprintf("postgres://u@%s/d?sslmode=disable", listener.Addr()))
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			ctx, done := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer done()
			if _, err := lazy.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want the end of the context", err)
			}
		})
	}
	callers.Wait()
	if n := len(accepted); n > 1 {
		t.Errorf("%d connections for 50 callers, want 1", n)
	}
	if err := lazy.Close(); err != nil { // ends the attempt
		t.Fatal(err)
	}
	if config, err := postgresConfig("postgres://u@h/d", false); err != nil || config.ConnectTimeout != 10*time.Second {
		t.Errorf("connecting may take %v, %v", config.ConnectTimeout, err)
	}
}

// Connections that the server drops are replaced: reading and transactions go
// on as if nothing had happened.
func TestDroppedConnections(t *testing.T) {
	t.Parallel()
	base := os.Getenv("TOOLFOLD_TEST_POSTGRES")
	if base == "" {
		t.Skip("set TOOLFOLD_TEST_POSTGRES to the URL of a PostgreSQL database to run this test")
	}
	name := fmt.Sprintf("toolfold_test_%d", time.Now().UnixNano())
	admin, err := sql.Open("pgx", base)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), `CREATE SCHEMA `+name); err != nil {
		t.Fatal(err)
	}
	defer admin.ExecContext(context.Background(), `DROP SCHEMA `+name+` CASCADE`)
	separator := map[bool]string{true: "&", false: "?"}[strings.Contains(base, "?")]
	db, err := Open(t.Context(), base+separator+"search_path="+name+"&application_name="+name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range 20 {
		entries := []memory.Entry{{Namespace: "n", Key: fmt.Sprint(n), Value: []byte(`{}`)}}
		if n%2 == 0 {
			_, err = db.Memory(memory.History{}).Import(t.Context(), entries, true, time.Now())
		} else {
			_, err = db.Memory(memory.History{}).Count(t.Context(), memory.Scope{})
		}
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		_, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, name)
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.Memory(memory.History{}).Count(t.Context(), memory.Scope{}); n != 10 || err != nil {
		t.Errorf("%d entries, %v, want 10", n, err)
	}
}

// TestAmbientCredentials changes the environment, so it cannot run beside
// others.
func TestAmbientCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:*:from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		environment, address string
		ambient              bool
		want                 string
	}{
		{"secret", "postgres://u@h/d", true, "secret"},
		{"secret", "postgres://u@h/d", false, ""},
		{"", "postgres://u@h/d", true, "from-file"},
		{"", "postgres://u@h/d", false, ""},
		{"secret", "postgres://u:own@h/d", false, "own"},
		{"secret", "postgres://u@h/d?password=own", false, "own"},
		{"secret", "postgres://h/d?passfile=" + url.QueryEscape(file), false, ""},
	} {
		t.Setenv("PGPASSWORD", test.environment)
		t.Setenv("PGPASSFILE", file)
		config, err := postgresConfig(test.address, test.ambient)
		if err != nil || config.Password != test.want {
			t.Errorf("%+v: password %q, %v", test, config.Password, err)
		}
	}
}

// Nothing is acknowledged that goes into a file which nobody will find: one that was removed, or replaced.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open cannot be removed")
	}
	db, path := openFile(t)
	entry := memory.Entry{Namespace: "n", Key: "k", Value: []byte(`1`)}
	put := func() error {
		_, err := db.Memory(memory.History{}).Put(t.Context(), entry, nil)
		return err
	}
	inTransaction := func() error {
		return db.transact(t.Context(), func(e executor) error { _, err := e.exec(t.Context(), `DELETE FROM memory`); return err })
	}
	if err := errors.Join(put(), inTransaction(), put()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	const words, hint = "removed or replaced", "start toolfold again"
	mendable(t, put(), words, hint)
	mendable(t, inTransaction(), words, hint)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mendable(t, put(), words, hint)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := put(); err != nil {
		t.Errorf("with its file back it fails: %v", err)
	}
	if list, err := db.Memory(memory.History{}).Entries(t.Context(), memory.Scope{}, memory.Page{Limit: 10}); err != nil || len(list) != 1 {
		t.Errorf("%v: %d entries, of which none was deleted meanwhile", err, len(list))
	}
}
