package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/run/usage"
	"github.com/toolfold/toolfold/internal/storage"
)

// Usage tests the counts of calls by legacy names.
func Usage() Suite {
	at := time.Unix(1_000_000, 0).UTC()
	return Suite{Name: "usage", Behaviours: map[string]func(*testing.T, *storage.DB){
		"counts add up": func(t *testing.T, db *storage.DB) {
			store := db.Usage()
			var writers sync.WaitGroup
			for i := range 4 {
				writers.Go(func() {
					noError(t, store.Add(t.Context(), []usage.Count{
						{Name: "task_list", Client: "", Calls: 2, Last: at.Add(time.Duration(i) * time.Second)},
						{Name: "memory_store", Client: "ci: a\x00b", Calls: 1, Last: at},
					}))
				})
			}
			writers.Wait()
			got, err := store.Counts(t.Context())
			noError(t, err)
			equal(t, got, []usage.Count{
				{Name: "task_list", Calls: 8, Last: at.Add(3 * time.Second)},
				{Name: "memory_store", Client: "ci: a\x00b", Calls: 4, Last: at},
			})
		},
		"the newest are kept": func(t *testing.T, db *storage.DB) {
			var counts []usage.Count
			for i := range usage.MaxCounts + 5 {
				counts = append(counts, usage.Count{Name: "task_list", Client: fmt.Sprint(i), Calls: 1, Last: at.Add(time.Duration(i) * time.Second)})
			}
			noError(t, db.Usage().Add(t.Context(), counts))
			got, err := db.Usage().Counts(t.Context())
			noError(t, err)
			equal(t, []any{len(got), got[len(got)-1].Client}, []any{usage.MaxCounts, "5"})
		},
	}}
}
