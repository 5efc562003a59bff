package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/upstream"
)

// tools returns the properties of the tools that a plan depends on.
func (k record) tools() (tools []fold.Tool) {
	for _, d := range k.definitions {
		size := len(d.Name) + len(d.Description) + len(d.InputSchema)
		tools = append(tools, fold.Tool{Name: d.Name, Reads: d.hints().ReadOnly, Size: size})
	}
	return tools
}

// adopt plans, offers and stores the accepted tools. The caller holds changing. Slow work holds no lock
// that other servers or calls wait for. If another server takes a name meanwhile, adopt plans again.
func (l *link) adopt(ctx context.Context, now current) error {
	defer l.gateway.lookAgain()
	k := now.record
	tools, planned := k.tools(), k.Plan
	for {
		inUse := l.gateway.nameInUse(l)
		if slices.ContainsFunc(planned.Families, func(f fold.Family) bool { return inUse(f.Name) }) {
			planned = fold.Plan{} // another server has taken the name meanwhile
		}
		plan, _, err := planned.Join(ctx, fold.Server{Name: l.Name, Alone: l.Alone, NameInUse: inUse}, tools)
		if err != nil {
			return err
		}
		k.Plan = plan
		families, err := l.build(ctx, k)
		if err != nil {
			return err
		}
		if !l.reserve(plan) {
			continue
		}
		err = l.store(ctx, &now, &k) // before the tools are offered, so that the digests are not lost
		if errors.Is(err, errOvertaken) || err != nil && now.shared && now.saving == mustSave {
			return err
		}
		l.noteWriteFault(err)
		l.offerAll(k, families)
		l.keep(now)
		return nil
	}
}

// reserve takes the names of a plan. It reports false, and takes no name, if another server has one of
// them.
func (l *link) reserve(plan fold.Plan) bool {
	l.gateway.planning.Lock()
	defer l.gateway.planning.Unlock()
	inUse := l.gateway.familyNames(l)
	if slices.ContainsFunc(plan.Families, func(f fold.Family) bool { return inUse[f.Name] }) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = map[string]bool{}
	for _, f := range slices.Concat(l.record.Plan.Families, plan.Families) {
		l.names[f.Name] = true
	}
	return true
}

// offerAll replaces the record of the link and everything it offers.
func (l *link) offerAll(k record, families []*toolfold.Family) {
	live, names, offer := map[string]string{}, map[string]bool{}, l.offerOf(k)
	for _, d := range k.definitions {
		if k.Accepted[d.Name] == d.digest {
			live[d.Name] = d.digest
		}
	}
	for _, f := range k.Plan.Families {
		names[f.Name] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record, l.families, l.live, l.names, l.trouble, l.offer = k, families, live, names, "", offer
}

// build makes the families of a plan from the tools that are accepted and not filtered out.
func (l *link) build(ctx context.Context, k record) ([]*toolfold.Family, error) {
	byName := map[string]definition{}
	for _, d := range k.definitions {
		if k.Accepted[d.Name] == d.digest && l.shows("", d.Name) {
			byName[d.Name] = d
		}
	}
	instructions := ""
	if k.Accepted[""] == k.own {
		instructions = unseen.Removed(k.Instructions)
	}
	var families []*toolfold.Family
	for _, planned := range k.Plan.Families {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var tools []definition
		f := toolfold.Family{
			Name: planned.Name, Words: l.Name, Category: l.category(), Tier: toolfold.Extended,
			Apiece: true, Bare: planned.Bare, ResultLimit: l.ResultLimit, Trouble: l.why,
			Server: l.Name, Instructions: instructions, Also: l.alsoOffered(planned.Name),
		}
		for _, p := range planned.Actions {
			d, ok := byName[p.Tool]
			if !ok {
				continue
			}
			a, err := l.action(p.Name, d, slices.Contains(k.Asking, d.Name))
			if err != nil {
				return nil, err
			}
			tools = append(tools, d)
			// The description of a bare tool can be long. It is listed if the user asked for single
			// tools or the definition is small. Otherwise the tool is listed by its types.
			if f.Actions = append(f.Actions, a); f.Bare && (l.Alone || len(d.raw) <= bareSize) {
				f.Doc = unseen.Removed(d.Description)
			}
		}
		if len(f.Actions) == 0 {
			continue
		}
		f.Summary = l.summary(k, planned, tools, len(families) == 0)
		mounted, err := toolfold.Mount(f, func(context.Context) (*link, error) { return l, nil })
		if err == nil {
			err = mounted.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("folding its tools: %w", err)
		}
		families = append(families, mounted)
	}
	return families, nil
}

// alsoOffered returns a second name of a family, or an empty string. If the server's name equals one of ours
// that is not served, that is the name without [fold.Elsewhere].
func (l *link) alsoOffered(family string) string {
	rest, is := strings.CutPrefix(family, l.base+fold.Elsewhere)
	if _, ours := slices.BinarySearch(l.gateway.ours, l.base); !is || !ours || !l.gateway.options.OursOff {
		return ""
	}
	return l.base + rest
}

// category is the server's name; lists of tools can be filtered by it.
func (l *link) category() toolfold.Category {
	if name := toolfold.Category(l.Name); name != callctx.Discovery {
		return name
	}
	return callctx.Discovery + "_mcp"
}

// action converts a tool to an action. A tool that asks its client does not become a task.
func (l *link) action(name string, d definition, asks bool) (*toolfold.Action, error) {
	hints, digest := d.hints(), d.digest
	text := unseen.Removed(d.Description)
	if strings.TrimSpace(text) == "" {
		text = unseen.Removed(d.Title + d.Annotations.Title)
	}
	if strings.TrimSpace(text) == "" {
		text = strings.ReplaceAll(name, "_", " ")
	}
	mirrored := sync.OnceValue(func() bool { return bytes.Contains(d.InputSchema, []byte(`"x-mcp-header"`)) })
	definition := d.raw
	if d.meta {
		definition = l.outMeta(d.raw)
	}
	input, spelt := unseen.JSON(d.InputSchema)
	original := map[string]string{}
	for was, now := range spelt {
		original[now] = was
	}
	a, err := toolfold.External{
		Name: name, Description: text, Server: l.Name, InputSchema: input, Spellings: spelt, Category: l.category(),
		Effect: d.effect(), Hints: &hints, Lenient: true, Definition: definition, Aliases: l.aliases(d.Name),
		Relay: func(ctx context.Context, args json.RawMessage) (toolfold.Reply, error) {
			if !l.offers(d.Name, digest) { // the list has changed since the caller saw it
				return toolfold.Reply{}, toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s has changed this tool", d.Name, l.Name).
					WithHint("tools.list shows the tools held back until the user approves them")
			}
			if len(original) > 0 {
				args = unseen.Respelt(args, original)
			}
			result, err := l.call(ctx, upstream.Call{Tool: d.Name, Arguments: args, Mirrored: mirrored()})
			return toolfold.Reply{Result: l.outResult(result)}, err
		},
	}.Action()
	if err != nil {
		return nil, err
	}
	a.Once = matches(l.Repeat, d.Name)
	a.BecomesTask, a.Grants = !asks && !l.perSession(), l.grants(d.Name)
	return a, nil
}
