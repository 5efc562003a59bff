package serve

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// Others has the prompts and resources of other servers, which are passed on: entries of lists and
// results as the protocol has them. Members of a result that the protocol does not have there, and
// names in _meta that are the protocol's or toolfold's, are left out. Ctx carries the caller, see
// [toolfold.OriginOf]. Ours go before those of the same name or URI.
//
// A nil result without an error says that there is none for the caller. A [*toolfold.Error]
// with Protocol is the refusal of the other server.
type Others interface {
	Prompts(ctx context.Context) []json.RawMessage
	Resources(ctx context.Context) []json.RawMessage
	Templates(ctx context.Context) []json.RawMessage

	GetPrompt(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
	ReadResource(ctx context.Context, uri string) (json.RawMessage, error)
	Complete(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

	// Named returns what rules can name besides the families of the server, see
	// [permission.Rules.Check].
	Named() []*toolfold.Family

	// HasResource reports whether the caller may read what is at a URI, if there is anything.
	HasResource(ctx context.Context, uri string) bool
	// Watch says that a client watches a URI, or that none does any more. It does not wait.
	Watch(ctx context.Context, uri string, watch bool)
}

// listed is an entry of a list: of ours, or as another server has it.
type listed struct {
	key   string // tells entries apart
	value any
}

// MarshalJSON implements [json.Marshaler].
func (l listed) MarshalJSON() ([]byte, error) { return ordered.JSON(l.value) }

func (l listed) at() string { return l.key }

// withOthers appends the entries of other servers to ours; key is the member that tells them
// apart. An entry that is no JSON object is left out.
func (s *Server) withOthers(list []listed, others []json.RawMessage, key string) []listed {
	ours := map[string]bool{}
	for _, l := range list {
		ours[l.key] = true
	}
	for _, entry := range others {
		entry, dropped, err := foreign.Object("", entry)
		if err != nil {
			s.log.Warn("an entry of another server is left out of a list", "key", key, "err", err)
			continue
		}
		var name string
		ordered.Scan(entry, func(member []byte, start, end int) {
			if string(member) == key {
				name = textOfJSON(entry[start:end])
			}
		})
		if len(dropped) > 0 {
			s.log.Debug("members of an entry of another server are left out", "key", key, "name", name, "members", dropped)
		}
		if !ours[name] {
			list = append(list, listed{name, entry})
		}
	}
	return list
}

// ruled returns what rules can name.
func (s *Server) ruled() []*toolfold.Family {
	families := s.surface.Families()
	if s.others != nil {
		families = slices.Concat(families, s.others.Named())
	}
	return families
}

// othersHave reports whether another server may have something for the caller at a URI.
func (s *Server) othersHave(ctx context.Context, uri string) bool {
	return s.others != nil && s.others.HasResource(ctx, uri)
}

// relay appends the result of another server that do returns, in its turn among the calls that
// run. Where there is none it fails with missing, that we have nothing of that name ourselves.
func (s *Server) relay(
	ctx context.Context, r *request, out []byte, name string, missing *protocolError, do func(context.Context) (json.RawMessage, error),
) ([]byte, *protocolError) {
	if s.others == nil || missing.code == mcp.INTERNAL_ERROR {
		return nil, missing
	}
	ctx = s.withPassed(ctx, r)
	answer, asks, failed := s.inTurn(ctx, r, name, func(ctx context.Context) toolfold.Answer {
		result, err := do(ctx)
		if err != nil {
			return s.answerable(err).Answer()
		}
		return toolfold.Answer{Reply: result}
	})
	switch {
	case failed != nil:
		return nil, failed
	case asks != nil:
		return r.appendAsks(out, asks)
	case answer.Err != nil:
		return nil, s.failed(r, answer.Err)
	case answer.Reply == nil:
		return nil, missing
	}
	reply, failed := r.relayed(r.method, answer.Reply)
	if failed != nil {
		return nil, failed
	}
	if r.method == mcp.MethodResourcesRead && r.modern() {
		reply.members.Set("ttlMs", json.RawMessage("0"))
		reply.members.Set("cacheScope", ordered.MustJSON(mcp.CacheScopePrivate))
	}
	return reply.append(out, r.terms), nil
}

// passedCode returns the code with which a refusal of another server goes out: codes about the
// connection to that server become others, since the caller's own is in order.
func passedCode(code int64) int {
	switch code {
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.METHOD_NOT_FOUND, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY,
		mcp.HEADER_MISMATCH, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return mcp.INTERNAL_ERROR
	}
	return int(code)
}
