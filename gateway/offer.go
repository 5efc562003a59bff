package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/upstream"
)

// offer holds the prompts and resources of a server that the user's patterns allow. Names and URIs are
// the server's.
type offer struct {
	prompts, resources, templates []entry
}

// entry is an element of a list.
type entry struct {
	name string // of a prompt, or the URI or template of a resource
	raw  json.RawMessage
}

// The kinds of entries, as named in patterns and rights.
const (
	promptKind   = "prompt"
	resourceKind = "resource"
)

// offerOf returns the entries of a record to offer. The first entry with a name counts; entries without
// a name are left out.
func (l *link) offerOf(k record) offer {
	entries := func(kind, key string, list []json.RawMessage) (all []entry) {
		seen := map[string]bool{}
		for _, raw := range list {
			var members map[string]json.RawMessage
			var name string
			if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members[key], &name) != nil || name == "" || seen[name] {
				continue
			}
			if seen[name] = true; l.shows(kind, name) {
				all = append(all, entry{name, raw})
			}
		}
		return all
	}
	if k.New {
		return offer{}
	}
	return offer{
		prompts:   entries(promptKind, "name", k.Prompts),
		resources: entries(resourceKind, "uri", k.Resources),
		templates: entries(resourceKind, "uriTemplate", k.Templates),
	}
}

// isPersonal reports whether a listed resource may be of the one caller whose login got the list. Other callers must not
// learn its name. Interfaces belong to tools.
func isPersonal(resource json.RawMessage) bool {
	var r struct{ URI string }
	return json.Unmarshal(resource, &r) != nil || !strings.HasPrefix(r.URI, interfaces)
}

// offering returns the prompts and resources of the server; empty if it is switched off.
func (l *link) offering() offer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return offer{}
	}
	return l.offer
}

// actionFor returns the action that stands for a prompt, or for all resources, of a server in rules:
// SERVER.prompts.NAME or SERVER.resources.read.
func (l *link) actionFor(kind, name string) *toolfold.Action {
	if kind == resourceKind {
		name = "read"
	}
	f := &toolfold.Family{Name: l.Name + "." + kind + "s", Category: l.category(), Server: l.Name}
	spelling := kind + "s." + pattern.Name(name)
	a := &toolfold.Action{
		Name: name, Effect: toolfold.Reads, Family: f, Definition: json.RawMessage("{}"), Aliases: []string{l.titles[0] + "." + spelling},
		Grants: func(_ *toolfold.Action, text string) bool {
			p := pattern.AsIs(text)
			return (l.matchesTitle(p, spelling) || l.matchesTitle(p, kind+"s")) && !l.gateway.belongsToOther(p, l)
		},
	}
	f.Actions = []*toolfold.Action{a}
	return a
}

// permits reports whether the caller of ctx may use a prompt, or the resources.
func (l *link) permits(ctx context.Context, kind, name string) bool {
	a := l.actionFor(kind, name)
	return l.gateway.options.Rights.Allow(a) && toolfold.OriginOf(ctx).Rights.Allow(a)
}

// Named returns additional names for rules, as families that are not listed: prompts and resources of
// each server, and tools that wait for approval or are no longer listed. A server that never listed
// anything gets a family without actions.
func (g *Gateway) Named() []*toolfold.Family {
	var all []*toolfold.Family
	for _, l := range g.links {
		if !l.hasTools() {
			all = append(all, &toolfold.Family{Name: l.Name, Category: l.category()})
			continue
		}
		all = append(all, l.actionFor(resourceKind, "").Family, l.actionFor(promptKind, "").Family)
		for _, p := range l.offering().prompts {
			all = append(all, l.actionFor(promptKind, p.name).Family)
		}
		all = append(all, l.absent()...)
	}
	return all
}

