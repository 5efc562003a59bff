package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// admission are the findings of mcp-go about a request that it admits.
type admission struct {
	info *server.RequestProtocolInfo

	// The members that mcp-go adds to every result, such as the resultType of 2026-07-28: the
	// members of _meta, and the other members, separated by commas.
	meta, rest []byte
}

// append appends the marks and the end of an answer, with further members of _meta.
func (t *admission) append(out []byte, meta []byte) []byte {
	if meta = appendMembers(meta, t.meta); len(meta) > 0 {
		out = append(append(appendMembers(out, []byte(`"_meta":{`)), meta...), '}')
	}
	return append(appendMembers(out, t.rest), `}}`...)
}

// read takes the marks from mcp-go's answer; own names the members that are not marks. It returns
// false if the answer has no result.
func (t *admission) read(answer []byte, own ...string) bool {
	var message struct{ Result ordered.Map }
	if json.Unmarshal(answer, &message) != nil || message.Result == nil {
		return false
	}
	for _, member := range message.Result {
		text := member.Value.(json.RawMessage)
		switch {
		case slices.Contains(own, member.Key):
		case member.Key == "_meta":
			t.meta = []byte(strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}"))
		default:
			t.rest = appendMembers(t.rest, appendMember([]byte("{"), member.Key, text)[1:])
		}
	}
	return true
}

// maxAdmissionKey limits the keys of cached admissions, in bytes.
const maxAdmissionKey = 4 << 10

// refusal is mcp-go's answer to a request that it does not admit.
type refusal struct {
	header http.Header
	status int
	body   []byte
}

// transport passes messages of one request to mcp-go.
type transport interface {
	// check returns mcp-go's answer to a message that stands for the request.
	check(ctx context.Context, message []byte) refusal
	// refuse answers the request with the result of check.
	refuse(refusal)
	// pass lets mcp-go answer a message in place of the request.
	pass(ctx context.Context, message []byte)
}

// exchange answers a message. Requests for our methods are answered here once mcp-go has admitted
// them; mcp-go answers all other messages.
func (s *Server) exchange(ctx context.Context, r *request, t transport) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("answering a message", "panic", p, "stack", string(debug.Stack()))
			r.end(failure(r.id, mcp.INTERNAL_ERROR, "the server failed; its log has more"), http.StatusOK)
		}
	}()
	ctx = r.in(ctx)
	if failed := r.checkForm(); failed != nil {
		r.end(failed.answer(r.id), http.StatusOK)
		return
	}
	switch {
	case r.id == nil:
	case s.tasks != nil && r.followsTasks():
		r.ownMethod = followMethod
	case s.resources != nil && r.watchesTooMany():
		r.ownMethod = tooManyWatches
	default:
		r.ownMethod = s.methods[r.method]
	}
	if r.ownMethod == nil {
		t.pass(ctx, r.mask())
		return
	}
	if refused := s.admit(ctx, r, t); refused != nil {
		t.refuse(*refused)
		return
	}
	s.answer(ctx, r)
}

// admit lets mcp-go check a request: its session, headers, version and metadata. The result is
// cached for all requests with the same values.
func (s *Server) admit(ctx context.Context, r *request, t transport) *refusal {
	key := r.appendAdmissionKey(make([]byte, 0, 1024))
	if admission, ok := s.admissions.get(key); ok {
		r.admission = admission
		return nil
	}
	answer := t.check(ctx, r.checkMessage())
	if r.admission == nil || !r.admission.read(answer.body, r.ownMethod.own()...) {
		answer.body = rewriteID(bytes.ReplaceAll(answer.body, []byte(r.ownMethod.standIn), []byte(r.method)), r.id)
		return &answer
	}
	if len(key) <= maxAdmissionKey {
		s.admissions.put(key, r.admission)
	}
	return nil
}

// onAdmission is called by mcp-go for every request that it admits, before it handles it. It records
// the terms of the admission.
func onAdmission(ctx context.Context, _ any, _ mcp.MCPMethod, _ any) {
	if r := requestOf(ctx); r != nil && r.ownMethod != nil {
		r.admission = &admission{info: server.RequestProtocolInfoFromContext(ctx)}
	}
}

// onInitialize is called by mcp-go after it has answered initialize.
func onInitialize(ctx context.Context, _ any, message *mcp.InitializeRequest, _ *mcp.InitializeResult) {
	if r := requestOf(ctx); r != nil && r.onSession != nil {
		r.onSession(server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo), message)
	}
}

// headerParam returns the parameter that a header has to repeat; nil if no header does, or if a URI
// is not a text.
func (r *request) headerParam() (name json.RawMessage) {
	switch r.ownMethod.name {
	case "":
		return nil
	case "name":
		return r.params.name
	}
	scan(r.rawParams, []memberTarget{{r.ownMethod.name, &name}})
	if textOfJSON(name) == "" {
		return nil
	}
	return name
}

// checkMessage returns the message for mcp-go's check of the request.
func (r *request) checkMessage() []byte {
	params := []byte("{")
	if r.ownMethod.name != "" {
		params = appendMember(params, "name", r.headerParam())
	}
	params = append(appendMember(params, "_meta", r.meta.protocol), '}')
	return encode(r.version, json.RawMessage("1"), json.RawMessage(`"`+r.ownMethod.standIn+`"`), params)
}

// checkedHeaders are the headers that mcp-go checks, except the tool's name, in the spelling of
// [http.Header].
var checkedHeaders = [...]string{
	"Content-Type", "Accept", mcp.HeaderLastEventID, mcp.HeaderProtocolVersion, mcp.HeaderMethod, server.HeaderKeySessionID,
}

// appendAdmissionKey appends everything that mcp-go checks in a request. All names of tools give
// the same key if the header repeats the name or is absent. Neither headers nor JSON contain the
// bytes 0 and 1.
func (r *request) appendAdmissionKey(key []byte) []byte {
	for _, header := range checkedHeaders {
		if header == server.HeaderKeySessionID && r.session != nil {
			key = append(key, 1)
		} else {
			key = appendValues(key, r.header[header])
		}
	}
	name, header := r.headerParam(), r.header[mcp.HeaderName]
	if r.tool != "" && (len(header) == 0 || len(header) == 1 && header[0] == r.tool && !strings.HasPrefix(r.tool, "=?")) {
		key = append(key, 1, byte(len(header)))
	} else {
		key = append(append(appendValues(key, header), name...), 0)
	}
	key = append(append(key, r.method...), 0)
	key = append(append(key, r.version...), 0)
	return append(key, r.meta.protocol...)
}

func appendValues(key []byte, values []string) []byte {
	for _, value := range values {
		key = append(append(key, value...), 1)
	}
	return append(key, 0)
}
