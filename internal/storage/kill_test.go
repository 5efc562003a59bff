package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/run/metric"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/tools/memory"
)

// childVariable makes the test program a process that stores until it is
// killed. It holds the URL of the store.
const childVariable = "TOOLFOLD_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		fmt.Fprintln(os.Stderr, storeForever(url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// storeForever stores entries, counts them with a metric, and prints the key of
// each one once the store has acknowledged both. It returns only an error.
func storeForever(url string) error {
	db, err := storage.Open(context.Background(), url)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("%d-%d", os.Getpid(), i)
		e := memory.Entry{Namespace: "n", Key: key, Value: []byte(`{"text":"acknowledged"}`)}
		e.Words = memory.IndexText(e)
		if _, err := db.Memory(memory.History{}).Put(context.Background(), e, nil); err != nil {
			return err
		}
		w := metric.Write{Metric: metric.Metric{Name: "stored"}, Labels: map[string]string{"pid": fmt.Sprint(os.Getpid())}, Value: 1, Add: true,
			At: time.Now()}
		if _, err := db.Metrics().Write(context.Background(), w, metric.Keep{}); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

// TestKilled has processes share a new store and be killed while they write:
// what they were told is stored is there.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": sqliteURL, "postgres": storagetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := fresh(t)
			lists := make([][]string, 3)
			var wg sync.WaitGroup
			for i := range lists {
				wg.Go(func() { lists[i] = storeAndKill(t, url) })
			}
			wg.Wait()
			db := open(t, url)
			defer db.Close()
			for _, key := range slices.Concat(lists...) {
				at := memory.Place{Namespace: "n", Key: key}
				if _, found, err := db.Memory(memory.History{}).Get(t.Context(), at, time.Time{}); err != nil || !found {
					t.Fatalf("%s: %v, %v", key, found, err)
				}
			}
			_, series, _, _, err := db.Metrics().Read(t.Context(), metric.Range{Name: "stored"})
			if err != nil || len(series) != len(lists) {
				t.Fatalf("%d series: %v", len(series), err)
			}
			total, points, entries := 0, 0, len(slices.Concat(lists...))
			for _, s := range series {
				total += int(s.Last.Value)
				points += len(s.Points)
			}
			if total < entries || points != total {
				t.Errorf("%d entries were acknowledged, %d counted in %d points", entries, total, points)
			}
		})
	}
}

// storeAndKill runs a process until it has stored some entries, kills it, and
// returns the keys it printed.
func storeAndKill(t *testing.T, url string) (keys []string) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+url)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := child.Start(); err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		keys = append(keys, lines.Text())
		if len(keys) == 50 {
			child.Process.Kill() // what is in the pipe still counts
		}
	}
	child.Wait()
	if len(keys) < 50 {
		t.Errorf("the process ended after %d entries", len(keys))
	}
	return keys
}
