// Package upstream asks other MCP servers for what they offer. It starts them, or
// reaches them over HTTP, as a client would.
package upstream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/internal/child"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/redact"
)

// Server says how a server is started or reached.
type Server struct {
	Argv []string // program and arguments; nil = it is at URL
	Dir  string   // that the program starts in; empty = that of this process
	Env  []string // NAME=value, besides the environment of this process

	// EnvOnly says that Env is the whole environment.
	EnvOnly bool

	URL    string
	Header http.Header
	SSE    bool // the older transport, HTTP with server-sent events

	Account *Account // the user's login at URL; nil for none
}

// Answer holds what a server offers, and its instructions. Package doctor reads its
// JSON.
type Answer struct {
	Name         string            `json:"-"` // that the server gives itself; may be empty
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"` // as they were sent

	// What it offers besides, as it was sent.
	Prompts   []json.RawMessage `json:"-"`
	Resources []json.RawMessage `json:"-"`
	Templates []json.RawMessage `json:"-"`

	Problems []string `json:"-"` // why one of these lists is not known, or not whole
}

const (
	maxBytes     = 64 << 20 // of a message
	grace        = 2 * time.Second
	maxRedirects = 5
	maxSaid      = 2000 // last bytes of a program's standard error that are kept
	maxWhy       = 400  // characters of a reason
)

// List starts or reaches a server, asks for all its tools and ends it. Programs
// it started have ended when it returns. The version is that of this client, and more are
// methods that it offers to answer beside [Sample] and [Elicit]. Errors
// say why there is no list, without the secrets that reaching the server takes.
func List(ctx context.Context, s Server, version string, more ...string) (Answer, error) {
	session, err := Connect(ctx, s, Client{
		Name: "toolfold-doctor", Version: version,
		Asks: append([]string{Sample, Elicit}, more...), // as clients do: some servers list other tools to clients that offer less
		Ask: func(context.Context, Question) (json.RawMessage, error) {
			return nil, errors.New("there is no call to ask for")
		},
	})
	if err != nil {
		return Answer{}, err
	}
	defer session.Close()
	return session.List(ctx)
}

// start starts a program. The returned function ends it and says how it ended,
// nil for a program that ended well or because it was told to.
func start(ctx context.Context, cancel func(), s Server, stderr io.Writer) (mcp.Transport, func() error, error) {
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		stdinR.Close()
		stdinW.Close()
		return nil, nil, err
	}
	env := s.Env
	if !s.EnvOnly {
		env = append(os.Environ(), s.Env...)
	}
	done := make(chan error, 1)
	go func() {
		err := child.Run(ctx, child.Command{
			Argv: s.Argv, Dir: s.Dir, Env: env, Stdin: stdinR, Stdout: stdoutW, Stderr: stderr,
		})
		stdinR.Close()
		stdoutW.Close()
		done <- err
	}()
	wait := func() error {
		stdinW.Close()
		defer stdoutR.Close()
		select {
		case err := <-done:
			return err
		case <-time.After(grace):
			cancel()
			<-done
			return nil
		}
	}
	lines := bufio.NewScanner(stdoutR)
	lines.Buffer(nil, maxBytes)
	return &mcp.IOTransport{Reader: &messages{lines, stdoutR, stderr, nil}, Writer: stdinW, MaxLineLength: maxBytes}, wait, nil
}

// messages reads the lines of a program that are messages of the protocol. Other lines count as
// said on standard error: clients pass over them too.
type messages struct {
	lines *bufio.Scanner
	io.Closer
	stderr io.Writer
	rest   []byte // of the line that is being read
}

// Read implements [io.Reader].
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if !m.lines.Scan() {
			return 0, cmp.Or(m.lines.Err(), io.EOF)
		}
		if line := bytes.TrimSpace(m.lines.Bytes()); isMessage(line) {
			m.rest = append(line, '\n')
		} else if len(line) > 0 {
			_, _ = m.stderr.Write(append(line, '\n'))
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// isMessage reports whether a line is an object with the member jsonrpc, or begins as one. Programs
// also log objects on standard output, as JSON or in the notation of their language.
func isMessage(line []byte) (is bool) {
	if bytes.HasPrefix(line, []byte(`{"jsonrpc"`)) {
		return true
	}
	if !bytes.Contains(line, []byte(`"jsonrpc"`)) || !json.Valid(line) {
		return false
	}
	ordered.Scan(line, func(name []byte, _, _ int) { is = is || string(name) == "jsonrpc" })
	return is
}

// reach returns the transport to a URL.
func reach(s Server, tap *tap) (mcp.Transport, error) {
	at, err := url.Parse(s.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the address is no http or https URL")
	}
	client := &http.Client{
		Transport: exchange{s, tap},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			to := r.URL.Scheme + "://" + r.URL.Host
			switch {
			case r.URL.Host != at.Host || r.URL.Scheme != at.Scheme:
				return fmt.Errorf("it redirects to another server, %s, which is not given the headers: use that URL", to)
			case r.Method != via[0].Method:
				return fmt.Errorf("it redirects to the page %s%s: is there an MCP server at this URL?", to, r.URL.Path)
			case len(via) > maxRedirects:
				return errors.New("it redirects again and again")
			}
			return nil
		},
	}
	if s.SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true,
		MaxEventSize: maxBytes}, nil
}

