package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Client says who asks, and hears of what servers say unasked.
type Client struct {
	Name, Version string

	// Changed is called when the server says that one of its lists has changed, and Updated
	// with the URI of a resource that is watched and has changed. Nil is not called.
	Changed func()
	Updated func(uri string)

	// Completed is called with the params of the server's notification that a user is done with a page that a call
	// had sent the user to. Nil is not called.
	Completed func(params json.RawMessage)

	// Ask answers what a server asks that is of no call, such as for roots, or of a call without an
	// Ask, with the params as they came. The context ends when the server takes the question back.
	// Nil refuses these. Asks lists the methods that servers can ask by.
	Ask  func(context.Context, Question) (json.RawMessage, error)
	Asks []string

	// Stray is called with the start of each text of the server that is no message, or answers no
	// request, up to maxStrays times in a session. Nil is not called.
	Stray func(text string)

	Memory *Memory // of the messages of all servers; nil = no bound
}

// maxStrays bounds the texts of a session that are reported by [Client.Stray].
const maxStrays = 100

// The methods by which a server asks its client.
const (
	Sample = "sampling/createMessage"
	Elicit = "elicitation/create"
	Roots  = "roots/list"
)

// Session is a connection to a server that was started or reached. It is safe for
// concurrent use.
type Session struct {
	server  Server
	session *mcp.ClientSession
	gate    *gate
	stderr  *child.Tail
	journal *journal
	open    bool         // it was opened; set once
	ended   func() error // ends the program and returns how it ended
	stop    context.CancelFunc
	last    atomic.Int64
	logging sync.Mutex    // held while the level is set
	level   string        // of log messages, where a session has one; empty = that of the server
	listing chan struct{} // has room for who lists the tools
	listed  atomic.Bool   // the tools were listed
	once    sync.Once
	how     error
	gone    chan struct{}
}

// Connect starts or reaches a server. The context bounds that alone: the session
// lives until Close, or until the server ends it. Errors say why there is no session,
// without the secrets that reaching the server takes.
//
// A program that does not answer server/discover is sent initialize. One that ends at the first, or
// answers neither within its start timeout, is started again and sent initialize alone. A server at a
// URL that refuses requests as servers of the older transport do is asked by that.
func Connect(ctx context.Context, s Server, c Client) (*Session, error) {
	filled, err := s.Filled(ctx)
	var session *Session
	if err == nil {
		s = filled
		session, err = begin(ctx, s, c)
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.journal().note(failedEntry, err.Error())
	}
	return session, err
}

// begin is Connect without a word in the journal.
func begin(ctx context.Context, s Server, c Client) (*Session, error) {
	if s.Argv != nil {
		return startSession(ctx, s, c)
	}
	session, _, err := connect(ctx, s, c)
	var refused *noMessage
	if s.SSE || !errors.As(err, &refused) {
		return session, err
	}
	switch refused.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed: // as the protocol has it
		s.SSE = true
		if older, _, failed := connect(ctx, s, c); failed == nil {
			return older, nil
		}
	}
	return nil, err
}

// startSession starts a program, a second time where the first did not take the era of the protocol that
// it was asked in.
func startSession(ctx context.Context, s Server, c Client) (*Session, error) {
	bound := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, cmp.Or(s.StartTimeout, DefaultStartTimeout))
	}
	first, cancel := bound()
	session, heard, err := connect(first, s, c)
	cancel()
	if err == nil || ctx.Err() != nil || heard.unstarted {
		return session, err
	}
	switch {
	case heard.probed && !heard.discovered && !heard.answered:
		s.Legacy = true
	case s.Legacy, heard.late && heard.discovered: // it knows the newer era after all, and took its time
		s.Legacy, s.ProbeTimeout = false, cmp.Or(s.StartTimeout, DefaultStartTimeout)
	default:
		return nil, err
	}
	second, cancel := bound()
	defer cancel()
	session, _, err = connect(second, s, c)
	return session, err
}

