// Package gateway offers the tools of other MCP servers as families: folded by a plan, called through a
// session that all callers share.
//
// Lists are stored on disk, so that tools can be listed before their server runs; the first call starts
// it. A server that fails, hangs or floods gets an error answer within its time limit, is started again
// after a growing pause, and slows no other server. A new list is compared with the accepted one: a
// changed tool is held back until it is approved.
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
	Name   string // the user's name for it
	Server upstream.Server

	// Problem is the reason why the server cannot be started or reached; empty if none is known. Tools
	// that it listed before stay listed, and calls fail with this reason.
	Problem string

	// Off is set if the user has switched the server off: it is not started or reached, and nothing
	// that it listed is offered. Its plan and the accepted digests stay.
	Off bool

	// Include and Exclude are patterns of [path.Match] for tools, prompts (prompt:NAME) and resources
	// (resource:URI). In patterns of resources and of Exclude, * also matches slashes. A kind without a
	// pattern in Include is offered whole, except for matches of Exclude.
	Include, Exclude []string

	Repeat         []string // patterns of tools that may be repeated if it is unknown whether a call was done
	Timeout        time.Duration
	CallsPerMinute int // calls that begin in a minute; 0 = no limit
	MaxConcurrency int // running calls; calls that wait for their client, or for their turn to ask, do not count

	// QuestionTimeout is how long a silent client may leave a question unanswered while another call
	// has to ask. It counts from the client's last message; 0 = DefaultQuestionTimeout.
	QuestionTimeout time.Duration

	ResultLimit int     // bytes of an answer to a client; 0 = the limit of our server
	Limits      Limits  // of its lists
	Changes     Changes // empty = Hold
	FirstList   Changes // Hold offers nothing before the user has accepted something of the first list
	Alone       bool    // its tools are not folded but listed one by one

	// Login is whose login the server gets. With [CallerLogin] each caller has a session of its own, and the server
	// gets calls of callers who have logged in only.
	Login Login

	// Client is this program at the server's authorization server, with [CallerLogin].
	Client upstream.KnownClient

	// Exchange is how the access token of a caller becomes one of the server, with [ExchangeLogin].
	Exchange upstream.Exchange

	// Isolated gives the server a process that other sessions do not share. If calls come from several
	// clients (see [Options.OneClient]), each client session gets its own process, which
	// [Gateway.SessionEnded] ends. Callers without a session get one for each bearer token. Such calls
	// do not become tasks, because tasks have no session.
	Isolated    bool
	MaxSessions int           // with a process at a time; 0 = [DefaultSessions], or [DefaultCallers] if callers log in
	SessionIdle time.Duration // time without a call after which a session ends; 0 = [DefaultSessionIdle]
}

// Defaults of an [Upstream]. A call may exceed Timeout while its server reports progress, up to
// mostPatience.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultConcurrency = 16
	mostPatience       = 30 * time.Minute
	ratePatience       = 10 * time.Second // of calls beyond callsPerMinute

	DefaultQuestionTimeout = 60 * time.Second
)

// Changes decides about tools that are new or have changed since they were accepted.
type Changes string

// The values of [Changes].
const (
	Hold   Changes = "hold"   // not offered until approved
	Warn   Changes = "warn"   // offered, with a warning in the log
	Accept Changes = "accept" // offered
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
		return nil, err // err alone: session would be a non-nil interface
	}
	return session, nil
}

// Options configure a gateway.
type Options struct {
	Upstreams []Upstream
	Dir       string // folder for lists and plans, created when needed; empty stores nothing

	// Records shares the records of servers with other gateways. Files in Dir are then copies, for times when it does not
	// answer. Records in files of before are carried over, if it has none of their servers. Nil = files in Dir.
	Records Records

	// Joins leaves records that Records does not have in their files.
	Joins bool

	// Closed is called at the end of Close; it may be nil.
	Closed func()

	Ours    []*toolfold.Family // also served, unless OursOff; other families get no name of theirs, and rules for them allow no tool
	Version string             // of this program as a client

	// OursOff means that Ours are not served. A server named like one of them keeps its planned family
	// names, and can also be called by its own name.
	OursOff bool

	Rights *toolfold.Rights // of all callers to prompts and resources; tools are filtered by the server that offers them
	Log    *slog.Logger     // nil = the default logger
	Quiet  bool             // logs failures of servers at debug level, because callers of Refresh and Learn report them
	Now    func() time.Time // nil = time.Now

	// Unread means that clients cannot read resources here. URIs in answers then stay unchanged.
	Unread bool

	// OneClient means that all calls come from one client. Only then may servers of protocols before
	// 2026-07-28 ask for roots: they keep the answer, and would use it for calls of other clients too.
	OneClient bool

	// Logins lets callers log in at servers as themselves. Without it servers with [CallerLogin] cannot be called.
	Logins *CallerLogins

	// Hold binds a client session to this process before servers start a process for it, see [Upstream.Isolated],
	// until release is called. An error means that another process has it, and refuses the call. Nil = no other
	// process continues a client session.
	Hold func(ctx context.Context, session string) (release func(), err error)

	// Around wraps prompt and resource requests, so that they can be recorded like calls. a is the
	// action that stands for the request in rules. If it is nil, run is called directly.
	Around func(ctx context.Context, a *toolfold.Action, params json.RawMessage, run Request) (json.RawMessage, error)

	// Memory limits the memory for messages of all servers in this process, in bytes; 0 =
	// [upstream.DefaultMemory].
	Memory int64

	// Off returns the names of all servers that are switched off. It is called every two seconds once
	// there is a follower and a Dir. If it is nil, nothing is switched.
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

	unanswered bool // Records did not answer at the start

	planning sync.Mutex // held while family names are reserved

	mu       sync.Mutex
	follower Follower     // set by Follow
	notified offerDigests // state at its last notification
	work     sync.WaitGroup
	learns   atomic.Bool // Learn was called: servers are asked for their first list
	stop     context.CancelFunc
	life     context.Context
}

