package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// memoryBound returns the most memory in MiB that a server may use at the end if it started with
// begin. The race detector needs several times as much.
func memoryBound(begin int) int {
	if hasRaceDetector() {
		return begin + 320
	}
	return begin + 64
}

// initialize opens sessions that are never ended.
func initialize(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	const maxSessions = 1000 // sessions at a time, the server's default
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	ids := make([]string, a.initializes)
	begin := s.rss()
	var next atomic.Int64 // ids in the order of creation
	each(workers, func(int) {
		for i := next.Add(1) - 1; i < int64(len(ids)) && ctx.Err() == nil; i = next.Add(1) - 1 {
			session, err := c.initialized(ctx)
			if err != nil {
				r.bad("broken connections", "initialize %d: %v", i, err)
				return
			}
			ids[i] = session.session
		}
	})
	end := s.rss()
	if end > memoryBound(begin) {
		r.bad("memory over the bound", "from %d to %d MiB", begin, end)
	}
	// The newest sessions exist, and no more old ones than the limit allows.
	alive := 0
	for i := len(ids) - 1; i >= max(0, len(ids)-2*maxSessions) && ctx.Err() == nil; i-- {
		session := &client{server: s, session: ids[i], web: c.web, ids: c.ids}
		got, err := session.send(ctx, "ping", "", map[string]any{})
		switch {
		case err != nil:
			r.bad("broken connections", "ping: %v", err)
		case got.status == http.StatusOK:
			alive++
		case got.status != http.StatusNotFound:
			r.bad("not 200", "%d %s", got.status, got.raw)
		case i >= len(ids)-maxSessions/2:
			r.bad("new sessions that are gone", "%d of %d", i, len(ids))
		}
	}
	if alive > maxSessions {
		r.bad("sessions over the limit", "%d", alive)
	}
	r.note("%d initializes, RSS from %d to %d MiB, %d of the last %d sessions alive", len(ids), begin, end, alive,
		min(len(ids), 2*maxSessions))
	return nil
}

// slowKind is a way to hold a connection.
type slowKind struct {
	name, sends string
	within      time.Duration // the server closes it
	isPatient   bool
}

