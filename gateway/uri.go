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

// Resources of servers are known to clients by URIs that name the server, so that none can
// answer for another: what follows the name is the URI, or the template, as the server has
// it. That of an interface keeps its scheme, by which hosts know it. A web address stays: a
// client may open it itself.
const (
	resources  = "toolfold://upstream/"
	interfaces = "ui://"
)

func onWeb(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}

// out returns the URI, or the template, by which clients know that of a resource.
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

// in returns the URI of a resource of the server; false where the URI names another.
func (l *link) in(uri string) (string, bool) {
	name := url.PathEscape(l.Name) + "/"
	if own, ok := strings.CutPrefix(uri, interfaces+name); ok {
		return interfaces + own, true
	}
	return strings.CutPrefix(uri, resources+name)
}

// locate returns the server of a URI and the URI there; nil where the caller of ctx can read
// nothing at it. A URI that names no server is that of the one server that lists it.
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
		listed := func(e entry) bool { return e.name == uri }
		if permitted && (slices.ContainsFunc(l.offering().resources, listed) || slices.ContainsFunc(l.offering().templates, listed)) {
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

// outURI is out for a value in JSON; what is no text stays.
func (l *link) outURI(value json.RawMessage) json.RawMessage {
	var uri string
	if json.Unmarshal(value, &uri) != nil || l.out(uri) == uri {
		return value
	}
	return ordered.MustJSON(l.out(uri))
}

// outMeta returns an object whose _meta names interfaces as clients know them.
func (l *link) outMeta(raw json.RawMessage) json.RawMessage {
	if l.gateway.options.Unread {
		return raw
	}
	return replaced(raw, "_meta", func(meta json.RawMessage) json.RawMessage {
		name := strings.Trim(string(ordered.MustJSON(url.PathEscape(l.Name))), `"`)
		return bytes.ReplaceAll(meta, []byte(`"`+interfaces), []byte(`"`+interfaces+name+"/"))
	})
}

// outResult returns the result of a tool with the URIs that clients know.
func (l *link) outResult(result json.RawMessage) json.RawMessage {
	named := func(part string) bool { return bytes.Contains(result, []byte(part)) }
	if !named(`"resource`) && !named(interfaces) && !named(`\u00`) { // which may stand for a letter of these
		return result
	}
	return l.outMeta(each(result, "content", l.outBlock))
}

// outBlock returns a block of a result or a message with the URIs that clients know.
func (l *link) outBlock(block json.RawMessage) json.RawMessage {
	var kind struct{ Type string }
	_ = json.Unmarshal(block, &kind) // what is no block stays
	switch kind.Type {
	case "resource_link":
		block = replaced(block, "uri", l.outURI)
	case "resource":
		block = replaced(block, "resource", func(held json.RawMessage) json.RawMessage {
			return l.outMeta(replaced(held, "uri", l.outURI))
		})
	}
	return l.outMeta(block)
}
