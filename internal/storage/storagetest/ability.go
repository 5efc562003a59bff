package storagetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/ability"
)

// Ability returns the tests of the store of the ability family.
func Ability() Suite {
	return Suite{
		Name: "ability",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":        keepAbility,
			"replace":     replaceAbility,
			"remove":      removeAbility,
			"all":         allAbilities,
			"put at once": putAbilityAtOnce,
		},
		Durabilities: map[string]func(*testing.T, string){
			"reopen": reopened(func(t *testing.T, db *storage.DB) {
				putAbility(t, db.Ability(), fullAbility(), false)
			}, func(t *testing.T, db *storage.DB) {
				equal(t, stored(t, db.Ability().Get, fullAbility().ID), fullAbility())
			}),
		},
	}
}

// fullAbility sets every field that a store keeps.
func fullAbility() ability.Ability {
	return ability.Ability{
		ID: "go-errors", DisplayName: "a\x00b", Description: "müssen 任务 '?", Category: "go", Tags: []string{"x", "y z"},
		Content: "# Fehler\n\n\x00 " + strings.Repeat("字", 1000), Requires: []string{"go"}, Conflicts: []string{"panics"},
		ApplicableTo: []string{"*"}, ExcludeFrom: []string{"bob"}, Priority: 70, Enabled: true,
	}
}

func putAbility(t *testing.T, s ability.Store, a ability.Ability, want bool) {
	t.Helper()
	replaced, err := s.Put(t.Context(), a)
	noError(t, err)
	equal(t, replaced, want)
}

func keepAbility(t *testing.T, db *storage.DB) {
	s := db.Ability()
	plain, full := ability.Ability{ID: "plain", Priority: 1}, fullAbility()
	putAbility(t, s, plain, false)
	putAbility(t, s, full, false)
	equal(t, stored(t, s.Get, plain.ID), plain)
	equal(t, stored(t, s.Get, full.ID), full)
	if _, found, err := s.Get(t.Context(), "other"); found || err != nil {
		t.Fatalf("an ability that is not there: %v, %v", found, err)
	}
}

func replaceAbility(t *testing.T, db *storage.DB) {
	s := db.Ability()
	putAbility(t, s, fullAbility(), false)
	plain := ability.Ability{ID: fullAbility().ID, Content: "new", Priority: 1}
	putAbility(t, s, plain, true)
	equal(t, stored(t, s.Get, plain.ID), plain)
}

func removeAbility(t *testing.T, db *storage.DB) {
	s := db.Ability()
	putAbility(t, s, fullAbility(), false)
	for _, want := range []bool{true, false} {
		removed, err := s.Remove(t.Context(), fullAbility().ID)
		noError(t, err)
		equal(t, removed, want)
	}
	putAbility(t, s, fullAbility(), false) // a removed ability can be added again
}

func allAbilities(t *testing.T, db *storage.DB) {
	s := db.Ability()
	list, err := s.All(t.Context())
	noError(t, err)
	equal(t, list, []ability.Ability{})
	want := map[string]ability.Ability{fullAbility().ID: fullAbility(), "plain": {ID: "plain", Priority: 1}}
	for _, a := range want {
		putAbility(t, s, a, false)
	}
	list, err = s.All(t.Context())
	noError(t, err)
	got := map[string]ability.Ability{}
	for _, a := range list {
		got[a.ID] = a
	}
	equal(t, got, want)
	equal(t, len(list), len(want))
}

// putAbilityAtOnce puts one ability from several callers: all except one replace it.
func putAbilityAtOnce(t *testing.T, db *storage.DB) {
	var fresh atomic.Int64
	noError(t, each(8, func(i int) error {
		replaced, err := db.Ability().Put(t.Context(), ability.Ability{ID: "one", Content: fmt.Sprint(i), Priority: 1})
		if !replaced {
			fresh.Add(1)
		}
		return err
	}))
	equal(t, fresh.Load(), int64(1))
}
