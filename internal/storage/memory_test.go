package storage_test

import (
	"database/sql"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
)

// TestWordsOfAnEarlierVersion holds that entries which were stored before
// words were stemmed are found by today's words, and stay as they were.
func TestWordsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		address := sqliteURL(t)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		testEarlierVersion(t, address, "sqlite", (&url.URL{Scheme: "file", Path: u.Path}).String())
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		if os.Getenv(storagetest.PostgresVariable) == "" {
			storagetest.Postgres(t) // skips, and says what to set
		}
		address := storagetest.Postgres(t)
		testEarlierVersion(t, address, "pgx", address)
	})
}

func testEarlierVersion(t *testing.T, address, driver, source string) {
	db := open(t, address)
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	const many = 1200 // more than are indexed at once
	var entries []memory.Entry
	for range many {
		e := memory.Entry{Namespace: "n", Key: "k" + string(rune(0x4e00+len(entries))), Value: []byte(`{"z":"the deployments","a":1}`),
			StoredAt: at, Words: "@old #k the deployments"}
		entries = append(entries, e)
	}
	if _, err := db.Memory(memory.History{}).Import(t.Context(), entries, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	// What the schema step leaves.
	raw, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.ExecContext(t.Context(), `INSERT INTO memory_outdated (id) SELECT id FROM memory`); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}

	db = open(t, address)
	defer db.Close()
	s := memory.New(db.Memory(memory.History{}), func() time.Time { return at.Add(time.Hour) })
	seen := map[string]bool{}
	for in := (memory.SearchIn{Query: "deploying", Namespace: "n", Page: toolfold.Page{Limit: 100}}); ; {
		out, err := s.Search(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range out.Results {
			seen[h.Key] = true
			if string(h.Value) != `{"z":"the deployments","a":1}` || !h.StoredAt.Equal(at) {
				t.Fatalf("got %+v", h)
			}
		}
		if in.Cursor = out.NextCursor; !out.HasMore {
			break
		}
	}
	if len(seen) == 0 {
		t.Fatal("nothing is found")
	}
	left, err := db.Memory(memory.History{}).Reindex(t.Context(), 10, func(memory.Entry) string {
		t.Error("an entry is left")
		return ""
	})
	if err != nil || left {
		t.Fatalf("got %v, %v, want nothing left", left, err)
	}
	last, err := db.Memory(memory.History{}).Matching(t.Context(), memory.Scope{}, memory.Match{{{Text: "deployments"}}}, 1)
	if err != nil || len(last) > 0 {
		t.Fatalf("got %v, %v, want no entry with its old words", last, err)
	}
}
