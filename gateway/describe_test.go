package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// Describing an action costs at most its definition plus 30 tokens.
func TestDescribeCost(t *testing.T) {
	t.Parallel()
	for _, file := range lists(t) {
		describeAll(t, file)
	}
}

// lists returns the files with lists of tools, including those in TOOLFOLD_TOOL_LISTS.
func lists(t *testing.T) (files []string) {
	t.Helper()
	dirs := []string{"testdata"}
	if dir := os.Getenv("TOOLFOLD_TOOL_LISTS"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		inside, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(inside) == 0 {
			t.Fatalf("%s has no lists: %v", dir, err)
		}
		files = append(files, inside...)
	}
	return files
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
	families := foldedFamily(t, name, list.Tools)
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
			checkExample(t, s, a)
		}
	}
}

// checkExample fails unless a description with an example has one that the tool's schema allows.
func checkExample(t *testing.T, s *surface.Surface, a *toolfold.Action) {
	t.Helper()
	described, failed := s.Discovery.View(t.Context()).Describe(a.FullName(), lazy.Account{Always: true})
	var doc struct{ Example json.RawMessage }
	if failed != nil || json.Unmarshal(described, &doc) != nil || doc.Example == nil {
		t.Errorf("%s is described without an example: %s", a.FullName(), described)
		return
	}
	tool, err := validate.Compile(a.FullName(), a.Input)
	var args map[string]any
	if err != nil || json.Unmarshal(judge.Example(a.Input), &args) != nil || len(tool.Problems(args)) > 0 {
		t.Errorf("the example of %s is not valid: %s, %v", a.FullName(), doc.Example, err)
	}
}

func foldedFamily(t *testing.T, name string, tools []json.RawMessage) []*toolfold.Family {
	t.Helper()
	families, _, err := gateway.Fold(gateway.Upstream{Name: name}, upstream.Answer{Tools: tools}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// An answer of find stays short for any limit, also with tools of several servers.
func TestFindCost(t *testing.T) {
	t.Parallel()
	const most = 900
	s := surface.New(surface.Options{})
	for _, file := range lists(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".json"), "-", "")
		if err := s.Put(foldedFamily(t, name, list.Tools)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"update", "create an issue", "delete", "pull request", "projects write items", "search fields"} {
		for _, limit := range []int{1, 5, 10, 50} {
			answer := s.Client.Call(t.Context(), "tools", fmt.Appendf(nil, `{"action":"find","query":%q,"limit":%d}`, query, limit))
			cost, err := tokens.Count(string(answer.Content))
			if err != nil || answer.IsError() {
				t.Fatal(err, string(answer.Content))
			}
			if cost > most {
				t.Errorf("the %d best for %q cost %d tokens, more than %d", limit, query, cost, most)
			}
		}
	}
}

// The effect of a tool without annotations is unknown, even though the hints have defaults.
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
		families := foldedFamily(t, "srv", []json.RawMessage{json.RawMessage(`{"name":"do","inputSchema":{"type":"object"}` + hints + `}`)})
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
