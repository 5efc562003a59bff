package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// deprecatedMeta is the member of a result's _meta that shows callers of a legacy name how to call
// the tool now.
const deprecatedMeta = "toolfold/deprecated"

// structuredMeta is the member of the _meta of a call, or of tools/describe, that overrides the
// server's default for structured content: true or false.
const structuredMeta = "toolfold/structured"

// answer answers a request that mcp-go has admitted.
func (s *Server) answer(ctx context.Context, r *request) {
	ctx = callctx.With(ctx, r.origin())
	buffer := answers.Get().(*[]byte)
	out := append(append((*buffer)[:0], answerStart...), r.id...)
	var failed *protocolError
	if r.ownMethod.old && r.modern() {
		failed = &protocolError{code: mcp.METHOD_NOT_FOUND, message: "there is no method " + string(r.method) + " from 2026-07-28 on"}
	} else {
		out, failed = r.ownMethod.handle(s, ctx, r, append(out, `,"result":{`...))
	}
	status := http.StatusOK
	if failed != nil {
		out = failed.answer(r.id)
		if r.modern() {
			status = failed.status()
		}
	}
	r.end(out, status)
	switch {
	case failed != nil:
	case cap(out) <= maxPooledAnswer:
		*buffer = out
		answers.Put(buffer)
	case cap(out) <= maxPooledList:
		long := out
		longAnswers.Put(&long)
	}
}

// answers pools the buffers of written answers. longAnswers pools the buffers of long lists of
// tools, so that other answers do not hold their memory.
var (
	answers     = sync.Pool{New: func() any { return new([]byte) }}
	longAnswers = sync.Pool{New: func() any { return new([]byte) }}
)

// Limits of the pooled buffers, in bytes.
const (
	maxPooledAnswer = 64 << 10
	maxPooledList   = 4 << 20
)

// grow returns out with room for n more bytes.
func grow(out []byte, n int) []byte {
	if len(out)+n > maxPooledAnswer && cap(out)-len(out) < n {
		out = append((*longAnswers.Get().(*[]byte))[:0], out...)
	}
	return slices.Grow(out, n)
}

// answerStart begins every answer; the id follows.
const answerStart = `{"jsonrpc":"2.0","id":`

// wantsStructured reports whether the answer to a request also has structured content.
func (s *Server) wantsStructured(r *request) (bool, *toolfold.Error) {
	switch flag := r.meta.structured; {
	case flag == nil:
		return s.structured, nil
	case string(flag) == "true" || string(flag) == "false":
		return string(flag) == "true", nil
	}
	return false, toolfold.Errorf(toolfold.InvalidInput, "_meta %s must be true or false", structuredMeta)
}

// call appends the result of a call.
func (s *Server) call(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	if failed := s.mirrored(ctx, r); failed != nil {
		return nil, failed
	}
	structured, refused := s.wantsStructured(r)
	if refused != nil {
		return r.appendResult(out, refused.Answer(), structured)
	}
	ctx = s.withTasks(s.withPassed(ctx, r), r)
	name := r.tool
	answer, asks, failed := s.inTurn(ctx, r, name, func(ctx context.Context) toolfold.Answer {
		return s.surface.Client.Call(ctx, name, r.params.arguments)
	})
	switch {
	case failed != nil:
		return nil, failed
	case asks != nil:
		return r.appendAsks(out, asks)
	case r.modern() && answer.Err != nil && answer.Err.Lacking != "":
		return nil, lacks(answer.Err)
	case answer.Err != nil && answer.Err.Protocol == mcp.URL_ELICITATION_REQUIRED:
		return nil, s.handlerError(r, answer.Err)
	}
	return s.appendAnswer(ctx, r, out, answer, structured)
}

// mirrored returns an error if the headers of a call do not repeat the arguments that the listed
// tool declares for headers; nil if they do. Proxies in front of the server may route calls by
// these headers.
func (s *Server) mirrored(ctx context.Context, r *request) *protocolError {
	if r.header == nil || !r.modern() {
		return nil
	}
	schema := s.surface.Discovery.View(ctx).Mirrored(r.tool)
	if schema == nil {
		return nil
	}
	sent := func(name string) (string, bool) { return r.header.Get(name), len(r.header.Values(name)) > 0 }
	if err := mcp.ValidateParamHeadersLookup(sent, &mcp.Tool{Name: r.tool, RawInputSchema: schema}, r.rawParams); err != nil {
		return &protocolError{code: mcp.HEADER_MISMATCH, message: err.Error()}
	}
	return nil
}

