package turns

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
		for range 9 { // they leave before their turn, and nothing of theirs stays
			ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if err := r.Take(ctx, "a", time.Minute); err == nil {
				t.Error("there is no room")
			}
			leave()
		}
		began = time.Now()
		var waits sync.WaitGroup
		ends := make(chan time.Duration, 3)
		for range 3 {
			waits.Go(func() {
				if err := take("a", 10*time.Second); err != nil {
					t.Error(err)
				}
				ends <- time.Since(began).Round(100 * time.Millisecond)
			})
		}
		waits.Wait()
		for n := range 3 { // 450 ms have gone to those that left
			if want := 500*time.Millisecond + time.Duration(n)*time.Second; <-ends > want+100*time.Millisecond {
				t.Errorf("work %d began later than after %s", n, want)
			}
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

// Refused work of many callers at once leaves nothing behind.
func TestRateUnderRefusals(t *testing.T) {
	t.Parallel()
	r := NewRate(60)
	var calls sync.WaitGroup
	begun := make(chan bool, 6400)
	for range 64 {
		calls.Go(func() {
			for range 100 {
				if r.Take(t.Context(), "a", 0) == nil {
					begun <- true
				}
			}
		})
	}
	calls.Wait()
	late := new(TooMany)
	if err := r.Take(t.Context(), "a", 0); len(begun) < 60 || errors.As(err, &late) && late.In > time.Second {
		t.Errorf("%d began, then %v", len(begun), err)
	}
}
