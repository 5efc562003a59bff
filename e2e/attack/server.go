package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// place holds the home, the workspace and the store of a measure's servers.
type place struct {
	attack    *attack
	report    *report
	dir       string
	store     string // URL
	workspace string
	pool      *sql.DB  // of a PostgreSQL store
	settings  []string // more environment variables
	name      string   // of the servers' connections to PostgreSQL
	binary    string   // of the servers
	servers   []*server
}

// newPlace creates an empty place. close stops its servers and removes it.
func (a *attack) newPlace(ctx context.Context, r *report) (p *place, close func(), err error) {
	dir, err := os.MkdirTemp(a.dir, "place-")
	if err != nil {
		return nil, nil, err
	}
	p = &place{attack: a, report: r, dir: dir, workspace: filepath.Join(dir, "workspace"), binary: a.binary,
		store: "sqlite://" + filepath.Join(dir, "store.db")}
	stop := func() {
		for _, s := range p.servers {
			s.stop()
		}
	}
	if err := os.MkdirAll(p.workspace, 0o700); err != nil {
		return nil, nil, err
	}
	if a.store == "sqlite" {
		return p, func() { stop(); os.RemoveAll(dir) }, nil
	}
	p.name = "toolfold_attack_" + fmt.Sprintf("%08x", rand.Uint32())
	address, err := url.Parse(a.postgres)
	if err != nil {
		return nil, nil, errors.New("TOOLFOLD_TEST_POSTGRES is not a URL")
	}
	if p.pool, err = sql.Open("pgx", a.postgres); err != nil {
		return nil, nil, err
	}
	if _, err := p.pool.ExecContext(ctx, `CREATE SCHEMA "`+p.name+`"`); err != nil {
		return nil, nil, fmt.Errorf("creating a schema: %w", err)
	}
	query := address.Query()
	query.Set("search_path", p.name)
	query.Set("application_name", p.name)
	address.RawQuery = query.Encode()
	p.store = address.String()
	return p, func() {
		stop()
		// The context of the measure may be done, and killed servers may still be connected.
		if _, err := p.pool.ExecContext(context.Background(), `DROP SCHEMA "`+p.name+`" CASCADE`); err != nil {
			r.bad("schemas left behind", "%v", err)
		}
		p.pool.Close()
	}, nil
}

// server is a running toolfold.
type server struct {
	place   *place
	cmd     *exec.Cmd
	url     string // of /mcp
	address string
	ended   chan struct{} // closed when the process has ended
	meant   atomic.Bool   // ended on purpose
	stacks  atomic.Int64  // goroutines in a dump
}

// command returns a command of toolfold in the place.
func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Dir = p.workspace
	cmd.Env = []string{
		"HOME=" + p.dir, "XDG_DATA_HOME=" + filepath.Join(p.dir, "data"), "XDG_CONFIG_HOME=" + filepath.Join(p.dir, "config"),
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.dir,
	}
	cmd.Env = append(cmd.Env, p.settings...)
	return cmd
}

// start starts a server and waits until it listens. It is killed when ctx ends.
func (p *place) start(ctx context.Context) (*server, error) {
	s := &server{place: p, ended: make(chan struct{})}
	s.cmd = p.command(ctx, "serve", "--http", "127.0.0.1:0", "--store", p.store)
	output, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	p.servers = append(p.servers, s)
	listens := make(chan string, 1)
	go s.watch(output, listens)
	select {
	case s.url = <-listens:
		u, err := url.Parse(s.url)
		if err != nil {
			return nil, err
		}
		s.address = u.Host
		return s, nil
	case <-s.ended:
		return nil, errors.New("the server ended at its start")
	case <-time.After(30 * time.Second):
		s.kill()
		return nil, errors.New("the server did not listen within 30 s")
	}
}

var (
	listening = regex.Lazy(`http://\S+/mcp`)
	broken    = regex.Lazy(`(?i)\bpanic|fatal error|DATA RACE`)
)

// watch reads the server's log until it ends.
func (s *server) watch(output io.Reader, listens chan<- string) {
	defer close(s.ended)
	r := s.place.report
	lines := bufio.NewReaderSize(output, 64<<10)
	isListening := false
	for {
		text, _, err := lines.ReadLine() // longer lines come in parts
		if err != nil {
			break
		}
		line := string(text)
		if u := listening().FindString(line); u != "" && !isListening {
			isListening = true
			listens <- u
		}
		if strings.HasPrefix(line, "goroutine ") {
			s.stacks.Add(1)
		}
		if broken().MatchString(line) {
			r.bad("panics and races", "%s", line)
		}
		r.mu.Lock()
		if len(r.log) < 2*mostSamples && (strings.Contains(line, "ERROR") || strings.Contains(line, "WARN")) {
			r.log = append(r.log, shorten(line, 1000))
		}
		r.mu.Unlock()
	}
	if err := s.cmd.Wait(); !s.meant.Load() {
		r.bad("unexpected ends", "%v", err)
	}
}

// kill ends the server like a crash, and waits for it.
func (s *server) kill() {
	s.meant.Store(true)
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// stop ends the server like a user.
func (s *server) stop() {
	s.meant.Store(true)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(15 * time.Second):
		s.place.report.bad("servers that do not stop", "still there 15 s after SIGTERM")
		s.kill()
	}
}

// goroutines ends the server with a dump of its goroutines and counts them.
func (s *server) goroutines() int {
	s.meant.Store(true)
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-s.ended:
	case <-time.After(15 * time.Second):
		s.kill()
	}
	return int(s.stacks.Load())
}

// rss returns the memory of the server in MiB, zero without /proc.
func (s *server) rss() int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib := 0
	_, _ = fmt.Sscan(after, &kib)
	return kib >> 10
}

