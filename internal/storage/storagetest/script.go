package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/script"
)

// Script returns the tests of the store of the script family.
func Script() Suite {
	return Suite{
		Name: "script",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":        keepScript,
			"refuse":      refuseScript,
			"remove":      removeScript,
			"put at once": putScriptsAtOnce,
		},
		Durabilities: map[string]func(*testing.T, string){
			"reopen": reopened(func(t *testing.T, db *storage.DB) {
				putScript(t, db.Script(), "w", fullScript())
			}, func(t *testing.T, db *storage.DB) {
				equal(t, stored(t, scriptIn(db.Script(), "w"), "full"), fullScript())
			}),
		},
	}
}

// fullScript sets every field that a store keeps.
func fullScript() script.Script {
	return script.Script{
		Name: "full", Description: "a\x00b müssen 任务 '?", InputSchema: json.RawMessage(`{"type":"object"}`),
		Code: "return '\x00' // " + strings.Repeat("字", 1000), Digest: "d", SavedAt: noon, Rights: "allow memory.*",
	}
}

func scriptIn(s script.Store, workspace string) func(context.Context, string) (script.Script, bool, error) {
	return func(ctx context.Context, name string) (script.Script, bool, error) {
		return s.Get(ctx, workspace, name)
	}
}

func putScript(t *testing.T, s script.Store, workspace string, next script.Script) (old *script.Script, count int) {
	t.Helper()
	noError(t, s.Put(t.Context(), workspace, next.Name, func(present *script.Script, n int) (script.Script, error) {
		old, count = present, n
		return next, nil
	}))
	return old, count
}

func keepScript(t *testing.T, db *storage.DB) {
	s := db.Script()
	plain := script.Script{Name: "plain", Code: "return 1", SavedAt: noon}
	for i, next := range []script.Script{plain, fullScript()} {
		old, count := putScript(t, s, "w", next)
		equal(t, old, (*script.Script)(nil))
		equal(t, count, i)
		equal(t, stored(t, scriptIn(s, "w"), next.Name), next)
	}
	if _, found, err := s.Get(t.Context(), "other", "full"); found || err != nil {
		t.Fatalf("a script of another workspace: %v, %v", found, err)
	}
	other := plain
	other.Code = "return 2"
	_, count := putScript(t, s, "other", other)
	equal(t, count, 0)
	again := plain
	again.Name, again.Code = "full", "return 3"
	old, count := putScript(t, s, "w", again)
	equal(t, *old, fullScript())
	equal(t, count, 2)
	list, err := s.All(t.Context(), "w")
	noError(t, err)
	got := map[string]script.Script{}
	for _, one := range list {
		got[one.Name] = one
	}
	equal(t, got, map[string]script.Script{"plain": plain, "full": again})
	list, err = s.All(t.Context(), "other")
	noError(t, err)
	equal(t, list, []script.Script{other})
}

func refuseScript(t *testing.T, db *storage.DB) {
	s := db.Script()
	putScript(t, s, "w", fullScript())
	refused := errors.New("refused")
	err := s.Put(t.Context(), "w", "full", func(*script.Script, int) (script.Script, error) { return script.Script{}, refused })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	equal(t, stored(t, scriptIn(s, "w"), "full"), fullScript())
}

func removeScript(t *testing.T, db *storage.DB) {
	s := db.Script()
	putScript(t, s, "w", fullScript())
	putScript(t, s, "other", fullScript())
	for _, want := range []bool{true, false} {
		removed, err := s.Remove(t.Context(), "w", "full")
		noError(t, err)
		equal(t, removed, want)
	}
	equal(t, stored(t, scriptIn(s, "other"), "full"), fullScript())
}

// putScriptsAtOnce puts scripts from several callers, who all see a correct count.
func putScriptsAtOnce(t *testing.T, db *storage.DB) {
	const limit = 3
	full := errors.New("full")
	errs := make([]error, 8)
	noError(t, each(len(errs), func(i int) error {
		name := string(rune('a' + i))
		errs[i] = db.Script().Put(t.Context(), "w", name, func(_ *script.Script, count int) (script.Script, error) {
			if count >= limit {
				return script.Script{}, full
			}
			return script.Script{Name: name, SavedAt: noon}, nil
		})
		if errors.Is(errs[i], full) {
			return nil
		}
		return errs[i]
	}))
	list, err := db.Script().All(t.Context(), "w")
	noError(t, err)
	equal(t, len(list), limit)
}
