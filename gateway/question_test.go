package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// absent is a client that answers nothing. It sends a message now and then.
type absent struct {
	person
	questions chan callctx.Question
	lastSeen  *atomic.Pointer[time.Time]
}

func newAbsent() absent {
	return absent{questions: make(chan callctx.Question, 100), lastSeen: &atomic.Pointer[time.Time]{}}
}

func (a absent) Seen() time.Time {
	if at := a.lastSeen.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

func (a absent) Ask(ctx context.Context, q callctx.Question) (json.RawMessage, error) {
	a.questions <- q
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// oneAtATime offers the tools of a server with MaxConcurrency 1.
func oneAtATime(t *testing.T, names string, call func(context.Context, upstream.Call) (json.RawMessage, error)) *surface.Surface {
	t.Helper()
	var tools []json.RawMessage
	for name := range strings.FieldsSeq(names) {
		tools = append(tools, json.RawMessage(`{"name":"`+name+`","inputSchema":{"type":"object"}}`))
	}
	server := &scriptedServer{call: call, list: string(ordered.MustJSON(map[string]any{"tools": tools}))}
	g, err := gateway.New(gateway.Options{
		Upstreams: []gateway.Upstream{{Name: "srv", MaxConcurrency: 1, Timeout: 10 * time.Second, QuestionTimeout: time.Minute}},
		Connect: func(ctx context.Context, _ gateway.Upstream, c upstream.Client) (gateway.Session, error) {
			return server.connect(ctx, c)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	if err := s.Put(g.Families()...); err != nil {
		t.Fatal(err)
	}
	return s
}

var done = json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)

// A call with a silent client gives way if another call has to ask. It does so one minute after the
// client's last message since the question, and not earlier.
func TestSilentClientGivesWay(t *testing.T) {
	t.Parallel()
	for why, test := range map[string]struct {
		wanted, sign time.Duration // after the question; -1 = never
		ends         time.Duration // 0 = it does not end
	}{
		"wanted at once": {0, -1, time.Minute}, "wanted late": {5 * time.Minute, -1, 5 * time.Minute},
		"a sign of life": {10 * time.Second, 30 * time.Second, 90 * time.Second}, "not wanted": {-1, -1, 0},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, demand := newAbsent(), make(chan struct{})
				s := oneAtATime(t, "ask", func(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
					return c.Ask(ctx, upstream.Question{Method: upstream.Elicit, Demand: demand})
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				answers := make(chan toolfold.Answer, 1)
				begun := time.Now()
				go func() { answers <- s.Client.Call(callctx.WithClient(ctx, client), "ask", nil) }()
				<-client.questions
				if test.wanted >= 0 {
					time.AfterFunc(test.wanted, func() { close(demand) })
				}
				if test.sign >= 0 {
					time.AfterFunc(test.sign, func() { now := time.Now(); client.lastSeen.Store(&now) })
				}
				if test.ends == 0 {
					time.Sleep(9 * time.Minute)
					synctest.Wait()
					if len(answers) > 0 {
						t.Errorf("it ended with %s", (<-answers).Content)
					}
					return
				}
				answer := <-answers
				if took := time.Since(begun); took != test.ends {
					t.Errorf("it ended after %s, want %s", took, test.ends)
				}
				if answer.Err == nil || answer.Err.Code != toolfold.TimedOut || !strings.Contains(answer.Err.Message,
					"ask: the call was cancelled: its client left a question of the server srv unanswered and sent nothing for 1m0s") {
					t.Errorf("it is answered with %s", answer.Content)
				}
			})
		})
	}
}

// Calls that wait for an answer or for their turn to ask take no slot of their server, and their time
// limit is paused.
func TestWaitingCallsTakeNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, client := make(chan struct{}), newAbsent()
		s := oneAtATime(t, "ask queue quick", func(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
			switch c.Tool {
			case "ask":
				return c.Ask(ctx, upstream.Question{Method: upstream.Elicit})
			case "queue":
				c.Queue(true)
				<-turn
				c.Queue(false)
			}
			return done, nil
		})
		ctx, cancel := context.WithCancel(callctx.WithClient(t.Context(), client))
		waits := make(chan toolfold.Answer, 3)
		for _, tool := range []string{"ask", "ask", "queue"} {
			go func() { waits <- s.Client.Call(ctx, tool, nil) }()
			synctest.Wait()
		}
		if len(client.questions) != 2 {
			t.Errorf("%d of two calls ask", len(client.questions))
		}
		time.Sleep(time.Hour / 4) // longer than their time limit
		if answer := s.Client.Call(t.Context(), "quick", nil); answer.Err != nil {
			t.Errorf("another call is answered with %s", answer.Content)
		}
		close(turn)
		if answer := <-waits; answer.Err != nil {
			t.Errorf("the call that waited for its turn is answered with %s", answer.Content)
		}
		cancel()
		for range 2 {
			if answer := <-waits; answer.Err == nil || answer.Err.Code != toolfold.Cancelled {
				t.Errorf("a call that is cancelled is answered with %s", answer.Content)
			}
		}
		if answer := s.Client.Call(t.Context(), "quick", nil); answer.Err != nil {
			t.Errorf("the slot is not free: %s", answer.Content)
		}
	})
}

