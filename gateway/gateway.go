// Package gateway offers the tools of other MCP servers as families: folded by a
// plan, called by way of a session that all callers share.
//
// Lists are kept on disk, so that what is offered is known before a server is
// started; the first call starts it. A server that fails, hangs or floods is answered
// for within its time limit, is started again after a pause that grows, and slows no
// other. What a server lists anew is held against what was accepted: a tool that
// changed is held back until it is approved.
//
// It is not a stable API: see docs/stability.md.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/upstream"
)

// Upstream is another MCP server whose tools are offered.
type Upstream struct {
	Name   string // as its user calls it
	Server upstream.Server

	// Problem says why the server cannot be started or reached; empty = it can, as far as is known. What
	// it listed before stays listed, and calls are answered with it.
	Problem string

	// Off says that its user has switched it off: it is not started or reached, and what it listed before is not
	// offered. Its plan and what is accepted of it stay.
	Off bool

	// Patterns, as of [path.Match]: of tools, of prompts as prompt:NAME, and of resources as
	// resource:URI, where * stands for slashes too. Each kind that Include does not name is
	// offered whole, but for what Exclude names.
	Include, Exclude []string

	Repeat         []string // patterns of tools that may be called again where it is not known whether they were
	Timeout        time.Duration
	MaxConcurrency int // calls at a time, without those that wait for an answer of their client or for their turn to ask

	// QuestionTimeout bounds how long a call waits for an answer of its client while another has to ask, since the
	// last message of that client; 0 = DefaultQuestionTimeout.
	QuestionTimeout time.Duration

	ResultLimit int     // bytes of an answer to a client; 0 = that of the server
	Limits      Limits  // of what it lists
	Changes     Changes // empty = Hold
	FirstList   Changes // Hold: nothing of it is offered before its user has accepted something of its first list
	Alone       bool    // its tools are not folded: each is listed by itself

	// Apart says that its process is not shared with other sessions. Where calls are of several clients
	// (see [Options.OneClient]), each session of a client has a process of its own, which [Gateway.SessionEnded]
	// ends; callers without a session have one for each bearer token. Such calls become no tasks, which have
	// no session.
	Apart       bool
	MaxSessions int           // that have one at a time; 0 = [DefaultSessions]
	SessionIdle time.Duration // without a call, after which one ends; 0 = [DefaultSessionIdle]
}

// Defaults apply where an [Upstream] says nothing. A call may take longer than Timeout
// while its server reports progress, up to mostPatience.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultConcurrency = 16
	mostPatience       = 30 * time.Minute

	DefaultQuestionTimeout = 60 * time.Second
)

// Changes says what becomes of a tool that is new or has changed since it was accepted.
type Changes string

// The ways with changes.
const (
	Hold   Changes = "hold"   // it is not offered until it is approved
	Warn   Changes = "warn"   // it is offered, and the log says so
	Accept Changes = "accept" // it is offered
)

// Session is a connection to a server, as an [upstream.Session] is.
type Session interface {
	List(ctx context.Context) (upstream.Answer, error)
	Call(ctx context.Context, c upstream.Call) (json.RawMessage, error)
	Watch(ctx context.Context, uri string, watch bool) error
	Gone() <-chan struct{}
	Close()
}

// Connect starts or reaches a server for this process alone.
func Connect(ctx context.Context, u Upstream, c upstream.Client) (Session, error) {
	session, err := upstream.Connect(ctx, u.Server, c)
	if err != nil {
		return nil, err // not a nil session in an interface
	}
	return session, nil
}

