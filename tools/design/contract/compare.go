package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Break is a difference that breaks users of the older document.
type Break struct {
	Rule    string `json:"rule" doc:"Kind of change."`
	Where   string `json:"where" doc:"Operation and part."`
	Line    int    `json:"line,omitempty" doc:"In the file; absent if it is gone."`
	OldLine int    `json:"oldLine,omitempty" doc:"In the older one; absent if it is new."`
	Why     string `json:"why" doc:"Who is broken, and how."`
}

// comparison collects breaks. Callers send the input of operations and receive their output.
type comparison struct {
	old, new *Document
	breaks   []Break
	seen     map[string]bool // compared pairs of schemas
	pairs    int
}

// maxPairs limits the compared pairs of schemas.
const maxPairs = 50_000

// Compare returns the breaks of the newer document for users of the older one. Partly is true if
// the documents are too large to compare completely. A schema that several operations share is
// judged at its first use.
func Compare(older, newer *Document) (breaks []Break, partly bool, err error) {
	if older.Spec != newer.Spec {
		return nil, false, fmt.Errorf("one is %s and the other %s", older.Spec, newer.Spec)
	}
	c := &comparison{old: older, new: newer, seen: map[string]bool{}}
	if newer.Spec == OpenAPI {
		c.paths()
	} else {
		c.flows()
	}
	return c.breaks, c.pairs > maxPairs, nil
}

// add adds a break. An empty pointer means no position.
func (c *comparison) add(rule, where, oldAt, newAt, format string, args ...any) {
	b := Break{Rule: rule, Where: shorten.To(where, 200), Why: shorten.To(fmt.Sprintf(format, args...), 300)}
	if oldAt != "" {
		b.OldLine = c.old.line(oldAt)
	}
	if newAt != "" {
		b.Line = c.new.line(newAt)
	}
	c.breaks = append(c.breaks, b)
}

