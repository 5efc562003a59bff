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
	"github.com/toolfold/toolfold/internal/call/turns"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/upstream"
)

// startTime is the shortest time limit for starting a server and listing its tools: a package may have
// to be downloaded first. Callers do not wait longer than their own time limit.
const startTime = time.Minute

// Pauses between attempts to start a server that fails.
const (
	firstPause = time.Second
	mostPause  = time.Minute
	listPause  = 5 * time.Minute  // longest, for a list that is reported as changed but is the same
	learnPause = 15 * time.Minute // longest, for a server that never listed its tools; no call starts it
)

// link is the connection to one server, with everything known about it.
type link struct {
	Upstream
	gateway *Gateway
	base    string       // beginning of its families' names
	titles  []string     // names of it in rules; the first is not a name of ours
	turns   *turns.Turns // of running calls
	rate    *turns.Rate  // of calls that begin
	shares  *turns.Rate  // of a caller with a token, of these

	exchange *exchange // of callers' access tokens; nil = the server gets other logins, or none

	changing sync.Mutex // held while the record is read, changed and adopted; locked before planning and mu

	mu       sync.Mutex
	record   record
	names    map[string]bool // family names of the plan
	readOf   time.Time       // modification time of the record's file when last read
	version  int64           // of the record in Options.Records; 0 = it is not there
	unstored bool            // the record could not be put there
	families []*toolfold.Family
	live     map[string]string // digests of the listed and accepted tools, by name
	offer    offer             // prompts and resources
	watched  map[string]bool   // resource URIs, as the server has them
	dropped  map[string]bool   // members that were left out, by method and name; at most maxDropped

	open        map[*openCall]bool // running calls
	pages       pages              // pages that clients were sent to
	session     Session
	attempt     chan struct{} // closed when the running attempt ends; nil if there is no attempt
	trouble     string        // why the last attempt failed
	fault       string        // last failure; empty once the server has listed its tools
	writeFault  string        // why its record could not be written; empty if it was
	unusable    bool          // the record on disk cannot be used
	failures    int           // failed starts in a row
	learning    bool          // its first list is being requested
	next        time.Time     // time of the next such request; in the past = not scheduled
	refreshing  bool          // a changed list is being requested
	again       bool          // the list has changed again meanwhile
	pause       time.Duration // before the next request for a changed list; grows while nothing changes
	lastRefresh time.Time     // time of the last such request
	flags       []string      // suspicious texts of the tools; nil = not determined yet
	unnamed     []string      // tools whose schemas are listed without parameters; determined with flags
	retry       time.Time     // no start before this time
	closed      bool
	off         bool // switched off by the user; initially [Upstream.Off]
}

func newLink(g *Gateway, u Upstream) *link {
	return &link{
		exchange: newExchange(u), Upstream: u, base: fold.Base(u.Name), titles: g.titles(u.Name), gateway: g, off: u.Off,
		turns: turns.New(u.MaxConcurrency), rate: turns.NewRate(u.CallsPerMinute), shares: turns.NewRate(turns.Share(u.CallsPerMinute)),
	}
}

func (l *link) hasTools() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.Tools != nil
}

// isLearning reports whether the server's first list is being requested.
func (l *link) isLearning() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.learning
}

// nextTry returns the time until the next request for the first list, as text; empty if no request is
// scheduled.
func (l *link) nextTry() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := l.next.Sub(l.gateway.options.Now())
	if pause <= 0 || l.record.Tools != nil {
		return ""
	}
	return fmt.Sprintf("; next try in %s", (pause + time.Second).Truncate(time.Second))
}

// currentFamilies returns the families of the server; nil if it is switched off.
func (l *link) currentFamilies() []*toolfold.Family {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return nil
	}
	return slices.Clone(l.families)
}

func (l *link) currentPlan() fold.Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.Plan.Clone()
}

// shows reports whether the user's patterns allow a tool, prompt or resource; kind is empty for tools.
func (l *link) shows(kind, name string) bool {
	whole := func(s string) string { return strings.ReplaceAll(s, "/", " ") } // so that * matches slashes
	text := func(s string) string {
		if kind == resourceKind {
			return whole(s)
		}
		return s
	}
	of := func(patterns []string, text func(string) string) (own []string) {
		for _, pattern := range patterns {
			before, after, named := strings.Cut(pattern, ":")
			switch named = named && (before == promptKind || before == resourceKind); {
			case named && before == kind:
				own = append(own, text(after))
			case !named && kind == "":
				own = append(own, text(pattern))
			}
		}
		return own
	}
	include := of(l.Include, text)
	return (len(include) == 0 || matches(include, text(name))) && !matches(of(l.Exclude, whole), whole(name))
}

