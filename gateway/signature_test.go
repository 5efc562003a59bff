package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

// Signatures of tools have at most 100 tokens in the median of each list, and 350 at most.
func TestSignatureCost(t *testing.T) {
	t.Parallel()
	for _, file := range lists(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		s := surface.New(surface.Options{})
		families := foldedFamily(t, name, list.Tools)
		if err := s.Put(families...); err != nil {
			t.Fatal(err)
		}
		var counts []int
		for _, f := range families {
			for _, a := range f.Actions {
				counts = append(counts, signatureCost(t, s, a))
			}
		}
		slices.Sort(counts)
		median, most := counts[len(counts)/2], counts[len(counts)-1]
		t.Logf("%s: %d signatures, %d tokens in the median, %d at most", name, len(counts), median, most)
		if median > 100 || most > 350 {
			t.Errorf("%s: signatures have %d tokens in the median and %d at most", name, median, most)
		}
	}
}

// signatureCost counts the tokens of the signature of an action. It adds the signature to the file of TOOLFOLD_SIGNATURES.
func signatureCost(t *testing.T, s *surface.Surface, a *toolfold.Action) int {
	t.Helper()
	doc, refused := s.Discovery.View(t.Context()).Describe(a.FullName(), lazy.Account{TypeScript: true})
	if refused != nil {
		t.Fatal(refused)
	}
	var described struct{ Signature string }
	if err := json.Unmarshal(doc, &described); err != nil || described.Signature == "" {
		t.Fatalf("%s: %s", a.FullName(), doc)
	}
	if path := os.Getenv("TOOLFOLD_SIGNATURES"); path != "" {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(described.Signature + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	count, err := tokens.Count(described.Signature)
	if err != nil {
		t.Fatal(err)
	}
	return count
}