// Options say what a gateway offers.
type Options struct {
	Upstreams []Upstream
	Dir       string             // where lists and plans are kept, made when it is needed; empty keeps none
	Ours      []*toolfold.Family // served too, unless OursOff: no family of a server gets a name of theirs, and rules for them allow no tool
	Version   string             // of this client

	// OursOff says that Ours are not served. A server that has the name of one of them keeps the names of its
	// families, which plans hold, and can be called by its own name too.
	OursOff bool

	Rights *toolfold.Rights // of all callers, to prompts and resources; tools are filtered by who offers them
	Log    *slog.Logger     // nil = the default logger
	Quiet  bool             // callers of Refresh and Learn report why a server fails: the log has it at debug level
	Now    func() time.Time // nil = time.Now

	// Unread says that clients can read no resources here: URIs in answers stay those of their server.
	Unread bool

	// OneClient says that all calls are those of one client, so that servers of protocols before
	// 2026-07-28 may ask for what it works in: they keep that, and others' calls would work there too.
	OneClient bool

	// Around runs what gets a prompt or reads a resource of a server, which no call does, for who
	// records calls: with the action that stands for it in rules, and its params. Nil runs it alone.
	Around func(ctx context.Context, a *toolfold.Action, params json.RawMessage, run Request) (json.RawMessage, error)

	// Memory bounds what the messages of all servers take in this process, in bytes; 0 =
	// [upstream.DefaultMemory].
	Memory int64

	// Off returns the names of the servers that are switched off now, all others are on. It is called every two seconds
	// once there is a follower and a Dir. Nil changes nothing.
	Off func() map[string]bool

	// Connect starts or reaches a server; nil = [Connect].
	Connect func(context.Context, Upstream, upstream.Client) (Session, error)
}

// Request makes a request of a server and returns its result.
type Request func(context.Context) (json.RawMessage, error)

// Gateway offers the tools of other servers. It is safe for concurrent use.
type Gateway struct {
	options Options
	ours    []string // names of Options.Ours, sorted
	links   []*link
	memory  *upstream.Memory

	planning sync.Mutex // held while names of families are taken

	mu       sync.Mutex
	follower Follower // set by Follow
	told     told     // what it was told of last
	work     sync.WaitGroup
	learns   atomic.Bool // servers are asked for their first list, see Learn
	stop     context.CancelFunc
	life     context.Context
}

// New returns the gateway to servers. It starts none; what it knows of them is on disk.
func New(o Options) (*Gateway, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Connect == nil {
		o.Connect = Connect
	}
	g := &Gateway{options: o, ours: namesOf(o.Ours), memory: upstream.NewMemory(cmp.Or(o.Memory, upstream.DefaultMemory))}
	g.life, g.stop = context.WithCancel(context.Background())
	seen := map[string]bool{}
	for _, u := range o.Upstreams {
		if u.Name == "" || seen[u.Name] {
			return nil, fmt.Errorf("upstream %q: every server needs a name of its own", u.Name)
		}
		seen[u.Name] = true
		for _, pattern := range slices.Concat(u.Include, u.Exclude, u.Repeat) {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("upstream %s: pattern %q: %w", u.Name, pattern, err)
			}
		}
		u.Changes = cmp.Or(u.Changes, Hold)
		u.Timeout, u.MaxConcurrency = cmp.Or(u.Timeout, DefaultTimeout), cmp.Or(u.MaxConcurrency, DefaultConcurrency)
		u.QuestionTimeout = cmp.Or(u.QuestionTimeout, DefaultQuestionTimeout)
		u.MaxSessions, u.SessionIdle = cmp.Or(u.MaxSessions, DefaultSessions), cmp.Or(u.SessionIdle, DefaultSessionIdle)
		u.Limits = u.Limits.orDefault()
		if u.Server.Name = u.Name; o.Dir != "" {
			u.Server.Journal = filepath.Join(o.Dir, fileOf(u.Name, journalSuffix))
		}
		g.links = append(g.links, newLink(g, u))
	}
	g.restore()
	return g, nil
}