// New returns a gateway to servers. It starts no server, and reads their records from disk.
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
		if u.Login.byCaller() {
			u.MaxSessions = cmp.Or(u.MaxSessions, DefaultCallers)
		}
		switch {
		case u.Login == CallerLogin:
			u.Problem = cmp.Or(u.Problem, o.Logins.problem())
		case u.Login == ExchangeLogin && o.OneClient:
			u.Problem = cmp.Or(u.Problem, noCallers)
		}
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

// restore reads the records of all servers concurrently, because that takes longest. Names are given in
// the order of the servers. An unusable record affects only its server, which is asked again.
func (g *Gateway) restore() {
	type result struct {
		current
		found bool
		err   error
	}
	_, err := g.versions()
	if err != nil {
		g.options.Log.Warn(recordsFault, "err", err)
	}
	g.unanswered = err != nil
	sharing := g.options.Records != nil && err == nil
	results := make([]chan result, len(g.links))
	for i, l := range g.links {
		results[i] = make(chan result, 1)
		go func() {
			var r result
			if sharing {
				r.current, r.found = l.restored()
			}
			if !r.found {
				r.record, r.found, r.err = l.read()
				r.stored = r.record
			}
			results[i] <- r
		}()
	}
	for i, l := range g.links {
		r := <-results[i]
		if r.err == nil && r.found {
			r.err = l.restore(r.current)
		}
		if r.err != nil {
			l.forget(r.record, r.err)
		}
		if sharing && r.version == 0 && !g.options.Joins {
			l.share()
		}
		if l.Login == CallerLogin && l.Problem == "" && !l.hasTools() {
			l.offerLogin()
		}
	}
}

// Fold returns the families and the plan for a server's list. Names of ours are avoided. The families
// can be listed and described, but not called.
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
	return l.currentFamilies(), l.currentPlan(), nil
}

// nameInUse returns a function that reports whether a name is used by us or by a link other than except.
func (g *Gateway) nameInUse(except *link) func(name string) bool {
	named := g.familyNames(except)
	return func(name string) bool {
		_, is := slices.BinarySearch(g.ours, name)
		return is || named[name]
	}
}

// familyNames returns the family names of all links other than except.
func (g *Gateway) familyNames(except *link) map[string]bool {
	names := map[string]bool{}
	for _, l := range g.links {
		if l != except {
			l.mu.Lock()
			maps.Copy(names, l.names)
			l.mu.Unlock()
		}
	}
	return names
}

// Families returns the families of all servers, in the order of the servers.
func (g *Gateway) Families() []*toolfold.Family {
	var list []*toolfold.Family
	for _, l := range g.links {
		list = append(list, l.currentFamilies()...)
	}
	return list
}

// Follower holds functions to call on changes. They may be nil.
type Follower struct {
	Families  func([]*toolfold.Family) // tools have changed; the argument has all families
	Prompts   func()                   // the list of prompts has changed
	Resources func()                   // the list of resources or templates has changed
	Updated   func(uri string)         // a watched resource has changed
}

