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

// Client identifies this client to the server and receives its notifications.
type Client struct {
	Name, Version string

	// Changed is called if the server reports a change of one of its lists. Updated is called with the
	// URI of a watched resource that has changed. Either may be nil.
	Changed func()
	Updated func(uri string)

	// Completed is called with the params of the notification that the user has finished with a page to
	// which a call had sent the user. It may be nil.
	Completed func(params json.RawMessage)

	// Ask answers questions that belong to no call, such as requests for roots, or to a call without an
	// Ask. The params are unchanged. The context ends when the server takes the question back. Nil
	// refuses these questions. Asks lists the methods that servers may ask by.
	Ask  func(context.Context, Question) (json.RawMessage, error)
	Asks []string

	// Stray is called with the start of each text of the server that is not a message or answers no
	// request. It gets at most maxStrays texts in a session. It may be nil.
	Stray func(text string)

	Memory *Memory // for messages of all servers; nil = no limit
}

// maxStrays is how many texts of a session [Client.Stray] gets.
const maxStrays = 100

// The methods by which a server asks its client.
const (
	Sample = "sampling/createMessage"
	Elicit = "elicitation/create"
	Roots  = "roots/list"
)

// Session is a connection to a server. It is safe for concurrent use.
type Session struct {
	server    Server
	session   *mcp.ClientSession
	gate      *gate
	stderr    *child.Tail
	journal   *journal
	open      bool         // Connect has succeeded; set once
	ended     func() error // ends the program and returns its error
	stop      context.CancelFunc
	last      atomic.Int64
	logging   sync.Mutex    // held while the level is set
	level     string        // of log messages, if the session has one; empty = the server's default
	listing   chan struct{} // holds one element while the tools are listed
	hasListed atomic.Bool   // the tools were listed before
	once      sync.Once
	endError  error
	gone      chan struct{}
}

// Connect starts or reaches a server. The context limits only that: the session lives until Close, or
// until the server ends it. Errors explain why there is no session, without the secrets that reaching
// the server takes.
//
// A program that does not answer server/discover is sent initialize. If it ends at the first, or
// answers neither within its start timeout, it is started again and sent initialize alone. A server at
// a URL that refuses requests like servers of the older transport is tried with that transport.
func Connect(ctx context.Context, s Server, c Client) (*Session, error) {
	filled, err := s.Expand(ctx)
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

// begin is Connect without the journal.
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
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed: // the statuses that the protocol names for this
		s.SSE = true
		if older, _, failed := connect(ctx, s, c); failed == nil {
			return older, nil
		}
	}
	return nil, err
}

// startSession starts a program. It starts the program a second time, with the other era of the
// protocol, if the program did not accept the first.
func startSession(ctx context.Context, s Server, c Client) (*Session, error) {
	bound := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, cmp.Or(s.StartTimeout, DefaultStartTimeout))
	}
	first, cancel := bound()
	session, state, err := connect(first, s, c)
	cancel()
	if err == nil || ctx.Err() != nil || state.unstarted {
		return session, err
	}
	switch {
	case state.probed && !state.discovered && !state.answered:
		s.Legacy = true
	case s.Legacy, state.late && state.discovered: // it supports the newer era, only slowly
		s.Legacy, s.ProbeTimeout = false, cmp.Or(s.StartTimeout, DefaultStartTimeout)
	default:
		return nil, err
	}
	second, cancel := bound()
	defer cancel()
	session, _, err = connect(second, s, c)
	return session, err
}

