package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// maxWatched limits the URIs that one client watches.
const maxWatched = 1000

// watches are the subscriptions of clients to resources.
type watches struct {
	watch func(ctx context.Context, uri string, watch bool) // see [Others.Watch]; may be nil

	mu      sync.Mutex
	byKey   map[any]*watch // by the id of a session, or the request of a stream
	looking bool           // a goroutine polls for changes

	// Requests that subscribe sessions, so that what was read from the store before does not undo them.
	changing, changed int
}

// change begins a request that subscribes a session.
func (w *watches) change() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changing++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changing--
		w.changed++
	}
}

// settled returns a func that reports whether no session was subscribed by a request since.
func (w *watches) settled() func() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.changed
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.changing == 0 && w.changed == before
	}
}

// notifyOthers notifies other servers that a client watches a URI, or that no client does any more.
// The caller holds the lock, so that the last notification is true.
func (w *watches) notifyOthers(from toolfold.Origin, uri string, watch bool) {
	if w.watch != nil {
		w.watch(callctx.With(context.Background(), from), uri, watch)
	}
}

// watch holds the subscriptions of one session, or of one stream of 2026-07-28.
type watch struct {
	from toolfold.Origin
	uris []string                   // guarded by the lock of watches
	by   map[string]toolfold.Origin // who watches a URI; a session can have other rights at another address. Guarded by the same lock
	send func(mcp.JSONRPCNotification)

	mu       sync.Mutex         // serializes look
	reported map[string]version // by URI, as last reported to the client
}

// version is the last value of Resource.Version; empty if the resource has no Version func.
type version struct {
	text string
	none bool
}

// add adds URIs to the watch of a key and returns it; nil if there are too many.
func (w *watches) add(key any, from toolfold.Origin, send func(mcp.JSONRPCNotification), uris ...string) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[any]*watch{}
	}
	one := w.byKey[key]
	if one == nil {
		one = &watch{from: from, send: send, reported: map[string]version{}, by: map[string]toolfold.Origin{}}
		w.byKey[key] = one
	}
	for _, uri := range uris {
		if slices.Contains(one.uris, uri) {
			continue
		}
		if len(one.uris) >= maxWatched {
			return nil
		}
		one.uris, one.by[uri] = append(one.uris, uri), from
		w.notifyOthers(from, uri, true)
	}
	return one
}

// remove ends the watch of a URI, or of all if uri is empty.
func (w *watches) remove(key any, uri string) {
	one := w.without(key, uri)
	if one == nil {
		return
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	delete(one.reported, uri)
}

// without removes a URI, or all if it is empty, from a watch and returns the watch. Nil if there is
// no watch.
func (w *watches) without(key any, uri string) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byKey[key]
	if one == nil {
		return nil
	}
	before := one.uris
	one.uris = slices.DeleteFunc(slices.Clone(one.uris), func(watched string) bool { return uri == "" || watched == uri })
	if len(one.uris) == 0 {
		delete(w.byKey, key)
	}
	for _, gone := range before {
		if slices.Contains(one.uris, gone) {
			continue
		}
		if len(w.lockAll(gone)) == 0 {
			w.notifyOthers(one.by[gone], gone, false)
		}
		delete(one.by, gone)
	}
	return one
}

// of returns the watches of a URI.
func (w *watches) of(uri string) []*watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lockAll(uri)
}

func (w *watches) lockAll(uri string) (all []*watch) {
	for _, one := range w.byKey {
		if slices.Contains(one.uris, uri) {
			all = append(all, one)
		}
	}
	return all
}

// by returns the URIs that a key watches.
func (w *watches) by(key any) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byKey[key]; one != nil {
		return slices.Clone(one.uris)
	}
	return nil
}

// all returns the URIs of every watch. Without watches, polling ends.
func (w *watches) all() map[*watch][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[*watch][]string{}
	for _, one := range w.byKey {
		all[one] = one.uris
	}
	w.looking = len(all) > 0
	return all
}

// begin reports whether the caller has to start polling.
func (w *watches) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := !w.looking
	w.looking = true
	return idle
}

// subscribe subscribes the session of a request to a URI.
func (s *Server) subscribe(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, failed := r.watchedURI()
	if failed != nil {
		return nil, failed
	}
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	if found, _ := find(resources, uri); found == nil && !s.othersHave(ctx, uri) {
		return nil, r.nothingAt(uri, "there is no such resource")
	}
	defer s.watches.change()()
	if !s.watchFor(r, []string{uri}) {
		return nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: fmt.Sprintf("%d resources are watched: unsubscribe from one first", maxWatched)}
	}
	s.shareWatched(ctx, r.session.SessionID(), uri, true)
	return r.admission.append(out, nil), nil
}

// watchFor makes the session of a request watch resources. It returns false if there are too many.
func (s *Server) watchFor(r *request, uris []string) bool {
	id := r.session.SessionID()
	send := func(n mcp.JSONRPCNotification) {
		_ = s.mcp.SendNotificationToSpecificClient(id, n.Method, n.Params.AdditionalFields)
	}
	one := s.watches.add(id, r.origin(), send, uris...)
	if one == nil {
		return false
	}
	s.watch(one, uris)
	return true
}

