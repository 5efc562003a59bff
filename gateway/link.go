package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/call/judge"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/upstream"
)

// startTime is the least that a server may take to start and to list its tools: what runs a
// package may have to download it. Its callers do not wait longer than its time limit.
const startTime = time.Minute

// Pauses between attempts to start a server that fails.
const (
	firstPause = time.Second
	mostPause  = time.Minute
	listPause  = 5 * time.Minute  // the longest for a list that is said to change and does not
	learnPause = 15 * time.Minute // the longest for a server that never listed its tools, which no call starts
)

// link is one server: what is known of it, and the session with it.
type link struct {
	Upstream
	gateway *Gateway
	base    string        // that names of its families begin with
	titles  []string      // that rules call it by; the first is free of ours
	slots   chan struct{} // of calls that run

	changing sync.Mutex // held while the record is read, changed and adopted; before planning and mu

	mu       sync.Mutex
	kept     kept
	names    map[string]bool // of the families of the plan
	readOf   time.Time       // modification time of the file of what is kept, when it was read last
	families []*toolfold.Family
	live     map[string]string // digests of the tools that are listed and accepted, by name
	offer    offer             // beside the tools
	watched  map[string]bool   // URIs of resources, as the server has them
	dropped  map[string]bool   // members that were left out, by method and name; at most maxDropped

	open     map[*openCall]bool // calls that run
	pages    pages              // that clients were sent to
	session  Session
	attempt  chan struct{} // closed when the attempt that runs has ended; nil for none
	trouble  string        // why the last attempt failed
	fault    string        // what failed last; empty once the server has listed its tools
	unkept   string        // why its record could not be written; empty = it was
	unusable bool          // the record on disk cannot be used
	failures int           // in a row
	learning bool          // it is being asked for its first list
	next     time.Time     // when it is asked for that again; before now = it is not
	asking   bool          // a list that changed is being asked for
	again    bool          // it changed once more since
	pause    time.Duration // before it is asked for again; grows while nothing changes
	followed time.Time     // when it was asked for last
	flags    []string      // of the tools that are offered; nil = not looked for yet
	bare     []string      // tools whose schemas are listed without members; looked for with flags
	retry    time.Time     // not before
	closed   bool
	off      bool // its user has switched it off; at first as [Upstream] has it
}

func newLink(g *Gateway, u Upstream) *link {
	return &link{
		Upstream: u, base: fold.Base(u.Name), titles: g.titles(u.Name), gateway: g, slots: make(chan struct{}, u.MaxConcurrency), off: u.Off,
	}
}

func (l *link) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.Tools != nil
}

// asked reports whether the server is being asked for its first list.
func (l *link) asked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.learning
}

// asksAgain says when the server is asked again for its first list; empty where it is not, or is
// being asked.
func (l *link) asksAgain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := l.next.Sub(l.gateway.options.Now())
	if pause <= 0 || l.kept.Tools != nil {
		return ""
	}
	return fmt.Sprintf("; next try in %s", (pause + time.Second).Truncate(time.Second))
}

// offered returns the families of the server; nil if it is switched off.
func (l *link) offered() []*toolfold.Family {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return nil
	}
	return slices.Clone(l.families)
}

func (l *link) planned() fold.Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.Plan.Clone()
}

// shows reports whether the user lets a tool, a prompt or a resource through; the kind of a
// tool is empty.
func (l *link) shows(kind, name string) bool {
	text := func(s string) string {
		if kind == resourceKind { // a * stands for slashes too
			return strings.ReplaceAll(s, "/", " ")
		}
		return s
	}
	of := func(patterns []string) (own []string) {
		for _, pattern := range patterns {
			before, after, named := strings.Cut(pattern, ":")
			switch named = named && (before == promptKind || before == resourceKind); {
			case named && before == kind:
				own = append(own, text(after))
			case !named && kind == "":
				own = append(own, pattern)
			}
		}
		return own
	}
	include := of(l.Include)
	name = text(name)
	return (len(include) == 0 || matches(include, name)) && !matches(of(l.Exclude), name)
}

// matches reports whether one of the patterns is of a name.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
}

