package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/upstream"
)

// funcSession is a session whose List and Close are functions.
type funcSession struct {
	list func(context.Context) (upstream.Answer, error)
	end  func()
	gone chan struct{}
}

func (s funcSession) List(ctx context.Context) (upstream.Answer, error) { return s.list(ctx) }

func (s funcSession) Call(ctx context.Context, _ upstream.Call) (json.RawMessage, error) {
	return json.RawMessage(`{"content":[]}`), ctx.Err()
}
func (s funcSession) Watch(context.Context, string, bool) error { return nil }
func (s funcSession) Gone() <-chan struct{}                     { return s.gone }
func (s funcSession) Close()                                    { s.end() }

// listOf returns a list of n tools.
func listOf(n int) (upstream.Answer, error) {
	var answer upstream.Answer
	for i := range n {
		answer.Tools = append(answer.Tools, json.RawMessage(fmt.Sprintf(`{"name":"get_%d","inputSchema":{"type":"object"}}`, i)))
	}
	return answer, nil
}

// A server that keeps reporting changes is asked once per pause, which doubles while nothing changes. A
// change resets the pause, and after a quiet time the first report is followed at once.
func TestStormOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads, tools atomic.Int32
		tools.Store(1)
		var changed func()
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{{Name: "srv"}},
			Connect: func(_ context.Context, _ gateway.Upstream, c upstream.Client) (gateway.Session, error) {
				changed = c.Changed
				return funcSession{gone: make(chan struct{}), end: func() {}, list: func(context.Context) (upstream.Answer, error) {
					reads.Add(1)
					return listOf(int(tools.Load()))
				}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := g.Learn(t.Context()); err != nil {
			t.Fatal(err)
		}
		// storm reports a change ten times a second, and returns how often the list was requested.
		storm := func(long time.Duration) int {
			before := reads.Load()
			for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				changed()
				synctest.Wait()
			}
			return int(reads.Load() - before)
		}
		for _, c := range []struct {
			why  string
			long time.Duration
			want int
		}{
			{"the first is followed at once", 100 * time.Millisecond, 1},
			{"after 1, 2, 4, 8 and 16 s", 32 * time.Second, 5},
			{"after 32, 64, 128, 256, 300 and 300 s", 1080 * time.Second, 6},
		} {
			if n := storm(c.long); n != c.want {
				t.Errorf("%s: it was asked %d times, want %d", c.why, n, c.want)
			}
		}
		tools.Store(2) // noticed by the next request, within 300 s
		storm(300 * time.Second)
		tools.Store(3)
		if before := storm(5 * time.Minute); before < 3 {
			t.Errorf("a change does not begin anew: it was asked %d times", before)
		}
		time.Sleep(time.Hour)
		if n := storm(100 * time.Millisecond); n != 1 {
			t.Errorf("after a quiet time: it was asked %d times", n)
		}
		time.Sleep(time.Hour)
	})
}

// For a server without a list, Absent has the reason and the time of the next request.
func TestAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan error)
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{{Name: "srv"}},
			Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
				return funcSession{gone: make(chan struct{}), end: func() {}, list: func(context.Context) (upstream.Answer, error) {
					if err := <-answers; err != nil {
						return upstream.Answer{}, err
					}
					return listOf(1)
				}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		expect := func(want string) {
			t.Helper()
			if got := g.Absent()["srv"]; got != want {
				t.Errorf("reported %q, want %q", got, want)
			}
			if idle := want == "it has not listed its tools yet"; g.Idle()["srv"] != idle {
				t.Errorf("%q: idle %v", want, !idle)
			}
		}
		expect("it has not listed its tools yet")
		learnt := make(chan error, 1)
		go func() { learnt <- g.Learn(t.Context()) }()
		synctest.Wait()
		expect("it is still starting: call again in some seconds; its tools are offered as soon as it has listed them")
		answers <- errors.New("no list")
		if err := <-learnt; err == nil || err.Error() != "upstream srv: no list" {
			t.Errorf("there is no list: %v", err)
		}
		time.Sleep(time.Millisecond)
		expect("no list; next try in 2s")
		time.Sleep(time.Second)
		expect("no list; next try in 1s")
		time.Sleep(time.Second)
		synctest.Wait()
		expect("no list")
		answers <- nil
		synctest.Wait()
		expect("")
	})
}

