package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/ordered"
)

// pageSize is the most entries of a page of prompts or resources.
const pageSize = 50

// appendPage appends a page of a list under a name, and ends the answer. A cursor has
// the key of the entry before the page.
func appendPage[T any](out []byte, r *request, name string, list []T, key func(T) string) ([]byte, *protocolError) {
	start := 0
	if cursor := r.params.cursor; cursor != nil && string(cursor) != "null" && string(cursor) != `""` {
		after, err := toolfold.Page{Cursor: textOfJSON(cursor)}.After(string(r.method))
		for err == nil && start < len(list) && key(list[start]) != after {
			start++
		}
		if start++; err != nil || after == "" || start > len(list) {
			return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "cursor is none of " + string(r.method) +
				", or the list has changed: ask again without cursor"}
		}
	}
	page := list[start:]
	if len(page) > pageSize {
		page = page[:pageSize]
	}
	if len(page) == 0 {
		page = []T{}
	}
	members := ordered.Map{{Key: name, Value: page}}
	if start+len(page) < len(list) {
		members.Set("nextCursor", toolfold.CursorOf(key(page[len(page)-1])))
	}
	return r.appendFresh(out, members), nil
}

// appendFresh appends members that may be others the next time, and ends the answer.
func (r *request) appendFresh(out []byte, members ordered.Map) []byte {
	if r.modern() {
		members = append(members, ordered.Member{Key: "ttlMs", Value: 0}, ordered.Member{Key: "cacheScope", Value: mcp.CacheScopePrivate})
	}
	text := ordered.MustJSON(members)
	return r.terms.append(append(out, text[1:len(text)-1]...), nil)
}

// templates has what URIs were parsed to: they are those of declarations.
var templates sync.Map // of *uritemplate.Template

// template returns the URI of a resource parsed, nil where it is none.
func (x *Resource) template() *uritemplate.Template {
	if parsed, ok := templates.Load(x.URI); ok {
		return parsed.(*uritemplate.Template)
	}
	parsed, err := uritemplate.New(x.URI)
	if err != nil {
		return nil
	}
	templates.Store(x.URI, parsed)
	return parsed
}

// fixed reports whether the resource is at one URI.
func (x *Resource) fixed() bool { return !strings.Contains(x.URI, "{") }

// at returns where a URI is within the resource, nil where it is not.
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
		return nil, s.failed(r, err)
	}
	var list []content.Link
	for _, x := range resources {
		if x.fixed() {
			list = append(list, content.Link{URI: x.URI, Name: x.Name, Doc: x.Doc, MIME: x.MIME})
		} else if x.List != nil {
			links, err := x.List(ctx)
			if err != nil {
				return nil, s.failed(r, fmt.Errorf("listing %s: %w", x.URI, err))
			}
			list = append(list, links...)
		}
	}
	return appendPage(out, r, "resources", list, func(l content.Link) string { return l.URI })
}

// listedTemplate is a resource as resources/templates/list has it.
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
		return nil, s.failed(r, err)
	}
	var list []listedTemplate
	for _, x := range resources {
		if !x.fixed() {
			list = append(list, listedTemplate{x.URI, x.Name, x.Doc, x.MIME})
		}
	}
	return appendPage(out, r, "resourceTemplates", list, func(t listedTemplate) string { return t.URI })
}

// find returns the resource of a caller that a URI is of; nil without one.
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
	uri := textOfJSON(r.named())
	if uri == "" {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "uri must be a text"}
	}
	resources, err := s.resources(ctx)
	if err != nil {
		return nil, s.failed(r, err)
	}
	resource, at := find(resources, uri)
	if resource == nil {
		return nil, r.nothingAt(uri, "there is no such resource")
	}
	out, failed := s.run(r.withProgress(r.withCaller(ctx)), r, out, uri, func(ctx context.Context) (ordered.Map, error) {
		held, err := resource.Read(ctx, *at)
		if err != nil {
			return nil, err
		}
		members := ordered.Map{{Key: "contents", Value: []json.RawMessage{held.At(uri)}}}
		if r.modern() {
			members = append(members, ordered.Member{Key: "ttlMs", Value: 0}, ordered.Member{Key: "cacheScope", Value: mcp.CacheScopePrivate})
		}
		return members, nil
	})
	if failed != nil && failed.code == mcp.INVALID_PARAMS {
		return nil, r.nothingAt(uri, failed.message)
	}
	return out, failed
}

// nothingAt says that a caller can read nothing at a URI.
func (r *request) nothingAt(uri, why string) *protocolError {
	code := mcp.INVALID_PARAMS
	if !r.modern() {
		code = mcp.RESOURCE_NOT_FOUND
	}
	return &protocolError{code: code, message: fmt.Sprintf("%.200s: %s", uri, why), data: map[string]string{"uri": uri}}
}

// answerable returns an error that clients may read: others are logged.
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

// failed returns an error as the protocol has it: as one of the request where the caller
// can mend it.
func (s *Server) failed(r *request, err error) *protocolError {
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
	return &protocolError{code: code, message: text, data: map[string]string{"code": known.Code}}
}
