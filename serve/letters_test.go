package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// postOffice passes letters between the servers of a test.
type postOffice struct {
	serve.SharedSessions // is not called

	mu      sync.Mutex
	letters map[string][]serve.Letter // by server
	there   map[string]time.Time
	dead    map[string]bool                          // servers without the store
	drops   func(server string, l serve.Letter) bool // letters that are lost; nil = none
	fails   func(l serve.Letter) bool                // letters that are stored, though their sender gets an error; nil = none
	sent    int                                      // bytes
}

func (p *postOffice) Attend(_ context.Context, server string, peers []string) (gone []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead[server] {
		return nil, fmt.Errorf("no store")
	}
	p.there[server] = time.Now()
	for _, id := range peers {
		if p.dead[id] || time.Since(p.there[id]) > 10*time.Second {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

func (p *postOffice) Leave(_ context.Context, server string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.there, server)
	return nil
}

func (p *postOffice) Send(_ context.Context, server string, l serve.Letter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := slices.ContainsFunc(p.letters[server], func(other serve.Letter) bool { return other.ID == l.ID })
	if p.sent += len(l.Message); !known && (p.drops == nil || !p.drops(server, l)) {
		p.letters[server] = append(p.letters[server], l)
	}
	if p.fails != nil && p.fails(l) {
		return fmt.Errorf("no answer of the store")
	}
	return nil
}

func (p *postOffice) Receive(_ context.Context, server string, done []string) ([]serve.Letter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead[server] {
		return nil, fmt.Errorf("no store")
	}
	p.letters[server] = slices.DeleteFunc(p.letters[server], func(l serve.Letter) bool { return slices.Contains(done, l.ID) })
	return slices.Clone(p.letters[server]), nil
}

// kill ends a server for the other ones.
func (p *postOffice) kill(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead[server] = true
}

// branch is one of several servers that pass letters to each other. Its tool ask asks n questions, reports progress and
// a log message after each, and returns bytes bytes. The tool wait does too, and then runs until it is released.
type branch struct {
	*serve.Server
	t         *testing.T
	url       string
	stop      context.CancelFunc
	ended     chan error    // receives a value when the server has stopped
	release   chan struct{} // closed to end calls of wait
	cancelled chan struct{} // receives a value when a call of wait is cancelled
	waiting   chan struct{} // and when it waits
}

func newBranches(t *testing.T, n int) (*postOffice, []*branch) {
	t.Helper()
	office := &postOffice{letters: map[string][]serve.Letter{}, there: map[string]time.Time{}, dead: map[string]bool{}}
	list := make([]*branch, n)
	for i := range list {
		list[i] = newBranch(t, office)
	}
	return office, list
}

func newBranch(t *testing.T, office *postOffice) *branch {
	t.Helper()
	b := &branch{t: t, cancelled: make(chan struct{}, 1), waiting: make(chan struct{}, 1), release: make(chan struct{}),
		ended: make(chan error, 1)}
	asks := func(name string, after func(ctx context.Context) error) toolfold.External {
		return toolfold.External{Name: name, Description: "It asks.", Category: "elsewhere", Effect: toolfold.Reads,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"bytes":{"type":"integer"}}}`),
			Relay: func(ctx context.Context, args json.RawMessage) (toolfold.Reply, error) {
				var in struct{ N, Bytes int }
				if err := json.Unmarshal(args, &in); err != nil {
					return toolfold.Reply{}, err
				}
				answers := []string{}
				for i := range in.N {
					filled, err := ask.User(ctx, ask.Form{Name: fmt.Sprint("q", i), Text: "Well?",
						Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)})
					if err != nil {
						return toolfold.Reply{}, err
					}
					answers = append(answers, filled.Action+string(filled.Content))
					toolfold.Report(ctx, toolfold.Progress{Done: float64(i)})
					serve.Log(ctx).Info("asked")
				}
				if err := after(ctx); err != nil {
					return toolfold.Reply{}, err
				}
				text, err := json.Marshal(strings.Join(answers, " ") + strings.Repeat("<x>", in.Bytes/3))
				result := `{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":{"n":1.50}}`
				return toolfold.Reply{Result: json.RawMessage(result)}, err
			}}
	}
	s := surface.New(surface.Options{Level: lazy.Lazy, ResultLimit: -1, Log: quiet})
	families := []*toolfold.Family{lazy.Mount(s.Discovery)}
	for _, x := range []toolfold.External{
		asks("ask", func(context.Context) error { return nil }),
		asks("fail", func(context.Context) error {
			return toolfold.Errorf("NO_CAKE", "there is none").WithHint("bake").About(toolfold.ProblemMissing, "cake")
		}),
		asks("wait", func(ctx context.Context) error {
			b.waiting <- struct{}{}
			select {
			case <-b.release:
				return nil
			case <-ctx.Done():
				b.cancelled <- struct{}{}
				return ctx.Err()
			}
		}),
	} {
		family, err := x.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, family)
	}
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Surface: s, Log: quiet, Sessions: office, Authorize: func(r *http.Request) (serve.Identity, error) {
		name, limited := strings.CutSuffix(r.Header.Get("Authorization"), " limited")
		who := serve.Identity{Subject: name}
		if limited {
			who.Rights = permission.Rules{Deny: []string{"other"}}.Rights()
		}
		return who, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = server
	ctx, stop := context.WithCancel(t.Context())
	b.stop = stop
	ready := make(chan net.Addr, 1)
	go func() {
		b.ended <- server.HTTP(ctx, serve.HTTP{Addr: "127.0.0.1:0", Drain: testwait.Limit, Ready: func(a net.Addr) { ready <- a }})
	}()
	b.url = "http://" + (<-ready).String() + "/mcp"
	return b
}