// inTurn runs do once a slot is free, see calls. It returns the answer of do, or the questions that
// the client has to answer first. name is the name or URI of the request.
func (s *Server) inTurn(
	ctx context.Context, r *request, name string, do func(context.Context) toolfold.Answer,
) (toolfold.Answer, *ordered.Map, *protocolError) {
	run := func(ctx context.Context) (answer toolfold.Answer) {
		defer func() {
			if p := recover(); p != nil { // a pending call runs in its own goroutine
				answer = s.answerable(fmt.Errorf("panic: %v\n%s", p, debug.Stack())).Answer()
			}
		}()
		ctx, leave, refusal := s.calls.enter(ctx, s.waits.call)
		if refusal != nil {
			return refusal.Answer()
		}
		defer leave()
		return do(ctx)
	}
	switch {
	case !r.canBeAsked():
		return run(ctx), nil, nil
	case !r.modern():
		return run(r.declared().in(ctx, sessionClient{s, r})), nil, nil
	}
	return s.callModern(ctx, r, string(r.method)+" "+name, run) // the client answers questions between requests
}

// appendResult appends an answer as JSON in one text block, followed by links, and as structured
// content if structured is set. It is off by default: many hosts give a model both.
func (r *request) appendResult(
	out []byte, answer toolfold.Answer, structured bool, links ...content.Block,
) ([]byte, *protocolError) {
	if answer.Reply != nil {
		return r.appendReply(out, answer, structured, links...)
	}
	// AppendQuote replaces invalid UTF-8
	out, _ = jsontext.AppendQuote(append(out, `"content":[{"type":"text","text":`...), answer.Content)
	out = append(appendBlocks(append(out, '}'), links), ']')
	if structured && !answer.Typed || answer.Typed && !answer.IsError() {
		out = append(append(out, `,"structuredContent":`...), answer.Content...)
	}
	if answer.IsError() {
		out = append(out, `,"isError":true`...)
	}
	var meta []byte
	if answer.Deprecated != nil {
		meta = append([]byte(`"`+deprecatedMeta+`":`), ordered.MustJSON(answer.Deprecated)...)
	}
	return r.admission.append(out, meta), nil
}

// appendBlocks appends blocks to a list that is not empty and not closed yet.
func appendBlocks(out []byte, blocks []content.Block) []byte {
	for _, b := range blocks {
		out = append(append(out, ','), ordered.MustJSON(b)...)
	}
	return out
}

// appendReply appends the result of another server's tool.
func (r *request) appendReply(
	out []byte, answer toolfold.Answer, structured bool, links ...content.Block,
) ([]byte, *protocolError) {
	reply, failed := r.relayedResult(mcp.MethodToolsCall, answer.Reply)
	if failed != nil {
		return nil, failed
	}
	blocks := reply.member("content")
	switch {
	case blocks == nil:
		reply.members.Set("content", json.RawMessage("[]"))
	case len(links) > 0 && len(blocks) > len("[]") && blocks[0] == '[': // the text of a truncated answer already reports the cut
		reply.members.Set("content", json.RawMessage(append(appendBlocks(slices.Clone(blocks[:len(blocks)-1]), links), ']')))
	}
	if structured && !answer.IsError() && reply.member("structuredContent") == nil {
		reply.members.Set("structuredContent", answer.Content)
	}
	return reply.append(out, r.admission), nil
}

// relayedResult is a result of another server, ready to be sent.
type relayedResult struct {
	members ordered.Map // without _meta
	meta    []byte      // members of _meta
}

// relayedResult reads the result of another server for a method. It drops members that the protocol
// does not have for the method, and reserved names, see [foreignSchema.Object].
func (r *request) relayedResult(method mcp.MCPMethod, result json.RawMessage) (*relayedResult, *protocolError) {
	object, dropped, err := foreign.Object(string(method), result)
	if err != nil {
		r.log.Error("a result of another server cannot be passed on", "method", method, "name", r.about(), "err", err)
		return nil, &protocolError{code: mcp.INTERNAL_ERROR, message: "the result of another server cannot be passed on: " + err.Error()}
	}
	if len(dropped) > 0 {
		r.log.Debug("members of a result of another server are left out", "method", method, "name", r.about(), "members", dropped)
	}
	members, _ := ordered.Read(object)
	reply := &relayedResult{}
	for _, m := range members {
		if value := m.Value.(json.RawMessage); m.Key == "_meta" {
			reply.meta = slices.Clone(value[1 : len(value)-1])
		} else {
			reply.members = append(reply.members, m)
		}
	}
	return reply, nil
}