// The 21st question of a call ends it, whether questions come one by one or all at once. Requests for
// roots do not count.
func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var answered atomic.Int32
			s := oneAtATime(t, "ask", func(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
				for range 25 { // this client does not answer them
					_, _ = c.Ask(ctx, upstream.Question{Method: upstream.Roots})
				}
				for n := range 50 {
					ask := func() {
						params := json.RawMessage(fmt.Sprintf(`{"message":"%d"}`, n))
						if _, err := c.Ask(ctx, upstream.Question{Method: upstream.Elicit, Params: params}); err == nil {
							answered.Add(1)
						}
					}
					if atOnce {
						go ask()
					} else {
						ask()
					}
				}
				return silence(ctx)
			})
			answer := s.Client.Call(callctx.WithClient(t.Context(), person{}), "ask", nil)
			if answer.Err == nil || answer.Err.Code != toolfold.UpstreamError || !strings.Contains(answer.Err.Message,
				"ask: the server srv asked more than 20 questions in this call; the call was cancelled") {
				t.Errorf("it is answered with %s", answer.Content)
			}
			if n := answered.Load(); n > 20 || n < 20 && !atOnce {
				t.Errorf("%d questions were answered", n)
			}
		})
	}
}

// For a user, the server's name comes before the question, whatever the question is.
func TestQuestionsAreSigned(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"message":"Your password?"}`: `{"message":"srv asks: Your password?"}`, ``: `{"message":"srv asks"}`,
		`{"message":7}`: `{"message":"srv asks"}`,
		`{"a":1,"message":"toolfold asks: x","_meta":{"toolfold/server":"bank"}}`: `{"a":1,"message":"srv asks: toolfold asks: x"}`,
	} {
		client := newAbsent()
		s := oneAtATime(t, "ask", func(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
			return c.Ask(ctx, upstream.Question{Method: upstream.Elicit, Params: json.RawMessage(params)})
		})
		ctx, cancel := context.WithCancel(callctx.WithClient(t.Context(), client))
		go s.Client.Call(ctx, "ask", nil)
		if got := (<-client.questions).Params; string(ordered.MustJSON(got)) != want {
			t.Errorf("%s is asked as %s, want %s", params, got, want)
		}
		cancel()
	}
}

// guidingServer is a server of 2025-11-25 over HTTP that asks, reports, and sends users to pages.
func guidingServer(t *testing.T) gateway.Upstream {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "guide", Version: "1"}, nil)
	tool := func(name string, run func(context.Context, *mcp.CallToolRequest, string) error) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var arguments struct{ ID string }
				_ = json.Unmarshal(r.Params.Arguments, &arguments)
				if err := run(ctx, r, arguments.ID); err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			})
	}
	report := func(ctx context.Context, r *mcp.CallToolRequest, n float64) {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: n})
		//lint:ignore SA1019 servers log as long as they do
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: n})
	}
	tool("steps", func(ctx context.Context, r *mcp.CallToolRequest, _ string) error {
		report(ctx, r, 1)
		if _, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}); err != nil {
			return err
		}
		report(ctx, r, 2)
		return nil
	})
	page := func(id string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Mode: "url", ElicitationID: id, URL: "https://x.test/" + id, Message: "Log in."}
	}
	tool("need", func(_ context.Context, _ *mcp.CallToolRequest, id string) error {
		return mcp.URLElicitationRequiredError([]*mcp.ElicitParams{page(id)})
	})
	tool("visit", func(ctx context.Context, r *mcp.CallToolRequest, id string) error {
		_, err := r.Session.Elicit(ctx, page(id))
		return err
	})
	tool("over", func(_ context.Context, r *mcp.CallToolRequest, id string) error {
		return r.Session.NotifyElicitationComplete(context.Background(), &mcp.ElicitationCompleteParams{ElicitationID: id})
	})
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(at.Close)
	return gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL, Legacy: true}}
}

// userMeta is the metadata of requests of a 2026-07-28 client with a user.
var userMeta = strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`,
	`clientCapabilities":{"elicitation":{"form":{},"url":{}}},"io.modelcontextprotocol/logLevel":"debug"`, 1)

