// Package usage counts calls by legacy names, by the client that makes them, so
// that it can be seen who is still to be brought over.
package usage

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// Others stands for the clients beyond the ones that are told apart.
	Others = "others"

	// MaxCounts bounds the counts that a store keeps: the newest.
	MaxCounts = 5000

	maxClients = 100 // that one process tells apart
	maxName    = 64  // bytes of a client's name
)

// Count counts the calls of a legacy name by a client.
type Count struct {
	Name   string    `json:"name"`
	Client string    `json:"client"` // as it says itself; empty = it does not
	Calls  int64     `json:"calls"`
	Last   time.Time `json:"last"`
}

// Store keeps counts.
type Store interface {
	// Add adds to the counts that are there.
	Add(ctx context.Context, counts []Count) error
	// Counts returns all counts, the newest first.
	Counts(ctx context.Context) ([]Count, error)
}

// Clients tells a limited number of clients apart, so that labels and rows stay
// few whatever callers say of themselves. The zero value is ready.
type Clients struct {
	mu    sync.Mutex
	known map[string]bool
}

// Name returns the name to count a client under.
func (c *Clients) Name(client string) string {
	client = strings.ToValidUTF8(client[:min(len(client), maxName)], "")
	client = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, client)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.known[client]:
	case len(c.known) >= maxClients:
		return Others
	case c.known == nil:
		c.known = map[string]bool{client: true}
	default:
		c.known[client] = true
	}
	return client
}

// Options say where a [Counter] keeps what it counts.
type Options struct {
	Open   func(context.Context) (Store, error)
	Opened <-chan struct{} // closed once the store is open; counts wait for it
	Opens  bool            // counts may open the store: there is one from before
	Every  time.Duration   // that counts are kept after; 0 = two seconds
	Log    *slog.Logger
	Now    func() time.Time
}

// Counter counts calls. Callers never wait for the store: counts reach it within
// two seconds, and when the counter is closed.
type Counter struct {
	Options
	clients Clients

	mu      sync.Mutex
	counts  map[[2]string]*Count // that the store does not have yet, by name and client
	keeping chan struct{}        // closed once what keeps them has ended; nil = nothing does
	closed  chan struct{}
}

// New returns a counter. It opens nothing.
func New(o Options) *Counter {
	if o.Every == 0 {
		o.Every = 2 * time.Second
	}
	return &Counter{Options: o, closed: make(chan struct{})}
}

// Called counts a call.
func (c *Counter) Called(name, client string) {
	client = c.clients.Name(client)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(Count{name, client, 1, c.Now()})
	if c.keeping == nil {
		c.keeping = make(chan struct{})
		go c.keep(c.keeping)
	}
}

// add adds to what is to be kept. The caller holds the lock.
func (c *Counter) add(count Count) {
	key := [2]string{count.Name, count.Client}
	if c.counts == nil {
		c.counts = map[[2]string]*Count{}
	}
	if known := c.counts[key]; known != nil {
		count.Calls += known.Calls
		if known.Last.After(count.Last) {
			count.Last = known.Last
		}
	}
	c.counts[key] = &count
}

// keep writes counts to the store until the counter is closed.
func (c *Counter) keep(ended chan<- struct{}) {
	defer close(ended)
	opened := c.Opened
	if c.Opens {
		now := make(chan struct{})
		close(now)
		opened = now
	}
	select {
	case <-opened:
	case <-c.closed:
		select {
		case <-opened: // both are true: the counts can be kept
		default:
			return
		}
	}
	every := time.NewTicker(c.Every)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			c.flush(time.Minute)
		case <-c.closed:
			c.flush(2 * time.Second)
			return
		}
	}
}

// flush writes what there is. What could not be written stays.
func (c *Counter) flush(within time.Duration) {
	c.mu.Lock()
	var list []Count
	for _, count := range c.counts {
		list = append(list, *count)
	}
	c.counts = nil
	c.mu.Unlock()
	if list == nil {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), within)
	defer done()
	store, err := c.Open(ctx)
	if err == nil {
		err = store.Add(ctx, list)
	}
	if err == nil {
		return
	}
	c.Log.Warn("keeping the counts of calls by legacy names", "err", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, count := range list {
		c.add(count)
	}
}

// Close keeps what was counted, for at most two seconds. No call may come after
// it.
func (c *Counter) Close() {
	close(c.closed)
	c.mu.Lock()
	keeping := c.keeping
	c.mu.Unlock()
	if keeping != nil {
		<-keeping
	}
}