// paths compares the operations of OpenAPI documents. Names in braces may differ.
func (c *comparison) paths() {
	newer := map[string]node{}
	all := node{c.new.root["paths"], "/paths"}
	for _, path := range all.names() {
		newer[template().ReplaceAllString(path, "{}")] = c.new.resolve(all.child(path))
	}
	c.servers()
	all = node{c.old.root["paths"], "/paths"}
	for _, path := range all.names() {
		item := c.old.resolve(all.child(path))
		other, there := newer[template().ReplaceAllString(path, "{}")]
		if !there {
			c.add("path-removed", path, item.at, "", "calls of this path fail now")
			continue
		}
		for _, method := range methods {
			if members(item.v)[method] == nil {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			op, now := item.child(method), other.child(method)
			if now.v == nil {
				c.add("operation-removed", name, op.at, "", "calls of this operation fail now")
				continue
			}
			c.parameters(name, item, op, other, now)
			c.requestBody(name, op, now)
			c.responses(name, op, now)
			c.security(name, op, now)
		}
	}
}

// servers compares the addresses of servers.
func (c *comparison) servers() {
	now := map[string]bool{}
	for _, s := range (node{c.new.root["servers"], "/servers"}).items() {
		now[strings.TrimSuffix(s.text("url"), "/")] = true
	}
	for _, s := range (node{c.old.root["servers"], "/servers"}).items() {
		if url := strings.TrimSuffix(s.text("url"), "/"); url != "" && !now[url] {
			c.add("server-removed", "servers", s.at, "", "%s is no longer named: callers that use this address may reach nothing", url)
		}
	}
}

// parametersOf returns the parameters of an operation and its path, by location and name.
func parametersOf(d *Document, item, op node) map[string]node {
	found := map[string]node{}
	for _, holder := range []node{item, op} {
		for _, p := range holder.child("parameters").items() {
			p = d.resolve(p)
			name := p.text("name")
			if p.text("in") == "header" {
				name = strings.ToLower(name)
			}
			found[p.text("in")+" parameter "+name] = p
		}
	}
	return found
}

func (c *comparison) parameters(name string, item, op, otherItem, now node) {
	before, after := parametersOf(c.old, item, op), parametersOf(c.new, otherItem, now)
	for _, key := range slices.Sorted(maps.Keys(before)) {
		p, where := before[key], name+" "+key
		q, there := after[key]
		switch {
		case !there && p.text("in") == "path": // its name may have changed
		case !there:
			c.add("parameter-removed", where, p.at, "", "callers that send it are ignored or refused")
		default:
			if members(p.v)["required"] != true && members(q.v)["required"] == true {
				c.add("parameter-required", where, p.at, q.at, "callers that leave it out are refused")
			}
			c.schemas(where, valueOf(p), valueOf(q), true)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		q := after[key]
		if _, there := before[key]; !there && q.text("in") != "path" && members(q.v)["required"] == true {
			c.add("parameter-added", name+" "+key, "", q.at, "it is required, and callers do not send it")
		}
	}
}

// valueOf returns the schema of a parameter or header, which may be under a media type.
func valueOf(p node) node {
	content := p.child("content")
	if names := content.names(); len(names) > 0 {
		return content.child(names[0]).child("schema")
	}
	return p.child("schema")
}

func (c *comparison) requestBody(name string, op, now node) {
	before, after := c.old.resolve(op.child("requestBody")), c.new.resolve(now.child("requestBody"))
	where := name + " body"
	switch {
	case before.v == nil && after.v == nil:
	case after.v == nil:
		c.add("body-removed", where, before.at, "", "callers that send one are ignored or refused")
	case members(after.v)["required"] == true && members(before.v)["required"] != true:
		c.add("body-required", where, op.at, after.at, "callers that send no body are refused")
		fallthrough
	default:
		c.content(where, before, after, true)
	}
}

// content compares the media types of a body.
func (c *comparison) content(where string, before, after node, input bool) {
	old, now := before.child("content"), after.child("content")
	for _, media := range old.names() {
		if members(now.v)[media] == nil {
			why := "callers that ask for it get something else"
			if input {
				why = "callers that send it are refused"
			}
			c.add("media-type-removed", where+" "+media, old.child(media).at, "", "%s", why)
			continue
		}
		c.schemas(where+" "+media, old.child(media).child("schema"), now.child(media).child("schema"), input)
	}
}

func (c *comparison) responses(name string, op, now node) {
	before, after := op.child("responses"), now.child("responses")
	for _, status := range before.names() {
		where := name + " " + status
		response := c.old.resolve(before.child(status))
		key := status
		for _, wider := range []string{status[:min(1, len(status))] + "XX", "default"} {
			if members(after.v)[key] == nil {
				key = wider
			}
		}
		if members(after.v)[key] == nil {
			if status == "default" || strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3") {
				c.add("response-removed", where, response.at, "", "callers that wait for this answer do not get it")
			}
			continue
		}
		other := c.new.resolve(after.child(key))
		headers, present := response.child("headers"), c.new.resolve(other.child("headers"))
		for _, header := range headers.names() {
			h := c.old.resolve(headers.child(header))
			if members(present.v)[header] == nil {
				c.add("header-removed", where+" header "+header, h.at, "", "callers that read it find nothing")
				continue
			}
			c.schemas(where+" header "+header, valueOf(h), valueOf(c.new.resolve(present.child(header))), false)
		}
		c.content(where, response, other, false)
	}
}

// security compares the ways of authentication: each way of the older document must still be
// enough.
func (c *comparison) security(name string, op, now node) {
	ways := func(d *Document, op node) []node {
		security := op.child("security")
		if security.v == nil {
			security = node{d.root["security"], "/security"}
		}
		if list := security.items(); len(list) > 0 {
			return list
		}
		return []node{{map[string]any{}, op.at}}
	}
	after := ways(c.new, now)
	for _, way := range ways(c.old, op) {
		enough := slices.ContainsFunc(after, func(other node) bool {
			for scheme := range members(other.v) {
				if _, there := members(way.v)[scheme]; !there {
					return false
				}
				scopes := texts(way.child(scheme).v)
				for _, scope := range texts(other.child(scheme).v) {
					if !slices.Contains(scopes, scope) {
						return false
					}
				}
			}
			return true
		})
		if names := way.names(); !enough && len(names) == 0 {
			c.add("security", name, way.at, after[0].at, "callers without credentials are refused; %s is asked for", canonical(after[0].v))
		} else if !enough {
			c.add("security", name, way.at, after[0].at, "callers with %s are refused; %s is asked for", canonical(way.v), canonical(after[0].v))
		}
		for _, scheme := range way.names() {
			c.scheme(scheme)
		}
	}
}

// scheme compares a required security scheme.
func (c *comparison) scheme(name string) {
	find := func(d *Document) node {
		return d.resolve(node{d.root["components"], "/components"}.child("securitySchemes").child(name))
	}
	before, after := find(c.old), find(c.new)
	if c.seen["scheme "+name] || before.v == nil || after.v == nil {
		return
	}
	c.seen["scheme "+name] = true
	for _, member := range []string{"type", "scheme", "in", "name"} {
		if a, b := before.text(member), after.text(member); !strings.EqualFold(a, b) {
			c.add("security-scheme", "security scheme "+name, before.at, after.at,
				"%s was %q and is %q: the credentials that callers send are not found", member, a, b)
		}
	}
}

// flow has the messages of a channel of an AsyncAPI document in one direction.
type flow struct {
	at       string
	messages map[string]node
}

// flowsOf returns the flows of a document by direction and address. In AsyncAPI 2, clients
// subscribe to the messages that the application sends. A channel without operations counts for
// both directions.
func flowsOf(d *Document) map[string]flow {
	flows := map[string]flow{}
	put := func(direction, address, at string, messages map[string]node) {
		key := direction + " " + template().ReplaceAllString(address, "{}")
		if f, there := flows[key]; there {
			maps.Copy(f.messages, messages)
			return
		}
		flows[key] = flow{at, messages}
	}
	channels := node{d.root["channels"], "/channels"}
	if strings.HasPrefix(d.Version, "2") {
		for _, name := range channels.names() {
			channel := d.resolve(channels.child(name))
			for verb, direction := range map[string]string{"subscribe": "send", "publish": "receive"} {
				op := channel.child(verb)
				if op.v == nil {
					continue
				}
				list := []node{op.child("message")}
				if some := d.resolve(list[0]).child("oneOf"); some.v != nil {
					list = some.items()
				}
				messages := map[string]node{}
				for _, m := range list {
					resolved := d.resolve(m)
					key := resolved.text("messageId")
					if key == "" {
						key = resolved.text("name")
					}
					if key == "" && m.text("$ref") != "" {
						key = m.text("$ref")[strings.LastIndexByte(m.text("$ref"), '/')+1:]
					}
					messages[key] = resolved
				}
				put(direction, name, op.at, messages)
			}
		}
		return flows
	}
	messagesOf := func(channel node) map[string]node {
		messages := map[string]node{}
		for _, name := range channel.child("messages").names() {
			messages[name] = d.resolve(channel.child("messages").child(name))
		}
		return messages
	}
	addressOf := func(channel node) string {
		if address := channel.text("address"); address != "" {
			return address
		}
		return strings.TrimPrefix(channel.at, "/channels/")
	}
	used := map[string]bool{}
	operations := node{d.root["operations"], "/operations"}
	for _, name := range operations.names() {
		op := d.resolve(operations.child(name))
		channel := d.resolve(op.child("channel"))
		used[channel.at] = true
		messages := messagesOf(channel)
		if list := op.child("messages"); list.v != nil {
			messages = map[string]node{}
			for _, m := range list.items() {
				ref := m.text("$ref")
				messages[ref[strings.LastIndexByte(ref, '/')+1:]] = d.resolve(m)
			}
		}
		put(op.text("action"), addressOf(channel), op.at, messages)
	}
	for _, name := range channels.names() {
		channel := d.resolve(channels.child(name))
		if !used[channel.at] {
			put("send", addressOf(channel), channel.at, messagesOf(channel))
			put("receive", addressOf(channel), channel.at, messagesOf(channel))
		}
	}
	return flows
}

func (c *comparison) flows() {
	before, after := flowsOf(c.old), flowsOf(c.new)
	for _, key := range slices.Sorted(maps.Keys(before)) {
		f := before[key]
		input := strings.HasPrefix(key, "receive")
		now, there := after[key]
		if !there && input {
			c.add("operation-removed", key, f.at, "", "nothing receives messages sent here now")
			continue
		} else if !there {
			c.add("operation-removed", key, f.at, "", "those who wait here get nothing now")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.messages)) {
			m, where := f.messages[name], key+" message "+name
			other, there := now.messages[name]
			if !there && len(f.messages) == 1 && len(now.messages) == 1 { // its name has changed
				for _, other = range now.messages {
					there = true
				}
			}
			switch {
			case !there && input:
				c.add("message-removed", where, m.at, "", "those who send it are ignored or refused")
			case !there:
				c.add("message-removed", where, m.at, "", "those who wait for it do not get it")
			default:
				for _, part := range []string{"payload", "headers"} {
					c.schemas(where+" "+part, m.child(part), other.child(part), input)
				}
			}
		}
		if !input {
			for _, name := range slices.Sorted(maps.Keys(now.messages)) {
				if _, there := f.messages[name]; !there && len(now.messages) > len(f.messages) {
					c.add("message-added", key+" message "+name, f.at, now.messages[name].at, "those who listen here do not know it")
				}
			}
		}
	}
}

// texts returns the strings of a list, or a single string as a list.
func texts(v any) []string {
	var found []string
	switch v := v.(type) {
	case string:
		found = append(found, v)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				found = append(found, s)
			}
		}
	}
	return found
}
