// Package usage counts calls by legacy names per client, to show which clients still have to
// migrate.
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
	// Others stands for all clients beyond the limit of a process.
	Others = "others"

	// MaxCounts bounds the counts in a store; the newest stay.
	MaxCounts = 5000

	maxClients = 100 // distinguished per process
	maxName    = 64  // bytes of a client's name
)

// Count counts the calls of a legacy name by a client.
type Count struct {
	Name   string    `json:"name"`
	Client string    `json:"client"` // the name that it sent; may be empty
	Calls  int64     `json:"calls"`
	Last   time.Time `json:"last"`
}

// Store stores counts.
type Store interface {
	// Add adds to the stored counts.
	Add(ctx context.Context, counts []Count) error
	// Counts returns all counts, newest first.
	Counts(ctx context.Context) ([]Count, error)
}

// Clients distinguishes a limited number of clients, so that labels and rows stay few whatever
// names callers send. The zero value is ready to use.
type Clients struct {
	mu    sync.Mutex
	names map[string]bool
}

// Name returns the name under which a client is counted.
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
	case c.names[client]:
	case len(c.names) >= maxClients:
		return Others
	case c.names == nil:
		c.names = map[string]bool{client: true}
	default:
		c.names[client] = true
	}
	return client
}

// Options configure a [Counter].
type Options struct {
	Open   func(context.Context) (Store, error)
	Opened <-chan struct{} // closed once the store is open; counts wait for it
	Opens  bool            // counts may open the store, because it exists already
	Every  time.Duration   // interval of writes; 0 = two seconds
	Log    *slog.Logger
	Now    func() time.Time
}

// Counter counts calls. Callers never wait for the store: counts are written within two seconds,
// and when the counter is closed.
type Counter struct {
	Options
	clients Clients

	mu       sync.Mutex
	counts   map[[2]string]*Count // not yet stored, by name and client
	flushing chan struct{}        // closed when the goroutine of keep ends; nil = it is not running
	closed   chan struct{}
}

// New returns a counter. It does not open the store.
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
	if c.flushing == nil {
		c.flushing = make(chan struct{})
		go c.keep(c.flushing)
	}
}

// add adds to the counts to write. The caller holds the lock.
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
		case <-opened: // both are closed: the counts can be stored
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

// flush writes the current counts. If that fails, it keeps them for the next time.
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

// Close writes the remaining counts, for at most two seconds. No call may follow.
func (c *Counter) Close() {
	close(c.closed)
	c.mu.Lock()
	keeping := c.flushing
	c.mu.Unlock()
	if keeping != nil {
		<-keeping
	}
}
