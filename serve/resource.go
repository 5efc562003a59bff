package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// pageSize is the maximum number of entries in a page of prompts or resources.
const pageSize = 50

// appendPage appends the requested page of a list under a name, and ends the answer.
func appendPage[T any](out []byte, r *request, name string, list []T, key func(T) string) ([]byte, *protocolError) {
	page, next, failed := pageOf(r, list, key)
	if failed != nil {
		return nil, failed
	}
	return r.appendFresh(out, paged(name, page, next)), nil
}

// pageOf returns the requested page of a list, and the cursor of the next page, empty on the last.
// A cursor holds the key of the entry before its page.
func pageOf[T any](r *request, list []T, key func(T) string) (page []T, next string, failed *protocolError) {
	if cursor := r.params.cursor; cursor != nil && string(cursor) != "null" && string(cursor) != `""` {
		after, err := toolfold.Page{Cursor: textOfJSON(cursor)}.After(string(r.method))
		before := slices.IndexFunc(list, func(entry T) bool { return key(entry) == after })
		if err != nil || before < 0 {
			return nil, "", &protocolError{code: mcp.INVALID_PARAMS, message: "cursor is not one of " + string(r.method) +
				", or the list has changed: ask again without cursor"}
		}
		list = list[before+1:]
	}
	if len(list) <= pageSize {
		return list, "", nil
	}
	return list[:pageSize], toolfold.CursorOf(key(list[pageSize-1])), nil
}

// paged returns the members of an answer with a page under a name.
func paged[T any](name string, page []T, next string) ordered.Map {
	if page == nil {
		page = []T{} // not null
	}
	members := ordered.Map{{Key: name, Value: page}}
	if next != "" {
		members.Set("nextCursor", next)
	}
	return members
}

// fresh adds cache hints to members that may have changed at the next request.
func (r *request) fresh(members ordered.Map) ordered.Map {
	if !r.modern() {
		return members
	}
	return append(members, ordered.Member{Key: "ttlMs", Value: 0}, ordered.Member{Key: "cacheScope", Value: mcp.CacheScopePrivate})
}

// appendFresh appends such members and ends the answer.
func (r *request) appendFresh(out []byte, members ordered.Map) []byte {
	text := ordered.MustJSON(r.fresh(members))
	return r.admission.append(append(out, text[1:len(text)-1]...), nil)
}

// templates caches parsed URIs. They come from declarations, so their number is limited.
var templates sync.Map // of *mcp.URITemplate

// template returns the parsed URI of a resource; nil if it is not a template.
func (x *Resource) template() *mcp.URITemplate {
	if parsed, ok := templates.Load(x.URI); ok {
		return parsed.(*mcp.URITemplate)
	}
	parsed := &mcp.URITemplate{}
	if parsed.UnmarshalJSON(ordered.MustJSON(x.URI)) != nil {
		return nil
	}
	templates.Store(x.URI, parsed)
	return parsed
}

// fixed reports whether the resource has one URI.
func (x *Resource) fixed() bool { return !strings.Contains(x.URI, "{") }

// at returns the location of a URI within the resource; nil if it does not match.
func (x *Resource) at(uri string) *Location {
	if x.fixed() {
		if uri != x.URI {
			return nil
		}
		return &Location{URI: uri}
	}
	template := x.template()
	if template == nil {
		return nil
	}
	match := template.Match(uri)
	if match == nil {
		return nil
	}
	at := &Location{URI: uri, Values: map[string]string{}}
	for _, name := range template.Varnames() {
		at.Values[name] = match.Get(name).String()
	}
	return at
}

// listResources appends the result of resources/list.
func (s *Server) listResources(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	var list []listEntry
	for _, x := range resources {
		if x.fixed() {
			list = append(list, listEntry{x.URI, content.Link{URI: x.URI, Name: x.Name, Doc: x.Doc, MIME: x.MIME}})
		} else if x.List != nil {
			links, err := x.List(ctx)
			if err != nil {
				return nil, s.handlerError(r, fmt.Errorf("listing %s: %w", x.URI, err))
			}
			for _, link := range links {
				list = append(list, listEntry{link.URI, link})
			}
		}
	}
	if s.others != nil {
		list = s.withOthers(list, s.others.Resources(ctx), "uri")
	}
	return appendPage(out, r, "resources", list, listEntry.at)
}