// metric returns a figure of /metrics without labels.
func (s *server) metric(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("no %s in the metrics", name)
}

// files returns the number of the server's file descriptors, zero without /proc.
func (s *server) files() int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	return len(list)
}

const (
	legacyEra = "2025-11-25"
	modernEra = "2026-07-28"
	patience  = time.Minute // for one answer, longer than the longest wait for a task; after it the server counts as hanging
)

// client sends messages to a server. Without a session it speaks 2026-07-28.
type client struct {
	server  *server
	session string
	web     *http.Client
	ids     *atomic.Int64
}

func (s *server) client() *client {
	return &client{server: s, ids: &atomic.Int64{}, web: &http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 64, DisableCompression: true, Proxy: nil,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		},
	}}
}

// initialized returns a client with a session of its own.
func (c *client) initialized(ctx context.Context) (*client, error) {
	reply, err := c.send(ctx, "initialize", "", map[string]any{
		"protocolVersion": legacyEra, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "attack", "version": "1"},
	})
	if err == nil && reply.session == "" {
		err = fmt.Errorf("initialize answered %d %s", reply.status, reply.raw)
	}
	if err != nil {
		return nil, err
	}
	return &client{server: c.server, session: reply.session, web: c.web, ids: c.ids}, nil
}

// reply is an answer to a message.
type reply struct {
	status  int
	session string
	raw     []byte
	content json.RawMessage // structured content; nil for protocol errors
	code    string          // error code; empty = success
	broken  bool            // not a JSON-RPC answer to the message
}

// send sends one request and reads its answer.
func (c *client) send(ctx context.Context, method, tool string, params map[string]any) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := c.ids.Add(1)
	response, err := c.open(ctx, id, method, tool, params)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		mine := []byte(`"id":` + strconv.FormatInt(id, 10) + ",")
		for line := range bytes.Lines(body) { // notifications come
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && bytes.Contains(data, mine) {
				body = data
			}
		}
	}
	r := &reply{status: response.StatusCode, session: response.Header.Get("Mcp-Session-Id"), raw: body}
	var message struct {
		ID     int64
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error *struct{ Code int }
	}
	if err := json.Unmarshal(body, &message); err != nil || message.ID != id || (message.Result == nil) == (message.Error == nil) {
		r.broken = true
		return r, nil
	}
	if message.Error != nil {
		r.code = strconv.Itoa(message.Error.Code)
		return r, nil
	}
	if len(message.Result.Content) == 1 { // a call was answered
		r.content = json.RawMessage(message.Result.Content[0].Text)
	}
	if message.Result.IsError {
		var failure struct{ Error struct{ Code string } }
		_ = json.Unmarshal(r.content, &failure)
		r.code = failure.Error.Code
		r.broken = r.code == ""
	}
	return r, nil
}

// open sends one request and returns its response unread.
func (c *client) open(ctx context.Context, id int64, method, tool string, params map[string]any) (*http.Response, error) {
	if c.session == "" && method != "initialize" {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    modernEra,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "attack", "version": "1"},
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.head(request)
	if c.session == "" && method != "initialize" {
		request.Header.Set("Mcp-Protocol-Version", modernEra)
		request.Header.Set("Mcp-Method", method)
		if tool != "" {
			request.Header.Set("Mcp-Name", tool)
		}
	}
	return c.web.Do(request)
}

func (c *client) head(request *http.Request) {
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
		request.Header.Set("Mcp-Protocol-Version", legacyEra)
	}
}

// call calls a tool.
func (c *client) call(ctx context.Context, tool string, arguments any) (*reply, error) {
	return c.send(ctx, "tools/call", tool, map[string]any{"name": tool, "arguments": arguments})
}

// faults are the names that judge counts. Measures declare them with zero.
var faults = []string{"hangs", "broken connections", "not 200", "not JSON-RPC", "INTERNAL_ERROR", "leaks"}

var leaking = regex.Lazy(`SQLSTATE|SQL logic|constraint failed|no such (table|column)|\b(SELECT|INSERT INTO|DELETE FROM) |` +
	`\bpgx\b|\bsqlite[3_:.]|SQLITE_|runtime error|goroutine \d|\.go:\d|Go (struct|value)|interface \{\}|map\[string\]|` +
	`\b(json|mcp|server|tools|call|storage|engine|memory|session|task|agent|queue|workflow|ability)\.[A-Z]\w`)

// judge counts the faults of an answer. It reports whether the call was answered.
func (r *report) judge(c *client, message any, got *reply, err error) bool {
	if err != nil {
		name := "broken connections"
		if errors.Is(err, context.DeadlineExceeded) {
			name = "hangs"
		}
		r.bad(name, "%v for %s", err, asJSON(message))
		return false
	}
	switch {
	case got.status != http.StatusOK:
		r.bad("not 200", "%d %s for %s", got.status, got.raw, asJSON(message))
	case got.broken:
		r.bad("not JSON-RPC", "%s for %s", got.raw, asJSON(message))
	case got.code == "INTERNAL_ERROR" || got.code == "-32603":
		r.bad("INTERNAL_ERROR", "%s for %s", got.raw, asJSON(message))
	}
	if got.code != "" {
		found := leaking().Find(got.raw)
		if found == nil && bytes.Contains(got.raw, []byte(c.server.place.attack.dir)) {
			found = []byte("a path")
		}
		if found != nil {
			r.bad("leaks", "%s in %s for %s", found, got.raw, asJSON(message))
		}
	}
	return true
}

func asJSON(v any) string {
	text, _ := json.Marshal(v)
	return shorten(string(text), 400)
}

// each runs n workers and waits for them.
func each(n int, work func(worker int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { work(i) })
	}
	all.Wait()
}
