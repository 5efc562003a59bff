package storage_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/trace"
)

// benchEntries is the number of entries that measured searches look through.
const benchEntries = 100_000

// author writes notes with the word frequencies of natural language: the most
// common word is in most notes, and half of the words are in a handful.
type author struct {
	random *rand.Rand
	zipf   *rand.Zipf
	words  []string
	notes  int
}

func newAuthor() *author {
	random := rand.New(rand.NewSource(1))
	a := &author{random: random, zipf: rand.NewZipf(random, 1.07, 4, 29_999)}
	for range 30_000 {
		word := ""
		for range 1 + random.Intn(4) {
			word += string("bcdfghjklmnprstvz"[random.Intn(17)]) + string("aeiou"[random.Intn(5)])
		}
		a.words = append(a.words, word)
	}
	return a
}

func (a *author) word() string { return a.words[a.zipf.Uint64()] }

func (a *author) text(words int) string {
	list := make([]string, words)
	for i := range list {
		list[i] = a.word()
	}
	return strings.Join(list, " ")
}

// note returns an entry with a key of its own.
func (a *author) note() memory.Entry {
	a.notes++
	return memory.Entry{
		Namespace: fmt.Sprintf("team-%d", a.notes%7),
		Key:       fmt.Sprintf("%s/%s/%d", a.word(), a.word(), a.notes),
		Value: fmt.Appendf(nil, `{"title":%q,"text":%q,"tags":[%q,%q],"priority":%d}`,
			a.text(4), a.text(20+a.random.Intn(40)), a.word(), a.word(), a.random.Intn(10)),
		StoredAt: time.UnixMicro(int64(a.notes)).UTC(),
	}
}

// query returns one to five words, some of them only begun, a few of them in
// no note.
func (a *author) query() string {
	list := strings.Fields(a.text(1 + a.random.Intn(5)))
	for i, w := range list {
		switch n := a.random.Intn(20); {
		case n < 3 && len(w) > 4:
			list[i] = w[:4]
		case n == 3:
			list[i] = w + "xx"
		}
	}
	return strings.Join(list, " ")
}

func fill(b *testing.B, s memory.Store, a *author) (keys []memory.Place) {
	for range benchEntries / 5000 {
		batch := make([]memory.Entry, 5000)
		for i := range batch {
			batch[i] = a.note()
			batch[i].Words = memory.IndexText(batch[i])
			keys = append(keys, memory.Place{Namespace: batch[i].Namespace, Key: batch[i].Key})
		}
		if _, err := s.Import(b.Context(), batch, false, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	return keys
}

// latencies measures calls of do, reports the median and the slowest percent
// in milliseconds.
func latencies(b *testing.B, do func() error) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func BenchmarkMemorySQLite(b *testing.B) { benchmarkMemory(b, sqliteURL(b)) }

func BenchmarkMemoryPostgres(b *testing.B) { benchmarkMemory(b, storagetest.Postgres(b)) }

// benchmarkMemory measures reading in a notebook of 100,000 entries.
func benchmarkMemory(b *testing.B, url string) {
	db, err := storage.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	a := newAuthor()
	keys := fill(b, db.Memory(memory.History{}), a)
	s := memory.New(db.Memory(memory.History{}), time.Now)
	b.Run("get", func(b *testing.B) {
		latencies(b, func() error {
			at := keys[a.random.Intn(len(keys))]
			_, err := s.Get(b.Context(), memory.GetIn{Namespace: at.Namespace, Key: at.Key})
			return err
		})
	})
	for name, namespace := range map[string]string{"search": "", "search one namespace": "team-3"} {
		b.Run(name, func(b *testing.B) {
			latencies(b, func() error {
				_, err := s.Search(b.Context(), memory.SearchIn{Query: a.query(), Namespace: namespace, Page: toolfold.Page{Limit: 10}})
				return err
			})
		})
	}
	b.Run("search common words", func(b *testing.B) {
		latencies(b, func() error {
			query := strings.Join(a.words[:1+a.random.Intn(5)], " ")
			_, err := s.Search(b.Context(), memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 10}})
			return err
		})
	})
	b.Run("list", func(b *testing.B) {
		latencies(b, func() error {
			_, err := s.List(b.Context(), memory.ListIn{Namespace: "team-3", Prefix: a.word(), Page: toolfold.Page{Limit: 100}})
			return err
		})
	})
}