// askMeta is the metadata of a client with a user, a progress token and a log level.
func askMeta(token string) string {
	return strings.Replace(strings.Replace(mcptest.ModernMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"form":{}}}`, 1),
		`"_meta":{`, fmt.Sprintf(`"_meta":{"progressToken":%q,"io.modelcontextprotocol/logLevel":"info",`, token), 1)
}

// call makes a call for a caller. more is "" or ends with a comma. It returns the events and the answer, joined.
func (b *branch) call(ctx context.Context, caller, tool, token, more string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,%s%s}}`, tool, more, askMeta(token))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, strings.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return ""
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": caller, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		return err.Error()
	}
	return text.String()
}

// asked returns the state of an answer, and parameters for the retry that answers all its questions with x.
func asked(t *testing.T, answer, x string) (state, more string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	var message struct {
		Result struct {
			RequestState  string
			InputRequests map[string]json.RawMessage
		}
	}
	last := strings.TrimPrefix(lines[len(lines)-1], "data: ")
	if err := json.Unmarshal([]byte(last), &message); err != nil || message.Result.RequestState == "" {
		t.Fatalf("%.500s asks nothing: %v", answer, err)
	}
	responses := map[string]any{}
	for key := range message.Result.InputRequests {
		responses[key] = map[string]any{"action": "accept", "content": map[string]string{"x": x}}
	}
	text, err := json.Marshal(responses)
	if err != nil {
		t.Fatal(err)
	}
	return message.Result.RequestState, fmt.Sprintf(`"requestState":%q,"inputResponses":%s,`, message.Result.RequestState, text)
}

// A call goes on at each server, with the same messages and the same answer as at one.
func TestRetriesAtOtherServers(t *testing.T) {
	t.Parallel()
	office, b := newBranches(t, 3)
	run := func(tool string, bytes int, at ...*branch) (all []string) {
		more := fmt.Sprintf(`"arguments":{"n":3,"bytes":%d},`, bytes)
		for i, server := range at {
			answer := server.call(t.Context(), "ada", tool, fmt.Sprint("token", i), more)
			if i == len(at)-1 {
				return append(all, answer)
			}
			state, next := asked(t, answer, fmt.Sprint("x", i))
			all = append(all, strings.ReplaceAll(answer, state, "STATE"))
			more = next
		}
		return all
	}
	for _, c := range []struct {
		tool  string
		bytes int
	}{{"ask", 0}, {"ask", 1_000_000}, {"fail", 0}} {
		want := run(c.tool, c.bytes, b[0], b[0], b[0], b[0])
		for _, at := range [][]*branch{{b[0], b[1], b[2], b[0]}, {b[2], b[2], b[0], b[1]}} {
			for i, got := range run(c.tool, c.bytes, at...) {
				if got != want[i] {
					t.Errorf("request %d of %s is answered\n%.900s\nnot\n%.900s", i, c.tool, got, want[i])
				}
			}
		}
	}
	if want := run("ask", 0, b[0], b[1], b[2], b[0]); !strings.Contains(want[1], `"progressToken":"token1","progress":0`) ||
		!strings.Contains(want[1], `"data":{"message":"asked"}`) || !strings.Contains(want[3], `x2`) {
		t.Errorf("it is answered %s", want)
	}
	if office.sent < 5_000_000 {
		t.Error("no letters were sent")
	}
}