// unsubscribe is the reverse of subscribe.
func (s *Server) unsubscribe(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri, failed := r.watchedURI()
	if failed != nil {
		return nil, failed
	}
	defer s.watches.change()()
	s.watches.remove(r.session.SessionID(), uri)
	s.shareWatched(ctx, r.session.SessionID(), uri, false)
	return r.admission.append(out, nil), nil
}

// watchedURI returns the URI that a request within a session names.
func (r *request) watchedURI() (string, *protocolError) {
	if r.session == nil {
		return "", &protocolError{code: mcp.INVALID_REQUEST, message: "a subscription needs a session: begin one with initialize"}
	}
	var uri json.RawMessage
	scan(r.rawParams, []memberTarget{{"uri", &uri}})
	if textOfJSON(uri) == "" {
		return "", &protocolError{code: mcp.INVALID_PARAMS, message: "uri must be a text"}
	}
	return textOfJSON(uri), nil
}

// watchesTooMany reports whether a stream would watch more resources than one client may.
func (m *message) watchesTooMany() bool {
	if m.method != mcp.MethodSubscriptionsListen {
		return false
	}
	var notifications, list json.RawMessage
	scan(m.rawParams, []memberTarget{{"notifications", &notifications}})
	scan(notifications, []memberTarget{{"resourceSubscriptions", &list}})
	var uris []json.RawMessage
	return json.Unmarshal(list, &uris) == nil && len(uris) > maxWatched
}

// tooManyWatches answers such requests in place of mcp-go, which would open the stream.
var tooManyWatches = &method{standIn: mcp.MethodToolsList, handle: func(
	*Server, context.Context, *request, []byte,
) ([]byte, *protocolError) {
	return nil, &protocolError{code: mcp.INVALID_PARAMS,
		message: fmt.Sprintf("notifications.resourceSubscriptions has more than %d URIs: name those that matter", maxWatched)}
}}

// listen is called by mcp-go for subscriptions/listen. It subscribes the stream to its resources
// while it is open.
func (s *Server) listen(ctx context.Context, id any, request *mcp.SubscriptionsListenRequest) {
	r, uris := requestOf(ctx), request.Params.Notifications.ResourceSubscriptions
	if r == nil || s.resources == nil || len(uris) == 0 {
		return
	}
	channel := server.ClientSessionFromContext(ctx).NotificationChannel()
	send := func(n mcp.JSONRPCNotification) {
		if ctx.Err() != nil {
			return // select would take either
		}
		n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: id}
		select {
		case channel <- n:
		case <-ctx.Done():
		}
	}
	s.watch(s.watches.add(r, toolfold.Origin{Rights: r.caller.rights, Token: r.caller.id}, send, uris...), uris)
	context.AfterFunc(ctx, func() { s.watches.remove(r, "") })
}

// watch records the versions at URIs before the client learns that it watches them, and starts
// polling.
func (s *Server) watch(one *watch, uris []string) {
	s.look(one, uris, false)
	if !s.watches.begin() {
		return
	}
	go func() {
		for {
			time.Sleep(s.waits.look)
			all := s.watches.all()
			if len(all) == 0 {
				return
			}
			for one, uris := range all {
				s.look(one, uris, false)
			}
		}
	}()
}

// Updated notifies the clients that watch a resource and may still read it. If the [Resource] has a
// Version, only clients that were notified of another version are notified.
func (s *Server) Updated(uri string) {
	for _, one := range s.watches.of(uri) {
		s.look(one, []string{uri}, true)
	}
}

// look notifies a client of the resources whose version differs from the last report. updated
// notifies also of resources without a version.
func (s *Server) look(one *watch, uris []string, updated bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	ctx := callctx.With(context.Background(), one.from)
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("looking for changed resources", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	resources, err := s.resources(ctx)
	if err != nil {
		s.log.Warn("looking for changed resources", "error", err)
		return
	}
	for _, uri := range uris {
		resource, at := find(resources, uri)
		if resource == nil && !s.othersHave(ctx, uri) {
			continue
		}
		now := version{none: resource == nil || resource.Version == nil}
		if !now.none {
			if now.text, err = resource.Version(ctx, *at); err != nil {
				s.log.Warn("looking for a changed resource", "uri", uri, "error", err)
				continue
			}
		}
		before, known := one.reported[uri]
		one.reported[uri] = now
		if known && now != before || updated && (now.none || !known) {
			go one.send(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
				Method: mcp.MethodNotificationResourceUpdated,
				Params: mcp.NotificationParams{AdditionalFields: map[string]any{"uri": uri}},
			}})
		}
	}
}

// PromptsChanged notifies clients that the list of prompts has changed.
func (s *Server) PromptsChanged() {
	if s.prompts == nil {
		return
	}
	s.mcp.SendNotificationToAllClients(mcp.MethodNotificationPromptsListChanged, nil)
}

// ResourcesChanged notifies clients that the list of resources has changed.
func (s *Server) ResourcesChanged() {
	if s.resources == nil {
		return
	}
	s.mcp.SendNotificationToAllClients(mcp.MethodNotificationResourcesListChanged, nil)
}
