//go:build unix

package cli

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// No call fails while the servers of a team are stopped and started again one after the other, behind a balancer that
// follows /readyz and keeps its connections.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many servers")
	}
	s := newTeam(t, 3, 3, false)
	var calls, failed atomic.Int64
	var load sync.WaitGroup
	rolled := make(chan struct{})
	for worker := range 2 {
		load.Go(func() {
			c := &teamClient{url: s.balancer.URL + "/mcp", token: s.tokens["ada"], modern: true}
			for n := 0; ; n++ {
				select {
				case <-rolled:
					return
				default:
				}
				params := callOf("memory.store", fmt.Sprintf(`{"key":"k%d","value":%d}`, worker, n))
				if n%3 == 0 {
					params = callOf("up.count_items", `{"text":"plum"}`)
				}
				got := c.request("tools/call", params)
				calls.Add(1)
				if got.broken != nil || got.status != 200 || !strings.Contains(got.answer, `"resultType":"complete"`) ||
					strings.Contains(got.answer, `"isError":true`) {
					failed.Add(1)
					t.Errorf("%s is answered %+v", params, got)
				}
			}
		})
	}
	for _, r := range s.replicas {
		before := calls.Load()
		var balancer sync.WaitGroup
		balancer.Go(func() { s.follow(r) })
		testwait.Until(t, "calls are made", func() bool { return calls.Load() > before+20 })
		r.signal(t, syscall.SIGTERM)
		testwait.Receive(t, "the server ends", r.ended)
		balancer.Wait()
		if code := r.ProcessState.ExitCode(); code != 0 {
			t.Errorf("it ended with %d: %s", code, r.stderr)
		}
		s.start(r)
		testwait.Until(t, "it serves again", func() bool { return s.address(r) != "" })
	}
	close(rolled)
	load.Wait()
	t.Logf("%d calls, %d failed", calls.Load(), failed.Load())
}
