package storagetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
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

func withSearchPath(base, schema string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("not a URL")
	}
	options := u.Query()
	options.Set("search_path", schema)
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