// exchange makes the requests to a server over HTTP. It adds the headers of the server, and the
// version that the session agreed on, which the transport cannot know behind a [tap].
type exchange struct {
	server Server
	tap    *tap
}

// RoundTrip implements [http.RoundTripper].
func (e exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range e.server.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	const version = "Mcp-Protocol-Version"
	if agreed := e.tap.agreed(); agreed != "" && r.Header.Get(version) == "" {
		r.Header.Set(version, agreed)
	}
	send := http.DefaultTransport.RoundTrip
	if e.server.Account != nil {
		send = func(r *http.Request) (*http.Response, error) {
			return e.server.Account.authorize(r, http.DefaultTransport.RoundTrip)
		}
	}
	response, err := send(r)
	if err != nil {
		return nil, err
	}
	if !isStream(response) { // of which each event has a bound
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxBytes), response.Body}
	}
	if !e.server.SSE { // there the answer comes another way
		settle(r, response)
	}
	return response, nil
}

func isStream(r *http.Response) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
}

// codeLost is the code of the errors that [settle] puts in place of an answer. Their data is
// the HTTP status of the response.
const codeLost = -32097

// settle puts an error of the protocol in place of a response to a request that is no message of
// the protocol: the library ends the session then, and with it the calls of others. A
// session that is not there any more is left to the library.
func settle(r *http.Request, response *http.Response) {
	well := response.StatusCode >= 200 && response.StatusCode < 300
	gone := response.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != ""
	redirects := response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != ""
	if r.Method != http.MethodPost || r.GetBody == nil || well && isStream(response) || gone || redirects {
		return
	}
	sent, err := r.GetBody()
	if err != nil {
		return
	}
	var request struct {
		ID     json.RawMessage
		Method string
	}
	if json.NewDecoder(sent).Decode(&request) != nil || request.Method == "" || request.ID == nil {
		return
	}
	body, _ := io.ReadAll(response.Body) // what breaks off is no message
	_ = response.Body.Close()
	var answer struct {
		JSONRPC           string
		ID, Result, Error json.RawMessage
	}
	_ = json.Unmarshal(body, &answer) // nothing in it is no message
	switch said := answer.JSONRPC != "" && (answer.Result != nil || answer.Error != nil); {
	case said && answer.Error != nil && !bytes.Equal(answer.ID, request.ID): // of a server that refused the request unread
		body = ordered.MustJSON(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": answer.Error})
	case !said:
		why := notMessage(r, response, body)
		body = ordered.MustJSON(map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{
			"code": codeLost, "message": why, "data": response.StatusCode,
		}})
	}
	response.StatusCode, response.Status = http.StatusOK, "200 OK"
	response.Header.Set("Content-Type", "application/json")
	response.Body = io.NopCloser(bytes.NewReader(body))
}

// notMessage says of a response with a body that is no message of the protocol what came in its
// place, and what its user can do.
func notMessage(r *http.Request, response *http.Response, body []byte) string {
	answered := "it answered " + cmp.Or(response.Status, fmt.Sprint(response.StatusCode))
	switch kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); {
	case response.StatusCode == http.StatusUnauthorized && r.Header.Get("Authorization") != "":
		return answered + ": it does not take the header Authorization that it is sent"
	case response.StatusCode == http.StatusUnauthorized:
		return answered + ": it wants a header Authorization, or toolfold upstream add and then login"
	case response.StatusCode == http.StatusNotFound, response.StatusCode == http.StatusMethodNotAllowed:
		return answered + ": is there an MCP server at this URL?"
	case response.StatusCode < 200 || response.StatusCode >= 300:
		return answered
	case len(body) >= maxBytes:
		return fmt.Sprintf("it sent a message of more than %d MB", maxBytes>>20)
	case kind != "application/json" && kind != "":
		return "it answered with " + kind + ": is there an MCP server at this URL?"
	case !json.Valid(body):
		return "its answer broke off, or is no JSON"
	}
	return "its answer has no result"
}

// tap is a transport that keeps the lists of tools as they were sent: decoded
// ones lose the order of members, on which their tokens depend.
type tap struct {
	mcp.Transport
	stderr *child.Tail     // on standard error
	life   context.Context // of the session
	client Client

	mu      sync.Mutex
	waiting map[jsonrpc.ID]string             // methods of requests without a response
	list    json.RawMessage                   // the last answer to tools/list
	calls   map[string]*call                  // that run, by their progress token
	owners  map[jsonrpc.ID]*call              // of requests without a response that are calls
	asked   map[jsonrpc.ID]context.CancelFunc // requests of the server without a response
	broke   error                             // why nothing is read any more
	version string                            // that initialize agreed on
}

