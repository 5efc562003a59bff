package turns

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate limits how much work begins in a minute, by caller: as much as that at once, then evenly. Nil limits nothing.
type Rate struct {
	perMinute int

	mu sync.Mutex
	of map[string]*allowance
}

// allowance is what a caller may begin.
type allowance struct {
	*rate.Limiter
	waiting int // pieces of work
}

// NewRate returns the limit of perMinute pieces of work; nil for 0.
func NewRate(perMinute int) *Rate {
	if perMinute == 0 {
		return nil
	}
	return &Rate{perMinute: perMinute, of: map[string]*allowance{}}
}

// mostCallers is how many callers have allowances before those that have not called for a minute are forgotten.
const mostCallers = 1000

// TooMany is the error of work that is beyond a rate.
type TooMany struct {
	PerMinute int
	In        time.Duration // until there is room
}

// Error implements error.
func (e *TooMany) Error() string {
	return fmt.Sprintf("the limit is %d calls a minute; there is room in %s", e.PerMinute, e.In.Round(100*time.Millisecond))
}

// Take waits up to patience until work of a caller may begin. The error is a [*TooMany], for work that would wait
// longer, or ctx's. Work that does not begin takes nothing from later work.
func (r *Rate) Take(ctx context.Context, caller string, patience time.Duration) error {
	if r == nil {
		return nil
	}
	end := time.Now().Add(patience)
	r.mu.Lock()
	a := r.allowance(caller, time.Now())
	behind := a.waiting
	a.waiting++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.waiting--
	}()
	for ; ; behind = 0 {
		wait := a.look(behind, r.perMinute)
		if wait == 0 {
			return nil
		}
		if time.Now().Add(wait).After(end) {
			return &TooMany{r.perMinute, wait}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// look begins work behind other work that waits, or returns how long it has to wait.
func (a *allowance) look(behind, perMinute int) time.Duration {
	now := time.Now()
	if behind == 0 && a.AllowN(now, 1) {
		return 0
	}
	missing := float64(behind+1) - a.TokensAt(now)
	return max(time.Duration(missing*float64(time.Minute)/float64(perMinute)), time.Millisecond)
}

// allowance returns that of a caller. The caller of it holds the lock.
func (r *Rate) allowance(caller string, now time.Time) *allowance {
	if a := r.of[caller]; a != nil {
		return a
	}
	if len(r.of) >= mostCallers {
		for name, a := range r.of {
			if a.waiting == 0 && a.TokensAt(now) >= float64(r.perMinute) {
				delete(r.of, name) // a new one is the same
			}
		}
	}
	a := &allowance{Limiter: rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), r.perMinute)}
	r.of[caller] = a
	return a
}
