// Package ranktest holds what searches are compared with in tests.
package ranktest

import (
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/toolfold/toolfold/internal/text/words"
)

// Document is a text under an id. The words of the id count too.
type Document struct {
	ID, Text string
}

// FTS5 searches with SQLite's full-text index: porter stems, stop words left
// out, the other words joined by OR, bm25.
func FTS5(t testing.TB, documents []Document) func(query string, limit int) (ids []string) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE VIRTUAL TABLE document USING fts5 (id, text, tokenize = 'porter unicode61')`); err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		if _, err := db.Exec(`INSERT INTO document VALUES (?, ?)`, d.ID, d.Text); err != nil {
			t.Fatal(err)
		}
	}
	return func(query string, limit int) (ids []string) {
		var list []string
		for w := range words.Split(query) {
			if !words.IsStop(w.Text) {
				list = append(list, w.Text)
			}
		}
		rows, err := db.Query(`SELECT id FROM document WHERE document MATCH ? ORDER BY rank LIMIT ?`, `"`+strings.Join(list, `" OR "`)+`"`, limit)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return ids
	}
}
