package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/upstream"
)

// asks returns a server whose tools ask the user, ask for roots, or wait until they are released.
func asks() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asks", Version: "1"}, nil)
	released := make(chan struct{})
	tool := func(name string, run func(context.Context, *mcp.CallToolRequest) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
				text, err := run(ctx, r)
				if err != nil {
					text = "error: " + err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	ask := func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		var arguments struct{ Is string }
		_ = json.Unmarshal(r.Params.Arguments, &arguments)
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{
			Message: arguments.Is, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Content["name"]), nil
	}
	tool("ask", ask)
	tool("ask too", ask)
	tool("stubborn", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) { // ignores its cancellation
		ctx = context.WithoutCancel(ctx)
		name, err := ask(ctx, r)
		if err != nil {
			r.Params.Arguments = json.RawMessage(`{"is":"again"}`)
			name, err = ask(ctx, r)
		}
		return name, err
	})
	met, here := make(chan struct{}), atomic.Int32{}
	for _, name := range []string{"meet", "meet too"} { // the first two ask at the same time
		tool(name, func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
			if here.Add(1) == 2 {
				close(met)
			}
			<-met
			return ask(ctx, r)
		})
	}
	tool("roots", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		//lint:ignore SA1019 servers ask for it as long as they do
		answer, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return "", err
		}
		return answer.Roots[0].URI, nil
	})
	tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		select {
		case <-released:
		case <-ctx.Done():
		}
		return "released", nil
	})
	tool("release", func(context.Context, *mcp.CallToolRequest) (string, error) { close(released); return "", nil })
	return s
}

// askingSession is a session with a server that asks questions.
type askingSession struct {
	*upstream.Session
	t *testing.T
}

