package rank_test

import (
	"database/sql"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/toolfold/toolfold/internal/text/words"
)

var (
	latinWord = regexp.MustCompile(`[a-z0-9]+`)
	caseBound = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// splitName puts a space where a camel-case name has a bound.
func splitName(name string) string { return caseBound.ReplaceAllString(name, "$1 $2") }

func latinWords(text string) []string { return latinWord.FindAllString(strings.ToLower(text), -1) }

// newBM25 is BM25 over all texts of a tool as one, with k1 1.2 and b 0.75.
func newBM25(_ testing.TB, tools []setTool) engine { return bm25(tools, latinWords) }

// newStemmedBM25 is BM25 over stems, with names split and stop words left out.
func newStemmedBM25(_ testing.TB, tools []setTool) engine {
	return bm25(tools, func(text string) []string {
		var stems []string
		for _, w := range latinWords(splitName(text)) {
			if !words.IsStop(w) {
				stems = append(stems, words.Stem(w))
			}
		}
		return stems
	})
}

func bm25(tools []setTool, split func(text string) []string) engine {
	counts := make([]map[string]float64, len(tools))
	lengths := make([]float64, len(tools))
	having, total := map[string]float64{}, 0.0
	for i, t := range tools {
		counts[i] = map[string]float64{}
		for _, w := range split(t.Name + " " + t.Description + " " + strings.Join(t.Params, " ")) {
			if counts[i][w] == 0 {
				having[w]++
			}
			counts[i][w]++
			lengths[i]++
			total++
		}
	}
	n := float64(len(tools))
	score := func(i int, words []string) float64 {
		sum := 0.0
		for _, w := range words {
			if tf := counts[i][w]; tf > 0 {
				idf := math.Log(1 + (n-having[w]+0.5)/(having[w]+0.5))
				sum += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*lengths[i]*n/total))
			}
		}
		return sum
	}
	return func(query string) []string { return bestFive(tools, split(query), score) }
}

func bestFive(tools []setTool, words []string, score func(tool int, words []string) float64) []string {
	type toolScore struct {
		tool  int
		score float64
	}
	var all []toolScore
	for i := range tools {
		if s := score(i, words); s > 0 {
			all = append(all, toolScore{i, s})
		}
	}
	slices.SortStableFunc(all, func(a, b toolScore) int {
		if a.score > b.score {
			return -1
		}
		if a.score < b.score {
			return 1
		}
		return 0
	})
	var ids []string
	for _, s := range all[:min(5, len(all))] {
		ids = append(ids, tools[s.tool].ID)
	}
	return ids
}

// newFTS5 is SQLite's full-text index with the porter stemmer, split names and
// the weights 3 for the name, 1 for the description and 1 for all else.
func newFTS5(tb testing.TB, tools []setTool) engine {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			tb.Fatal(err)
		}
	}
	exec(`CREATE VIRTUAL TABLE tool USING fts5(id UNINDEXED, name, description, rest, tokenize = 'porter unicode61')`)
	exec(`BEGIN`)
	for _, t := range tools {
		rest := splitName(strings.ReplaceAll(strings.Join(t.Params, " "), "_", " "))
		exec(`INSERT INTO tool VALUES (?, ?, ?, ?)`, t.ID, strings.ReplaceAll(splitName(t.Name), "_", " "), t.Description, rest)
	}
	exec(`COMMIT`)
	return func(query string) []string { return matchFTS5(tb, db, query) }
}

func matchFTS5(tb testing.TB, db *sql.DB, query string) []string {
	words := latinWords(query)
	slices.Sort(words)
	rows, err := db.Query(`SELECT id FROM tool WHERE tool MATCH ? ORDER BY bm25(tool, 0, 3, 1, 1) LIMIT 5`,
		`"`+strings.Join(slices.Compact(words), `" OR "`)+`"`)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return ids
}