// Connect implements [mcp.Transport].
func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	life, end := context.WithCancel(t.life) // the stream of the older transport lives as long as the context that it is opened with
	opened := context.AfterFunc(ctx, end)
	connection, err := t.Transport.Connect(life)
	opened()
	if err != nil {
		end()
		return nil, cmp.Or(ctx.Err(), err)
	}
	return &tapped{connection, t}, nil
}

func (t *tap) page() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list
}

func (t *tap) forgetPage() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = nil
}

func (t *tap) agreed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// tapped is a connection behind a [tap].
type tapped struct {
	mcp.Connection
	tap *tap
}

// Write implements [mcp.Connection].
func (c *tapped) Write(ctx context.Context, message jsonrpc.Message) error {
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.tap.mu.Lock()
		c.tap.waiting[request.ID] = request.Method
		if request.Method == callTool {
			var params struct {
				Meta json.RawMessage `json:"_meta"`
			}
			var token struct{ ProgressToken string }
			_ = json.Unmarshal(request.Params, &params)
			_ = json.Unmarshal(params.Meta, &token)
			if call := c.tap.calls[token.ProgressToken]; call != nil {
				c.tap.owners[request.ID] = call
				message = call.written(request, params.Meta)
			}
		}
		c.tap.mu.Unlock()
	}
	return c.Connection.Write(ctx, message)
}

// Read implements [mcp.Connection].
func (c *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	var message jsonrpc.Message
	var err error
	for {
		message, err = c.Connection.Read(ctx)
		request, ok := message.(*jsonrpc.Request)
		if err != nil || !ok {
			break
		}
		if !request.IsCall() {
			c.tap.notified(request) // here, so that it comes before the result
			break
		}
		if !isQuestion(request.Method) {
			break
		}
		c.question(request)
	}
	if response, ok := message.(*jsonrpc.Response); ok && err == nil {
		c.tap.mu.Lock()
		defer c.tap.mu.Unlock()
		switch c.tap.waiting[response.ID] {
		case "tools/list":
			c.tap.list = response.Result
		case "initialize":
			var hello struct{ ProtocolVersion string }
			_ = json.Unmarshal(response.Result, &hello) // the client reads it too, and refuses it
			c.tap.version = hello.ProtocolVersion
		}
		if call := c.tap.owners[response.ID]; call != nil {
			call.result = response.Result
			delete(c.tap.owners, response.ID)
		}
		delete(c.tap.waiting, response.ID)
	}
	if err != nil {
		c.tap.mu.Lock()
		c.tap.broke = err
		c.tap.mu.Unlock()
	}
	return message, err
}

// lastLine returns the last line that says something.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// reason returns an error in words for a user, without secrets: neither the
// values of the environment and of headers, nor more of the URL than its host.
func (s Server) reason(err error, stderr string) error {
	var exit *child.ExitError
	var unstarted *child.StartError
	var refused *jsonrpc.Error
	var unsent *url.Error
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "it did not answer in time"
	case errors.Is(err, bufio.ErrTooLong):
		text = fmt.Sprintf("it sent a message of more than %d MB", maxBytes>>20)
	case errors.As(err, &unstarted):
		text = fmt.Sprintf("it does not start: %s (%s)", text, filepath.Base(s.Argv[0]))
	case errors.As(err, &exit):
		text = "it ended: " + text
	case errors.As(err, &refused) && refused.Code == codeLost:
		text = refused.Message
	case errors.As(err, &unsent):
		text = unsent.Err.Error()
	}
	if stderr != "" {
		text += "; it said: " + stderr
	}
	var secrets []string
	if at, err := url.Parse(s.URL); err == nil && s.URL != "" {
		text = strings.ReplaceAll(text, s.URL, at.Scheme+"://"+at.Host)
		secrets = append(secrets, at.RequestURI(), at.RawQuery)
	}
	for _, variable := range s.Env {
		_, value, _ := strings.Cut(variable, "=")
		secrets = append(secrets, value)
	}
	for _, values := range s.Header {
		for _, value := range values {
			secrets = append(append(secrets, value), strings.Fields(value)...)
		}
	}
	if len(s.Argv) > 0 {
		secrets = append(secrets, s.Argv[1:]...)
	}
	const shortest = 6 // characters of a secret; shorter values are words such as true
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if len(secret) >= shortest {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	text = redact.Text(text)
	if runes := []rune(text); len(runes) > maxWhy {
		text = string(runes[:maxWhy]) + "…"
	}
	if refused != nil && refused.Code == codeLost {
		status, _ := strconv.Atoi(string(refused.Data)) // as settle wrote it
		return &noMessage{text, status}
	}
	return errors.New(text)
}

// noMessage is the error of a server over HTTP that answers with a status and no message.
type noMessage struct {
	why    string
	status int
}

// Error implements error.
func (n *noMessage) Error() string { return n.why }