// connect makes one attempt, and returns what came of the first requests.
func connect(ctx context.Context, s Server, c Client) (*Session, handshake, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	tail, log := &child.Tail{Keep: maxSaid}, s.journal()
	var said io.Writer = tail
	if log != nil {
		said = io.MultiWriter(tail, log)
	}
	session := &Session{
		server: s, gate: newGate(life, s, c, said), stderr: tail, journal: log, stop: stop, gone: make(chan struct{}),
		listing: make(chan struct{}, 1),
	}
	if s.Argv == nil {
		session.gate.said = nil // it would be taken for what a program says
	}
	var transport mcp.Transport
	var err error
	if s.Argv != nil {
		transport, session.ended, err = start(life, stop, s, session.gate, c.Memory, said)
	} else {
		session.ended = func() error { return nil }
		transport, err = reach(s, session.gate, c.Memory)
	}
	if err != nil {
		stop()
		return nil, handshake{unstarted: true}, s.reason(err, "")
	}
	era := &mcp.ClientSessionOptions{}
	if s.Legacy {
		era.ProtocolVersion = lastLegacy
	}
	client := mcp.NewClient(&mcp.Implementation{Name: c.Name, Version: c.Version}, c.options())
	if session.session, err = client.Connect(ctx, transport, era); err != nil {
		err = session.fail(ctx, err)
		heard := session.gate.state()
		var unstarted *child.StartError
		heard.unstarted = errors.As(session.how, &unstarted)
		return nil, heard, err
	}
	session.open = true
	go func() {
		_ = session.session.Wait()
		close(session.gone)
	}()
	return session, session.gate.state(), nil
}

// options returns what the library declares and reports of a session. What servers ask, and what
// they report of calls, stays with the gate.
func (c Client) options() *mcp.ClientOptions {
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
	for _, method := range c.Asks {
		switch method {
		case Sample:
			//lint:ignore SA1019 servers ask for it as long as they do
			options.Capabilities.Sampling = &mcp.SamplingCapabilities{}
		case Elicit:
			options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{
				Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
			}
		case Roots:
			//lint:ignore SA1019 as above
			options.Capabilities.RootsV2 = &mcp.RootCapabilities{}
		}
	}
	if c.Changed != nil {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { c.Changed() }
		options.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) { c.Changed() }
		options.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) { c.Changed() }
	}
	if c.Updated != nil {
		options.ResourceUpdatedHandler = func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.Updated(r.Params.URI) }
	}
	return options
}

// fail ends a session that is of no use any more and returns why.
func (s *Session) fail(ctx context.Context, err error) error {
	end := s.end(err)
	if end != nil && ctx.Err() == nil {
		err = end // a program that failed says more than a connection that was closed
	}
	return s.server.reason(err, s.stderr.String())
}

// end ends the session and returns how its program ended. The journal gets the error that the session failed with, and
// that a program has ended before; nil is no error.
func (s *Session) end(failed error) error {
	s.once.Do(func() {
		select {
		case <-s.gone:
			if s.server.Argv != nil {
				failed = cmp.Or(failed, errors.New("it ended"))
			}
		default:
		}
		if s.session != nil {
			_ = s.session.Close()
		}
		s.how = s.ended()
		s.stop()
		s.journal.end()
		if failed != nil && s.open {
			s.journal.note(failedEntry, s.server.reason(cmp.Or(s.how, failed), "").Error())
		}
	})
	return s.how
}

// Close ends the session. Programs that it started have ended when it returns.
func (s *Session) Close() { _ = s.end(nil) }

// Gone is closed when the server has ended the session, or it was closed.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Progress is a report of a server about a call that runs.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 // zero = unknown
	Message string
}

// The requests besides calls of tools that are passed on to servers.
const (
	GetPrompt    = "prompts/get"
	ReadResource = "resources/read"
	Complete     = "completion/complete"
)

