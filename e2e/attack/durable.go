package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// ledger records acknowledged writes. Each stored value contains its key.
type ledger struct {
	mu       sync.Mutex
	stores   []string // keys
	tasks    []string // ids
	sessions []string // ids
	refused  map[string]int
	checked  [3]int // entries of each list that verify has checked
}

// load stores, submits and creates until ctx is done or the server is gone.
func (l *ledger) load(ctx context.Context, r *report, c *client, prefix string) {
	each(workers, func(worker int) {
		for n := 0; ctx.Err() == nil; n++ {
			key := fmt.Sprintf("%s/%d/%d", prefix, worker, n)
			tool, arguments := "memory", map[string]any{"action": "store", "key": key, "value": map[string]any{"is": key}}
			switch n % 4 {
			case 2:
				tool, arguments = "task", map[string]any{"action": "submit", "name": key, "input": map[string]any{
					"tool": "memory.store", "arguments": map[string]any{"key": "task/" + key, "value": map[string]any{"is": key}}}}
			case 3:
				tool, arguments = "session", map[string]any{"action": "create", "initiator": "attack", "task": key}
			}
			got, err := c.call(ctx, tool, arguments)
			if err != nil && (ctx.Err() != nil || c.server.meant.Load()) {
				return // killed: not acknowledged
			}
			if !r.judge(c, arguments, got, err) {
				return
			}
			if got.code != "" && got.code != unavailable {
				r.bad("refused writes", "%s for %s", got.raw, asJSON(arguments))
			}
			l.keep(got, key)
		}
	})
}

func (l *ledger) keep(got *reply, key string) {
	var content struct{ TaskID, SessionID string }
	_ = json.Unmarshal(got.content, &content)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case got.code != "":
		if l.refused == nil {
			l.refused = map[string]int{}
		}
		l.refused[got.code]++
	case got.broken:
	case content.TaskID != "":
		l.tasks = append(l.tasks, content.TaskID)
	case content.SessionID != "":
		l.sessions = append(l.sessions, content.SessionID)
	default:
		l.stores = append(l.stores, key)
	}
}

const (
	lost        = "lost writes"
	unavailable = "STORE_UNAVAILABLE" // the error code of a call whose store failed
)

// verify looks for every write acknowledged since the last verify, or for all if ever is set.
func (l *ledger) verify(ctx context.Context, r *report, c *client, ever bool) {
	if ever {
		l.checked = [3]int{}
	}
	look := func(ids []string, tool string, arguments func(id string) map[string]any, has func(id string, got *reply) bool) {
		each(workers, func(worker int) {
			for i := worker; i < len(ids) && ctx.Err() == nil; i += workers {
				got, err := c.call(ctx, tool, arguments(ids[i]))
				if r.judge(c, arguments(ids[i]), got, err) && (got.code != "" || !has(ids[i], got)) {
					r.bad(lost, "%s %s: %s", tool, ids[i], got.raw)
				}
			}
		})
	}
	look(l.stores[l.checked[0]:], "memory", func(key string) map[string]any { return map[string]any{"action": "get", "key": key} },
		func(key string, got *reply) bool {
			var content struct{ Value struct{ Is string } }
			return json.Unmarshal(got.content, &content) == nil && content.Value.Is == key
		})
	look(l.tasks[l.checked[1]:], "task", func(id string) map[string]any { return map[string]any{"action": "status", "taskId": id} },
		func(id string, got *reply) bool { return strings.Contains(string(got.content), id) })
	look(l.sessions[l.checked[2]:], "session", func(id string) map[string]any { return map[string]any{"action": "status", "sessionId": id} },
		func(id string, got *reply) bool { return strings.Contains(string(got.content), id) })
	l.checked = [3]int{len(l.stores), len(l.tasks), len(l.sessions)}
}

const (
	open   = "tasks that did not end"
	failed = "tasks that did not complete"
)

// settle waits until all tasks have ended, and returns how many failed.
func (l *ledger) settle(ctx context.Context, r *report, c *client) int {
	count := func(status ...string) int {
		arguments := map[string]any{"action": "list", "status": status, "limit": 1}
		got, err := c.call(ctx, "task", arguments)
		if !r.judge(c, arguments, got, err) {
			return 0
		}
		var content struct{ Total int }
		_ = json.Unmarshal(got.content, &content)
		return content.Total
	}
	left := -1
	for begin := time.Now(); time.Since(begin) < time.Minute+time.Duration(len(l.tasks))*20*time.Millisecond &&
		ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		if left = count("queued", "running"); left == 0 {
			break
		}
	}
	if left != 0 {
		r.bad(open, "%d of %d", left, len(l.tasks))
	}
	return count("failed", "cancelled", "timeout")
}