// matches reports whether a pattern matches a name.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
}

// why describes the current problems of the server, for people and models; empty if it has no problem.
func (l *link) why() string {
	flagged := l.flaggedTools()
	l.mu.Lock()
	defer l.mu.Unlock()
	if off := l.offReason(); off != "" {
		return off
	}
	var parts []string
	if trouble := cmp.Or(l.Problem, l.trouble); trouble != "" {
		parts = append(parts, trouble)
	}
	if tools := l.record.heldTools(); len(tools) > 0 {
		names := make([]string, len(tools))
		for i, h := range tools {
			names[i] = h.Name + " (" + h.why + ")"
		}
		const most = 10
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
		}
		parts = append(parts, "held back until the user approves: "+strings.Join(names[:min(most, len(names))], ", ")+more)
	}
	parts = append(parts, l.record.LeftOut...)
	switch {
	case l.unstored:
		parts = append(parts, "its list is not shared with other servers: "+errNotShared.Error())
	case l.writeFault != "":
		parts = append(parts, "its list is not kept, so it is asked at each start: "+l.writeFault)
	}
	if len(l.unnamed) > 0 {
		parts = append(parts, "schemas that no client takes are listed without parameters: "+
			strings.Join(l.unnamed[:min(len(l.unnamed), 5)], ", "))
	}
	if len(flagged) > 0 {
		parts = append(parts, "look at the texts of its tools: "+strings.Join(flagged[:min(len(flagged), 5)], ", "))
	}
	return strings.Join(parts, "; ")
}

// connected returns the session, and starts the server if needed. Callers share an attempt to start it;
// it goes on if they stop waiting.
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

// connect starts the server within its time limit, and requests its list again.
func (l *link) connect() {
	asks := []string{upstream.Sample, upstream.Elicit}
	if l.gateway.options.OneClient {
		asks = append(asks, upstream.Roots)
	}
	session, err := l.begin(l.gateway.life, upstream.Client{
		Name: "toolfold", Version: l.gateway.options.Version,
		Ask: l.ask, Asks: asks,
		Changed: l.onListChange,
		Updated: l.onUpdate, Completed: l.onCompleted,
		Stray:  l.stray,
		Memory: l.gateway.memory,
	})
	if err != nil && l.gateway.life.Err() == nil { // before callers get the error and may end the process
		l.fail("starting an upstream", err)
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
	fresh := l.session != nil && l.record.Tools != nil && !l.Login.byCaller() // the session of a caller asks for the list
	watched := slices.Sorted(maps.Keys(l.watched))
	l.mu.Unlock()
	for _, uri := range watched { // watchers do not know of sessions
		ctx, cancel := context.WithTimeout(l.gateway.life, l.startTimeout())
		l.watch(ctx, session, uri, true)
		cancel()
	}
	if fresh { // the stored list may be outdated
		_ = l.refresh(l.gateway.life)
	}
}

// begin starts or reaches the server. If each client session has its own session, it returns an
// [sessionPool].
func (l *link) begin(ctx context.Context, c upstream.Client) (Session, error) {
	if l.perSession() {
		return newSessionPool(l, c), nil
	}
	return l.reachFor(ctx, owner{}, c)
}

// reachFor starts or reaches the server, with the login of its owner if callers log in.
func (l *link) reachFor(ctx context.Context, of owner, c upstream.Client) (Session, error) {
	u := l.Upstream
	switch l.Login {
	case ExchangeLogin:
		u.Server.Account = l.exchange.account(of)
	case CallerLogin:
		u.Server.Account = l.gateway.options.Logins.Of(of.token, l.Name, l.Server.URL)
	}
	u.Server.StartTimeout = l.startTimeout()
	l.mu.Lock()
	u.Server.Legacy = l.record.Legacy
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*u.Server.StartTimeout) // it may have to be started twice
	defer cancel()
	return l.gateway.options.Connect(ctx, u, c)
}

func (l *link) startTimeout() time.Duration { return max(l.Timeout, startTime) }

// stray logs a text of the server that is not a message or answers no request.
func (l *link) stray(text string) {
	l.gateway.options.Log.Debug("a text of an upstream that answers nothing", "upstream", l.Name, "text", text)
}