// why returns what is wrong with the server just now, for people and models.
func (l *link) why() string {
	flagged := l.flagged()
	l.mu.Lock()
	defer l.mu.Unlock()
	if off := l.offReason(); off != "" {
		return off
	}
	var parts []string
	if trouble := cmp.Or(l.Problem, l.trouble); trouble != "" {
		parts = append(parts, trouble)
	}
	if held := l.kept.held(); len(held) > 0 {
		names := make([]string, len(held))
		for i, h := range held {
			names[i] = h.Name + " (" + h.why + ")"
		}
		const most = 10
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
		}
		parts = append(parts, "held back until the user approves: "+strings.Join(names[:min(most, len(names))], ", ")+more)
	}
	parts = append(parts, l.kept.Left...)
	if l.unkept != "" {
		parts = append(parts, "its list is not kept, so it is asked at each start: "+l.unkept)
	}
	if len(l.bare) > 0 {
		parts = append(parts, "schemas that no client takes are listed without parameters: "+strings.Join(l.bare[:min(len(l.bare), 5)], ", "))
	}
	if len(flagged) > 0 {
		parts = append(parts, "look at the texts of its tools: "+strings.Join(flagged[:min(len(flagged), 5)], ", "))
	}
	return strings.Join(parts, "; ")
}

// connected returns the session, and starts the server where there is none. Callers
// share an attempt, which their leaving does not end.
func (l *link) connected(ctx context.Context) (Session, error) {
	l.mu.Lock()
	if l.session != nil {
		select {
		case <-l.session.Gone():
			gone := l.session
			l.session = nil
			l.gateway.work.Go(gone.Close)
		default:
			defer l.mu.Unlock()
			return l.session, nil
		}
	}
	switch pause := l.retry.Sub(l.gateway.options.Now()); {
	case l.off:
		defer l.mu.Unlock()
		return nil, errors.New(l.offReason())
	case l.Problem != "":
		l.mu.Unlock()
		return nil, errors.New(l.Problem)
	case l.closed:
		l.mu.Unlock()
		return nil, errors.New("the gateway is closed")
	case l.attempt == nil && pause > 0:
		defer l.mu.Unlock()
		return nil, fmt.Errorf("%s; next start in %s", l.trouble, pause.Round(time.Second)+time.Second)
	case l.attempt == nil:
		l.attempt = make(chan struct{})
		l.gateway.work.Go(l.connect)
	}
	attempt := l.attempt
	l.mu.Unlock()
	select {
	case <-attempt:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return nil, errors.New(l.trouble)
	}
	return l.session, nil
}

// connect starts the server, within its time limit, and asks for its list again.
func (l *link) connect() {
	asks := []string{upstream.Sample, upstream.Elicit}
	if l.gateway.options.OneClient {
		asks = append(asks, upstream.Roots)
	}
	session, err := l.begin(l.gateway.life, upstream.Client{
		Name: "toolfold", Version: l.gateway.options.Version,
		Ask: l.ask, Asks: asks,
		Changed: l.listChanged,
		Updated: l.updated, Completed: l.completed,
		Stray:  l.stray,
		Memory: l.gateway.memory,
	})
	if err != nil && l.gateway.life.Err() == nil { // before callers hear of it, who may end the process
		l.failed("starting an upstream", err)
	}
	l.mu.Lock()
	if l.closed && session != nil {
		l.mu.Unlock()
		session.Close()
		l.mu.Lock()
		session, err = nil, errors.New("the gateway is closed")
	}
	if l.session = session; err != nil {
		l.session, l.trouble = nil, err.Error()
		l.retry = l.gateway.options.Now().Add(min(firstPause<<min(l.failures, 10), mostPause))
		l.failures++
	} else {
		l.trouble, l.failures, l.retry = "", 0, time.Time{}
	}
	close(l.attempt)
	l.attempt = nil
	fresh := l.session != nil && l.kept.Tools != nil
	watched := slices.Sorted(maps.Keys(l.watched))
	l.mu.Unlock()
	for _, uri := range watched { // who watches does not know of sessions
		ctx, cancel := context.WithTimeout(l.gateway.life, l.startTimeout())
		l.watch(ctx, session, uri, true)
		cancel()
	}
	if fresh { // what is on disk may be old
		_ = l.refresh(l.gateway.life)
	}
}

