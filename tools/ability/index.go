package ability

import (
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/rank"
	"github.com/toolfold/toolfold/internal/tokens"
)

// Weights of the words of an ability, where those of its title weigh 2.
const (
	tagWeight     = 1.5
	aboutWeight   = 1
	contentWeight = 0.4
)

// index keeps what is costly to compute of abilities: the words of all of
// them and the tokens of each text. It holds the abilities of the latest call
// and computes only what is new with each. It is safe for concurrent use;
// calls that see different abilities are right, but slower.
type index struct {
	mu      sync.Mutex
	words   *rank.Index
	entries map[string]entry // by id
}

// entry is an ability in the index.
type entry struct {
	doc    rank.Document
	text   string
	tokens int // of text; -1 = not counted yet
}

// find makes the index hold exactly the abilities of a library, and returns the
// ones that match words of a task, best first.
func (x *index) find(l library, task string) []rank.Hit {
	x.mu.Lock()
	defer x.mu.Unlock()
	var fresh []rank.Document
	for _, a := range l.sorted() {
		if doc := a.document(); !equal(doc, x.entries[a.ID].doc) {
			x.entries[a.ID] = entry{doc: doc, text: a.Content, tokens: -1}
			fresh = append(fresh, doc)
		}
	}
	x.words.Put(fresh...)
	for id := range x.entries {
		if _, there := l.abilities[id]; !there {
			delete(x.entries, id)
			x.words.Remove(id)
		}
	}
	if strings.TrimSpace(task) == "" {
		return nil
	}
	return x.words.Find(task, x.words.Len())
}

// count counts the tokens of an ability's text.
func (x *index) count(a Ability) (int, error) {
	x.mu.Lock()
	known, ok := x.entries[a.ID]
	x.mu.Unlock()
	same := ok && known.text == a.Content
	if same && known.tokens >= 0 {
		return known.tokens, nil
	}
	n, err := tokens.Count(a.text())
	if err != nil || !same {
		return n, err
	}
	known.tokens = n
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.entries[a.ID].text == a.Content {
		x.entries[a.ID] = known
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
