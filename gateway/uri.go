package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Clients know resources of servers by URIs that name the server, so that no server can answer for
// another: after the name comes the server's URI or template. Interfaces keep their scheme, by which
// hosts recognize them. Web addresses stay unchanged: a client may open them itself.
const (
	resources  = "toolfold://upstream/"
	interfaces = "ui://"
)

func onWeb(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}

// out returns the clients' URI or template for a resource of the server: with the server's name,
// unless it is an address on the web.
func (l *link) out(uri string) string {
	switch name := url.PathEscape(l.Name) + "/"; {
	case onWeb(uri), l.gateway.options.Unread:
		return uri
	case strings.HasPrefix(uri, interfaces):
		return interfaces + name + uri[len(interfaces):]
	default:
		return resources + name + uri
	}
}

// in returns the server's URI for a clients' URI; false if it names another server.
func (l *link) in(uri string) (string, bool) {
	name := url.PathEscape(l.Name) + "/"
	if own, ok := strings.CutPrefix(uri, interfaces+name); ok {
		return interfaces + own, true
	}
	return strings.CutPrefix(uri, resources+name)
}

// locate returns the server of a URI and the server's own URI; at is nil if the caller of ctx can read
// nothing there. A URI that names no server belongs to the one server that lists it.
func (g *Gateway) locate(ctx context.Context, uri string) (at *link, own string, err error) {
	var names []string
	for _, l := range g.links {
		permitted := l.permits(ctx, resourceKind, "")
		if own, ok := l.in(uri); ok {
			if !permitted || !l.shows(resourceKind, own) {
				return nil, "", nil
			}
			return l, own, nil
		}
		hasURI := func(e entry) bool { return e.name == uri }
		if permitted && (slices.ContainsFunc(l.offering().resources, hasURI) || slices.ContainsFunc(l.offering().templates, hasURI)) {
			at = l
			names = append(names, resources+url.PathEscape(l.Name)+"/"+uri)
		}
	}
	if len(names) > 1 {
		return nil, "", toolfold.Errorf(toolfold.InvalidInput, "%s is listed by %d servers", shorten.To(uri, 200), len(names)).
			WithHint("read one of them: %s", shorten.To(strings.Join(names, ", "), 1000))
	}
	return at, uri, nil
}

// outURI is out for a JSON value. Values that are not strings stay unchanged.
func (l *link) outURI(value json.RawMessage) json.RawMessage {
	var uri string
	if json.Unmarshal(value, &uri) != nil || l.out(uri) == uri {
		return value
	}
	return ordered.MustJSON(l.out(uri))
}

// outMeta returns an object with the clients' URIs of interfaces in its _meta.
func (l *link) outMeta(raw json.RawMessage) json.RawMessage {
	if l.gateway.options.Unread {
		return raw
	}
	return replaceMember(raw, "_meta", func(meta json.RawMessage) json.RawMessage {
		name := strings.Trim(string(ordered.MustJSON(url.PathEscape(l.Name))), `"`)
		return bytes.ReplaceAll(meta, []byte(`"`+interfaces), []byte(`"`+interfaces+name+"/"))
	})
}

// outResult returns the result of a tool with the clients' URIs.
func (l *link) outResult(result json.RawMessage) json.RawMessage {
	named := func(part string) bool { return bytes.Contains(result, []byte(part)) }
	if !named(`"resource`) && !named(interfaces) && !named(`\u00`) { // an escape may stand for a letter of these
		return result
	}
	return l.outMeta(each(result, "content", l.outBlock))
}

// outBlock returns a block of a result or message with the clients' URIs.
func (l *link) outBlock(block json.RawMessage) json.RawMessage {
	var kind struct{ Type string }
	_ = json.Unmarshal(block, &kind) // other values stay unchanged
	switch kind.Type {
	case "resource_link":
		block = replaceMember(block, "uri", l.outURI)
	case "resource":
		block = replaceMember(block, "resource", func(resource json.RawMessage) json.RawMessage {
			return l.outMeta(replaceMember(resource, "uri", l.outURI))
		})
	}
	return l.outMeta(block)
}