// Call is a call of a tool, or a request of another method.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a JSON object

	// Method and Params are those of a request in place of a call of a tool; the params are a
	// JSON object without _meta. Empty = the tool.
	Method string
	Params json.RawMessage

	// Meta has members of the _meta of the request, a JSON object; nil for none. The members that the
	// protocol needs go before them.
	Meta json.RawMessage

	// LogLevel is the least level of the log messages that the caller wants; empty is none.
	// A server of an older protocol than 2026-07-28 may send others.
	LogLevel string

	// Progress is called with what the server reports, and Log with the params of its log
	// messages, before the call ends, one at a time. A message that may be about another
	// call is told to none. Nil is not called.
	Progress func(Progress)
	Log      func(params json.RawMessage)

	// Ask answers what the server asks in the course of the call, once Progress and Log have had what
	// came before. Nil is that of [Client].
	Ask func(context.Context, Question) (json.RawMessage, error)

	// Asks says that the tool is known to ask. Where a connection does not say of which call a question
	// is, the calls of such tools run one at a time: Queue is called with true when this one begins to
	// wait for its turn, and with false when it waits no more. Nil is not called.
	Asks  bool
	Queue func(waits bool)

	// Capabilities says what Ask answers, as the protocol's ClientCapabilities, which servers of
	// 2026-07-28 are told with the call. Nil stands for what [Client] answers; servers of other
	// versions know no more than that.
	Capabilities json.RawMessage

	// Patience is how long the caller waits for news of the call: a longer pause that the server asks for is
	// the error of the call. 0 = as long as the context.
	Patience time.Duration

	// Mirrored says that the tool's definition wants arguments in headers too, which a session
	// knows once it has listed the tools.
	Mirrored bool
}

// patienceKey is the key of [Call.Patience] in the context of what is sent.
type patienceKey struct{}

// call is a call that runs. The gate's mutex guards what changes.
type call struct {
	method string          // in place of that of a call of a tool; empty = none
	params json.RawMessage // of that method
	extra  []byte          // members of its params that the library does not write, each behind a comma
	tell   func(event)     // tells the caller what the server reports

	id    jsonrpc.ID // of its request, once that is sent
	tool  string     // empty for another method
	asks  bool       // the tool asks, as far as is known
	ghost bool       // it stands for a call that was cancelled
	ask   func(context.Context, Question) (json.RawMessage, error)
	open  []*question // without an answer, of a connection that does not say their call

	result  json.RawMessage // once it came
	events  []event         // that the caller has not heard of
	telling chan struct{}   // closed when the goroutine that tells the caller has ended; nil = there is none
}

// event is something that a server reports about a call.
type event struct {
	progress Progress
	log      json.RawMessage // nil for progress
	then     func()          // called in place of telling the caller; nil = the event is for the caller
}

// maxEvents bounds what a caller has not heard of yet. More is dropped: what comes later
// says more, and others use the connection too.
const maxEvents = 1000

// Refused is the error of a server that answers a call with an error of the protocol in
// place of a result.
type Refused struct {
	Code    int64
	Message string
	Data    json.RawMessage // of the error, on one line; nil for none
	Lacking string          // the capability that the client of the call would have to declare; empty = it is about another thing
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Code == 0 { // the server gave none
		return r.Message
	}
	return fmt.Sprintf("%s (%d)", r.Message, r.Code)
}

// Lost is the error of a call that got no answer that can be read. Whether the tool has run is not
// known, and the session goes on.
type Lost struct{ Why string }

// Error implements error.
func (l *Lost) Error() string { return l.Why }

// ErrGone is the error of a session that ended before the server took a call.
var ErrGone = errors.New("the session has ended")

// maxRounds bounds how often a server asks before it answers a call.
const maxRounds = 20