// begin starts or reaches the server, or, where each session of a client has its own, what does.
func (l *link) begin(ctx context.Context, c upstream.Client) (Session, error) {
	if l.perSession() {
		return newIsolated(l.Upstream, l.reach, c), nil
	}
	return l.reach(ctx, c)
}

// reach starts or reaches the server.
func (l *link) reach(ctx context.Context, c upstream.Client) (Session, error) {
	u := l.Upstream
	u.Server.StartTimeout = l.startTimeout()
	l.mu.Lock()
	u.Server.Legacy = l.kept.Legacy
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*u.Server.StartTimeout) // it may have to be started twice
	defer cancel()
	return l.gateway.options.Connect(ctx, u, c)
}

func (l *link) startTimeout() time.Duration { return max(l.Timeout, startTime) }

// stray logs a text of the server that is no message, or answers no request.
func (l *link) stray(text string) {
	l.gateway.options.Log.Debug("a text of an upstream that answers nothing", "upstream", l.Name, "text", text)
}

// refresh asks the server for its list, and offers what is accepted of it.
func (l *link) refresh(ctx context.Context) error {
	l.mu.Lock()
	before, plan := l.live, l.kept.Plan
	l.mu.Unlock()
	session, err := l.connected(ctx) // which has a time limit of its own
	ctx, cancel := context.WithTimeout(ctx, max(l.Timeout, startTime))
	defer cancel()
	var answer upstream.Answer
	if err == nil {
		answer, err = session.List(ctx)
	}
	if err == nil {
		err = l.take(ctx, answer)
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
		if session != nil && l.gateway.life.Err() == nil { // without a session that is logged already
			l.failed("listing the tools of an upstream", err)
		}
		l.note(err.Error())
		return err
	}
	l.works()
	l.mu.Lock()
	same := before != nil && maps.Equal(before, l.live) && reflect.DeepEqual(plan, l.kept.Plan) // rules depend on names of all
	l.mu.Unlock()
	if !same {
		l.gateway.tell()
	}
	l.gateway.tellOffers()
	return nil
}

// learn asks the server for its first list until there is one, or the gateway is closed. What
// came of the first attempt goes to first, which has room for it.
func (l *link) learn(first chan<- error) {
	for pause := 2 * firstPause; ; pause = min(2*pause, learnPause) { // longer than that of a server which does not start
		l.mu.Lock()
		l.learning = true
		l.mu.Unlock()
		err := l.refresh(l.gateway.life)
		l.mu.Lock()
		l.learning, l.next = false, l.gateway.options.Now().Add(pause)
		off := l.off
		l.mu.Unlock()
		select {
		case first <- err:
		default: // it was told already
		}
		if err == nil || off || l.known() {
			return
		}
		select {
		case <-time.After(pause):
		case <-l.gateway.life.Done():
			return
		}
	}
}

// listChanged asks for a list that has changed: at once, and then once in a pause, which doubles
// from a second to listPause while nothing changes.
func (l *link) listChanged() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.asking {
		l.again = true
		return
	}
	if time.Since(l.followed) > listPause {
		l.pause = 0
	}
	l.asking = true
	l.gateway.work.Go(func() {
		for more := true; more; {
			select {
			case <-time.After(l.follow()):
			case <-l.gateway.life.Done():
			}
			l.mu.Lock()
			more = l.again && !l.closed
			l.again, l.asking = false, more
			l.mu.Unlock()
		}
	})
}

// follow asks for a list that has changed, and returns the pause after it.
func (l *link) follow() time.Duration {
	l.mu.Lock()
	before := l.kept.lists()
	l.mu.Unlock()
	_ = l.refresh(l.gateway.life)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followed = time.Now()
	if l.pause = min(max(2*l.pause, firstPause), listPause); !reflect.DeepEqual(before, l.kept.lists()) {
		l.pause = firstPause
	}
	return l.pause
}

