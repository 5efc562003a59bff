package storagetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// PostgresVariable names the environment variable that holds the URL of a
// PostgreSQL database for tests.
const PostgresVariable = "TOOLFOLD_TEST_POSTGRES"

// Postgres returns the URL of an empty schema in the test database. The schema is dropped when the
// test ends. Without a test database the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	base := os.Getenv(PostgresVariable)
	if base == "" {
		t.Skipf("set %s to the URL of a PostgreSQL database, such as postgres://user@127.0.0.1:5432/test, to run this test", PostgresVariable)
	}
	schema := "toolfold_test_" + uuid.NewString()[:8]
	address, err := withSearchPath(base, schema)
	if err != nil {
		t.Fatalf("%s: %v", PostgresVariable, err)
	}
	admin(t, base, `CREATE SCHEMA "`+schema+`"`)
	t.Cleanup(func() { admin(t, base, `DROP SCHEMA "`+schema+`" CASCADE`) })
	return address
}

// PostgresStores returns a function that returns the URL of an empty store in the test database. A
// store is emptied at the end of its test and used again, because PostgreSQL takes half a second of
// processor time to create one. All stores are dropped when t ends.
func PostgresStores(t testing.TB) (fresh func(testing.TB) string) {
	var mu sync.Mutex
	var idle []string
	return func(test testing.TB) string {
		mu.Lock()
		defer mu.Unlock()
		if len(idle) == 0 {
			idle = append(idle, Postgres(t))
		}
		address := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		test.Cleanup(func() {
			admin(test, address, emptyTables)
			mu.Lock()
			defer mu.Unlock()
			idle = append(idle, address)
		})
		return address
	}
}

// emptyTables deletes what a store holds, except what its schema steps leave in it: themselves, and
// the default queue. A table is emptied before those made earlier, which it may refer to.
const emptyTables = `DO $$
DECLARE name text;
BEGIN
	FOR name IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
			AND relname NOT IN ('toolfold_schema', 'river_migration') ORDER BY oid DESC LOOP
		EXECUTE format('DELETE FROM %I', name);
	END LOOP;
	FOR name IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S'
			AND relname <> 'toolfold_schema_id_seq' LOOP
		EXECUTE format('ALTER SEQUENCE %I RESTART', name);
	END LOOP;
	INSERT INTO queues (id, name, description, max_concurrency, default_priority, created_at)
		VALUES ('default', 'default', '', 5, 3, 0);
END $$`

func withSearchPath(base, schema string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("not a URL")
	}
	options := u.Query()
	options.Set("search_path", schema)
	options.Set("synchronous_commit", "off") // no test ends the database, so no commit has to reach the disk
	u.RawQuery = options.Encode()
	return u.String(), nil
}

// admin runs a statement even if the test's context has ended. It repeats the statement after a deadlock with a
// statement of a killed process.
func admin(t testing.TB, url, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const tries = 10
	for try := 1; ; try++ {
		_, err := db.ExecContext(context.Background(), statement)
		var refused *pgconn.PgError
		if err == nil {
			return
		}
		if deadlock := errors.As(err, &refused) && refused.Code == deadlockDetected; !deadlock || try == tries {
			t.Fatal(err)
		}
	}
}

// deadlockDetected is the SQLSTATE of a statement that PostgreSQL ended because of a deadlock.
const deadlockDetected = "40P01"
