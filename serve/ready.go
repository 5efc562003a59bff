package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	balancerWithin = 30 * time.Second       // a host that asks /readyz twice in this time is a balancer
	balancerAsks   = 3                      // answers 503 after which balancers send no requests: most act on one to three
	balancerWait   = 10 * time.Second       // for these answers of all balancers
	balancerActs   = 250 * time.Millisecond // after the last answer, until the last request has come
	maxBalancers   = 100
)

// balancers are the hosts that ask /readyz again and again. A server that stops serves them until they know.
type balancers struct {
	mu    sync.Mutex
	asked map[string][2]time.Time // the last time that a host asked, and the one before
	left  map[string]int          // answers until a balancer knows; nil = the server does not stop
	know  chan struct{}           // closed when all know
}

func newBalancers() *balancers {
	return &balancers{asked: map[string][2]time.Time{}, know: make(chan struct{})}
}

// ask records that the sender of a request asks whether the server is ready.
func (b *balancers) ask(r *http.Request, now time.Time) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == nil {
		if _, known := b.asked[host]; known || len(b.asked) < maxBalancers {
			b.asked[host] = [2]time.Time{now, b.asked[host][0]}
		}
		return
	}
	if n, follows := b.left[host]; follows {
		b.left[host] = n - 1
		if n == 1 {
			delete(b.left, host)
			b.check()
		}
	}
}

// stop begins to count the answers to balancers.
func (b *balancers) stop(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = map[string]int{}
	for host, at := range b.asked {
		if now.Sub(at[1]) < balancerWithin {
			b.left[host] = balancerAsks
		}
	}
	b.check()
}

// check is called with the lock held when left has changed.
func (b *balancers) check() {
	if len(b.left) == 0 {
		close(b.know)
	}
}

// wait waits until all balancers know that the server stops. Without balancers it returns at once.
func (b *balancers) wait(ctx context.Context) {
	select {
	case <-b.know:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, balancerWait)
	defer cancel()
	select {
	case <-b.know:
		select {
		case <-time.After(balancerActs):
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}