// absent returns the planned tools that the server does not offer now, because rules for them hold when
// they come back.
func (l *link) absent() (all []*toolfold.Family) {
	offered := map[string]bool{}
	for _, f := range l.currentFamilies() {
		for _, a := range f.Actions {
			offered[a.Aliases[1]] = true
		}
	}
	for _, planned := range l.currentPlan().Families {
		f := &toolfold.Family{Name: planned.Name, Category: l.category(), Server: l.Name, Bare: planned.Bare}
		for _, a := range planned.Actions {
			if !offered[a.Tool] {
				f.Actions = append(f.Actions, &toolfold.Action{Name: a.Name, Effect: toolfold.Deletes, Family: f,
					Aliases: l.aliases(a.Tool), Grants: l.grants(a.Tool)})
			}
		}
		if len(f.Actions) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// prompt is a prompt with its name for clients.
type prompt struct {
	entry
	link *link
	name string
}

var notInPrompts = regex.Lazy(`[^a-z0-9]+`)

// prompts lists the prompts of all servers. Hosts make commands of their names: SERVER-NAME in lower
// case, with only letters, digits and hyphens. Later prompts with the same name get a number.
func (g *Gateway) prompts() (all []prompt) {
	plain := func(name string) string {
		return strings.Trim(notInPrompts().ReplaceAllString(strings.ToLower(name), "-"), "-")
	}
	taken := map[string]bool{}
	for _, l := range g.links {
		for _, e := range l.offering().prompts {
			first := strings.Trim(plain(l.Name)+"-"+plain(e.name), "-")
			name := first
			for n := 2; name == "" || taken[name]; n++ {
				name = strings.TrimPrefix(fmt.Sprintf("%s-%d", first, n), "-")
			}
			taken[name] = true
			all = append(all, prompt{e, l, name})
		}
	}
	return all
}

// prompt returns the prompt with this name, if the caller of ctx may use it.
func (g *Gateway) prompt(ctx context.Context, name string) (prompt, bool) {
	for _, p := range g.prompts() {
		if p.name == name && p.link.permits(ctx, promptKind, p.entry.name) {
			return p, true
		}
	}
	return prompt{}, false
}

// Prompts lists the prompts that the caller of ctx may use, in the form of prompts/list. Titles with
// blanks are left out, because hosts have made commands of titles.
func (g *Gateway) Prompts(ctx context.Context) (list []json.RawMessage) {
	for _, p := range g.prompts() {
		if !p.link.permits(ctx, promptKind, p.entry.name) {
			continue
		}
		var members ordered.Map
		_ = json.Unmarshal(readable(p.raw), &members) // valid: it was parsed before
		members.Set("name", p.name)
		if title, _ := members.Get("title"); title != nil && strings.ContainsAny(textOf(title), " \t\n") {
			if doc, _ := members.Get("description"); textOf(doc) == "" {
				members.Set("description", title)
			}
			members = slices.DeleteFunc(members, func(m ordered.Member) bool { return m.Key == "title" })
		}
		list = append(list, ordered.MustJSON(members))
	}
	return list
}

// textOf returns a member that is a JSON string; empty for other values.
func textOf(member any) (text string) {
	raw, _ := member.(json.RawMessage)
	_ = json.Unmarshal(raw, &text)
	return text
}

// Resources lists the resources that the caller of ctx may read, in the form of resources/list.
func (g *Gateway) Resources(ctx context.Context) []json.RawMessage {
	return g.findOffer(ctx, "uri", func(o offer) []entry { return o.resources })
}

// Templates lists the resource templates for the caller of ctx, in the form of
// resources/templates/list.
func (g *Gateway) Templates(ctx context.Context) []json.RawMessage {
	return g.findOffer(ctx, "uriTemplate", func(o offer) []entry { return o.templates })
}

func (g *Gateway) findOffer(ctx context.Context, key string, of func(offer) []entry) (list []json.RawMessage) {
	for _, l := range g.links {
		if !l.permits(ctx, resourceKind, "") {
			continue
		}
		for _, e := range of(l.offering()) {
			list = append(list, l.outMeta(replaceMember(replaceMember(readable(e.raw), "name", unseen.Text), key, l.outURI)))
		}
	}
	return list
}

// GetPrompt returns the GetPromptResult of a prompt; nil if the caller of ctx has no such prompt.
func (g *Gateway) GetPrompt(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	p, ok := g.prompt(ctx, name)
	if !ok {
		return nil, nil
	}
	params := ordered.Map{{Key: "name", Value: p.entry.name}}
	if arguments != nil {
		params.Set("arguments", p.entry.ownArguments(arguments))
	}
	result, err := p.link.trace(ctx, p.link.actionFor(promptKind, p.entry.name),
		upstream.Call{Method: upstream.GetPrompt, Params: ordered.MustJSON(params)})
	if err != nil {
		return nil, err
	}
	return p.link.outMeta(each(result, "messages", func(message json.RawMessage) json.RawMessage {
		return replaceMember(message, "content", p.link.outBlock)
	})), nil
}

// ReadResource returns the ReadResourceResult of a URI, with the clients' URIs; nil if the caller of
// ctx has no such resource.
func (g *Gateway) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	l, own, err := g.locate(ctx, uri)
	if l == nil || err != nil {
		return nil, err
	}
	params := ordered.MustJSON(ordered.Map{{Key: "uri", Value: own}})
	result, err := l.trace(ctx, l.actionFor(resourceKind, ""), upstream.Call{Method: upstream.ReadResource, Params: params})
	if err != nil {
		return nil, err
	}
	return l.outMeta(each(result, "contents", func(contents json.RawMessage) json.RawMessage {
		return l.outMeta(replaceMember(contents, "uri", l.outURI))
	})), nil
}

// trace makes a request that is not a call, wrapped by [Options.Around].
func (l *link) trace(ctx context.Context, a *toolfold.Action, c upstream.Call) (json.RawMessage, error) {
	run := func(ctx context.Context) (json.RawMessage, error) { return l.call(ctx, c) }
	if l.gateway.options.Around == nil {
		return run(ctx)
	}
	return l.gateway.options.Around(ctx, a, c.Params, run)
}

// HasResource reports whether the caller of ctx may read the URI. Only the server knows whether it has
// a resource there.
func (g *Gateway) HasResource(ctx context.Context, uri string) bool {
	l, _, err := g.locate(ctx, uri)
	return l != nil && err == nil
}

// Complete returns the CompleteResult for params of completion/complete; nil if the caller of ctx has
// no such prompt or template. For a server without completion the values are empty.
func (g *Gateway) Complete(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var request struct {
		Ref struct{ Type, Name, URI string }
	}
	if json.Unmarshal(params, &request) != nil {
		return nil, nil
	}
	var l *link
	ref := ordered.Map{{Key: "type", Value: request.Ref.Type}}
	switch request.Ref.Type {
	case "ref/prompt":
		p, ok := g.prompt(ctx, request.Ref.Name)
		if !ok {
			return nil, nil
		}
		l = p.link
		ref.Set("name", p.entry.name)
		params = replaceMember(params, "argument", func(argument json.RawMessage) json.RawMessage {
			return replaceMember(argument, "name", p.entry.ownArgument)
		})
	case "ref/resource":
		var own string
		var err error
		if l, own, err = g.locate(ctx, request.Ref.URI); l == nil || err != nil {
			return nil, err
		}
		ref.Set("uri", own)
	default:
		return nil, nil
	}
	var members ordered.Map
	_ = json.Unmarshal(params, &members) // valid: it was parsed above
	members = slices.DeleteFunc(members, func(m ordered.Member) bool { return m.Key == "_meta" })
	members.Set("ref", ref)
	result, err := l.call(ctx, upstream.Call{Method: upstream.Complete, Params: ordered.MustJSON(members)})
	var refused *toolfold.Error
	if errors.As(err, &refused) && refused.Protocol == noMethod {
		return json.RawMessage(`{"completion":{"values":[],"total":0,"hasMore":false}}`), nil
	}
	return result, err
}

// noMethod is the protocol's code for an unknown method.
const noMethod = -32601

// Watch starts or ends notifications about a resource, see [Follower]. It returns at once, and starts
// the server if needed. It ignores resources that the caller of ctx may not read.
func (g *Gateway) Watch(ctx context.Context, uri string, watch bool) {
	l, own, err := g.locate(ctx, uri)
	if l == nil || err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.watched[own] == watch {
		return
	}
	if l.watched == nil {
		l.watched = map[string]bool{}
	}
	if watch {
		l.watched[own] = true
	} else {
		delete(l.watched, own)
	}
	running := l.session
	l.gateway.work.Go(func() {
		ctx, cancel := context.WithTimeout(g.life, max(l.Timeout, startTime))
		defer cancel()
		switch {
		case running != nil:
			l.watch(ctx, running, own, watch)
		case watch: // a new session watches all watched URIs
			_, _ = l.connected(ctx)
		}
	})
}

func (l *link) watch(ctx context.Context, session Session, uri string, watch bool) {
	if err := session.Watch(ctx, uri, watch); err != nil && watch {
		l.gateway.options.Log.Warn("watching a resource of an upstream", "upstream", l.Name, "uri", shorten.To(uri, 200), "err", err)
	}
}

// onUpdate notifies the follower of a changed resource, if it is watched.
func (l *link) onUpdate(uri string) {
	l.mu.Lock()
	watched := l.watched[uri]
	l.mu.Unlock()
	l.gateway.mu.Lock()
	tell := l.gateway.follower.Updated
	l.gateway.mu.Unlock()
	if watched && tell != nil {
		tell(l.out(uri))
	}
}

// offerDigests holds digests of the offered prompts and resources.
type offerDigests struct{ prompts, resources [sha256.Size]byte }

func (g *Gateway) offerDigests() (now offerDigests) {
	prompts, resources := sha256.New(), sha256.New()
	for _, l := range g.links {
		o := l.offering()
		for _, e := range o.prompts {
			fmt.Fprintf(prompts, "%q %s\n", l.Name, e.raw)
		}
		for _, e := range slices.Concat(o.resources, o.templates) {
			fmt.Fprintf(resources, "%q %s\n", l.Name, e.raw)
		}
	}
	return offerDigests{[sha256.Size]byte(prompts.Sum(nil)), [sha256.Size]byte(resources.Sum(nil))}
}

// tellOffers notifies the follower if prompts or resources differ from the last notification.
func (g *Gateway) tellOffers() {
	g.mu.Lock()
	now, before, f := g.offerDigests(), g.notified, g.follower
	g.notified = now
	g.mu.Unlock()
	if g.life.Err() != nil {
		return
	}
	if f.Prompts != nil && now.prompts != before.prompts {
		f.Prompts()
	}
	if f.Resources != nil && now.resources != before.resources {
		f.Resources()
	}
}

// readable returns an entry of a list without invisible characters in its texts; in names of arguments
// they are escaped. The name or URI stays unchanged.
func readable(raw json.RawMessage) json.RawMessage {
	raw = replaceMember(raw, "arguments", func(arguments json.RawMessage) json.RawMessage {
		text, _ := unseen.JSON(arguments)
		return text
	})
	for _, member := range []string{"title", "description"} {
		raw = replaceMember(raw, member, unseen.Text)
	}
	return raw
}

// ownArgument returns the server's spelling of a prompt argument's name.
func (e entry) ownArgument(name json.RawMessage) json.RawMessage {
	own := name
	replaceMember(e.raw, "arguments", func(arguments json.RawMessage) json.RawMessage {
		_, spelt := unseen.JSON(arguments)
		text, _ := ordered.Text(name)
		for was, now := range spelt {
			if now == text {
				own = ordered.MustJSON(was)
			}
		}
		return arguments
	})
	return own
}

// ownArguments returns the arguments of a prompt with the server's spelling of their names.
func (e entry) ownArguments(arguments json.RawMessage) json.RawMessage {
	members, ok := ordered.Read(arguments)
	if !ok {
		return arguments
	}
	same := true
	for i, m := range members {
		own, _ := ordered.Text(e.ownArgument(ordered.MustJSON(m.Key)))
		same = same && own == m.Key
		members[i].Key = own
	}
	if same {
		return arguments
	}
	return ordered.MustJSON(members)
}

// replaceMember returns an object with a member's value replaced; unchanged without that member.
func replaceMember(raw json.RawMessage, member string, with func(json.RawMessage) json.RawMessage) json.RawMessage {
	out, offset := raw, 0
	ordered.Scan(raw, func(name []byte, start, end int) {
		if string(name) != member {
			return
		}
		if value := with(raw[start:end]); !bytes.Equal(value, raw[start:end]) {
			out = slices.Concat(out[:start+offset], value, out[end+offset:])
			offset += len(value) - (end - start)
		}
	})
	return out
}

// each returns an object with replaced elements in a list; unchanged if no element differs.
func each(raw json.RawMessage, member string, with func(json.RawMessage) json.RawMessage) json.RawMessage {
	return replaceMember(raw, member, func(value json.RawMessage) json.RawMessage {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return value
		}
		same := true
		for i, entry := range list {
			list[i] = with(entry)
			same = same && bytes.Equal(list[i], entry)
		}
		if same {
			return value
		}
		return slices.Concat([]byte("["), bytes.Join(rawBytes(list), []byte(",")), []byte("]"))
	})
}

func rawBytes(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i, raw := range list {
		all[i] = raw
	}
	return all
}