// lookAgain has the texts of all servers looked at anew, which may name tools of each other.
func (g *Gateway) lookAgain() {
	for _, l := range g.links {
		l.mu.Lock()
		l.flags = nil
		l.mu.Unlock()
	}
}

// others returns the names of the tools that other servers offer and this one does not: two may be of one kind.
func (l *link) others() map[string]bool {
	names := map[string]bool{}
	for _, other := range l.gateway.links {
		if other != l {
			other.mu.Lock()
			for name := range other.live {
				names[name] = true
			}
			other.mu.Unlock()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(names, func(name string, _ bool) bool { return l.live[name] != "" })
	return names
}

// flagged lists what in the texts of the tools of the server its user should look at.
func (l *link) flagged() []string {
	others := l.others()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flags == nil {
		l.flags, l.bare = []string{}, nil
		for _, d := range l.kept.definitions {
			if object, _, ok := judge.Object(d.InputSchema); ok {
				if _, whole := judge.Listed(object); !whole {
					l.bare = append(l.bare, shorten.Quoted(d.Name))
				}
			}
			for _, flag := range flags(d, others) {
				l.flags = append(l.flags, fmt.Sprintf("%s has %s", shorten.Quoted(d.Name), flag))
			}
		}
	}
	return l.flags
}

// call calls a tool, or makes another request, for the caller of the context.
func (l *link) call(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
	if off := l.switchedOff(cmp.Or(c.Tool, c.Method)); off != nil {
		return nil, off
	}
	patience, gaveUp := context.WithCancelCause(ctx)
	defer gaveUp(nil)
	alive := time.AfterFunc(l.Timeout, func() { gaveUp(context.DeadlineExceeded) })
	defer alive.Stop()
	end := time.AfterFunc(mostPatience, func() { gaveUp(context.DeadlineExceeded) })
	defer end.Stop()
	open := &openCall{link: l, ctx: patience, end: gaveUp, alive: alive, tool: c.Tool}
	if !open.run() {
		return nil, l.failure(ctx, patience, c, fmt.Errorf("%d calls are running, the limit of maxConcurrency", cap(l.slots)))
	}
	defer open.stop()
	defer l.enter(open)()
	c.Ask = func(taken context.Context, q upstream.Question) (json.RawMessage, error) {
		return l.askOf(taken, open, q)
	}
	c.Asks = l.isAsking(c.Tool)
	c.Queue = func(waits bool) {
		if waits {
			open.pause()
		} else {
			open.resume()
		}
	}
	c.Capabilities = json.RawMessage(`{}`)
	if asked := callctx.ClientOf(ctx); asked != nil {
		c.Capabilities = asked.Declared()
	}
	c.Meta, c.Patience = metaOf(ctx), l.Timeout
	log := callctx.Of[callctx.Log](ctx)
	if c.LogLevel = log.Level; log.Tell != nil {
		c.Log = func(params json.RawMessage) {
			if params, err := l.taken("notifications/message", params); err == nil {
				log.Tell(params)
			}
		}
	}
	c.Progress = func(p upstream.Progress) {
		open.beat()
		toolfold.Report(ctx, toolfold.Progress{Done: p.Done, Total: p.Total, Message: p.Message})
	}
	for attempt := 0; ; attempt++ {
		session, err := l.connected(patience)
		if err != nil {
			return nil, l.failure(ctx, patience, c, err)
		}
		result, err := session.Call(patience, c)
		if ended := new(toolfold.Error); errors.As(context.Cause(patience), &ended) { // also if the server answers that
			return nil, l.failure(ctx, patience, c, err)
		}
		switch {
		case err == nil:
			l.note("")
			if result, err = l.taken(cmp.Or(c.Method, callTool), result); err != nil {
				return nil, l.failure(ctx, patience, c, err)
			}
			return result, nil
		case errors.Is(err, upstream.ErrGone) && attempt == 0: // it was not taken, so it can be made again
			l.drop(session)
			continue
		}
		var refused *upstream.Refused
		var lost *upstream.Lost
		var ours *toolfold.Error
		switch {
		case errors.As(err, &refused), errors.As(err, &ours), patience.Err() != nil:
		case errors.As(err, &lost):
			l.note(err.Error())
		default:
			l.drop(session)
			l.note(err.Error())
		}
		return nil, l.failure(ctx, patience, c, err)
	}
}

// metaOf returns the _meta that a call goes on with: what its client said for other servers, and the
// span of the call as its trace context; nil for none.
func metaOf(ctx context.Context) json.RawMessage {
	members, _ := ordered.Read(callctx.Of[callctx.Meta](ctx))
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	for _, name := range slices.Sorted(maps.Keys(trace)) {
		members.Set(name, ordered.MustJSON(trace[name]))
	}
	if len(members) == 0 {
		return nil
	}
	return ordered.MustJSON(members)
}

// callTool is the method of calls of tools.
const callTool = "tools/call"

// maxDropped bounds the names of members that are logged of a server.
const maxDropped = 100

// taken returns what the server sent under a method as clients may get it, see [foreign.Object]. What is left
// out is logged once for each method and member, and so is what cannot be read.
func (l *link) taken(method string, raw json.RawMessage) (json.RawMessage, error) {
	object, dropped, err := foreign.Object(method, raw)
	if err != nil {
		l.gateway.options.Log.Warn("an upstream sent an invalid message", "upstream", l.Name, "method", method, "err", err)
		return nil, err
	}
	if fresh := l.notDropped(method, dropped); len(fresh) > 0 {
		l.gateway.options.Log.Warn("members that an upstream sent are left out", "upstream", l.Name, "method", method, "members", fresh)
	}
	return object, nil
}

// notDropped returns the members that were not left out of the same method before.
func (l *link) notDropped(method string, members []string) (fresh []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range members {
		name = shorten.To(name, 100)
		if key := method + " " + name; !l.dropped[key] && len(l.dropped) < maxDropped {
			if l.dropped == nil {
				l.dropped = map[string]bool{}
			}
			l.dropped[key] = true
			if fresh = append(fresh, name); len(l.dropped) == maxDropped {
				fresh = append(fresh, "no more are logged")
			}
		}
	}
	return fresh
}

// note says what is wrong with the server, empty for nothing.
func (l *link) note(trouble string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = trouble
}

// drop gives up a session that is of no use any more.
func (l *link) drop(session Session) {
	l.mu.Lock()
	if l.session == session {
		l.session = nil
	}
	l.mu.Unlock()
	l.gateway.work.Go(session.Close)
}

// failure words the error of a call that got no answer.
func (l *link) failure(ctx, patience context.Context, c upstream.Call, err error) error {
	what := cmp.Or(c.Tool, c.Method)
	var refused *upstream.Refused
	var ours, ended *toolfold.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(context.Cause(patience), &ended):
		return ended
	case errors.As(err, &ours):
		return ours
	case patience.Err() != nil:
		return toolfold.Errorf(toolfold.TimedOut, "%s: the server %s did not answer within %s, the call was cancelled", what, l.Name, l.Timeout).
			WithHint("it may have been done: check before you call again; other tools work")
	case errors.As(err, &refused):
		failed := toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s refused the call: %s", what, l.Name,
			shorten.To(refused.Error(), 500))
		failed.Protocol = refused.Code
		failed.Data, _ = foreign.JSON(refused.Data) // without data it stays nil
		pages, ids := pagesOf(failed)
		for _, id := range ids {
			l.pages.add(ctx, id)
		}
		switch {
		case refused.Lacking != "":
			failed.Code, failed.Lacking = toolfold.ClientLacks, refused.Lacking
			return failed.WithHint("call from a client that supports %s", refused.Lacking)
		case len(pages) > 0:
			return failed.WithHint("ask the user to open %s, then call again", strings.Join(pages, ", "))
		case c.Tool != "" && len(failed.Data) > maxData: // a model reads it
			failed.Data = ordered.MustJSON(shorten.To(string(failed.Data), maxData))
		}
		return failed
	}
	return toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s failed: %s", what, l.Name, err).WithHint("other tools are not affected")
}

func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.session = nil
	l.mu.Unlock()
	if session != nil {
		session.Close()
	}
}