// listedTemplate is a resource in resources/templates/list.
type listedTemplate struct {
	URI  string `json:"uriTemplate"`
	Name string `json:"name"`
	Doc  string `json:"description,omitempty"`
	MIME string `json:"mimeType,omitempty"`
}

// listTemplates appends the result of resources/templates/list.
func (s *Server) listTemplates(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	var list []listEntry
	for _, x := range resources {
		if !x.fixed() && !x.Hidden {
			list = append(list, listEntry{x.URI, listedTemplate{x.URI, x.Name, x.Doc, x.MIME}})
		}
	}
	if s.others != nil {
		list = s.withOthers(list, s.others.Templates(ctx), "uriTemplate")
	}
	return appendPage(out, r, "resourceTemplates", list, listEntry.at)
}

// find returns the first resource that matches a URI, or nil.
func find(resources []Resource, uri string) (*Resource, *Location) {
	for i := range resources {
		if at := resources[i].at(uri); at != nil {
			return &resources[i], at
		}
	}
	return nil, nil
}

// readResource appends the result of resources/read.
func (s *Server) readResource(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	uri := textOfJSON(r.headerParam())
	if uri == "" {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "uri must be a text"}
	}
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	resource, at := find(resources, uri)
	if resource == nil {
		missing := r.nothingAt(uri, "there is no such resource")
		out, failed := s.relay(ctx, r, out, uri, missing, func(ctx context.Context) (json.RawMessage, error) {
			return s.others.ReadResource(ctx, uri)
		})
		if failed != nil && failed != missing && (failed.code == mcp.INVALID_PARAMS || failed.code == mcp.RESOURCE_NOT_FOUND) {
			return nil, r.nothingAt(uri, failed.message)
		}
		return out, failed
	}
	out, failed := s.run(r.withProgress(r.withCaller(ctx)), r, out, uri, func(ctx context.Context) (ordered.Map, error) {
		body, err := resource.Read(ctx, *at)
		if err != nil {
			return nil, err
		}
		return r.fresh(ordered.Map{{Key: "contents", Value: []json.RawMessage{body.At(uri)}}}), nil
	})
	if failed != nil && failed.code == mcp.INVALID_PARAMS {
		return nil, r.nothingAt(uri, failed.message)
	}
	return out, failed
}

// nothingAt returns the error for a URI at which the caller can read nothing.
func (r *request) nothingAt(uri, why string) *protocolError {
	code := mcp.INVALID_PARAMS
	if !r.modern() {
		code = mcp.RESOURCE_NOT_FOUND
	}
	return &protocolError{code: code, message: fmt.Sprintf("%.200s: %s", uri, why), data: map[string]string{"uri": uri}}
}

// answerable returns the [toolfold.Error] in err. Any other error is logged and hidden from
// clients.
func (s *Server) answerable(err error) *toolfold.Error {
	var known *toolfold.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return toolfold.Errorf(toolfold.Cancelled, "the request was cancelled")
	}
	s.log.Error("answering a request", "error", err)
	return toolfold.Errorf(toolfold.Internal, "the server failed; its log has more")
}

// handlerError converts an error for the protocol. Its code blames the request only if the caller can
// correct it.
func (s *Server) handlerError(r *request, err error) *protocolError {
	known := s.answerable(err)
	if known.Lacking != "" && r.modern() {
		return lacks(known)
	}
	text := known.Message
	if known.Hint != "" {
		text += "; " + known.Hint
	}
	code := mcp.INVALID_PARAMS
	switch known.Code {
	case toolfold.Internal, toolfold.TimedOut, toolfold.Cancelled, toolfold.UpstreamError, codeBusy:
		code = mcp.INTERNAL_ERROR
	}
	if known.Protocol != 0 {
		code = passedCode(known.Protocol)
	}
	if known.Protocol != 0 && known.Data != nil {
		return &protocolError{code: code, message: text, data: known.Data}
	}
	return &protocolError{code: code, message: text, data: map[string]string{"code": known.Code}}
}