// connect makes one attempt, and returns how the first requests went.
func connect(ctx context.Context, s Server, c Client) (*Session, handshake, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	tail, log := &child.Tail{Keep: maxReason}, s.journal()
	var output io.Writer = tail
	if log != nil {
		output = io.MultiWriter(tail, log)
	}
	session := &Session{
		server: s, gate: newGate(life, s, c, output), stderr: tail, journal: log, stop: stop, gone: make(chan struct{}),
		listing: make(chan struct{}, 1),
	}
	if s.Argv == nil {
		session.gate.output = nil // or the text would be taken for output of a program
	}
	var transport mcp.Transport
	var err error
	if s.Argv != nil {
		transport, session.ended, err = start(life, stop, s, session.gate, c.Memory, output)
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
		state := session.gate.state()
		var unstarted *child.StartError
		state.unstarted = errors.As(session.endError, &unstarted)
		return nil, state, err
	}
	session.open = true
	go func() {
		_ = session.session.Wait()
		close(session.gone)
	}()
	return session, session.gate.state(), nil
}

// options returns the capabilities and handlers for the library. Questions of servers and reports about
// calls stay with the gate.
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

// fail ends a session that is no longer usable, and returns the reason.
func (s *Session) fail(ctx context.Context, err error) error {
	end := s.end(err)
	if end != nil && ctx.Err() == nil {
		err = end // the program's failure explains more than the closed connection
	}
	return s.server.reason(err, s.stderr.String())
}

// end ends the session and returns the error of its program. failed is the error that ended the
// session, or nil; it goes into the journal. So does the fact that a program had already ended.
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
		s.endError = s.ended()
		s.stop()
		s.journal.end()
		if failed != nil && s.open {
			s.journal.note(failedEntry, s.server.reason(cmp.Or(s.endError, failed), "").Error())
		}
	})
	return s.endError
}

// Close ends the session. The server's programs have ended when it returns.
func (s *Session) Close() { _ = s.end(nil) }

// Gone returns a channel that is closed when the session has ended, on either side.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Progress is a server's report about a running call.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 // zero = unknown
	Message string
}

// The requests other than tool calls that are passed on to servers.
const (
	GetPrompt    = "prompts/get"
	ReadResource = "resources/read"
	Complete     = "completion/complete"
)

// Call is a tool call, or a request of another method.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a JSON object

	// Method and Params replace the tool call by another request. Params is a JSON object without
	// _meta. An empty Method means a tool call.
	Method string
	Params json.RawMessage

	// Meta holds additional members for the _meta of the request, as a JSON object, or is nil. The
	// protocol's own members override them.
	Meta json.RawMessage

	// LogLevel is the lowest level of the log messages that the caller wants; empty means no messages.
	// A server older than 2026-07-28 may send more.
	LogLevel string

	// Progress is called with the server's reports, and Log with the params of its log messages. They
	// are called one at a time, before the call ends. A message that may belong to another call is
	// dropped. Either may be nil.
	Progress func(Progress)
	Log      func(params json.RawMessage)

	// Ask answers the server's questions during the call. Earlier events reach Progress and Log first.
	// Nil uses the one of [Client].
	Ask func(context.Context, Question) (json.RawMessage, error)

	// Asks is set if the tool is known to ask. If a connection does not name the call of a question,
	// calls of such tools run one at a time. Queue is called with true when this call begins to wait
	// for its turn, and with false when the wait ends. Queue may be nil.
	Asks  bool
	Queue func(waits bool)

	// Capabilities declares the questions that Ask answers, as the protocol's ClientCapabilities.
	// Servers of 2026-07-28 get them with the call. Nil declares those of [Client], which servers of
	// other versions always get.
	Capabilities json.RawMessage

	// Patience is how long the caller waits for news of the call. If the server asks for a longer
	// pause, the call fails. 0 means no such limit.
	Patience time.Duration

	// Mirrored is set if the tool's definition requires arguments in headers too. The session finds
	// these arguments in the list of tools, which it requests if necessary.
	Mirrored bool
}

// patienceKey is the context key of [Call.Patience].
type patienceKey struct{}

