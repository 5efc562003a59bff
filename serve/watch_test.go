package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/surface"
)

// If the resources of one watcher cannot be read, other watchers are still notified.
func TestUpdatedBesideFailure(t *testing.T) {
	t.Parallel()
	asked := 0
	s, err := New(Options{
		Surface: surface.New(surface.Options{Log: quietLog}), Log: quietLog,
		Resources: func(context.Context) ([]Resource, error) {
			if asked++; asked == 1 {
				return nil, errors.New("the store is locked")
			}
			return []Resource{{URI: "note://1"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	notifications := make(chan mcp.JSONRPCNotification, 2)
	for _, watcher := range []string{"a", "b"} {
		s.watches.add(watcher, toolfold.Origin{}, func(n mcp.JSONRPCNotification) { notifications <- n }, "note://1")
	}
	s.Updated("note://1")
	if asked != 2 {
		t.Fatalf("%d of 2 watchers were looked at", asked)
	}
	<-notifications
}

// A method that the era no longer has is rejected before it does anything.
func TestEndedMethod(t *testing.T) {
	t.Parallel()
	asked := 0
	s, err := New(Options{
		Surface: surface.New(surface.Options{Log: quietLog}), Log: quietLog,
		Resources: func(context.Context) ([]Resource, error) {
			asked++
			return []Resource{{URI: "note://1"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := mcptest.Stdio(t, s, mcptest.Initialize,
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"note://1",`+mcptest.ModernMeta+`}}`)[1]
	if !strings.Contains(answer, "-32601") || asked > 0 {
		t.Errorf("resources were looked at %d times before %s", asked, answer)
	}
}

// Clients are notified once of each change of a resource with a version: at once if the change is
// of this server, else at the next poll.
func TestVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, told atomic.Int64
		var broken atomic.Bool
		s, err := New(Options{
			Surface: surface.New(surface.Options{Log: quietLog}), Log: quietLog,
			Resources: func(context.Context) ([]Resource, error) {
				return []Resource{{URI: "note://{id}", Version: func(_ context.Context, at Location) (string, error) {
					if broken.Load() {
						panic("no store")
					}
					return fmt.Sprint(at.Values["id"], now.Load()), nil
				}}, {URI: "other://1"}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want int64, why string) {
			t.Helper()
			synctest.Wait()
			if got := told.Swap(0); got != want {
				t.Errorf("%s: told %d times, want %d", why, got, want)
			}
		}
		uris := []string{"note://1", "other://1"}
		s.watch(s.watches.add("a", toolfold.Origin{}, func(mcp.JSONRPCNotification) { told.Add(1) }, uris...), uris)
		time.Sleep(10 * time.Second)
		expect(0, "nothing changed")
		now.Add(1)
		s.Updated("note://1")
		expect(1, "a change here")
		time.Sleep(10 * time.Second)
		s.Updated("note://1")
		expect(0, "the same change")
		now.Add(1)
		time.Sleep(3 * time.Second)
		expect(1, "a change elsewhere")
		s.Updated("other://1")
		s.Updated("other://1")
		expect(2, "what has no version")
		broken.Store(true)
		time.Sleep(3 * time.Second)
		broken.Store(false)
		now.Add(1)
		time.Sleep(3 * time.Second)
		expect(1, "a change while it could not be read")
		s.watches.remove("a", "note://1")
		now.Add(1)
		time.Sleep(3 * time.Second)
		expect(0, "after the end of the watch")
		s.watches.remove("a", "")
		time.Sleep(3 * time.Second)
		if !s.watches.begin() {
			t.Error("somebody looks though nobody watches")
		}
	})
}
