package serve

import "sync"

// cache keeps a bounded number of values by key. The zero cache keeps 256.
type cache[V any] struct {
	mu    sync.RWMutex
	byKey map[string]V
}

const maxCached = 256

func (c *cache[V]) get(key []byte) (value V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	value, ok = c.byKey[string(key)]
	return value, ok
}

// put adds a value. A full cache is emptied first.
func (c *cache[V]) put(key []byte, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil || len(c.byKey) >= maxCached {
		c.byKey = map[string]V{}
	}
	c.byKey[string(key)] = value
}