// BenchmarkMemoryLong measures searching 5 MB of notes of 64 KB, which all
// match, in turns with reading their values. The ratio is of the times.
func BenchmarkMemoryLong(b *testing.B) {
	const notes, size = 80, 64 << 10
	a := newAuthor()
	for name, part := range map[string]func() string{
		"two words": func() string { return "a word " },
		"prose":     func() string { return a.text(100) + " a word " },
		"names":     func() string { return fmt.Sprint("a word aWord", a.random.Intn(1e5), " ") },
	} {
		db, err := storage.Open(b.Context(), sqliteURL(b))
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		s := memory.New(db.Memory(memory.History{}), time.Now)
		for i := range notes {
			var text strings.Builder
			for text.Len() < size {
				text.WriteString(part())
			}
			in := memory.StoreIn{Key: fmt.Sprint("note/", i), Value: fmt.Appendf(nil, `{"text":%q}`, text.String())}
			if _, err := s.Store(b.Context(), in); err != nil {
				b.Fatal(err)
			}
		}
		for _, query := range []string{"a", "word", "NEAR(word, 1)"} {
			b.Run(name+"/"+query, func(b *testing.B) {
				var searching, reading time.Duration
				for b.Loop() {
					start := time.Now()
					out, err := s.Search(b.Context(), memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 100}})
					if err != nil || out.Total != notes || out.Count != notes {
						b.Fatalf("%d match and %d are returned, want %d: %v", out.Total, out.Count, notes, err)
					}
					searched := time.Now()
					if _, err := db.Memory(memory.History{}).Entries(b.Context(), memory.Scope{}, memory.Page{}); err != nil {
						b.Fatal(err)
					}
					searching += searched.Sub(start)
					reading += time.Since(searched)
				}
				b.ReportMetric(milliseconds(searching)/float64(b.N), "search-ms")
				b.ReportMetric(searching.Seconds()/reading.Seconds(), "ratio")
			})
		}
	}
}

// BenchmarkMemoryStore compares storing with inserting the same rows into a
// bare table, just as durably, in turns. The ratio is of commits per second.
func BenchmarkMemoryStore(b *testing.B) {
	db, err := storage.Open(b.Context(), sqliteURL(b))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	bare := bareTable(b)
	s := memory.New(db.Memory(memory.History{}), time.Now)
	a := newAuthor()
	var storing, inserting time.Duration
	for b.Loop() {
		e := a.note()
		start := time.Now()
		_, err := s.Store(b.Context(), memory.StoreIn{Namespace: e.Namespace, Key: e.Key, Value: json.RawMessage(e.Value)})
		if err != nil {
			b.Fatal(err)
		}
		stored := time.Now()
		_, err = bare.ExecContext(b.Context(), `INSERT INTO bare (namespace, key, stored_at, value) VALUES (?, ?, ?, ?)`,
			[]byte(e.Namespace), []byte(e.Key), e.StoredAt.UnixMicro(), []byte(e.Value))
		if err != nil {
			b.Fatal(err)
		}
		storing += stored.Sub(start)
		inserting += time.Since(stored)
	}
	b.ReportMetric(float64(b.N)/storing.Seconds(), "stores/s")
	b.ReportMetric(float64(b.N)/inserting.Seconds(), "inserts/s")
	b.ReportMetric(inserting.Seconds()/storing.Seconds(), "ratio")
}

func bareTable(b *testing.B) *sql.DB {
	path := filepath.Join(b.TempDir(), "bare.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=journal_mode(WAL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	const table = `CREATE TABLE bare (id INTEGER PRIMARY KEY, namespace BLOB NOT NULL, key BLOB NOT NULL,
		stored_at INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (namespace, key))`
	if _, err := db.ExecContext(b.Context(), table); err != nil {
		b.Fatal(err)
	}
	return db
}

func BenchmarkActivitySQLite(b *testing.B) { benchmarkActivity(b, sqliteURL(b)) }

func BenchmarkActivityPostgres(b *testing.B) { benchmarkActivity(b, storagetest.Postgres(b)) }

// benchmarkActivity measures counting 100,000 calls of the last 24 hours: of 40 actions, some failed, some running.
func benchmarkActivity(b *testing.B, url string) {
	db, err := storage.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	now := time.Now().Truncate(time.Hour).Add(30 * time.Minute)
	since := now.Truncate(time.Hour).Add(-23 * time.Hour)
	for from := range 20 {
		spans := make([]trace.Span, benchEntries/20)
		for i := range spans {
			n := from*len(spans) + i
			s := trace.Span{
				TraceID: fmt.Sprintf("%032x", n*2654435761%4294967296), ID: fmt.Sprintf("%016x", n), Root: true, Kind: trace.Call,
				Label: fmt.Sprint("family.action", n%40), Status: trace.Success, Start: since.Add(now.Sub(since) * time.Duration(n) / benchEntries),
			}
			s.End = s.Start.Add(time.Duration(n%1000) * time.Millisecond)
			switch n % 100 {
			case 0:
				s.Status, s.End = trace.Running, time.Time{}
			case 1:
				s.Status = trace.Failure
			}
			spans[i] = s
		}
		if err := db.Trace().Put(b.Context(), spans, now); err != nil {
			b.Fatal(err)
		}
	}
	latencies(b, func() error {
		counts, err := db.Activity(b.Context(), since, time.Time{}, now)
		calls := 0
		for _, c := range counts {
			calls += c.Calls
		}
		if err == nil && calls != benchEntries {
			err = fmt.Errorf("%d calls are counted", calls)
		}
		return err
	})
}
