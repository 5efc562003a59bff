package turns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A caller begins as much as its minute has, then evenly; others are not affected.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(60)
		take := func(caller string, patience time.Duration) error { return r.Take(t.Context(), caller, patience) }
		for range 60 {
			if err := take("a", 0); err != nil {
				t.Fatal(err)
			}
		}
		late := new(TooMany)
		if err := take("a", 0); !errors.As(err, &late) || late.In != time.Second {
			t.Errorf("the 61st: %v", err)
		}
		if err := take("b", 0); err != nil {
			t.Errorf("another caller: %v", err)
		}
		began := time.Now()
		if err := take("a", 2*time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("with patience: %v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Take(ctx, "a", time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if err := take("a", time.Second); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("a cancelled call took its place: %v after %s", err, time.Since(began))
		}
		time.Sleep(2 * time.Minute)
		for n := range mostCallers + 10 {
			if err := take(fmt.Sprint(n), 0); err != nil {
				t.Fatal(err)
			}
		}
		if r.of["a"] != nil || len(r.of) > mostCallers+10 {
			t.Errorf("%d callers, with one of long ago", len(r.of))
		}
	})
	if err := NewRate(0).Take(t.Context(), "a", 0); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
