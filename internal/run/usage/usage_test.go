package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memoryStore is a store in memory that can fail.
type memoryStore struct {
	mu    sync.Mutex
	err   error
	calls map[string]int64 // by name and client
}

func (k *memoryStore) Add(_ context.Context, counts []Count) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	for _, c := range counts {
		k.calls[c.Name+" "+c.Client] += c.Calls
	}
	return nil
}

func (k *memoryStore) Counts(context.Context) ([]Count, error) { return nil, nil }

func counter(k *memoryStore, opened <-chan struct{}, opens bool) *Counter {
	return New(Options{
		Open:   func(context.Context) (Store, error) { return k, nil },
		Opened: opened, Opens: opens, Every: time.Millisecond, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

// The counts of many concurrent callers arrive, even if the store fails meanwhile.
func TestCountsArrive(t *testing.T) {
	t.Parallel()
	k := &memoryStore{calls: map[string]int64{}, err: errors.New("away")}
	c := counter(k, nil, true)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := range 1000 {
				c.Called("memory_store", fmt.Sprint("client ", i%2))
				if n == 500 {
					k.mu.Lock()
					k.err = nil
					k.mu.Unlock()
				}
			}
		})
	}
	callers.Wait()
	c.Close()
	for _, client := range []string{"client 0", "client 1"} {
		if n := k.calls["memory_store "+client]; n != 4000 {
			t.Errorf("%s has %d calls", client, n)
		}
	}
}

// Counts do not create a store that nothing else opens.
func TestCountsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, opened := &memoryStore{calls: map[string]int64{}}, make(chan struct{})
		c := counter(k, opened, false)
		c.Called("tool_find", "x")
		time.Sleep(time.Hour)
		if len(k.calls) > 0 {
			t.Error("the store was opened")
		}
		close(opened)
		time.Sleep(2 * c.Every)
		synctest.Wait()
		if n := k.calls["tool_find x"]; n != 1 {
			t.Errorf("after the store was opened it has %d calls, want 1", n)
		}
		c.Close()
		other := counter(&memoryStore{}, make(chan struct{}), false)
		other.Called("tool_find", "x")
		other.Close() // must not wait forever
	})
}

// Client names are limited and printable, whatever clients send.
func TestClients(t *testing.T) {
	t.Parallel()
	var c Clients
	if got := c.Name("a\x1b[2J\n\xffb" + string(make([]byte, 200))); got != "a[2Jb" {
		t.Errorf("got %q", got)
	}
	for i := range 200 {
		got := c.Name(fmt.Sprint(i))
		if want := fmt.Sprint(i); i < maxClients-1 && got != want || i >= maxClients-1 && got != Others {
			t.Fatalf("client %d is %q", i, got)
		}
	}
	if got := c.Name("7"); got != "7" {
		t.Errorf("a known client is %q", got)
	}
}

// The count of a process that ends right after its only call is stored.
func TestCountOfAShortProcessArrives(t *testing.T) {
	t.Parallel()
	for range 200 {
		k := &memoryStore{calls: map[string]int64{}}
		c := counter(k, nil, true)
		c.Called("memory_store", "the shell")
		c.Close()
		if k.calls["memory_store the shell"] != 1 {
			t.Fatal("the count was lost")
		}
	}
}