// call is a running call. The gate's mutex guards the fields that change.
type call struct {
	method string          // params in place of tools/call; empty for a tool call
	params json.RawMessage // of that method
	extra  []byte          // members of its params that the library does not write, each after a comma
	tell   func(event)     // reports an event to the caller

	id    jsonrpc.ID // of its request, once sent
	tool  string     // empty for another method
	asks  bool       // the tool is known to ask
	ghost bool       // it stands for a cancelled call
	ask   func(context.Context, Question) (json.RawMessage, error)
	open  []*question // unanswered, on a connection that does not name their call

	result    json.RawMessage // nil until it came
	events    []event         // not yet reported to the caller
	reporting chan struct{}   // closed when the goroutine that reports events has ended; nil if it does not run
}

// event is a server's report about a call.
type event struct {
	progress Progress
	log      json.RawMessage // nil for progress
	then     func()          // called instead of reporting to the caller; nil for a report
}

// maxEvents is how many unreported events of a call are queued. More are dropped: later progress
// replaces earlier progress, and other callers use the connection too.
const maxEvents = 1000

// ProtocolError is returned if the server answers a call with a protocol error instead of a result.
type ProtocolError struct {
	Code    int64
	Message string
	Data    json.RawMessage // of the error, on one line; nil if there is no data
	Lacking string          // the capability that the client of the call lacks; empty for other errors
}

// Error implements error.
func (r *ProtocolError) Error() string {
	if r.Code == 0 { // the server gave no code
		return r.Message
	}
	return fmt.Sprintf("%s (%d)", r.Message, r.Code)
}

// LostAnswerError is returned if the answer to a call is missing or unreadable. The tool may or may not have run.
// The session goes on. If it is [ErrLogin], the server did not take the call.
type LostAnswerError struct {
	Why string
	Err error // may be nil
}

// Error implements error.
func (l *LostAnswerError) Error() string { return l.Why }

// Unwrap returns Err.
func (l *LostAnswerError) Unwrap() error { return l.Err }

// ErrGone is returned if the session ended before the server took a call.
var ErrGone = errors.New("the session has ended")

// maxRounds limits how often a server may ask before it answers a call.
const maxRounds = 20

// Call calls a tool and returns its CallToolResult unchanged, or the result of another method. A
// [*ProtocolError] is the server's own error. For other errors except [ErrGone] it is unknown whether the
// tool has run. After errors other than a [*ProtocolError], a [*LostAnswerError] and the context's own the session is
// over.
func (s *Session) Call(ctx context.Context, c Call) (json.RawMessage, error) {
	if c.Mirrored && s.server.Argv == nil && s.modern() && !s.hasListed.Load() {
		_, _ = s.listTools(ctx) // if this fails, the server reports the missing headers
	}
	result, err := s.send(ctx, c)
	var refused *ProtocolError
	if errors.As(err, &refused) && refused.Code == mcp.CodeHeaderMismatch && c.Tool != "" { // the tool requires other headers by now
		if _, failed := s.listTools(ctx); failed == nil {
			result, err = s.send(ctx, c)
		}
	}
	s.journal.note(refusedEntry, refusedText(c, err))
	return result, err
}

// send makes a call, and answers the server's questions until it has a result.
func (s *Session) send(ctx context.Context, c Call) (json.RawMessage, error) {
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
			return result, nil // also a type that the library does not know
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		answers := map[string]json.RawMessage{}
		for key, request := range asks.InputRequests {
			wait.Go(func() {
				answer, failed := s.gate.askOf(ctx, c, Question{Key: key, Method: request.Method, Params: request.Params})
				mu.Lock()
				defer mu.Unlock()
				if answers[key] = answer; failed != nil {
					err = failed
				}
			})
		}
		wait.Wait()
		if err != nil {
			return nil, &ProtocolError{Message: fmt.Sprintf("it asks for %s first: %s", firstMethod(asks.InputRequests), err)}
		}
		extra = append([]byte(`,"inputResponses":`), ordered.MustJSON(answers)...)
		if asks.RequestState != nil {
			extra = append(append(extra, `,"requestState":`...), ordered.MustJSON(*asks.RequestState)...)
		}
	}
	return nil, &ProtocolError{Message: fmt.Sprintf("it asked %d times and gave no answer", maxRounds)}
}