// askingOf starts a server of the older era that asks questions: a program, or at a URL.
func askingOf(t *testing.T, byURL bool) askingSession {
	t.Helper()
	server := play("asks")
	if server.Legacy = true; byURL {
		s := asks()
		at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
		t.Cleanup(at.Close)
		server = upstream.Server{URL: at.URL, Legacy: true}
	}
	session, err := upstream.Connect(t.Context(), server, upstream.Client{
		Name: "t", Asks: []string{upstream.Elicit, upstream.Roots}, Ask: func(context.Context, upstream.Question) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[{"uri":"file:///x"}]}`), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return askingSession{session, t}
}

// pendingQuestion is a question that a call received. Its answer is sent to answer.
type pendingQuestion struct {
	upstream.Question
	answer chan<- string
}

// runningCall is a running call.
type runningCall struct {
	begun     <-chan struct{} // closed once the server has begun the call
	queue     <-chan bool     // see [upstream.Call]
	questions <-chan pendingQuestion
	result    <-chan string
}

// call calls a tool; known sets [upstream.Call.Asks].
func (s askingSession) call(ctx context.Context, tool, is string, known bool) *runningCall {
	begun, queue, questions, result := make(chan struct{}), make(chan bool, 10), make(chan pendingQuestion, 100), make(chan string, 1)
	var once sync.Once
	c := upstream.Call{
		Tool: tool, Arguments: json.RawMessage(`{"is":"` + is + `"}`), Asks: known, Queue: func(waits bool) { queue <- waits },
		Progress: func(upstream.Progress) { once.Do(func() { close(begun) }) },
		Ask: func(taken context.Context, q upstream.Question) (json.RawMessage, error) {
			select {
			case <-begun: // earlier reports arrive first
			default:
				s.t.Errorf("%s is asked before its progress is told", is)
			}
			answer := make(chan string, 1)
			questions <- pendingQuestion{q, answer}
			select {
			case name := <-answer:
				return json.RawMessage(`{"action":"accept","content":{"name":"` + name + `"}}`), nil
			case <-taken.Done():
				return nil, taken.Err()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	go func() {
		raw, err := s.Call(ctx, c)
		if err != nil {
			result <- err.Error()
			return
		}
		var answer struct{ Content []struct{ Text string } }
		_ = json.Unmarshal(raw, &answer)
		result <- answer.Content[0].Text
	}()
	return &runningCall{begun: begun, queue: queue, questions: questions, result: result}
}

// expect receives a question with this message, and answers it.
func (r *runningCall) expect(t *testing.T, is string) {
	t.Helper()
	q := <-r.questions
	if !strings.Contains(string(q.Params), `"message":"`+is+`"`) {
		t.Errorf("%s is asked %s", is, q.Params)
	}
	q.answer <- "for " + is
}

func (r *runningCall) ends(t *testing.T, want string) {
	t.Helper()
	if got := <-r.result; !strings.Contains(got, want) {
		t.Errorf("it ended with %q, want %q", got, want)
	}
}

// Over streamable HTTP every question reaches its own call, without waiting for other calls.
func TestQuestionsOverHTTP(t *testing.T) {
	t.Parallel()
	s := askingOf(t, true)
	calls := map[string]*runningCall{}
	for n := range 120 {
		is := fmt.Sprint("call ", n)
		calls[is] = s.call(t.Context(), "ask", is, n%2 == 0)
	}
	open := map[string]pendingQuestion{}
	for is, c := range calls { // each call has asked before the first answer
		q := <-c.questions
		if open[is] = q; !strings.Contains(string(q.Params), `"message":"`+is+`"`) {
			t.Errorf("%s is asked %s", is, q.Params)
		}
	}
	for is, q := range open {
		q.answer <- "for " + is
	}
	for is, c := range calls {
		c.ends(t, "for "+is)
		if len(c.queue) > 0 {
			t.Errorf("%s has waited for its turn", is)
		}
	}
}

// Calls of a program's tools that are known to ask run one at a time. Calls of other tools run
// concurrently.
func TestQuestionsOfPrograms(t *testing.T) {
	t.Parallel()
	s := askingOf(t, false)
	waits := s.call(t.Context(), "wait", "w", false)
	<-waits.begun
	first := s.call(t.Context(), "ask", "first", true)
	q := <-first.questions
	select {
	case <-q.Demand:
		t.Error("an answer is wanted, and no call waits for it")
	default:
	}
	second := s.call(t.Context(), "ask too", "second", true)
	if !<-second.queue {
		t.Error("the second call that asks does not begin to wait")
	}
	<-q.Demand
	s.call(t.Context(), "roots", "", false).ends(t, "file:///x") // other tools run concurrently
	q.answer <- "for first"
	first.ends(t, "for first")
	if <-second.queue {
		t.Error("the second call that asks waits on")
	}
	second.expect(t, "second")
	second.ends(t, "for second")
	s.call(t.Context(), "release", "", false).ends(t, "")
	waits.ends(t, "released")
	again := s.call(t.Context(), "roots", "", false)
	again.ends(t, "file:///x")
	if len(again.queue) > 0 {
		t.Error("a tool that asked for roots has waited for its turn")
	}
}

// The first question of a tool is held until only one of the calls that ran when it came is left.
func TestFirstQuestionOfProgram(t *testing.T) {
	t.Parallel()
	s := askingOf(t, false)
	waits := s.call(t.Context(), "wait", "w", false)
	<-waits.begun
	asks := s.call(t.Context(), "ask", "first", false)
	<-asks.begun
	s.call(t.Context(), "release", "", false).ends(t, "")
	asks.expect(t, "first")
	asks.ends(t, "for first")
	waits.ends(t, "released")
	one, two := s.call(t.Context(), "ask", "one", false), s.call(t.Context(), "ask", "two", false) // from now on the tool is known to ask
	var later *runningCall
	select {
	case q := <-one.questions:
		q.answer <- "for one"
		one.ends(t, "for one")
		later = two
		later.expect(t, "two")
	case q := <-two.questions:
		q.answer <- "for two"
		two.ends(t, "for two")
		later = one
		later.expect(t, "one")
	}
	later.ends(t, "for ")
}

// First questions of several concurrent calls cannot be assigned. They are refused with advice; the
// next ones are not.
func TestFirstQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	s := askingOf(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []*runningCall{s.call(ctx, "meet", "one", false), s.call(ctx, "meet too", "two", false)} {
		c.ends(t, "2 calls of this server run, in all sessions that share it, so it is not known whose client it asks: call again, "+
			"calls of meet, meet too run one at a time from now on")
	}
	first := s.call(ctx, "meet", "one", false)
	q := <-first.questions
	second := s.call(t.Context(), "meet too", "two", false)
	<-q.Demand
	cancel() // the call gives way
	first.ends(t, context.Canceled.Error())
	second.expect(t, "two")
	second.ends(t, "for two")
}

// A question of a cancelled call does not reach the client of the next call.
func TestQuestionAfterCancellation(t *testing.T) {
	t.Parallel()
	s := askingOf(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	first := s.call(ctx, "stubborn", "one", true)
	q := <-first.questions
	second := s.call(t.Context(), "stubborn", "two", true)
	<-q.Demand
	cancel()
	first.ends(t, context.Canceled.Error())
	second.expect(t, "two")
	second.ends(t, "for two")
}

// A question that belongs to no call is refused.
func TestQuestionWithoutCall(t *testing.T) {
	t.Parallel()
	over, late := make(chan struct{}), make(chan error, 1)
	s := mcp.NewServer(&mcp.Implementation{Name: "late", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ended := r.Session
			go func() {
				<-over
				_, err := ended.Elicit(context.Background(), &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
				late <- err
			}()
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer at.Close()
	client := upstream.Client{Name: "t", Asks: []string{upstream.Elicit}}
	session, err := upstream.Connect(t.Context(), upstream.Server{URL: at.URL, Legacy: true}, client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = session.Call(t.Context(), upstream.Call{
		Tool: "ask", Arguments: json.RawMessage(`{}`), Ask: func(context.Context, upstream.Question) (json.RawMessage, error) {
			t.Error("the client of a call that has ended is asked")
			return nil, errors.New("no")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	close(over)
	if err := <-late; err == nil || !strings.Contains(err.Error(), "call") {
		t.Errorf("it is answered with %v", err)
	}
}