// Only its caller continues a call, with the same rights and the same tool, and only once.
func TestRetriesOfOthersElsewhere(t *testing.T) {
	t.Parallel()
	_, b := newBranches(t, 2)
	const call = `"arguments":{"n":1,"bytes":0},`
	state, more := asked(t, b[0].call(t.Context(), "ada", "ask", "t", call), "x")
	for range 2 {
		for _, not := range [][2]string{{"eve", "ask"}, {"ada limited", "ask"}, {"ada", "fail"}, {"", "ask"}} {
			if answer := b[1].call(t.Context(), not[0], not[1], "t", more); strings.Contains(answer, "result") {
				t.Errorf("%q is answered %s", not, answer)
			}
		}
	}
	process, rest := b[0].Process(), state[len(b[0].Process()):]
	for _, wrong := range []string{"x", "-", process, process + rest[:10], "0000000g-" + rest, "00000000-" + rest, process + "{" + rest + "}",
		strings.ToUpper(state), "\x00\x00\x00\x00\x00\x00\x00\x00-" + rest, strings.Repeat("9", 9999) + state} {
		text, _ := json.Marshal(wrong)
		answer := b[1].call(t.Context(), "ada", "ask", "t", fmt.Sprintf(`"requestState":%s,"inputResponses":{},`, text))
		if !strings.Contains(answer, `"code":-32602`) || !strings.Contains(answer, "call again without requestState") {
			t.Errorf("%.100q is answered %s", wrong, answer)
		}
	}
	for _, wrong := range []string{"5", `{"a":1}`, "true", "[]"} { // begins no new call
		answer := b[1].call(t.Context(), "ada", "ask", "t", call+`"requestState":`+wrong+`,"inputResponses":{},`)
		if !strings.Contains(answer, `"code":-32602`) || !strings.Contains(answer, "requestState must be the text") {
			t.Errorf("%s is answered %s", wrong, answer)
		}
	}
	answers := make(chan string, 8)
	for i := range cap(answers) {
		go func() { answers <- b[i%2].call(t.Context(), "ada", "ask", "t", more) }()
	}
	done, refused := 0, 0
	for range cap(answers) {
		switch answer := testwait.Receive(t, "an answer", answers); {
		case strings.Contains(answer, `accept{\"x\":\"x\"}`):
			done++
		case strings.Contains(answer, "was continued already"), strings.Contains(answer, "or its server process has"):
			refused++
		default:
			t.Error(answer)
		}
	}
	if done != 1 || refused != cap(answers)-1 {
		t.Errorf("of all retries %d ran and %d were refused", done, refused)
	}
}