// Call calls a tool and returns its CallToolResult as it came, or the result of another
// method. A [*Refused] is the
// server's own error. Others say why there is no answer: whether the tool has run is not
// known then, unless it is [ErrGone]. But for these, and a [*Lost], the session is over.
func (s *Session) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	if c.Mirrored && s.server.Argv == nil && s.modern() && !s.listed.Load() {
		_, _ = s.listTools(ctx) // without the list the server says what is missing
	}
	result, err := s.answered(ctx, c)
	var refused *Refused
	if errors.As(err, &refused) && refused.Code == mcp.CodeHeaderMismatch && c.Tool != "" { // the tool wants others by now
		if _, failed := s.listTools(ctx); failed == nil {
			result, err = s.answered(ctx, c)
		}
	}
	s.journal.note(refusedEntry, refusedText(c, err))
	return result, err
}

// answered makes a call, and answers what the server asks before it does.
func (s *Session) answered(ctx context.Context, c Call) (json.RawMessage, error) {
	var extra []byte
	for range maxRounds {
		result, err := s.round(ctx, c, extra)
		if err != nil {
			return nil, err
		}
		var asks struct {
			ResultType    string
			RequestState  *string
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
		}
		if json.Unmarshal(result, &asks) != nil || asks.ResultType != "input_required" {
			return result, nil // also one that the library does not understand
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		answers := map[string]json.RawMessage{}
		for key, asked := range asks.InputRequests {
			wait.Go(func() {
				answer, failed := s.gate.askOf(ctx, c, Question{Key: key, Method: asked.Method, Params: asked.Params})
				mu.Lock()
				defer mu.Unlock()
				if answers[key] = answer; failed != nil {
					err = failed
				}
			})
		}
		wait.Wait()
		if err != nil {
			return nil, &Refused{Message: fmt.Sprintf("it asks for %s first: %s", firstMethod(asks.InputRequests), err)}
		}
		extra = append([]byte(`,"inputResponses":`), ordered.MustJSON(answers)...)
		if asks.RequestState != nil {
			extra = append(append(extra, `,"requestState":`...), ordered.MustJSON(*asks.RequestState)...)
		}
	}
	return nil, &Refused{Message: fmt.Sprintf("it asked %d times and gave no answer", maxRounds)}
}

// round calls a tool once: from 2026-07-28 on a server that has to ask does so in the result.
func (s *Session) round(ctx context.Context, c Call, extra []byte) (json.RawMessage, error) {
	select {
	case <-s.gone:
		return nil, ErrGone
	default:
	}
	if c.Patience > 0 {
		ctx = context.WithValue(ctx, patienceKey{}, c.Patience)
	}
	token := strconv.FormatInt(s.last.Add(1), 10)
	running := &call{method: c.Method, params: c.Params, extra: extra, tool: c.Tool, ask: c.Ask, asks: c.Asks, tell: func(e event) {
		switch {
		case e.log == nil && c.Progress != nil:
			c.Progress(e.progress)
		case e.log != nil && c.Log != nil:
			c.Log(e.log)
		}
	}}
	if err := s.inTurn(ctx, token, running, c.Queue); err != nil {
		return nil, err
	}
	meta := mcp.Meta{}
	ordered.Scan(c.Meta, func(name []byte, start, end int) { meta[string(name)] = c.Meta[start:end:end] })
	meta["progressToken"] = token
	if c.Capabilities != nil && s.modern() {
		meta[mcp.MetaKeyClientCapabilities] = c.Capabilities // the library says those of the session else
	}
	if c.LogLevel != "" {
		s.wantLog(ctx, c.LogLevel, meta)
	}
	_, err := s.session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: c.Tool, Arguments: c.Arguments})
	if result := s.gate.leave(token, ctx.Err() != nil); result != nil {
		return result, nil
	}
	return nil, s.failed(ctx, err)
}

