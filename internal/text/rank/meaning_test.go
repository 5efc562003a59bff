package rank_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/rank"
)

// A document that shares no word with a query is found by words that occur in similar texts, after
// documents that share one, and never with a score that means that it fits.
func TestFindByNearWords(t *testing.T) {
	t.Parallel()
	withPassage := named("asked", "bake_bread", "Flour and an oven.")
	withPassage.Passages = []string{"a loaf for lunch"}
	x := rank.New(
		named("pay", "pay_invoice", "Pay the bill of a supplier."),
		named("bake", "bake_bread", "Flour and an oven."),
		named("fly", "book_flight", "Seats of an airline."),
		withPassage,
	)
	for query, want := range map[string]string{
		"a recipe for pastry":   "bake",
		"airports and luggage":  "fly",
		"taxes and accounting":  "pay",
		"bread for the airport": "bake",
	} {
		hits := x.Find(rank.Query{Text: query, Limit: 5})
		if len(hits) == 0 || hits[0].ID != want {
			t.Errorf("%q wants %s first, got %v", query, want, hits)
		}
		for _, h := range hits {
			if h.Coverage == 0 && (h.Score >= 0.1 || h.ID == "asked") {
				t.Errorf("%q finds %v", query, h)
			}
		}
	}
	if diff := cmp.Diff([]string{"bake"}, ids(x.Find(rank.Query{Text: "a recipe for pastry", Limit: 1}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	only := func(id string) bool { return id == "fly" }
	for _, h := range x.Find(rank.Query{Text: "a recipe for pastry", Limit: 5, Keep: only}) {
		if h.ID != "fly" {
			t.Errorf("a document that may not be a hit is found: %v", h)
		}
	}
}

// The table is sorted, and has an entry for each stem.
func TestTableOfVectors(t *testing.T) {
	t.Parallel()
	stems, err := os.ReadFile("stems.txt")
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := os.ReadFile("vectors.bin")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(stems))
	if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
		t.Error("stems.txt is not sorted, or has a stem twice")
	}
	if want := 33 * len(list); len(vectors) != want || len(list) == 0 {
		t.Errorf("vectors.bin has %d bytes, want %d", len(vectors), want)
	}
}