// round sends a request once. A server of 2026-07-28 or later asks in the result.
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
		meta[mcp.MetaKeyClientCapabilities] = c.Capabilities // otherwise the library declares those of the session
	}
	if c.LogLevel != "" {
		s.wantLog(ctx, c.LogLevel, meta)
	}
	_, err := s.session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: c.Tool, Arguments: c.Arguments})
	if result := s.gate.leave(token, ctx.Err() != nil); result != nil {
		return result, nil
	}
	return nil, s.sessionError(ctx, err)
}

// sessionError returns the error of a call without a result.
func (s *Session) sessionError(ctx context.Context, err error) error {
	err = cmp.Or(err, errors.New("it gave no answer"))
	var refused *jsonrpc.Error
	var unsent *url.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unsent):
		return s.lost(err, err)
	case errors.As(err, &refused) && refused.Code == codeGone:
		return ErrGone
	case errors.As(err, &refused) && refused.Code == codeRejected:
		_, cause, _ := strings.Cut(err.Error(), refused.Message+": ")
		return s.lost(err, errors.New(cmp.Or(cause, "the request could not be sent")))
	case errors.As(err, &refused) && refused.Code == codeLost:
		return s.lost(err, errors.New(refused.Message))
	case errors.As(err, &refused) && !errors.Is(err, mcp.ErrConnectionClosed):
		why := s.server.reason(errors.New(refused.Message), "").Error()
		return &ProtocolError{Code: refused.Code, Message: why, Data: compact(refused.Data), Lacking: lackingCapability(refused)}
	}
	return s.fail(ctx, err)
}

// lost returns the error of a call whose answer is lost because of err. why is its text.
func (s *Session) lost(err, why error) *LostAnswerError {
	lost := &LostAnswerError{Why: s.server.reason(why, "").Error()}
	if errors.Is(err, ErrLogin) {
		lost.Err = ErrLogin
	}
	return lost
}

// lackingCapability returns the missing capability for which a server of 2026-07-28 refuses a call; empty for
// other errors.
func lackingCapability(refused *jsonrpc.Error) string {
	var data struct{ RequiredCapabilities ordered.Map }
	if refused.Code != mcp.CodeMissingRequiredClientCapabilities || json.Unmarshal(refused.Data, &data) != nil {
		return ""
	}
	for _, name := range []string{"sampling", "elicitation", "roots"} { // servers on go-sdk name roots along with any other
		if _, required := data.RequiredCapabilities.Get(name); required {
			return name
		}
	}
	return ""
}

// levels lists the log levels, the lowest first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wantLog requests the log messages of a call. If the session has one level for all calls, it becomes
// the lowest that any call has requested.
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

// lastLegacy is the last protocol version with sessions.
const lastLegacy = "2025-11-25"

// modern is the first protocol version without sessions.
const modern = "2026-07-28"

// PID returns the id of the server's process; 0 if it is reached at a URL, or if its process has just been started.
func (s *Session) PID() int { return int(s.gate.pid.Load()) }

// modern reports whether the session uses that version or a later one.
func (s *Session) modern() bool {
	hello := s.session.InitializeResult()
	return hello != nil && hello.ProtocolVersion >= modern
}

// firstMethod returns one of the methods.
func firstMethod[T any](requests map[string]T) string {
	for key := range requests {
		return key
	}
	return "nothing"
}

// callTool is the method of tool calls. The library sends all requests of [Session.Call] as tool calls,
// so that it reads and keeps nothing else of them. The gate then replaces the method.
const callTool = "tools/call"

// requestFor returns the request of the call as it is sent, from the request that the library made.
func (c *call) requestFor(made *jsonrpc.Request, meta json.RawMessage) *jsonrpc.Request {
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