// failed returns the error of a call without a result.
func (s *Session) failed(ctx context.Context, err error) error {
	err = cmp.Or(err, errors.New("it gave no answer"))
	var refused *jsonrpc.Error
	var unsent *url.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unsent):
		return &Lost{s.server.reason(err, "").Error()}
	case errors.As(err, &refused) && refused.Code == codeGone:
		return ErrGone
	case errors.As(err, &refused) && refused.Code == codeRejected:
		_, cause, _ := strings.Cut(err.Error(), refused.Message+": ")
		return &Lost{s.server.reason(errors.New(cmp.Or(cause, "the request could not be sent")), "").Error()}
	case errors.As(err, &refused) && refused.Code == codeLost:
		return &Lost{s.server.reason(errors.New(refused.Message), "").Error()}
	case errors.As(err, &refused) && !errors.Is(err, mcp.ErrConnectionClosed):
		why := s.server.reason(errors.New(refused.Message), "").Error()
		return &Refused{Code: refused.Code, Message: why, Data: compact(refused.Data), Lacking: lacking(refused)}
	}
	return s.fail(ctx, err)
}

// lacking returns the capability for which a server of 2026-07-28 refuses a call; empty for other
// errors.
func lacking(refused *jsonrpc.Error) string {
	var data struct{ RequiredCapabilities ordered.Map }
	if refused.Code != mcp.CodeMissingRequiredClientCapabilities || json.Unmarshal(refused.Data, &data) != nil {
		return ""
	}
	for _, name := range []string{"sampling", "elicitation", "roots"} { // servers of go-sdk name roots beside any other
		if _, required := data.RequiredCapabilities.Get(name); required {
			return name
		}
	}
	return ""
}

// levels are those of log messages, the least first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wantLog tells the server which log messages a call wants. Where a session has one level
// for all calls that is the least that any of them wanted.
func (s *Session) wantLog(ctx context.Context, level string, meta mcp.Meta) {
	hello := s.session.InitializeResult()
	switch {
	case hello == nil || hello.Capabilities == nil || hello.Capabilities.Logging == nil: //lint:ignore SA1019 servers log as long as they do
		return
	case s.modern():
		//lint:ignore SA1019 as above
		meta[mcp.MetaKeyLogLevel] = level
		return
	}
	s.logging.Lock()
	defer s.logging.Unlock()
	if least := slices.Index(levels, s.level); least >= 0 && least <= slices.Index(levels, level) {
		return
	}
	//lint:ignore SA1019 as above
	if s.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)}) == nil {
		s.level = level
	}
}

// lastLegacy is the last version of the protocol with sessions.
const lastLegacy = "2025-11-25"

// modern is the first version of the protocol without sessions.
const modern = "2026-07-28"

// modern reports whether the server is asked in that version, or in a later one.
func (s *Session) modern() bool {
	hello := s.session.InitializeResult()
	return hello != nil && hello.ProtocolVersion >= modern
}

// firstMethod returns the first of the methods that are asked for.
func firstMethod[T any](asked map[string]T) string {
	for key := range asked {
		return key
	}
	return "nothing"
}

// callTool is the method of calls of tools, as which the library sends all requests of [Session.Call]:
// the gate writes their own method over it, so that nothing but that is read or kept of them.
const callTool = "tools/call"

// written returns the request of the call as it goes out, of the one that the library made.
func (c *call) written(made *jsonrpc.Request, meta json.RawMessage) *jsonrpc.Request {
	with := *made
	if c.method != "" {
		with.Method = c.method
		with.Params = slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(c.params), []byte("}")), []byte(","))
		if len(with.Params) == len("{,") {
			with.Params = with.Params[:1]
		}
		with.Params = slices.Concat(with.Params, []byte(`"_meta":`), meta, []byte("}"))
	}
	if c.extra != nil {
		with.Params = slices.Concat(with.Params[:len(with.Params)-1], c.extra, []byte("}"))
	}
	return &with
}