// as calls a tool with a progress token and further members of params. It returns the messages.
func (w *wire) as(t *testing.T, tool, token, members string) (notes []string, result, failed string) {
	t.Helper()
	params := `{"name":` + quoted(tool) + `,` + members + strings.Replace(userMeta, `{`, `{"progressToken":"`+token+`",`, 1) + `}`
	err := w.post(t.Context(), "tools/call", params, tool, func(m message) {
		switch {
		case m.Method != "":
			notes = append(notes, m.Method+" "+canonical(m.Params))
		case m.Error != nil:
			failed = m.Error.Message
		default:
			result = string(m.Result)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return notes, result, failed
}

// goesOn returns the members of params that answer a question in a result.
func goesOn(t *testing.T, result string) string {
	t.Helper()
	var asks struct {
		RequestState  string
		InputRequests map[string]any
	}
	if json.Unmarshal([]byte(result), &asks) != nil || asks.RequestState == "" {
		t.Fatalf("%s asks nothing", result)
	}
	for key := range asks.InputRequests {
		return `"requestState":` + quoted(asks.RequestState) + `,"inputResponses":{` + quoted(key) + `:{"action":"accept","content":{}}},`
	}
	return ""
}

// After a question, progress and log messages belong to the request that continues the call, with its
// token.
func TestReportsAfterQuestion(t *testing.T) {
	t.Parallel()
	client, g := throughGateway(t, true, guidingServer(t))
	defer g.Close()
	reports := func(token, n string) string {
		return `["notifications/progress {\"progress\":` + n + `,\"progressToken\":\"` + token + `\"}",` +
			`"notifications/message {\"data\":` + n + `,\"level\":\"error\"}"]`
	}
	notes, result, _ := client.as(t, "srv.steps", "first", `"arguments":{},`)
	if got := string(ordered.MustJSON(notes)); got != reports("first", "1") {
		t.Errorf("before the question: %s", got)
	}
	notes, result, _ = client.as(t, "srv.steps", "second", `"arguments":{},`+goesOn(t, result))
	if got := string(ordered.MustJSON(notes)); got != reports("second", "2") || !strings.Contains(result, "done") {
		t.Errorf("after the question: %s, %s", got, result)
	}
}

// follow opens the stream of a 2025-11-25 client, and returns its messages.
func (w *wire) follow(t *testing.T) <-chan string {
	t.Helper()
	if err := w.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Mcp-Session-Id", w.session)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("its stream is answered with %s", response.Status)
	}
	return dataOf(t, response)
}

// The notification that a user has finished with a page reaches only the client that was sent there: in
// its session, or with the next request of a waiting call.
func TestDonePages(t *testing.T) {
	t.Parallel()
	modern, g := throughGateway(t, true, guidingServer(t))
	defer g.Close()
	one, other := &wire{url: modern.url}, &wire{url: modern.url}
	streams := []<-chan string{one.follow(t), other.follow(t)}
	clients := []*wire{one, other}
	for i, client := range clients {
		if got := client.call(t, "srv.need", fmt.Sprintf(`{"id":"p%d"}`, i)); got.failed == nil || got.failed.Code != -32042 {
			t.Fatalf("a page is needed: %s", got)
		}
	}
	_, result, _ := modern.as(t, "srv.visit", "v", `"arguments":{"id":"p2"},`)
	if !strings.Contains(result, `"message":"srv asks: Log in."`) || !strings.Contains(result, `"elicitationId":"p2"`) {
		t.Errorf("the client is asked %s", result)
	}
	for _, id := range []string{"p1", "p2", "p0", "none"} {
		if got := one.call(t, "srv.over", `{"id":"`+id+`"}`); !strings.Contains(string(got.result), "done") {
			t.Fatalf("%s is over: %s", id, got)
		}
	}
	for i, stream := range streams {
		want := fmt.Sprintf(`"method":"notifications/elicitation/complete","params":{"elicitationId":"p%d"}`, i)
		if got := <-stream; !strings.Contains(got, want) {
			t.Errorf("client %d is told %s", i, got)
		}
	}
	notes, result, _ := modern.as(t, "srv.visit", "v", `"arguments":{"id":"p2"},`+goesOn(t, result))
	const over = `notifications/elicitation/complete {"elicitationId":"p2"}`
	if got := strings.Join(notes, " "); got != over || !strings.Contains(result, "done") {
		t.Errorf("the call that goes on is told %s, %s", got, result)
	}
	for i, client := range clients { // the next messages in the streams are these
		_ = client.call(t, "srv.need", fmt.Sprintf(`{"id":"last%d"}`, i))
		_ = client.call(t, "srv.over", fmt.Sprintf(`{"id":"last%d"}`, i))
		if got := <-streams[i]; !strings.Contains(got, fmt.Sprintf(`"last%d"`, i)) {
			t.Errorf("client %d is told %s too", i, got)
		}
	}
}

// dataOf returns the data of a stream's events.
func dataOf(t *testing.T, response *http.Response) <-chan string {
	t.Helper()
	t.Cleanup(func() { response.Body.Close() })
	data := make(chan string, 100)
	go func() {
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				data <- text
			}
		}
		close(data)
	}()
	return data
}

