package upstream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// events is a stream of server-sent events. As a reader it is the body that the library gets.
type events struct {
	remote  *remote
	request *http.Request
	call    *jsonrpc.Request // answered by this stream; nil for a stream of the session
	sink    func(jsonrpc.Message)
	texts   *texts
	body    io.ReadCloser
	lines   *bufio.Reader
	out     bytes.Buffer
	unit    *unit
	name    string
	id      string        // of the last event, to resume the stream after it
	pause   time.Duration // before resuming
	resumes int
	other   []byte // the last text that is not a message
	ended   error
}

func (r *remote) events(request *http.Request, response *http.Response, call *jsonrpc.Request) *events {
	limit := r.gate.limit()
	e := &events{
		remote: r, request: request, call: call, body: response.Body, lines: bufio.NewReaderSize(response.Body, 64<<10),
		unit: &unit{memory: r.memory, limit: limit}, pause: resumePause,
	}
	e.sink = func(m jsonrpc.Message) { writeEvent(&e.out, m) }
	e.texts = r.gate.texts(limit, call, e.pass)
	note := e.texts.other
	e.texts.other = func(text []byte) {
		e.other = text
		note(text)
	}
	return e
}

func (e *events) pass(m jsonrpc.Message) {
	e.sink(judge(m, e.call, e.request, http.StatusOK))
}

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.ended != nil {
			return 0, e.ended
		}
		e.next()
	}
	return e.out.Read(p)
}

// Close implements [io.Closer].
func (e *events) Close() error { return e.body.Close() }

// next reads a line of the stream.
func (e *events) next() {
	line := &unit{memory: e.remote.memory, limit: e.remote.gate.limit() + 16} // room for the name of the field
	err := line.line(e.lines)
	switch {
	case err != nil:
		e.event()
		e.end(err)
		return
	case line.fault != nil:
		e.unit.fault, e.unit.size, e.unit.shape = line.fault, line.size, line.shape
		return
	}
	text := bytes.TrimPrefix(bytes.TrimSuffix(line.take(), []byte("\r")), byteOrderMark)
	if len(text) == 0 {
		e.event()
		return
	}
	field, value, _ := bytes.Cut(text, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "id":
		e.id = string(value)
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.pause = time.Duration(ms) * time.Millisecond
		}
	case "data":
		if e.unit.size > 0 {
			_, _ = e.unit.Write([]byte("\n"))
		}
		_, _ = e.unit.Write(value)
	}
}

// event handles the end of an event.
func (e *events) event() {
	name := cmp.Or(e.name, "message")
	e.name = ""
	if e.unit.fault != nil {
		e.remote.gate.oversize(e.unit, e.pass)
		e.unit.take()
		return
	}
	switch data := e.unit.take(); {
	case len(data) == 0:
	case name == "message":
		e.texts.whole(data)
	case name == "endpoint" && e.remote.server.SSE:
		fmt.Fprintf(&e.out, "event: endpoint\ndata: %s\n\n", bytes.ReplaceAll(clean(data), []byte("\n"), nil))
	}
	if e.call != nil && !e.remote.gate.waits(e.call.ID) {
		e.ended = io.EOF
	}
}

// end ends the stream. It resumes the stream if the answer is missing and the server sent an event id.
func (e *events) end(err error) {
	if e.call == nil || !e.remote.gate.waits(e.call.ID) {
		e.ended = err
		return
	}
	if e.id != "" && e.resumes < maxResumes && e.resume() {
		return
	}
	code, why := int64(codeLost), "its stream of events ended without an answer"
	switch {
	case refusesSession(e.request, http.StatusOK, string(e.other)):
		code = codeGone
	case !errors.Is(err, io.EOF):
		why = "its answer broke off"
	}
	e.remote.gate.fail(e.call.ID, code, why, http.StatusOK, e.pass)
	e.ended = cmp.Or(e.request.Context().Err(), io.EOF)
}

// resume asks for the events after the last one.
func (e *events) resume() bool {
	e.resumes++
	ctx := e.request.Context()
	if !e.remote.wait(ctx, e.pause) {
		return false
	}
	header := e.request.Header.Clone()
	header.Del("Content-Type")
	_, response, err := e.remote.stream(ctx, header, e.id)
	if err != nil {
		return false
	}
	_ = e.body.Close()
	e.body, e.lines = response.Body, bufio.NewReaderSize(response.Body, 64<<10)
	return true
}

// stream opens a stream of events by GET. It starts after the event with that id, or with new events if
// after is empty.
func (r *remote) stream(ctx context.Context, header http.Header, after string) (*http.Request, *http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL, nil)
	if err != nil {
		return nil, nil, err
	}
	request.Header = header
	header.Set("Accept", "text/event-stream")
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	response, err := r.send(request)
	if err != nil {
		return nil, nil, err
	}
	if !well(response) || !isStream(response) {
		_ = response.Body.Close()
		return nil, nil, errors.New("it has no such stream")
	}
	return request, response, nil
}

// maxSilent is how many streams of a session in a row may end without a message.
const maxSilent = 5

// listen reads the stream of notifications and questions that a server of the older era offers by GET.
// It returns when the session ends, or if the server has no such stream.
func (r *remote) listen() {
	header := http.Header{}
	r.mu.Lock()
	if r.session != "" {
		header.Set(sessionID, r.session)
	}
	r.mu.Unlock()
	last, pause := "", resumePause
	for silent := 0; silent < maxSilent; silent++ {
		request, response, err := r.stream(r.gate.life, header.Clone(), last)
		if err != nil {
			return
		}
		e := r.events(request, response, nil)
		e.sink = func(m jsonrpc.Message) {
			silent = -1
			r.pass(m)
		}
		for e.id = last; e.ended == nil; {
			e.next()
		}
		_ = e.Close()
		if last = e.id; silent < 0 {
			pause = e.pause
		}
		select {
		case <-time.After(pause):
		case <-r.gate.life.Done():
			return
		}
		pause *= 2
	}
}

// writeEvent writes a message as an event.
func writeEvent(to *bytes.Buffer, m jsonrpc.Message) {
	wire := ordered.Map{{Key: "jsonrpc", Value: "2.0"}}
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			wire.Set("id", m.ID.Raw())
		}
		wire.Set("method", m.Method)
		if m.Params != nil {
			wire.Set("params", m.Params)
		}
	case *jsonrpc.Response:
		wire.Set("id", m.ID.Raw())
		if m.Error != nil {
			wire.Set("error", m.Error)
		} else {
			wire.Set("result", m.Result)
		}
	}
	fmt.Fprintf(to, "event: message\ndata: %s\n\n", ordered.MustJSON(wire))
}
