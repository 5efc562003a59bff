package rank

import (
	"slices"
	"strings"
	"testing"
)

// Every member of a group of synonyms or of a subject can match: a document and a query that are just that member
// have its term. A member that is read as something else, such as a word of grammar, would lead nowhere.
func TestGroupsCanMatch(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"synonyms.txt": synonymText, "related.txt": relatedText} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			for member := range strings.FieldsSeq(line) {
				if file == "related.txt" && strings.Contains(member, "_") {
					t.Errorf("%s: %s is a pair, which nothing compares", file, member)
				}
				want, plain := termOf(member), strings.ReplaceAll(member, "_", " ")
				if order, whole := appendTerms(nil, nil, plain); strings.Join(order, " ") != want && !slices.Contains(whole, want) {
					t.Errorf("%s: %s is the term %q, but a document has %q", file, member, want, order)
				}
				if terms := New().appendTerms(nil, plain); strings.Join(terms, " ") != want {
					t.Errorf("%s: %s is the term %q, but a query has %q", file, member, want, terms)
				}
			}
		}
	}
}

// An abbreviation with digits leads to the words that it stands for, and these to it.
func TestAbbreviationsWithDigitsHaveSynonyms(t *testing.T) {
	t.Parallel()
	x := New(
		Document{ID: "long", Name: "deploy to kubernetes"},
		Document{ID: "short", Name: "restart a k8s pod"},
		Document{ID: "other", Name: "deploy to a bucket"},
	)
	for query, want := range map[string][]string{"k8s": {"short", "long"}, "kubernetes": {"long", "short"}} {
		var got []string
		for _, hit := range x.Find(Query{Text: query, Limit: 5}) {
			got = append(got, hit.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	alone := New(Document{ID: "long", Name: "kubernetes"}, Document{ID: "other", Name: "bucket"})
	if hits := alone.Find(Query{Text: "restart k8s", Limit: 5}); len(hits) != 1 || hits[0].ID != "long" {
		t.Errorf("got %v", hits)
	}
}