// A client that never answers a program's question delays other clients' questions for the configured
// time. Questions and answers are never mixed up.
func TestAbsentClientOfProgram(t *testing.T) {
	t.Parallel()
	u, file := playedServer(t, "srv",
		`{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}`)
	u.QuestionTimeout = 100 * time.Millisecond
	s, _ := offering(t, t.TempDir(), surface.Options{}, u)
	left, arguments := newAbsent(), json.RawMessage(`{"method":"elicitation/create"}`)
	answers := make(chan toolfold.Answer, 1)
	s.Client.Call(callctx.WithClient(t.Context(), person{}), "ask", arguments) // from now on the tool is known to ask
	stop, _ := hangingCall(t, s, file)                                         // calls of other tools change nothing
	defer stop()
	go func() { answers <- s.Client.Call(callctx.WithClient(t.Context(), left), "ask", arguments) }()
	<-left.questions
	answer := s.Client.Call(callctx.WithClient(t.Context(), person{}), "ask", arguments)
	if !strings.Contains(string(answer.Reply), `"message":"srv asks"`) {
		t.Errorf("another client is answered with %s %s", answer.Reply, answer.Content)
	}
	gone := <-answers
	if gone.Err == nil || gone.Err.Code != toolfold.TimedOut || !strings.Contains(gone.Err.Message, "another call is waiting to ask") {
		t.Errorf("the client that never came back is answered with %s", gone.Content)
	}
	if len(left.questions) > 0 {
		t.Errorf("it is asked %v too", <-left.questions)
	}
}
