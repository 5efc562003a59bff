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

// Others provides the prompts and resources of other servers: entries of lists and results in the
// form of the protocol. Members that the protocol does not have for a result, and names in _meta
// that are reserved, are dropped. Ctx carries the caller, see [toolfold.OriginOf]. If the server
// itself has an entry with the same name or URI, that entry wins.
//
// A nil result without an error means that nothing exists for the caller. A [*toolfold.Error] with
// Protocol is an error that the other server returned.
type Others interface {
	Prompts(ctx context.Context) []json.RawMessage
	Resources(ctx context.Context) []json.RawMessage
	Templates(ctx context.Context) []json.RawMessage

	GetPrompt(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error)
	ReadResource(ctx context.Context, uri string) (json.RawMessage, error)
	Complete(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

	// Named returns the families that rules can name in addition to the server's own, see
	// [permission.Rules.Check].
	Named() []*toolfold.Family

	// HasResource reports whether the caller may read the resource at a URI, if it exists.
	HasResource(ctx context.Context, uri string) bool
	// Watch reports that a client watches a URI, or that no client does any more. It does not wait.
	Watch(ctx context.Context, uri string, watch bool)
}

// listEntry is an entry of a list, either ours or another server's JSON.
type listEntry struct {
	key   string // name or URI
	value any
}

// MarshalJSON implements [json.Marshaler].
func (l listEntry) MarshalJSON() ([]byte, error) { return ordered.JSON(l.value) }

func (l listEntry) at() string { return l.key }

// withOthers appends the entries of other servers to ours, except entries with the same key; key
// names the member that identifies them. Entries that are not JSON objects are dropped.
func (s *Server) withOthers(list []listEntry, others []json.RawMessage, key string) []listEntry {
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
			list = append(list, listEntry{name, entry})
		}
	}
	return list
}

// ruleFamilies returns the families that rules can name.
func (s *Server) ruleFamilies() []*toolfold.Family {
	families := s.surface.Families()
	if s.others != nil {
		families = slices.Concat(families, s.others.Named())
	}
	return families
}

// othersHave reports whether another server may have a resource for the caller at a URI.
func (s *Server) othersHave(ctx context.Context, uri string) bool {
	return s.others != nil && s.others.HasResource(ctx, uri)
}

// relay appends the result of another server that do returns, once a slot is free. If no server has
// the name it returns missing.
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
		return nil, s.handlerError(r, answer.Err)
	case answer.Reply == nil:
		return nil, missing
	}
	reply, failed := r.relayedResult(r.method, answer.Reply)
	if failed != nil {
		return nil, failed
	}
	if r.method == mcp.MethodResourcesRead && r.modern() {
		reply.members.Set("ttlMs", json.RawMessage("0"))
		reply.members.Set("cacheScope", ordered.MustJSON(mcp.CacheScopePrivate))
	}
	return reply.append(out, r.admission), nil
}

// passedCode returns the code for an error of another server. Codes about the connection to that
// server become INTERNAL_ERROR, because the caller's own connection is in order.
func passedCode(code int64) int {
	switch code {
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.METHOD_NOT_FOUND, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY,
		mcp.HEADER_MISMATCH, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return mcp.INTERNAL_ERROR
	}
	return int(code)
}
