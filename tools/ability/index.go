package ability

import (
	"reflect"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/text/tokens"
)

// index caches the words of abilities and the token counts of their texts. It holds the abilities
// of the latest call, and only computes changes. It is safe for concurrent use; calls with
// different abilities are correct, but slower.
type index struct {
	mu      sync.Mutex
	entries map[string]entry // by id
}

// entry is an ability in the index.
type entry struct {
	ability Ability
	words   document
	tokens  int // of the text; -1 = not counted yet
}

// find updates the index to the abilities of a library. It returns those that share words with a
// task, best first.
func (x *index) find(l library, task string) []hit {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.entries {
		if _, there := l.abilities[id]; !there {
			delete(x.entries, id)
		}
	}
	documents := map[string]document{}
	for id, a := range l.abilities {
		if known, ok := x.entries[id]; !ok || !reflect.DeepEqual(known.ability, a) {
			x.entries[id] = entry{ability: a, words: analyse(a), tokens: -1}
		}
		documents[id] = x.entries[id].words
	}
	return match(documents, task)
}

// count returns the token count of an ability's text.
func (x *index) count(a Ability) (int, error) {
	x.mu.Lock()
	known, ok := x.entries[a.ID]
	x.mu.Unlock()
	same := ok && known.ability.Content == a.Content
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
	if x.entries[a.ID].ability.Content == a.Content {
		x.entries[a.ID] = known
	}
	return n, nil
}

// title returns the display name on one line, or else the id.
func (a Ability) title() string {
	if title := strings.Join(strings.Fields(a.DisplayName), " "); title != "" {
		return title
	}
	return a.ID
}
