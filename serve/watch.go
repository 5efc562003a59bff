package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/carried"
)

// maxWatched bounds the URIs that one client watches.
const maxWatched = 1000

// watches are the resources that clients want to be told of.
type watches struct {
	mu    sync.Mutex
	byKey map[any]*watch // by the id of a session, or the request of a stream
}

// watch holds the subscriptions of one session, or of one stream of 2026-07-28.
type watch struct {
	from toolfold.Origin
	uris []string
	send func(mcp.JSONRPCNotification)
}

// add adds URIs to a watch; it reports false where they are too many.
func (w *watches) add(key any, from toolfold.Origin, send func(mcp.JSONRPCNotification), uris ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[any]*watch{}
	}
	one := w.byKey[key]
	if one == nil {
		one = &watch{from: from, send: send}
		w.byKey[key] = one
	}
	for _, uri := range uris {
		if slices.Contains(one.uris, uri) {
			continue
		}
		if len(one.uris) >= maxWatched {
			return false
		}
		one.uris = append(one.uris, uri)
	}
	return true
}

// remove ends the watch of a URI, or of all where uri is empty.
func (w *watches) remove(key any, uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key]
	if one == nil {
		return
	}
	one.uris = slices.DeleteFunc(one.uris, func(watched string) bool { return uri == "" || watched == uri })
	if len(one.uris) == 0 {
		delete(w.byKey, key)
	}
}

// of returns the watches of a URI.
func (w *watches) of(uri string) (all []*watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.byKey {
		if slices.Contains(one.uris, uri) {
			all = append(all, one)
		}
	}
	return all
}

// subscribe has the session of a request told of changes at a URI.
func (s *Server) subscribe(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, failed := r.watchedURI()
	if failed != nil {
		return nil, failed
	}
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.failed(r, err)
	}
	if found, _ := find(resources, uri); found == nil {
		return nil, r.nothingAt(uri, "there is no such resource")
	}
	session := r.session
	send := func(n mcp.JSONRPCNotification) {
		_ = s.mcp.SendNotificationToSpecificClient(session.SessionID(), n.Method, n.Params.AdditionalFields)
	}
	if !s.watches.add(session.SessionID(), r.origin(), send, uri) {
		return nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: fmt.Sprintf("%d resources are watched: unsubscribe from one first", maxWatched)}
	}
	return r.terms.append(out, nil), nil
}

// unsubscribe is the reverse of subscribe.
func (s *Server) unsubscribe(_ context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, failed := r.watchedURI()
	if failed != nil {
		return nil, failed
	}
	s.watches.remove(r.session.SessionID(), uri)
	return r.terms.append(out, nil), nil
}

// watchedURI returns the URI that a request of a session names.
func (r *request) watchedURI() (string, *protocolError) {
	if r.session == nil {
		return "", &protocolError{code: mcp.INVALID_REQUEST, message: "a subscription needs a session: begin one with initialize"}
	}
	var uri json.RawMessage
	scan(r.rawParams, []named{{"uri", &uri}})
	if textOfJSON(uri) == "" {
		return "", &protocolError{code: mcp.INVALID_PARAMS, message: "uri must be a text"}
	}
	return textOfJSON(uri), nil
}

// listen is called by mcp-go for subscriptions/listen: it has the stream told of the
// resources that it names for as long as it is open.
func (s *Server) listen(ctx context.Context, id any, asked *mcp.SubscriptionsListenRequest) {
	r, uris := requestOf(ctx), asked.Params.Notifications.ResourceSubscriptions
	if r == nil || s.resources == nil || len(uris) == 0 {
		return
	}
	channel := server.ClientSessionFromContext(ctx).NotificationChannel()
	send := func(n mcp.JSONRPCNotification) {
		n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: id}
		select {
		case channel <- n:
		case <-ctx.Done():
		}
	}
	s.watches.add(r, toolfold.Origin{Rights: r.caller.rights}, send, uris[:min(len(uris), maxWatched)]...)
	context.AfterFunc(ctx, func() { s.watches.remove(r, "") })
}

// Updated tells the clients that watch a resource, and may still read it, that it
// changed.
func (s *Server) Updated(uri string) {
	for _, one := range s.watches.of(uri) {
		resources, err := s.resources(carried.With(context.Background(), one.from))
		if err != nil {
			s.log.Warn("telling of a changed resource", "error", err)
			return
		}
		if found, _ := find(resources, uri); found == nil {
			continue
		}
		go one.send(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: mcp.MethodNotificationResourceUpdated,
			Params: mcp.NotificationParams{AdditionalFields: map[string]any{"uri": uri}},
		}})
	}
}

// PromptsChanged tells clients that there are other prompts than before.
func (s *Server) PromptsChanged() {
	s.mcp.SendNotificationToAllClients(mcp.MethodNotificationPromptsListChanged, nil)
}

// ResourcesChanged tells clients that other resources are listed than before.
func (s *Server) ResourcesChanged() {
	s.mcp.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
}