// account looks for every acknowledged write and waits for the tasks. None of them may fail.
func (l *ledger) account(ctx context.Context, r *report, c *client) {
	l.verify(ctx, r, c, true)
	if n := l.settle(ctx, r, c); n > 0 {
		r.bad(failed, "%d of %d", n, len(l.tasks))
	}
}

func (l *ledger) String() string {
	text := fmt.Sprintf("acknowledged %d stores, %d tasks, %d sessions", len(l.stores), len(l.tasks), len(l.sessions))
	for code, n := range l.refused {
		text += fmt.Sprintf(", refused %d %s", n, code)
	}
	return text
}

// total counts acknowledged writes.
func (l *ledger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stores) + len(l.tasks) + len(l.sessions)
}

// await waits at most ten seconds for total acknowledged writes.
func (l *ledger) await(ctx context.Context, total int) {
	for begin := time.Now(); l.total() < total && time.Since(begin) < 10*time.Second && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
}

// kill kills servers under load and looks for every acknowledged write
// afterwards.
func kill(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	random := rand.New(rand.NewPCG(a.seed, 0))
	l := &ledger{}
	for round := range a.kills {
		s, err := p.start(ctx)
		if err != nil {
			return fmt.Errorf("after %d kills: %w", round, err)
		}
		c := s.client()
		l.verify(ctx, r, c, false)
		var load sync.WaitGroup
		load.Go(func() { l.load(ctx, r, c, strconv.Itoa(round)) })
		before := l.total()
		l.await(ctx, before+1+random.IntN(100))
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		s.kill()
		load.Wait()
		if l.total() == before {
			return fmt.Errorf("kill %d: nothing was acknowledged before it", round)
		}
		c.web.CloseIdleConnections()
	}
	s, err := p.start(ctx)
	if err != nil {
		return fmt.Errorf("after the last kill: %w", err)
	}
	l.account(ctx, r, s.client())
	r.note("%d kills, %v", a.kills, l)
	if a.store == "sqlite" {
		return p.integrity(ctx)
	}
	return nil
}

// integrity runs the integrity check of SQLite.
func (p *place) integrity(ctx context.Context) error {
	pool, err := sql.Open("sqlite", strings.TrimPrefix(p.store, "sqlite://"))
	if err != nil {
		return err
	}
	defer pool.Close()
	var message string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&message); err != nil {
		return fmt.Errorf("checking the file: %w", err)
	}
	if message != "ok" {
		return fmt.Errorf("the file is broken: %s", message)
	}
	p.report.note("integrity_check ok")
	return nil
}