// restore takes over the records of the servers: they are read beside each other, as that
// takes longest, and names are given in the order of the servers. A record that cannot be
// used is trouble of its server alone, which is asked again.
func (g *Gateway) restore() {
	type read struct {
		kept  kept
		found bool
		err   error
	}
	files := make([]chan read, len(g.links))
	for i, l := range g.links {
		files[i] = make(chan read, 1)
		go func() {
			k, found, err := l.read()
			files[i] <- read{k, found, err}
		}()
	}
	for i, l := range g.links {
		r := <-files[i]
		if r.err == nil && r.found {
			r.err = l.restore(r.kept)
		}
		if r.err != nil {
			l.forget(r.kept, r.err)
		}
	}
}

// Fold returns the families that a list of a server becomes beside ours, and the plan of them.
// They can be listed and described, but not called.
func Fold(u Upstream, answer upstream.Answer, ours []*toolfold.Family) ([]*toolfold.Family, fold.Plan, error) {
	g, err := New(Options{Upstreams: []Upstream{u}, Ours: ours})
	if err != nil {
		return nil, fold.Plan{}, err
	}
	l := g.links[0]
	l.closed = true
	if err := l.take(g.life, answer); err != nil {
		return nil, fold.Plan{}, err
	}
	return l.offered(), l.planned(), nil
}

// taken returns what reports whether a name is used now, by others than a link.
func (g *Gateway) taken(besides *link) func(name string) bool {
	named := g.named(besides)
	return func(name string) bool {
		_, is := slices.BinarySearch(g.ours, name)
		return is || named[name]
	}
}

// named returns the names of the families of all links but one.
func (g *Gateway) named(besides *link) map[string]bool {
	names := map[string]bool{}
	for _, l := range g.links {
		if l != besides {
			l.mu.Lock()
			maps.Copy(names, l.names)
			l.mu.Unlock()
		}
	}
	return names
}

// Families returns what is known of the servers as families, in the order of the
// servers.
func (g *Gateway) Families() []*toolfold.Family {
	var list []*toolfold.Family
	for _, l := range g.links {
		list = append(list, l.offered()...)
	}
	return list
}

// Follower is told of changes. Functions that are nil are not called.
type Follower struct {
	Families  func([]*toolfold.Family) // there are other tools: these are all
	Prompts   func()                   // other prompts are offered
	Resources func()                   // other resources or templates are offered
	Updated   func(uri string)         // a resource that is watched has changed
}

// Follow has f told of each change, one at a time. What another process approves or plans is
// such a change, within a few seconds.
func (g *Gateway) Follow(f Follower) {
	offered := g.offered()
	g.mu.Lock()
	g.follower, g.told = f, offered
	g.mu.Unlock()
	if g.options.Dir != "" {
		g.work.Go(g.watch)
	}
}

func (g *Gateway) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.follower.Families != nil && g.life.Err() == nil {
		g.follower.Families(g.Families())
	}
}

