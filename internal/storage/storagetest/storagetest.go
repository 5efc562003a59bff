// Package storagetest checks that every store behaves the same on every database.
package storagetest

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

// Suite holds the tests of the store of one family.
type Suite struct {
	Name string

	// Behaviours each get a new, empty store.
	Behaviours map[string]func(t *testing.T, db *storage.DB)

	// Durabilities test several openings of one store. They each get the URL of a store that does
	// not exist yet.
	Durabilities map[string]func(t *testing.T, url string)
}

// suites lists the tests of the stores.
var suites = []Suite{openings, Memory(), Session(), Agent(), Ability(), Script(), Queue(), Task(), Design(), Scan(), Guard(), Trace(),
	Metrics(), Usage(), Audit()}

// Exercise tests the stores of every family. open returns an empty store,
// which Exercise closes.
func Exercise(t *testing.T, open func(t *testing.T) *storage.DB) {
	stores := reflect.TypeFor[*storage.DB]()
	for i := range stores.NumMethod() {
		m := stores.Method(i)
		tested := slices.ContainsFunc(suites, func(s Suite) bool { return s.Name == strings.ToLower(m.Name) })
		if m.Type.NumOut() == 1 && m.Type.Out(0).Name() == "Store" && !tested {
			t.Errorf("DB.%s has no suite: add one to suites in storagetest.go", m.Name)
		}
	}
	for _, s := range suites {
		for name, test := range s.Behaviours {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				db := open(t)
				t.Cleanup(func() { noError(t, db.Close()) })
				test(t, db)
			})
		}
	}
}

// ExerciseDurable tests several openings of one store. fresh returns the URL of a store that does
// not exist yet.
func ExerciseDurable(t *testing.T, fresh func(t *testing.T) string) {
	for _, s := range suites {
		for name, test := range s.Durabilities {
			t.Run(s.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, fresh(t))
			})
		}
	}
}

var openings = Suite{Name: "open", Durabilities: map[string]func(*testing.T, string){
	"at once":        openAtOnce,
	"lazily at once": openLazily,
	"twice":          openTwice,
}}

// Open opens a store, which is closed after the test.
func Open(t testing.TB, url string) *storage.DB {
	t.Helper()
	db, err := storage.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() }) // some tests close it during calls
	return db
}

// Raw opens the database of a store without its schema's checks. It is closed after the test.
func Raw(t testing.TB, address string) *sql.DB {
	t.Helper()
	driver, source := "pgx", address
	if path, is := strings.CutPrefix(address, "sqlite://"); is {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// openAtOnce opens a store without a schema several times at once.
func openAtOnce(t *testing.T, url string) {
	noError(t, each(8, func(int) error {
		db, err := storage.Open(t.Context(), url)
		if err != nil {
			return err
		}
		_, err = db.Memory(memory.History{}).Put(t.Context(), worded(entry("n", "k", `{}`))[0], nil)
		return errors.Join(err, db.Close())
	}))
}

// openLazily checks that the first use opens a store, once for several callers.
func openLazily(t *testing.T, url string) {
	lazy := storage.Lazy(url)
	var mu sync.Mutex
	seen := map[*storage.DB]bool{}
	noError(t, each(8, func(int) error {
		db, err := lazy.Open(t.Context())
		mu.Lock()
		defer mu.Unlock()
		seen[db] = true
		return err
	}))
	if len(seen) != 1 {
		t.Fatalf("%d stores were opened, want one", len(seen))
	}
	noError(t, lazy.Close())
	if _, err := lazy.Open(t.Context()); err == nil {
		t.Fatal("a closed store opened again")
	}
}

// reopened returns a test that writes to a store, closes it, and reads it after reopening.
func reopened(write, read func(*testing.T, *storage.DB)) func(*testing.T, string) {
	return func(t *testing.T, url string) {
		for _, use := range []func(*testing.T, *storage.DB){write, read} {
			db := mustOpen(t, url)
			use(t, db)
			noError(t, db.Close())
		}
	}
}

// stored reads an existing item.
func stored[T any](t *testing.T, get func(context.Context, string) (T, bool, error), id string) T {
	t.Helper()
	item, found, err := get(t.Context(), id)
	noError(t, err)
	if !found {
		t.Fatalf("there is no %T %s", item, id)
	}
	return item
}

// openTwice opens a store twice: each sees the writes of the other.
func openTwice(t *testing.T, url string) {
	a, b := mustOpen(t, url), mustOpen(t, url)
	e := entry("n", "k", `{"v":1}`)
	put(t, a.Memory(memory.History{}), e)
	equal(t, get(t, b.Memory(memory.History{}), "n", "k"), e)
	noError(t, errors.Join(a.Close(), b.Close()))
}

func mustOpen(t *testing.T, url string) *storage.DB {
	t.Helper()
	db, err := storage.Open(t.Context(), url)
	noError(t, err)
	return db
}

// each runs n concurrent calls of do and joins their errors.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}