// A call ends when its client cancels the retry at another server, or that server ends. If the server of the call ends,
// the client hears of it.
func TestRetriesThatEnd(t *testing.T) {
	t.Parallel()
	office, b := newBranches(t, 4)
	begin := func(at *branch) string {
		_, more := asked(t, at.call(t.Context(), "ada", "wait", "t", `"arguments":{"n":1},`), "x")
		return more
	}
	retry := func(ctx context.Context, at *branch, more string) <-chan string {
		answer := make(chan string, 1)
		go func() { answer <- at.call(ctx, "ada", "wait", "t", more) }()
		return answer
	}
	ctx, cancel := context.WithCancel(t.Context())
	retry(ctx, b[1], begin(b[0]))
	testwait.Receive(t, "the call goes on", b[0].waiting)
	cancel()
	testwait.Receive(t, "the call is cancelled with its client's request", b[0].cancelled)

	retry(t.Context(), b[2], begin(b[0]))
	testwait.Receive(t, "the call goes on", b[0].waiting)
	office.kill(b[2].Process())
	testwait.Receive(t, "the call is cancelled with the server of its client", b[0].cancelled)

	parked := begin(b[0])
	answer := retry(t.Context(), b[1], begin(b[0]))
	testwait.Receive(t, "the call goes on", b[0].waiting)
	office.kill(b[0].Process())
	if text := testwait.Receive(t, "the client hears that the server ended", answer); !strings.Contains(text, `"code":-32603`) ||
		!strings.Contains(text, "look whether the call was done, then call again without requestState") {
		t.Errorf("it is answered %s", text)
	}
	if text := b[1].call(t.Context(), "ada", "wait", "t", parked); !strings.Contains(text, "or its server process has: look") {
		t.Errorf("it is answered %s", text)
	}
}

// A server that stops ends the calls that it continues for other servers. Then these know that it has ended.
func TestRetriesOfAStoppingServer(t *testing.T) {
	t.Parallel()
	_, b := newBranches(t, 2)
	_, more := asked(t, b[0].call(t.Context(), "ada", "wait", "t", `"arguments":{"n":1},`), "x")
	_, parked := asked(t, b[0].call(t.Context(), "ada", "wait", "t", `"arguments":{"n":1},`), "x")
	answer := make(chan string, 1)
	go func() { answer <- b[1].call(t.Context(), "ada", "wait", "t", more) }()
	testwait.Receive(t, "the call goes on", b[0].waiting)
	b[0].stop()
	select {
	case err := <-b[0].ended:
		t.Fatalf("the server ended before its call: %v", err)
	default:
	}
	close(b[0].release)
	if text := testwait.Receive(t, "the answer", answer); !strings.Contains(text, `accept{\"x\":\"x\"}`) {
		t.Errorf("a call that runs is answered %s", text)
	}
	if err := testwait.Receive(t, "the server stops", b[0].ended); err != nil {
		t.Error(err)
	}
	if text := b[1].call(t.Context(), "ada", "wait", "t", parked); !strings.Contains(text, "or its server process has") {
		t.Errorf("a state of the past is answered %s", text)
	}
}

// A letter that is lost, or a store that does not answer, ends the retry: no client waits for ever.
func TestLettersAreLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"retry", "outcome", "store"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			office, b := newBranches(t, 2)
			b[0].SilenceWithin(time.Second)
			b[1].SilenceWithin(time.Second)
			once := true
			office.drops = func(_ string, l serve.Letter) bool {
				drop := once && strings.HasSuffix(l.ID, lost)
				if once = once && !drop; lost == "store" && strings.HasSuffix(l.ID, "retry") {
					office.dead[b[1].Process()] = true
				}
				return drop
			}
			_, more := asked(t, b[0].call(t.Context(), "ada", "ask", "t", `"arguments":{"n":1},`), "x")
			if answer := b[1].call(t.Context(), "ada", "ask", "t", more); !strings.Contains(answer, "look whether the call was done") {
				t.Errorf("it is answered %s", answer)
			}
		})
	}
}

// A letter may have been stored though the store did not answer. Then the client is never told to send the request again,
// which would be refused, and to call again, which would do it twice.
func TestLettersWithoutAnswerOfTheStore(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]string{1: "accept", 2: "look whether the call was done, then call again without requestState"} {
		office, b := newBranches(t, 2)
		_, more := asked(t, b[0].call(t.Context(), "ada", "ask", "t", `"arguments":{"n":1},`), "x")
		office.fails = func(l serve.Letter) bool {
			failures--
			return failures >= 0 && strings.HasSuffix(l.ID, "retry")
		}
		if answer := b[1].call(t.Context(), "ada", "ask", "t", more); !strings.Contains(answer, want) {
			t.Errorf("it is answered %s", answer)
		}
	}
}
