package jq

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Another caller waits for one of a caller's many filters, not for all.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := &turns{size: 1, last: map[string]int{}, of: map[string]int{}}
		var order []string
		ends := make(chan func())
		take := func(caller string) {
			go func() {
				if end, err := all.take(t.Context(), caller); err == nil {
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

// A filter whose turn does not come fails, and takes no turn from others.
func TestTurnsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := &turns{size: 1, last: map[string]int{}, of: map[string]int{}}
		end, err := all.take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := all.take(t.Context(), "b"); !errors.Is(err, ErrBusy) || time.Since(began) != maxWait {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := all.take(ctx, "b"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		end()
		if end, err = all.take(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// One caller cannot use all processes.
func TestTurnsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := &turns{size: 3, last: map[string]int{}, of: map[string]int{}}
		for range 2 {
			if _, err := all.take(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := all.take(t.Context(), "a"); !errors.Is(err, ErrBusy) {
			t.Errorf("a third turn: %v", err)
		}
		waited := time.Since(began)
		if _, err := all.take(t.Context(), "b"); err != nil || time.Since(began) != waited {
			t.Errorf("%v after %s", err, time.Since(began)-waited)
		}
	})
}
