package ability

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/internal/tokens"
)

// What the words of an ability count, where those of its title count 2.
const (
	tagWeight     = 1.5
	aboutWeight   = 1
	contentWeight = 0.4
)

// shelf remembers what is costly to know of abilities: the words of all of
// them and the tokens of each text. It holds the abilities of the latest call
// and learns only what is new with each. It is safe for concurrent use; calls
// that see different abilities are right, but slower.
type shelf struct {
	mu    sync.Mutex
	index *rank.Index
	books map[string]book
}

// book is an ability on the shelf.
type book struct {
	doc    rank.Document
	text   string
	tokens int // of text; -1 = not counted yet
}

func newShelf() *shelf {
	return &shelf{index: rank.New(), books: map[string]book{}}
}

// find returns the abilities that have something of a task, best first.
func (s *shelf) find(l library, task string) []rank.Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update(l)
	return s.index.Find(task, s.index.Len())
}

// hold makes the shelf hold exactly the abilities of a library.
func (s *shelf) hold(l library) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update(l)
}

func (s *shelf) update(l library) {
	var fresh []rank.Document
	for _, a := range l.sorted() {
		if doc := a.document(); !equal(doc, s.books[a.ID].doc) {
			s.books[a.ID] = book{doc: doc, text: a.Content, tokens: -1}
			fresh = append(fresh, doc)
		}
	}
	s.index.Put(fresh...)
	for id := range s.books {
		if _, there := l.abilities[id]; !there {
			delete(s.books, id)
			s.index.Remove(id)
		}
	}
}

// count counts the tokens of an ability's text.
func (s *shelf) count(a Ability) (int, error) {
	s.mu.Lock()
	known, ok := s.books[a.ID]
	s.mu.Unlock()
	same := ok && known.text == a.Content
	if same && known.tokens >= 0 {
		return known.tokens, nil
	}
	n, err := tokens.Count(a.text())
	if err != nil || !same {
		return n, err
	}
	known.tokens = n
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books[a.ID].text == a.Content {
		s.books[a.ID] = known
	}
	return n, nil
}

func (a Ability) document() rank.Document {
	return rank.Document{ID: a.ID, Name: a.title(), Fields: []rank.Field{
		{Text: a.ID, Weight: tagWeight},
		{Text: strings.Join(a.Tags, ", "), Weight: tagWeight},
		{Text: a.Category, Weight: aboutWeight},
		{Text: a.Description, Weight: aboutWeight},
		{Text: a.Content, Weight: contentWeight},
	}}
}

// title is the name for people, in one line.
func (a Ability) title() string {
	if title := strings.Join(strings.Fields(a.DisplayName), " "); title != "" {
		return title
	}
	return a.ID
}

func equal(a, b rank.Document) bool {
	return a.ID == b.ID && a.Name == b.Name && slices.Equal(a.Fields, b.Fields)
}
