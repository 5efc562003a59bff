package storagetest

import (
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/memory"
)

// Vectors belong to the content of an entry, a model and a scope, and are removed with their
// entries.
func vectors(t *testing.T, db *storage.DB) {
	s := db.Memory(memory.History{})
	for _, e := range []memory.Entry{entry("n", "a", `1`), entry("n", "b", `2`), entry("other", "c", `3`)} {
		put(t, s, e)
	}
	without := func(model string) (keys []string) {
		t.Helper()
		list, err := s.WithoutVector(t.Context(), model, 10)
		noError(t, err)
		for _, e := range list {
			keys = append(keys, e.Key)
		}
		return keys
	}
	with := func(scope memory.Scope, model string) (vectors []embed.Vector) {
		t.Helper()
		list, err := s.Vectors(t.Context(), scope, model, 10)
		noError(t, err)
		for _, v := range list {
			vectors = append(vectors, v.Vector)
		}
		return vectors
	}
	equal(t, without("m"), []string{"c", "b", "a"})
	list, err := s.WithoutVector(t.Context(), "m", 10)
	noError(t, err)
	equal(t, list[2].Entry, get(t, s, "n", "a"))
	var made []memory.EntryVector
	for i, e := range list {
		made = append(made, memory.EntryVector{ID: e.ID, StoredAt: e.StoredAt, Vector: embed.Vector{int8(i), -127}})
	}
	noError(t, s.PutVectors(t.Context(), "m", made))
	equal(t, without("m"), []string(nil))
	equal(t, with(memory.Scope{}, "m"), []embed.Vector{{0, -127}, {1, -127}, {2, -127}})
	equal(t, with(memory.Scope{Namespace: "n", Prefix: "b"}, "m"), []embed.Vector{{1, -127}})

	// Vectors of another model are not compared, and replace these.
	equal(t, without("m2"), []string{"c", "b", "a"})
	equal(t, with(memory.Scope{}, "m2"), []embed.Vector(nil))
	noError(t, s.PutVectors(t.Context(), "m2", made[:1]))
	equal(t, with(memory.Scope{}, "m2"), []embed.Vector{{0, -127}})
	equal(t, without("m"), []string{"c"})

	// A change makes a vector outdated, even one that is created meanwhile.
	changed := entry("n", "b", `22`)
	changed.StoredAt = noon.Add(time.Second)
	put(t, s, changed)
	equal(t, without("m"), []string{"c", "b"})
	noError(t, s.PutVectors(t.Context(), "m", made[1:2]))
	equal(t, with(memory.Scope{Namespace: "n"}, "m"), []embed.Vector{{2, -127}})

	_, err = s.Delete(t.Context(), memory.Scope{Namespace: "n"}, []string{"a"})
	noError(t, err)
	equal(t, with(memory.Scope{Namespace: "n"}, "m"), []embed.Vector(nil))
	noError(t, s.PutVectors(t.Context(), "m", made))
	equal(t, without("m"), []string{"b"})
}
