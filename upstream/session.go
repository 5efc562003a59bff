package upstream

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/child"
)

// Client says who asks, and hears of what servers say unasked.
type Client struct {
	Name, Version string

	// Changed is called when the server says that its list has changed; nil is not called.
	Changed func()

	// Sample asks a model for the server; nil tells servers that there is none.
	Sample func(context.Context, Prompt) (Completion, error)
}

// Prompt is a request of a server to a model.
type Prompt struct {
	Text, System, Model string // System and Model may be empty
	MaxTokens           int
}

// Completion is the answer of a model.
type Completion struct {
	Text, Model string
	Truncated   bool
}

// Session is a connection to a server that was started or reached. It is safe for
// concurrent use.
type Session struct {
	server  Server
	session *mcp.ClientSession
	tap     *tap
	ended   func() error // ends the program and returns how it ended
	stop    context.CancelFunc
	last    atomic.Int64
	once    sync.Once
	how     error
	gone    chan struct{}
}

// Connect starts or reaches a server. The context bounds that alone: the session
// lives until Close, or until the server ends it. Errors say why there is none,
// without the secrets that reaching the server takes.
func Connect(ctx context.Context, s Server, c Client) (*Session, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	tap := &tap{
		waiting: map[jsonrpc.ID]string{}, stderr: &child.Tail{Keep: maxSaid},
		calls: map[string]*call{}, owners: map[jsonrpc.ID]*call{},
	}
	session := &Session{server: s, tap: tap, stop: stop, gone: make(chan struct{})}
	var err error
	if s.Argv != nil {
		tap.Transport, session.ended, err = start(life, stop, s, tap.stderr)
	} else {
		session.ended = func() error { return nil }
		tap.Transport, err = reach(s, tap)
	}
	if err != nil {
		stop()
		return nil, s.reason(err, "")
	}
	options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}} // what servers notify of is read by the tap
	if c.Changed != nil {
		options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { c.Changed() }
	}
	if c.Sample != nil {
		options.CreateMessageHandler = c.sample //lint:ignore SA1019 servers ask for it as long as they do
	}
	client := mcp.NewClient(&mcp.Implementation{Name: c.Name, Version: c.Version}, options)
	if session.session, err = client.Connect(ctx, tap, nil); err != nil {
		return nil, session.fail(ctx, err)
	}
	go func() {
		_ = session.session.Wait()
		close(session.gone)
	}()
	return session, nil
}

// sample answers a server that asks for a model, as far as a prompt says it: with one text
// of the user.
//
//lint:ignore SA1019 servers ask for it as long as they do
func (c Client) sample(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	p := r.Params
	if len(p.Messages) != 1 || p.Messages[0].Role != "user" {
		return nil, errors.New("only a prompt with one message of the user is passed on to the client's model")
	}
	text, ok := p.Messages[0].Content.(*mcp.TextContent)
	if !ok {
		return nil, errors.New("only text is passed on to the client's model")
	}
	prompt := Prompt{Text: text.Text, System: p.SystemPrompt, MaxTokens: int(p.MaxTokens)}
	if p.ModelPreferences != nil && len(p.ModelPreferences.Hints) > 0 {
		prompt.Model = p.ModelPreferences.Hints[0].Name
	}
	done, err := c.Sample(ctx, prompt)
	if err != nil {
		return nil, err
	}
	stop := "endTurn"
	if done.Truncated {
		stop = "maxTokens"
	}
	//lint:ignore SA1019 as above
	return &mcp.CreateMessageResult{
		Content: &mcp.TextContent{Text: done.Text}, Model: cmp.Or(done.Model, "unknown"), Role: "assistant", StopReason: stop,
	}, nil
}

// fail ends a session that is of no use any more and returns why.
func (s *Session) fail(ctx context.Context, err error) error {
	end := s.end()
	if broke := s.tap.broken(); errors.Is(broke, bufio.ErrTooLong) {
		return s.server.reason(broke, "")
	}
	if end != nil && ctx.Err() == nil {
		err = end // a program that failed says more than a connection that was closed
	}
	return s.server.reason(err, lastLine(s.tap.stderr.String()))
}

