package lazy

import (
	"encoding/json"
	"sync"
	"time"
)

const (
	// TTL is how long a rendered description, or a list that a client got, is
	// good for.
	TTL = 5 * time.Minute
	// cacheLimit is how many descriptions are kept: far more than a surface
	// has names, so that it only matters to who makes up spellings.
	cacheLimit = 20_000
)

// cache keeps rendered descriptions.
type cache struct {
	now func() time.Time

	mu           sync.Mutex
	kept         map[string]kept
	generation   int // of the catalogue
	hits, misses int
}

type kept struct {
	text    json.RawMessage
	expires time.Time
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, kept: map[string]kept{}}
}

// get returns what is kept under key. The generation goes to keep: what was
// rendered of a catalogue that has changed since is not kept.
func (c *cache) get(key string) (text json.RawMessage, generation int, ok bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	if ok = ok && now.Before(k.expires); ok {
		c.hits++
		return k.text, c.generation, true
	}
	c.misses++
	return nil, c.generation, false
}

func (c *cache) keep(key string, text json.RawMessage, generation int) {
	expires := c.now().Add(TTL)
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	if len(c.kept) >= cacheLimit {
		c.kept = map[string]kept{}
	}
	c.kept[key] = kept{text, expires}
}

// clear forgets everything: the catalogue changed.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = map[string]kept{}
	c.generation++
}

// CacheCounts says how descriptions were answered.
type CacheCounts struct {
	Hits   int `json:"hits"`   // from the cache
	Misses int `json:"misses"` // rendered, or no such name
}

func (c *cache) counts() CacheCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheCounts{c.hits, c.misses}
}