// However long one server's list takes, other servers' lists are offered, and the gateway closes within
// two seconds.
func TestSlowListDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		folding, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{{Name: "slow"}, {Name: "fast"}},
			Log: slog.New(blockingHandler{slog.DiscardHandler, func() { // left-out entries are logged while the list is adopted
				once.Do(func() { close(folding) })
				<-release
			}}),
			Connect: func(_ context.Context, u gateway.Upstream, _ upstream.Client) (gateway.Session, error) {
				return funcSession{gone: make(chan struct{}), end: func() {}, list: func(context.Context) (upstream.Answer, error) {
					answer, err := listOf(30)
					if u.Name == "slow" {
						answer.Tools = append(answer.Tools, answer.Tools[0])
					}
					return answer, err
				}}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		learnt := make(chan error, 1)
		go func() { learnt <- g.Learn(t.Context()) }()
		<-folding
		synctest.Wait()
		if families := g.Families(); len(families) == 0 {
			t.Error("the tools of the other server are not offered")
		}
		if err := g.Refresh(t.Context(), "fast"); err != nil {
			t.Error(err)
		}
		start := time.Now()
		g.Close()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("closing took %s", took)
		}
		close(release)
		<-learnt
	})
}

// blockingHandler is a log handler that waits when entries of a list are left out.
type blockingHandler struct {
	slog.Handler
	wait func()
}

func (blockingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (b blockingHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "left out" {
			b.wait()
		}
		return true
	})
	return nil
}

// A server that does not end delays Close by two seconds; one that ends does not delay it.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	for why, most := range map[string]time.Duration{
		"it ends": 0, "its session does not end": 2 * time.Second, "its list hangs": 2 * time.Second,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, listing := make(chan struct{}), make(chan struct{})
				g, err := gateway.New(gateway.Options{
					Upstreams: []gateway.Upstream{{Name: "srv"}, {Name: "other"}},
					Connect: func(_ context.Context, u gateway.Upstream, _ upstream.Client) (gateway.Session, error) {
						s := funcSession{gone: make(chan struct{}), end: func() {}}
						s.list = func(context.Context) (upstream.Answer, error) { return listOf(1) }
						switch {
						case u.Name == "other":
						case why == "its session does not end":
							s.end = func() { <-release }
						case why == "its list hangs":
							s.list = func(context.Context) (upstream.Answer, error) { close(listing); <-release; return listOf(1) }
						}
						return s, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				learnt := make(chan error, 1)
				go func() { learnt <- g.Learn(t.Context()) }()
				if why == "its list hangs" {
					<-listing
				} else if err := <-learnt; err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				g.Close()
				if took := time.Since(start); took != most {
					t.Errorf("it took %s, want %s", took, most)
				}
				close(release)
			})
		})
	}
}

// Calls beyond callsPerMinute wait for a while; those that would wait longer are told how long.
func TestCallsPerMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for perMinute, want := range map[int]struct {
			waited time.Duration
			text   string
		}{
			12: {5 * time.Second, ""},
			2:  {0, "the server srv is called too often: the limit is 2 calls a minute; there is room in 30s"},
		} {
			g, err := gateway.New(gateway.Options{
				Upstreams: []gateway.Upstream{{Name: "srv", CallsPerMinute: perMinute}},
				Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
					return funcSession{
						gone: make(chan struct{}), end: func() {}, list: func(context.Context) (upstream.Answer, error) { return listOf(1) },
					}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if err := g.Learn(t.Context()); err != nil {
				t.Fatal(err)
			}
			runner := toolfoldtest.Runner(g.Families()...)
			callIn := func(ctx context.Context) string {
				return string(runner.Call(ctx, "srv.get_0", json.RawMessage(`{}`)).Content)
			}
			call := func() string { return callIn(t.Context()) }
			for range perMinute {
				if answer := call(); answer != "{}" {
					t.Fatalf("answered %s", answer)
				}
			}
			began := time.Now()
			answer := call()
			if waited := time.Since(began); waited != want.waited || want.text == "" && answer != "{}" || !strings.Contains(answer, want.text) {
				t.Errorf("%d a minute: answered %s after %s", perMinute, answer, waited)
			}
			if perMinute < 12 {
				continue
			}
			time.Sleep(2 * time.Minute)
			greedy := callctx.With(t.Context(), toolfold.Origin{Token: "greedy"})
			stop := time.Now().Add(time.Minute)
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					for time.Now().Before(stop) {
						callIn(greedy)
						time.Sleep(10 * time.Millisecond)
					}
				})
			}
			answered := 0
			for time.Now().Before(stop) {
				if callIn(callctx.With(t.Context(), toolfold.Origin{Token: "modest"})) == "{}" {
					answered++
				}
				time.Sleep(time.Second)
			}
			calls.Wait()
			if answered < 3 {
				t.Errorf("beside a greedy caller another had %d answers in a minute", answered)
			}
		}
	})
}
