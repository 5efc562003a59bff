package ability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// scraps are pieces of random texts: scripts, symbols and spaces that tokenizers join in surprising
// ways.
var scraps = []string{
	"error ", "the deployment ", "Größe ", "日本語", "مرحبا ", "привет ", "👩‍👩‍👧", "हिन्दी ", "\n", "\n\n", "   ", "\t",
	"---", "-", "...", ".", "1234567", "camelCaseWord", "x", "\u0301", "\u200b", "```go\n", "'s", "\r\n", "#", "\x00",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(120) {
		b.WriteString(scraps[r.IntN(len(scraps))])
	}
	return b.String()
}

func randomIDs(r *rand.Rand, most, of int) []string {
	var ids []string
	for range r.IntN(most + 1) {
		ids = append(ids, fmt.Sprintf("a%d", r.IntN(of)))
	}
	return ids
}

func randomAbility(r *rand.Rand, i, of int) Ability {
	a := simple(fmt.Sprintf("a%d", i), randomText(r))
	a.DisplayName = scraps[r.IntN(len(scraps))]
	a.Tags = []string{scraps[r.IntN(len(scraps))]}
	a.Priority, a.Enabled = 1+r.IntN(100), r.IntN(8) > 0
	if r.IntN(2) == 0 {
		a.Requires = randomIDs(r, 3, of+1)
	}
	if r.IntN(4) == 0 {
		a.Conflicts = randomIDs(r, 2, of)
	}
	if r.IntN(6) == 0 {
		a.ExcludeFrom = []string{"coder"}
	}
	a.Requires = slices.DeleteFunc(a.Requires, func(id string) bool { return id == a.ID })
	a.Conflicts = slices.DeleteFunc(a.Conflicts, func(id string) bool { return id == a.ID })
	return a
}

// For any abilities and limits, the result respects all of them.
func TestInjectKeepsItsPromises(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		var stored []Ability
		of := 1 + r.IntN(30)
		for i := range of {
			stored = append(stored, randomAbility(r, i, of))
		}
		s, _ := newService(t, stored...)
		in := InjectIn{
			AgentID: "coder", MaxAbilities: 1 + r.IntN(12), MaxTokens: 100 + r.IntN(1500),
			IncludeMetadata: r.IntN(2) == 0, CoreAbilities: randomIDs(r, 3, of+1),
		}
		if r.IntN(2) == 0 {
			in.Task = randomText(r)
		}
		out := inject(t, s, in)
		if bad := brokenPromises(t, s, in, out); bad != "" {
			t.Errorf("seed %d: %s: %+v", seed, bad, in)
		}
	}
}

func brokenPromises(t *testing.T, s *Service, in InjectIn, out InjectOut) string {
	t.Helper()
	l, err := s.library(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(id string) int { return slices.Index(out.InjectedAbilities, id) }
	out.InjectedAbilities = slices.Clip(out.InjectedAbilities)
	switch n := countOf(t, out.CombinedContent); {
	case n > in.MaxTokens || n != out.TokenCount:
		return fmt.Sprintf("%d tokens, told %d", n, out.TokenCount)
	case len(out.InjectedAbilities) > in.MaxAbilities:
		return "too many abilities"
	}
	for i, id := range out.InjectedAbilities {
		if why := l.obstacle(id, in.AgentID); why != "" || at(id) != i {
			return id + " should not be in: " + why
		}
		if !strings.Contains(out.CombinedContent, l.abilities[id].text()) {
			return "the text of " + id + " is missing"
		}
		for _, other := range l.abilities[id].Conflicts {
			if at(other) >= 0 {
				return id + " is in with " + other
			}
		}
		for _, need := range l.abilities[id].Requires {
			if at(need) < 0 && l.obstacle(need, in.AgentID) == "" {
				return id + " is in without " + need
			}
		}
	}
	for _, left := range out.LeftOut {
		if at(left.AbilityID) >= 0 {
			return left.AbilityID + " is both in and left out"
		}
	}
	return ""
}