// refresh requests the server's list, and offers its accepted tools.
func (l *link) refresh(ctx context.Context) error {
	l.mu.Lock()
	before, plan := l.live, l.record.Plan
	l.mu.Unlock()
	session, err := l.connected(ctx) // has its own time limit
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
		if session != nil && l.gateway.life.Err() == nil { // a failure without a session is already logged
			l.fail("listing the tools of an upstream", err)
		}
		l.note(err.Error())
		return err
	}
	l.works()
	l.mu.Lock()
	same := before != nil && maps.Equal(before, l.live) && reflect.DeepEqual(plan, l.record.Plan) // rules depend on all names
	l.mu.Unlock()
	if !same {
		l.gateway.tell()
	}
	l.gateway.tellOffers()
	return nil
}

// learn requests the first list until the server sends it or the gateway is closed. The result of the
// first attempt is sent to first, which has a buffer.
func (l *link) learn(first chan<- error) {
	for pause := 2 * firstPause; ; pause = min(2*pause, learnPause) { // longer than the pause of a server that does not start
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
		default: // only the first result is sent
		}
		if err == nil || off || l.hasTools() {
			return
		}
		select {
		case <-time.After(pause):
		case <-l.gateway.life.Done():
			return
		}
	}
}

// onListChange requests a changed list: at once, and then once per pause. The pause doubles from a
// second to listPause while nothing changes.
func (l *link) onListChange() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.refreshing {
		l.again = true
		return
	}
	if time.Since(l.lastRefresh) > listPause {
		l.pause = 0
	}
	l.refreshing = true
	l.gateway.work.Go(func() {
		for more := true; more; {
			select {
			case <-time.After(l.follow()):
			case <-l.gateway.life.Done():
			}
			l.mu.Lock()
			more = l.again && !l.closed
			l.again, l.refreshing = false, more
			l.mu.Unlock()
		}
	})
}

// follow requests a changed list, and returns the pause after it.
func (l *link) follow() time.Duration {
	l.mu.Lock()
	before := l.record.lists()
	l.mu.Unlock()
	_ = l.refresh(l.gateway.life)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastRefresh = time.Now()
	if l.pause = min(max(2*l.pause, firstPause), listPause); !reflect.DeepEqual(before, l.record.lists()) {
		l.pause = firstPause
	}
	return l.pause
}

// lookAgain resets the flags of all servers, because texts may name tools of other servers.
func (g *Gateway) lookAgain() {
	for _, l := range g.links {
		l.mu.Lock()
		l.flags = nil
		l.mu.Unlock()
	}
}

