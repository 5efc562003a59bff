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
	of map[string]*rate.Limiter
}

// NewRate returns the limit of perMinute pieces of work; nil for 0.
func NewRate(perMinute int) *Rate {
	if perMinute == 0 {
		return nil
	}
	return &Rate{perMinute: perMinute, of: map[string]*rate.Limiter{}}
}

// mostCallers is how many callers have limits before those that have not called for a minute are forgotten.
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
// longer, or ctx's.
func (r *Rate) Take(ctx context.Context, caller string, patience time.Duration) error {
	if r == nil {
		return nil
	}
	now := time.Now()
	reserved := r.limiter(caller, now).ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait > patience {
		reserved.CancelAt(now)
		return &TooMany{r.perMinute, wait}
	}
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		reserved.Cancel()
		return ctx.Err()
	}
}

// limiter returns the limiter of a caller.
func (r *Rate) limiter(caller string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.of[caller]; l != nil {
		return l
	}
	if len(r.of) >= mostCallers {
		for name, l := range r.of {
			if l.TokensAt(now) >= float64(r.perMinute) {
				delete(r.of, name) // a new one is the same
			}
		}
	}
	l := rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), r.perMinute)
	r.of[caller] = l
	return l
}
