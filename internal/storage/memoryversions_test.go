package storage

import (
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/toolfold/toolfold/tools/memory"
)

// An entry that is stored while another caller deletes the one at its place gets a number after the
// version that this leaves, so that no number names two values.
func TestNumbersAfterDeletion(t *testing.T) {
	archiveTargets(t, func(t *testing.T, name goose.Dialect) {
		now := fromMicros(7)
		entry := func(value string) memory.Entry {
			return memory.Entry{Namespace: "n", Key: "k", Workspace: "w", Value: []byte(value), StoredAt: now}
		}
		for how, store := range map[string]func(memory.Store) error{
			"add": func(s memory.Store) error {
				_, err := s.Add(t.Context(), entry("2"))
				return err
			},
			"import": func(s memory.Store) error {
				_, err := s.Import(t.Context(), []memory.Entry{entry("2")}, false, now)
				return err
			},
		} {
			db := archiveStore(t, name)
			s := memoryStore{db, memorySearches[name], memory.History{Versions: 9, Age: time.Hour}}
			if _, err := s.Put(t.Context(), entry("1"), nil); err != nil {
				t.Fatal(err)
			}
			stored := make(chan error, 1)
			err := db.transact(t.Context(), func(e executor) error {
				if _, err := s.remove(t.Context(), e, at(placeOf(entry("1"))), now, func(string) {}); err != nil {
					return err
				}
				go func() { stored <- store(s) }()
				for waits := 0; name == goose.DialectPostgres && waits == 0 && len(stored) == 0; {
					var err error
					if waits, err = scalar[int](t.Context(), e, sqlf(`SELECT count(*) FROM pg_stat_activity
						WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`)); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				err = <-stored
			}
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := s.Get(t.Context(), placeOf(entry("2")), now)
			if err != nil || got.Version != 2 || string(got.Value) != "2" {
				t.Errorf("%s: %s is version %d: %v", how, got.Value, got.Version, err)
			}
		}
	})
}