// Learn asks the servers of which nothing is known yet for their tools, all at once, and
// returns when each has answered or failed, or the context ends; what comes later is told to
// who follows. A server that fails is asked again until the gateway is closed. An error names
// the servers that have no tools to offer, and why.
func (g *Gateway) Learn(ctx context.Context) error {
	var wait sync.WaitGroup
	errs := make([]error, len(g.links))
	g.learns.Store(true)
	for i, l := range g.links {
		if l.known() || l.Problem != "" || l.isOff() {
			continue
		}
		first := make(chan error, 1)
		g.work.Go(func() { l.learn(first) })
		wait.Go(func() {
			select {
			case err := <-first:
				errs[i] = err
			case <-ctx.Done():
				errs[i] = errors.New(starting)
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("upstream %s: %w", l.Name, errs[i])
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// What is said of a server that has not listed its tools: one that is asked for them now, and
// one that was not asked.
const (
	starting = "it is still starting: call again in some seconds; its tools are offered as soon as it has listed them"
	unlisted = "it has not listed its tools yet"
)

// Names returns the names of the servers that are switched on, in their order.
func (g *Gateway) Names() (names []string) {
	for _, l := range g.links {
		if !l.isOff() {
			names = append(names, l.Name)
		}
	}
	return names
}

// Unknown names the servers that have never listed their tools, except those with a
// [Upstream.Problem] and those that are switched off.
func (g *Gateway) Unknown() []string {
	var names []string
	for _, l := range g.links {
		if !l.known() && l.Problem == "" && !l.isOff() {
			names = append(names, l.Name)
		}
	}
	return names
}

// Absent says of each server that offers no tools why, by name.
func (g *Gateway) Absent() map[string]string {
	all := map[string]string{}
	for _, l := range g.links {
		if len(l.offered()) > 0 {
			continue
		}
		switch text := l.why(); {
		case text != "":
			all[l.Name] = text + l.asksAgain()
		case l.known():
			all[l.Name] = "no tool of it is offered"
		case l.asked():
			all[l.Name] = starting
		default:
			all[l.Name] = unlisted
		}
	}
	return all
}

// Trouble says of each server that has some what is wrong with it, by name.
func (g *Gateway) Trouble() map[string]string {
	all := map[string]string{}
	for _, l := range g.links {
		if text := l.why(); text != "" {
			all[l.Name] = text
		}
	}
	return all
}

// Refresh asks a server for its tools, whether or not they are known, and keeps what it
// lists. A server without a session is asked for its era of the protocol too. The error says why there
// is no list.
func (g *Gateway) Refresh(ctx context.Context, server string) error {
	l, err := g.link(server)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.kept.Legacy = false
	l.mu.Unlock()
	return l.refresh(ctx)
}

// Keep keeps what a server has listed elsewhere, unless it is known already.
func (g *Gateway) Keep(server string, answer upstream.Answer) error {
	l, err := g.link(server)
	if err == nil && !l.known() {
		err = l.take(g.life, answer)
	}
	if err != nil {
		return fmt.Errorf("storing the list of %s: %w", server, err)
	}
	return nil
}

// Journal returns the last lines of what a server wrote on standard error, why it failed and what it refused, as
// [upstream.ReadJournal] does. Every process that runs the server writes them.
func (g *Gateway) Journal(server string, lines int) ([]string, error) {
	l, err := g.link(server)
	if err != nil || l.Server.Journal == "" {
		return nil, err
	}
	return upstream.ReadJournal(l.Server.Journal, lines)
}

// RemoveJournal removes what a server wrote, which a gateway has kept in the folder.
func RemoveJournal(dir, server string) error {
	return upstream.RemoveJournal(filepath.Join(dir, fileOf(server, journalSuffix)))
}

// link returns the server of a name.
func (g *Gateway) link(server string) (*link, error) {
	for _, l := range g.links {
		if l.Name == server {
			return l, nil
		}
	}
	return nil, fmt.Errorf("there is no upstream %q", server)
}

// Approve accepts tools of a server that are held back, as they were shown: see [Gateway.Held]. It fails, and
// accepts nothing, if one has changed since. It returns the names of those that it accepted.
func (g *Gateway) Approve(server string, shown ...HeldTool) ([]string, error) {
	l, err := g.link(server)
	if err != nil {
		return nil, err
	}
	return l.approve(shown)
}

// Plan returns how the tools of a server are folded; false for a server that is not
// known, or not yet.
func (g *Gateway) Plan(server string) (fold.Plan, bool) {
	for _, l := range g.links {
		if l.Name == server && l.known() {
			return l.planned(), true
		}
	}
	return fold.Plan{}, false
}

// closeTime bounds how long a server may delay the end of the gateway.
const closeTime = 2 * time.Second

// Close ends the sessions, and what was started. It waits two seconds at most for what does not end:
// programs end with this process at the latest.
func (g *Gateway) Close() {
	g.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wait sync.WaitGroup
		for _, l := range g.links {
			wait.Go(l.close)
		}
		wait.Wait()
		g.work.Wait()
	}()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		g.options.Log.Warn("closing upstreams: some have not ended", "after", closeTime)
	}
}