func (s *Session) end() error {
	s.once.Do(func() {
		if s.session != nil {
			_ = s.session.Close()
		}
		s.how = s.ended()
		s.stop()
	})
	return s.how
}

// Close ends the session. Programs that it started have ended when it returns.
func (s *Session) Close() { _ = s.end() }

// Gone is closed when the server has ended the session, or it was closed.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// List asks for all tools of the server. A session that fails to list is closed.
func (s *Session) List(ctx context.Context) (Answer, error) {
	answer, err := list(ctx, s.session, s.tap)
	if err != nil {
		return Answer{}, s.fail(ctx, err)
	}
	return answer, nil
}

// Progress is a report of a server about a call that runs.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 // zero = unknown
	Message string
}

// call is a call that runs.
type call struct {
	result json.RawMessage // once it came; guarded by the tap's mutex
	events chan Progress   // of the server, until its caller has heard of them
}

// maxEvents bounds what a caller has not heard of yet. More is dropped: what comes later
// says more, and others use the connection too.
const maxEvents = 1000

// Refused is the error of a server that answers a call with an error of the protocol in
// place of a result.
type Refused struct {
	Code    int64
	Message string
}

// Error implements error.
func (r *Refused) Error() string { return fmt.Sprintf("%s (%d)", r.Message, r.Code) }

// Lost is the error of a call over HTTP that was sent and got no answer: the exchange
// broke, and the session goes on.
type Lost struct{ why string }

// Error implements error.
func (l *Lost) Error() string { return l.why }

// ErrGone is the error of a session that ended before the server took a call.
var ErrGone = errors.New("the session has ended")

// Call calls a tool with arguments that are a JSON object, and returns its
// CallToolResult as it came. Progress is called with what the server says before that,
// one at a time. A [*Refused] is the server's own error. Others say why there is no
// answer: whether the tool has run is not known then, unless it is [ErrGone]. But for
// these, and a [*Lost], the session is over.
func (s *Session) Call(ctx context.Context, tool string, arguments json.RawMessage, progress func(Progress)) (json.RawMessage, error) {
	select {
	case <-s.gone:
		return nil, ErrGone
	default:
	}
	token := strconv.FormatInt(s.last.Add(1), 10)
	running := &call{events: make(chan Progress, maxEvents)}
	s.tap.enter(token, running)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for p := range running.events {
			progress(p)
		}
	}()
	_, err := s.session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": token}, Name: tool, Arguments: arguments})
	s.tap.leave(token)
	<-heard
	if result := s.tap.resultOf(running); result != nil {
		return result, nil // also one that the library does not understand
	}
	var refused *jsonrpc.Error
	switch {
	case errors.Is(err, mcp.ErrSessionMissing):
		return nil, ErrGone
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refused) && refused.Code != codeLost:
		return nil, &Refused{refused.Code, s.server.reason(errors.New(refused.Message), "").Error()}
	case s.server.Argv == nil && s.tap.broken() == nil && !errors.Is(err, mcp.ErrConnectionClosed):
		if refused != nil {
			err = errors.New(refused.Message)
		}
		return nil, &Lost{s.server.reason(cmp.Or(err, errors.New("it gave no answer")), "").Error()}
	}
	return nil, s.fail(ctx, cmp.Or(err, errors.New("it gave no answer")))
}

func (t *tap) enter(token string, c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[token] = c
}

func (t *tap) leave(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[token]
	delete(t.calls, token)
	close(c.events)
	for id, owner := range t.owners {
		if owner == c {
			delete(t.owners, id)
		}
	}
}

func (t *tap) resultOf(c *call) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.result
}

func (t *tap) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broke
}

// notified passes on what a server says of one of its calls.
func (t *tap) notified(r *jsonrpc.Request) {
	if r.Method != "notifications/progress" {
		return
	}
	var p struct {
		Progress
		ProgressToken any
	}
	if json.Unmarshal(r.Params, &p) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.calls[fmt.Sprint(p.ProgressToken)]; c != nil {
		select {
		case c.events <- p.Progress:
		default:
		}
	}
}
