package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// Describing an action costs at most its own definition and 30 tokens.
func TestDescribeCost(t *testing.T) {
	t.Parallel()
	dirs := []string{"testdata"}
	if dir := os.Getenv("TOOLFOLD_TOOL_LISTS"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no lists: %v", dir, err)
		}
		for _, file := range files {
			describeAll(t, file)
		}
	}
}

func describeAll(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	families := folded(t, name, list.Tools)
	s := surface.New(surface.Options{})
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	count := func(text []byte) int {
		n, err := tokens.Count(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, f := range families {
		for _, a := range f.Actions {
			described, failed := s.Discovery.View(t.Context()).Describe(a.FullName(), lazy.Account{Examples: true})
			if failed != nil {
				t.Errorf("%s: %v", a.FullName(), failed)
				continue
			}
			if is, own := count(described), count(a.Definition); is > own+30 {
				t.Errorf("%s is described in %d tokens, its definition has %d: %s", a.FullName(), is, own, described)
			}
		}
	}
}

func folded(t *testing.T, name string, tools []json.RawMessage) []*toolfold.Family {
	t.Helper()
	families, _, err := gateway.Fold(gateway.Upstream{Name: name}, upstream.Answer{Tools: tools}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// What a tool does that says nothing of it is not known, whatever its hints are then.
func TestEffectsOfTools(t *testing.T) {
	t.Parallel()
	for hints, want := range map[string]string{
		``: `"effect":"not annotated"`,
		`,"annotations":{"title":"readOnlyHint"}`:  `"effect":"not annotated"`,
		`,"annotations":{"destructiveHint":true}`:  `"effect":"deletes"`,
		`,"annotations":{"destructiveHint":false}`: `"effect":"adds"`,
		`,"annotations":{"readOnlyHint":false}`:    `"effect":"deletes"`,
		`,"annotations":{"readOnlyHint":true}`:     `"usage"`,
		`,"annotations":{"idempotentHint":true}`:   `"effect":"not annotated"`,
	} {
		families := folded(t, "srv", []json.RawMessage{json.RawMessage(`{"name":"do","inputSchema":{"type":"object"}` + hints + `}`)})
		s := surface.New(surface.Options{})
		if err := s.Put(families...); err != nil {
			t.Fatal(err)
		}
		described, failed := s.Discovery.View(t.Context()).Describe(families[0].Actions[0].FullName(), lazy.Account{})
		if reads := !strings.Contains(want, "effect"); failed != nil || !strings.Contains(string(described), want) ||
			reads == strings.Contains(string(described), "effect") {
			t.Errorf("with %s it is described as %s, %v", hints, described, failed)
		}
	}
}