// terminate ends the server's connections to PostgreSQL while it stores.
func terminate(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	l, c := &ledger{}, s.client()
	loading, stop := context.WithTimeout(ctx, a.size.terminate+10*time.Second)
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { l.load(loading, r, c, "t") })
	l.await(ctx, 1) // the store is open
	ended := 0
	for begin := time.Now(); time.Since(begin) < a.size.terminate && loading.Err() == nil; time.Sleep(300 * time.Millisecond) {
		var n int
		err := p.pool.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`, p.name).
			Scan(&n)
		if err != nil {
			return fmt.Errorf("ending connections: %w", err)
		}
		ended += n
	}
	stop()
	load.Wait()
	if ended == 0 || l.total() == 0 {
		return fmt.Errorf("%d connections ended and %d writes acknowledged", ended, l.total())
	}
	time.Sleep(time.Second)
	l.verify(ctx, r, c, true)
	// A task may fail like any call while the store is gone.
	r.note("%d connections ended, %v, %d tasks failed", ended, l, l.settle(ctx, r, c))
	return nil
}

// away makes the database of a server under load unavailable for a while, like a restart or a
// failover: connections break and new ones are refused.
func away(ctx context.Context, p *place) error {
	a, r := p.attack, p.report
	address, err := url.Parse(p.store)
	if err != nil {
		return err
	}
	between, err := newGate(address.Host)
	if err != nil {
		return err
	}
	defer between.close()
	address.Host = between.listener.Addr().String()
	p.store = address.String()
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	l, c := &ledger{}, s.client()
	loading, stop := context.WithTimeout(ctx, a.size.terminate+time.Minute)
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { l.load(loading, r, c, "a") })
	times := 0
	for begin := time.Now(); time.Since(begin) < a.size.terminate && loading.Err() == nil; times++ {
		l.await(ctx, l.total()+20) // the server works
		between.shut(true)
		time.Sleep(300 * time.Millisecond)
		between.shut(false)
	}
	before := l.total()
	l.await(ctx, before+20)
	stop()
	load.Wait()
	if l.total() < before+20 {
		return fmt.Errorf("%d writes acknowledged after the last time, want 20", l.total()-before)
	}
	l.verify(ctx, r, c, true)
	// A task may fail like any call while the store is gone.
	r.note("%d times away, %v, %d tasks failed", times, l, l.settle(ctx, r, c))
	return nil
}

// gate is a proxy between clients and an address.
type gate struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	isShut bool
	conns  []net.Conn // open or closed
}

func newGate(to string) (*gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{listener: listener, to: to}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
	return g, nil
}

func (g *gate) pass(from net.Conn) {
	defer from.Close()
	to, err := net.DialTimeout("tcp", g.to, 5*time.Second)
	if err != nil {
		return
	}
	defer to.Close()
	g.mu.Lock()
	isShut := g.isShut
	g.conns = append(g.conns, from, to)
	g.mu.Unlock()
	if isShut {
		return
	}
	go func() {
		defer to.Close()
		_, _ = io.Copy(to, from)
	}()
	_, _ = io.Copy(from, to)
}

// shut opens the gate, or shuts it and breaks its connections.
func (g *gate) shut(isShut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut = isShut; isShut {
		for _, conn := range g.conns {
			conn.Close()
		}
		g.conns = nil
	}
}

func (g *gate) close() {
	g.listener.Close()
	g.shut(true)
}

// full fills the disk of a store while its queue runs. If it may not mount a small disk, it limits
// the size of the server's files instead.
func full(ctx context.Context, p *place) error {
	r := p.report
	disk := filepath.Join(p.dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return err
	}
	p.store = "sqlite://" + filepath.Join(disk, "store.db")
	isMounted := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk).Run() == nil
	if isMounted {
		defer exec.Command("umount", "-l", disk).Run()
	}
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer func() { s.stop() }() // before the disk is unmounted
	c, way := s.client(), "a tmpfs of 3 MiB"
	limit := func(size string) error {
		return exec.CommandContext(ctx, "prlimit", "--pid", strconv.Itoa(s.cmd.Process.Pid), "--fsize="+size+":").Run()
	}
	if !isMounted {
		way = "files of at most 2 MiB"
		if err := limit(strconv.Itoa(2 << 20)); err != nil {
			return fmt.Errorf("neither mount nor prlimit works: %w", err)
		}
	}
	padding, stored := strings.Repeat("x", 8<<10), 0
	store := func(n int) (code string) {
		arguments := map[string]any{"action": "store", "key": fmt.Sprint("full/", n), "value": map[string]any{"is": fmt.Sprint(n, padding)}}
		got, err := c.call(ctx, "memory", arguments)
		if !r.judge(c, arguments, got, err) {
			return "no answer"
		}
		return got.code
	}
	tasks := &ledger{}
	submit := func(n int) {
		arguments := map[string]any{"action": "submit", "name": fmt.Sprint("full ", n), "input": map[string]any{
			"tool": "memory.store", "arguments": map[string]any{"key": "from a task", "value": map[string]any{"is": n}}}}
		if got, err := c.call(ctx, "task", arguments); r.judge(c, arguments, got, err) {
			if got.code != "" && got.code != unavailable {
				r.bad("other refusals", "%s", got.raw)
			}
			tasks.keep(got, "")
		}
	}
	refused := map[string]int{}
	var acknowledged []int
	for n := 0; n < 2000 && refused[unavailable] < 20; n++ {
		if n%4 == 0 {
			submit(n)
		}
		switch code := store(n); code {
		case "":
			acknowledged = append(acknowledged, n)
			stored++
		case unavailable:
			refused[code]++
		default:
			refused[code]++
			r.bad("other refusals", "%s", code)
		}
	}
	if len(refused) == 0 {
		return fmt.Errorf("%d stores did not fill %s", stored, way)
	}
	check := func() {
		for _, n := range acknowledged {
			arguments := map[string]any{"action": "get", "key": fmt.Sprint("full/", n)}
			got, err := c.call(ctx, "memory", arguments)
			var content struct{ Value struct{ Is string } }
			if r.judge(c, arguments, got, err) && (json.Unmarshal(got.content, &content) != nil || content.Value.Is != fmt.Sprint(n, padding)) {
				r.bad(lost, "full/%d: %s", n, got.raw)
			}
		}
	}
	check()
	if isMounted {
		err = exec.CommandContext(ctx, "mount", "-o", "remount,size=64m", disk).Run()
	} else {
		err = limit("unlimited")
	}
	if err != nil {
		return fmt.Errorf("giving space: %w", err)
	}
	for n := range 50 {
		if code := store(10_000 + n); code != "" {
			r.bad("stores that fail with space", "%s", code)
		} else {
			acknowledged = append(acknowledged, 10_000+n)
		}
	}
	check()
	s.kill()
	if s, err = p.start(ctx); err != nil {
		return err
	}
	c = s.client()
	check()
	tasks.verify(ctx, r, c, true)
	// A task may fail like any call while the disk is full.
	r.note("%s: %d stores, then refused %v; with space %d more; %d tasks submitted, of which %d failed", way, stored, refused,
		len(acknowledged)-stored, len(tasks.tasks), tasks.settle(ctx, r, c))
	return p.integrity(ctx)
}