// Follow registers f. Its functions are called one at a time. They also report changes that another
// process makes by approving or planning, within a few seconds.
func (g *Gateway) Follow(f Follower) {
	offered := g.offerDigests()
	g.mu.Lock()
	g.follower, g.notified = f, offered
	g.mu.Unlock()
	if g.options.Dir != "" || g.options.Records != nil {
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

// Learn asks all servers that never listed their tools for them, concurrently. It returns when each has
// answered or failed, or when the context ends; later results go to the follower. A server that fails
// is asked again until the gateway is closed. The error names the servers without a list, with reasons.
func (g *Gateway) Learn(ctx context.Context) error {
	var wait sync.WaitGroup
	errs := make([]error, len(g.links))
	g.learns.Store(true)
	for i, l := range g.links {
		if !l.learns() {
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

// Reasons why a server has not listed its tools: it is being asked, or it was not asked.
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

// Unasked names the servers that [Gateway.Learn] asks: those of [Gateway.Unknown] at which no caller has to log in first.
func (g *Gateway) Unasked() (names []string) {
	for _, l := range g.links {
		if l.learns() {
			names = append(names, l.Name)
		}
	}
	return names
}

// learns reports whether the server can be asked for its first list now.
func (l *link) learns() bool {
	return !l.hasTools() && l.Problem == "" && !l.isOff() && !l.Login.byCaller()
}

// Unknown names the servers that have never listed their tools, except those with a
// [Upstream.Problem] and those that are switched off.
func (g *Gateway) Unknown() []string {
	var names []string
	for _, l := range g.links {
		if !l.hasTools() && l.Problem == "" && !l.isOff() {
			names = append(names, l.Name)
		}
	}
	return names
}

// Absent maps the names of servers that offer no tools to the reasons.
func (g *Gateway) Absent() map[string]string {
	all := map[string]string{}
	for _, l := range g.links {
		if len(l.currentFamilies()) > 0 {
			continue
		}
		switch text := l.why(); {
		case text != "":
			all[l.Name] = text + l.nextTry()
		case l.hasTools():
			all[l.Name] = "no tool of it is offered"
		case l.isLearning():
			all[l.Name] = starting
		case l.exchange != nil:
			all[l.Name] = "it lists its tools once a user who logs in at the issuer of httpLogin calls"
		default:
			all[l.Name] = unlisted
		}
	}
	return all
}

// Idle has the names of servers without tools that have not failed, do not wait for the user, and are not being asked
// for their first list: servers that are switched off, have not been asked yet, or have no tools.
func (g *Gateway) Idle() map[string]bool {
	idle := map[string]bool{}
	for _, l := range g.links {
		if len(l.currentFamilies()) == 0 && (l.isOff() || l.why() == "" && !l.isLearning()) {
			idle[l.Name] = true
		}
	}
	return idle
}

// Trouble maps the names of servers with a problem to its description.
func (g *Gateway) Trouble() map[string]string {
	all := map[string]string{}
	for _, l := range g.links {
		if text := l.why(); text != "" {
			all[l.Name] = text
		}
	}
	return all
}

// Refresh asks a server for its tools, also if they are known, and stores the list. Without a session
// it also detects the protocol era again. The error explains why there is no list.
func (g *Gateway) Refresh(ctx context.Context, server string) error {
	l, err := g.link(server)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.record.Legacy = false
	l.mu.Unlock()
	return l.refresh(ctx)
}

// Keep stores a list that was obtained elsewhere, unless the server's list is already known.
func (g *Gateway) Keep(server string, answer upstream.Answer) error {
	l, err := g.link(server)
	if err == nil && !l.hasTools() {
		err = l.take(g.life, answer)
	}
	if err != nil {
		return fmt.Errorf("storing the list of %s: %w", server, err)
	}
	return nil
}

// Journal returns the last lines of the server's journal, see [upstream.ReadJournal]: standard error,
// failures and refused calls. Every process that runs the server writes to it.
func (g *Gateway) Journal(server string, lines int) ([]string, error) {
	l, err := g.link(server)
	if err != nil || l.Server.Journal == "" {
		return nil, err
	}
	return upstream.ReadJournal(l.Server.Journal, lines)
}

// RemoveJournal removes the journal of a server from the folder of a gateway.
func RemoveJournal(dir, server string) error {
	return upstream.RemoveJournal(filepath.Join(dir, fileOf(server, journalSuffix)))
}

// link returns the link to the server with this name.
func (g *Gateway) link(server string) (*link, error) {
	for _, l := range g.links {
		if l.Name == server {
			return l, nil
		}
	}
	return nil, fmt.Errorf("there is no upstream %q", server)
}

// Approve accepts held tools of a server, as returned by [Gateway.HeldTools]. If one of them has changed
// since, it fails and accepts nothing. It returns the names of the newly accepted tools.
func (g *Gateway) Approve(server string, tools ...HeldTool) ([]string, error) {
	l, err := g.link(server)
	if err != nil {
		return nil, err
	}
	return l.approve(tools)
}

// Reject remembers that the user has rejected held tools of a server, as returned by [Gateway.HeldTools]. They stay held
// back, and can still be approved; a later change of one waits for the user again. If one of them has changed since, it
// fails and rejects nothing. It returns the names of the tools.
func (g *Gateway) Reject(server string, tools ...HeldTool) ([]string, error) {
	l, err := g.link(server)
	if err != nil {
		return nil, err
	}
	return l.reject(tools)
}

// Plan returns the plan for a server's tools; false if the server is unknown or never listed any.
func (g *Gateway) Plan(server string) (fold.Plan, bool) {
	for _, l := range g.links {
		if l.Name == server && l.hasTools() {
			return l.currentPlan(), true
		}
	}
	return fold.Plan{}, false
}

// closeTime limits how long a server may delay Close.
const closeTime = 2 * time.Second

// Close ends the sessions and everything that was started. It waits at most closeTime: programs end
// with this process at the latest.
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
	if g.options.Closed != nil {
		g.options.Closed()
	}
}
