package lazy_test

import (
	"slices"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/lazy"
)

// synonyms finds what it is told to.
type synonyms struct {
	near  map[string]string // ids, by questions
	texts map[string]string
}

func (s *synonyms) Follow(texts map[string]string) { s.texts = texts }

func (s *synonyms) Search(question string) func(func(string) bool) []string {
	return func(keep func(string) bool) (list []string) {
		if id := s.near[question]; id != "" && keep(id) {
			list = append(list, id)
		}
		return list
	}
}

// What is near a query in other words is found beside what shares words with it,
// by those who may see it.
func TestFindByMeaning(t *testing.T) {
	t.Parallel()
	families := []*toolfold.Family{family(t, "cat", nil, nil), family(t, "horse", nil, nil)}
	near := &synonyms{near: map[string]string{"mouser": "cat.list", "horse": "cat.get"}}
	catalogue := lazy.NewCatalogue(families...)
	catalogue.Understand(near)
	find := func(families []*toolfold.Family, query string) (names []string) {
		for _, f := range lazy.NewView(lazy.ViewOptions{Families: families, Catalogue: catalogue}).Find(query, 5) {
			names = append(names, f.Name)
		}
		return names
	}
	if got := find(families, "mouser"); len(got) != 1 || got[0] != "cat.list" {
		t.Errorf("mouser finds %v", got)
	}
	if got := find(families[1:], "mouser"); len(got) > 0 {
		t.Errorf("finds what the caller may not see: %v", got)
	}
	if got := find(families, "horse"); len(got) < 3 || !slices.Contains(got[:2], "cat.get") || slices.Contains(got[:3], "cat.list") {
		t.Errorf("horse finds %v, want what its words find and cat.get", got)
	}
	if near.texts["horse.get"] == "" {
		t.Errorf("texts are %v", near.texts)
	}
}