// otherNames returns the names of tools that other servers offer and this one does not: two servers may be
// of the same kind.
func (l *link) otherNames() map[string]bool {
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

// flaggedTools lists the texts of the server's tools that the user should look at, with the reason.
func (l *link) flaggedTools() []string {
	others := l.otherNames()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flags == nil {
		l.flags, l.unnamed = []string{}, nil
		for _, d := range l.record.definitions {
			if object, _, ok := judge.Object(d.InputSchema); ok {
				if _, whole := judge.ListedSchema(object); !whole {
					l.unnamed = append(l.unnamed, shorten.Quoted(d.Name))
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
	if err := l.paced(ctx); err != nil {
		return nil, err
	}
	patience, gaveUp := context.WithCancelCause(ctx)
	defer gaveUp(nil)
	alive := time.AfterFunc(l.Timeout, func() { gaveUp(context.DeadlineExceeded) })
	defer alive.Stop()
	end := time.AfterFunc(mostPatience, func() { gaveUp(context.DeadlineExceeded) })
	defer end.Stop()
	open := &openCall{link: l, ctx: patience, end: gaveUp, alive: alive, tool: c.Tool}
	open.work = turns.Of(toolfold.OriginOf(ctx), l.MaxConcurrency)
	if !open.run() {
		return nil, l.failure(ctx, patience, c, fmt.Errorf("%d calls are running, the limit of maxConcurrency", l.MaxConcurrency))
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
	if client := callctx.ClientOf(ctx); client != nil {
		c.Capabilities = client.Declared()
	}
	c.Meta, c.Patience = metaOf(ctx), l.Timeout
	log := callctx.Of[callctx.Log](ctx)
	if c.LogLevel = log.Level; log.Tell != nil {
		c.Log = func(params json.RawMessage) {
			if params, err := l.forClients("notifications/message", params); err == nil {
				log.Tell(params)
			}
		}
	}
	c.Progress = func(p upstream.Progress) {
		open.beat()
		toolfold.Report(ctx, toolfold.Progress{Done: p.Done, Total: p.Total, Message: p.Message})
	}
	loggedIn := false
	for attempt := 0; ; attempt++ {
		session, err := l.connected(patience)
		if err != nil {
			return nil, l.failure(ctx, patience, c, err)
		}
		result, err := session.Call(patience, c)
		if ended := new(toolfold.Error); errors.As(context.Cause(patience), &ended) { // also if the server answers the cancelled call
			return nil, uncertain(l.failure(ctx, patience, c, err))
		}
		switch {
		case err == nil:
			l.note("")
			if result, err = l.forClients(cmp.Or(c.Method, callTool), result); err != nil {
				return nil, uncertain(l.failure(ctx, patience, c, err))
			}
			return result, nil
		case errors.Is(err, upstream.ErrGone) && attempt == 0: // the server did not take it, so it can be repeated
			l.drop(session)
			continue
		case errors.Is(err, upstream.ErrLogin) && l.Login == CallerLogin:
			if err := l.logIn(patience, open, loggedIn); err != nil {
				return nil, l.failure(ctx, patience, c, err)
			}
			loggedIn = true
			continue
		}
		var refused *upstream.ProtocolError
		var lost *upstream.LostAnswerError
		var ours *toolfold.Error
		known := errors.Is(err, upstream.ErrGone) // that the server did not do it
		switch {
		case errors.As(err, &refused), errors.As(err, &ours):
			known = true
		case patience.Err() != nil:
		case errors.As(err, &lost):
			l.note(err.Error())
		default:
			l.drop(session)
			l.note(err.Error())
		}
		if known {
			return nil, l.failure(ctx, patience, c, err)
		}
		return nil, uncertain(l.failure(ctx, patience, c, err))
	}
}

// uncertain marks the error of a call that the server may have done.
func uncertain(err error) error {
	if failed, ok := errors.AsType[*toolfold.Error](err); ok {
		failed.Uncertain = true
	}
	return err
}

// metaOf returns the _meta to send with a call: the client's members for other servers, and the span of
// the call as trace context. It is nil without either.
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

// callTool is the method of tool calls.
const callTool = "tools/call"

// maxDropped is how many names of left-out members are logged for a server.
const maxDropped = 100

// forClients converts a message of the server for clients, see [foreignSchema.Object]. Left-out members are logged
// once for each method and name, and so are unreadable messages.
func (l *link) forClients(method string, raw json.RawMessage) (json.RawMessage, error) {
	object, dropped, err := foreign.Object(method, raw)
	if err != nil {
		l.gateway.options.Log.Warn("an upstream sent an invalid message", "upstream", l.Name, "method", method, "err", err)
		return nil, err
	}
	if fresh := l.newlyDropped(method, dropped); len(fresh) > 0 {
		l.gateway.options.Log.Warn("members that an upstream sent are left out", "upstream", l.Name, "method", method, "members", fresh)
	}
	return object, nil
}

// newlyDropped returns the members that were not left out of this method before.
func (l *link) newlyDropped(method string, members []string) (fresh []string) {
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

// note records the server's problem; empty if it has no problem.
func (l *link) note(trouble string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = trouble
}

// drop closes a session that is no longer usable.
func (l *link) drop(session Session) {
	l.mu.Lock()
	if l.session == session {
		l.session = nil
	}
	l.mu.Unlock()
	l.gateway.work.Go(session.Close)
}

// paced waits for room in callsPerMinute. A caller with a token has its share of it, so that others find room too.
func (l *link) paced(ctx context.Context) error {
	var err error
	if token := toolfold.OriginOf(ctx).Token; token != "" {
		err = l.shares.Take(ctx, token, ratePatience)
	}
	if err == nil {
		err = l.rate.Take(ctx, "", ratePatience)
	}
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return toolfold.Errorf(toolfold.LimitReached, "the server %s is called too often: %v", l.Name, err).
		WithHint("nothing was done: call again then; other tools work")
}

// failure words the error of a call without an answer.
func (l *link) failure(ctx, patience context.Context, c upstream.Call, err error) error {
	what := cmp.Or(c.Tool, c.Method)
	var refused *upstream.ProtocolError
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
		failed.Data, _ = foreign.JSON(refused.Data) // nil without data
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
