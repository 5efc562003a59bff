package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const wait = 5 * time.Second

// Another caller waits for one piece of a caller's work, not for all.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := New(1)
		var order []string
		ends := make(chan func())
		take := func(caller string) {
			go func() {
				if end, err := all.Take(t.Context(), Work{caller, 1, wait}); err == nil {
					order = append(order, caller)
					ends <- end
				}
			}()
			synctest.Wait()
		}
		for _, caller := range []string{"a", "a", "a", "a", "b", "c", "b"} {
			take(caller)
		}
		for range 7 {
			end := <-ends
			end()
			synctest.Wait()
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "a", "b", "a", "a"}, order); diff != "" {
			t.Error(diff)
		}
		if all.running != 0 || len(all.last) != 0 {
			t.Errorf("%d run, %v is known", all.running, all.last)
		}
	})
}

// Work whose turn does not come fails, and takes no turn from other work.
func TestTurnsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := New(1)
		end, err := all.Take(t.Context(), Work{"a", 1, wait})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := all.Take(t.Context(), Work{"b", 1, wait}); !errors.Is(err, ErrBusy) || time.Since(began) != wait {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := all.Take(ctx, Work{"b", 1, wait}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		end()
		if end, err = all.Take(t.Context(), Work{"b", 1, wait}); err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// One caller cannot use all places.
func TestTurnsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := New(3)
		for range 2 {
			if _, err := all.Take(t.Context(), Work{"a", 2, wait}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := all.Take(t.Context(), Work{"a", 2, wait}); !errors.Is(err, ErrBusy) {
			t.Errorf("a third turn: %v", err)
		}
		waited := time.Since(began)
		if _, err := all.Take(t.Context(), Work{"b", 2, wait}); err != nil || time.Since(began) != waited {
			t.Errorf("%v after %s", err, time.Since(began)-waited)
		}
	})
}

// Without a limit, work waits until its context ends.
func TestTurnsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := New(1)
		if _, err := all.Take(t.Context(), Work{"a", 1, 0}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := all.Take(ctx, Work{"b", 1, 0}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