// member returns the value of a member, or nil.
func (r *relayedResult) member(name string) json.RawMessage {
	value, _ := r.members.Get(name)
	raw, _ := value.(json.RawMessage)
	return raw
}

// append appends the members and the end of the answer.
func (r *relayedResult) append(out []byte, t *admission) []byte {
	for _, m := range r.members {
		out = appendMember(out, m.Key, m.Value.(json.RawMessage))
	}
	return t.append(out, r.meta)
}

// lacks returns the error that names the capability which a client of 2026-07-28 has to declare.
func lacks(e *toolfold.Error) *protocolError {
	required := map[string]any{e.Lacking: struct{}{}}
	if extension, is := strings.CutPrefix(e.Lacking, "extensions/"); is {
		required = map[string]any{"extensions": map[string]any{extension: struct{}{}}}
	}
	return &protocolError{
		code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, message: e.Message, data: map[string]any{"requiredCapabilities": required},
	}
}

// appendAsks appends the questions of a call to its client.
func (r *request) appendAsks(out []byte, asks *ordered.Map) ([]byte, *protocolError) {
	text, err := ordered.JSON(asks)
	if err != nil {
		return nil, &protocolError{code: mcp.INTERNAL_ERROR, message: fmt.Sprintf("encoding the prompt: %s", err)}
	}
	t := admission{meta: r.admission.meta} // asks has its own result type
	return t.append(append(out, text[1:len(text)-1]...), nil), nil
}

// maxMeta limits the _meta that is passed on to other servers, in bytes.
const maxMeta = 64 << 10

// withPassed returns a context with everything that passes between the client of the request and
// other servers.
func (s *Server) withPassed(ctx context.Context, r *request) context.Context {
	return s.withCompleted(s.withMeta(r.withLog(r.withProgress(r.withCaller(ctx))), r), r)
}

// withCompleted returns a context in which a call can report that the user is done with a page. The
// notification goes out with the newest request of the call, or else to the client's session.
func (s *Server) withCompleted(ctx context.Context, r *request) context.Context {
	return callctx.With(ctx, callctx.CompletedFunc(func(params json.RawMessage) {
		method := string(mcp.MethodNotificationElicitationComplete)
		if r.deliver(func(r *request) bool { return r.notify(method, params) }) {
			return
		}
		var fields map[string]any
		if json.Unmarshal(params, &fields) != nil || r.session == nil ||
			s.mcp.SendNotificationToSpecificClient(r.session.SessionID(), method, fields) != nil {
			s.log.Debug("a client is not notified that its user is done with a page: its call has ended, and it has no session", "name", r.about())
		}
	}))
}

// withMeta returns a context with the _meta of the request for other servers. Progress tokens and
// reserved names are left out: they belong to this connection.
func (s *Server) withMeta(ctx context.Context, r *request) context.Context {
	raw := r.params.rawMeta
	if len(raw) > maxMeta {
		s.log.Warn("the _meta of a request is not passed on: it is too long", "bytes", len(raw), "limit", maxMeta)
		return ctx
	}
	var meta ordered.Map
	ordered.Scan(raw, func(name []byte, start, end int) {
		if word := string(name); word != "progressToken" && !strings.HasPrefix(word, protocolMeta) && !foreign.Reserved(word) {
			meta.Set(word, raw[start:end:end])
		}
	})
	if len(meta) == 0 {
		return ctx
	}
	object, err := foreign.JSON(ordered.MustJSON(meta))
	if err != nil {
		s.log.Warn("the _meta of a request is not passed on", "err", err)
		return ctx
	}
	return callctx.With(ctx, callctx.Meta(object))
}

// withCaller returns a context whose spans belong to the caller's trace, if the message or else the
// HTTP request names one.
func (r *request) withCaller(ctx context.Context) context.Context {
	parent, state := textOfJSON(r.meta.traceparent), textOfJSON(r.meta.tracestate)
	if parent == "" {
		parent, state = r.header.Get("traceparent"), r.header.Get("tracestate")
	}
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent, "tracestate": state})
}