var slowKinds = []slowKind{
	{name: "silent", within: 10 * time.Second},
	{name: "half a head", sends: "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: app", within: 10 * time.Second},
	{name: "half a body", sends: "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		within: 30 * time.Second, isPatient: true},
	{name: "idle", sends: "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", within: 2 * time.Minute, isPatient: true},
}

// slow holds connections that send nothing, send a part, or stop sending.
func slow(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	const grace = 5 * time.Second
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	var kinds []slowKind
	longest := time.Duration(0)
	for _, kind := range slowKinds {
		if !kind.isPatient || a.patient {
			kinds = append(kinds, kind)
			longest = max(longest, kind.within+grace)
		}
	}
	var held sync.WaitGroup
	var closed atomic.Int64
	for i := range a.connections {
		kind := kinds[i%len(kinds)]
		conn, err := net.DialTimeout("tcp", s.address, 5*time.Second)
		if err != nil {
			r.bad("broken connections", "connection %d: %v", i, err)
			break
		}
		defer conn.Close()
		if kind.sends != "" {
			fmt.Fprintf(conn, kind.sends, s.address)
		}
		_ = conn.SetReadDeadline(time.Now().Add(kind.within + grace))
		held.Go(func() {
			var timeout net.Error
			if _, err := io.Copy(io.Discard, conn); errors.As(err, &timeout) && timeout.Timeout() {
				r.bad("connections not closed in time", "%s, %s after its limit of %s", kind.name, grace, kind.within)
				return
			}
			closed.Add(1)
		})
	}
	// Each call of the fast clients needs its own connection.
	limited, done := context.WithTimeout(ctx, longest+grace)
	defer done()
	go func() { held.Wait(); done() }()
	c := s.client()
	c.web.Transport.(*http.Transport).DisableKeepAlives = true
	served, slowest := 0, time.Duration(0)
	for limited.Err() == nil {
		begin, arguments := time.Now(), map[string]any{"action": "store", "key": "slow", "value": map[string]any{"n": served}}
		got, err := c.call(ctx, "memory", arguments)
		if r.judge(c, arguments, got, err) {
			served++
		}
		took := time.Since(begin)
		if took > 5*time.Second {
			r.bad("other clients kept waiting", "%s", took)
		}
		slowest = max(slowest, took)
		time.Sleep(20 * time.Millisecond)
	}
	held.Wait()
	r.note("%d connections in %d ways, %d closed, meanwhile %d calls of other clients, the slowest %d ms",
		a.connections, len(kinds), closed.Load(), served, slowest.Milliseconds())
	return nil
}

// soak mixes clients of both eras, streams, cancelled calls and ended sessions at full speed.
func soak(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	// The figures at rest come from a server that handled one call.
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	if _, err := c.call(ctx, "memory", map[string]any{"action": "store", "key": "rest", "value": map[string]any{}}); err != nil {
		return err
	}
	c.web.CloseIdleConnections()
	time.Sleep(time.Second)
	filesBegin, goroutinesBegin := s.files(), s.goroutines()
	if s, err = p.start(ctx); err != nil {
		return err
	}
	c = s.client()

	soaking, stop := context.WithTimeout(ctx, a.size.soak)
	defer stop()
	var calls, cancelled, streams, listens, sessions atomic.Int64
	var warm atomic.Int64
	time.AfterFunc(a.size.soak/4, func() { warm.Store(int64(s.rss())) })
	each(workers, func(worker int) {
		random := rand.New(rand.NewPCG(a.seed, uint64(worker)))
		call := func(c *client) {
			key := fmt.Sprint("soak/", random.IntN(1000))
			variants := []struct {
				tool      string
				arguments map[string]any
			}{
				{"memory", map[string]any{"action": "store", "key": key, "value": map[string]any{"n": random.IntN(1e6)}}},
				{"memory", map[string]any{"action": "get", "key": key}},
				{"memory", map[string]any{"action": "search", "query": "soak", "limit": 5}},
				{"memory", map[string]any{"action": "list", "limit": 5}},
				{"tools", map[string]any{"action": "find", "query": "remember this"}},
				{"memory", map[string]any{"action": "stor"}},
			}[random.IntN(6)]
			got, err := c.call(ctx, variants.tool, variants.arguments)
			r.judge(c, variants.arguments, got, err)
			calls.Add(1)
		}
		for soaking.Err() == nil {
			switch worker % 4 {
			case 0, 1: // sessions with a stream
				session, err := c.initialized(ctx)
				if err != nil {
					r.bad("broken connections", "initialize: %v", err)
					continue
				}
				ended, err := session.stream(ctx)
				if err != nil {
					r.bad("broken connections", "stream: %v", err)
				} else {
					streams.Add(1)
				}
				for range random.IntN(20) {
					call(session)
				}
				if err := session.end(ctx); err != nil {
					r.bad("broken connections", "ending a session: %v", err)
				}
				sessions.Add(1)
				if ended != nil {
					select {
					case <-ended:
					case <-time.After(10 * time.Second):
						r.bad("streams that outlive their session", "after 10 s")
					}
				}
			case 2:
				for range 20 {
					call(c)
				}
				got, err := c.send(ctx, "tools/list", "", map[string]any{})
				r.judge(c, "tools/list", got, err)
				calls.Add(1)
			case 3: // cancelled calls and subscriptions
				short, giveUp := context.WithTimeout(ctx, time.Duration(random.IntN(4000))*time.Microsecond)
				_, _ = c.call(short, "memory", map[string]any{"action": "search", "query": "soak", "limit": 50})
				giveUp()
				cancelled.Add(1)
				if random.IntN(4) == 0 {
					short, giveUp := context.WithTimeout(ctx, time.Duration(1+random.IntN(30))*time.Millisecond)
					response, err := c.open(short, c.ids.Add(1), "subscriptions/listen", "",
						map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
					if err == nil {
						if response.StatusCode != http.StatusOK {
							r.bad("not 200", "subscriptions/listen: %d", response.StatusCode)
						}
						_, _ = io.Copy(io.Discard, response.Body)
						response.Body.Close()
						listens.Add(1)
					}
					giveUp()
				}
			}
		}
	})
	c.web.CloseIdleConnections()
	time.Sleep(3 * time.Second)
	rss, files := s.rss(), s.files()
	goroutines := s.goroutines()
	if rss > memoryBound(int(warm.Load())) {
		r.bad("memory over the bound", "from %d to %d MiB", warm.Load(), rss)
	}
	if files > filesBegin+8 {
		r.bad("files left", "from %d to %d", filesBegin, files)
	}
	if goroutines > goroutinesBegin+16 {
		r.bad("goroutines left", "from %d to %d", goroutinesBegin, goroutines)
	}
	r.note("%s, %d calls, %d sessions ended, %d GET streams, %d listens, %d calls given up; RSS %d MiB warm, %d at the end; goroutines "+
		"%d, then %d; files %d, then %d",
		a.size.soak, calls.Load(), sessions.Load(), streams.Load(), listens.Load(), cancelled.Load(), warm.Load(), rss, goroutinesBegin,
		goroutines, filesBegin, files)
	return nil
}

// stream opens the session's stream. The channel is closed when the server ends the stream.
func (c *client) stream(ctx context.Context) (ended <-chan struct{}, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.url, nil)
	if err != nil {
		return nil, err
	}
	c.head(request)
	response, err := c.web.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body.Close()
		return nil, fmt.Errorf("GET answered %d", response.StatusCode)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, bufio.NewReader(response.Body))
	}()
	return done, nil
}

// end ends the session.
func (c *client) end(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.server.url, nil)
	if err != nil {
		return err
	}
	c.head(request)
	response, err := c.web.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("DELETE answered %d", response.StatusCode)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return nil
}
