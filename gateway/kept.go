package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/regex"
	"github.com/toolfold/toolfold/internal/reserved"
	"github.com/toolfold/toolfold/internal/safefile"
	"github.com/toolfold/toolfold/internal/shorten"
	"github.com/toolfold/toolfold/upstream"
)

// kept holds the record of a server between starts.
type kept struct {
	Source       string            `json:"source"`       // digest of how it is started or reached
	Instructions string            `json:"instructions"` // of the server, for who asks
	Tools        []json.RawMessage `json:"tools"`        // as they were sent last; nil = never
	Accepted     map[string]string `json:"accepted"`     // digests of the tools that may be offered, by name

	// Before has the definitions that were accepted of tools that changed since, by name.
	Before map[string]json.RawMessage `json:"before,omitempty"`

	Plan fold.Plan `json:"plan"`
}

// maxKept bounds what is kept of a server, in bytes.
const maxKept = 64 << 20

// definition holds the members of a tool that are read.
type definition struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	Annotations              struct {
		Title                                                        string
		ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
	}
	raw json.RawMessage
}

// hints returns what a tool says of itself; what it does not say counts as the protocol
// has it. A tool that only reads destroys nothing, unless it says so.
func (d definition) hints() toolfold.Hints {
	is := func(hint *bool, otherwise bool) bool {
		if hint == nil {
			return otherwise
		}
		return *hint
	}
	a := d.Annotations
	reads := is(a.ReadOnlyHint, false)
	return toolfold.Hints{
		ReadOnly: reads, Destructive: is(a.DestructiveHint, !reads),
		Idempotent: is(a.IdempotentHint, false), OpenWorld: is(a.OpenWorldHint, true),
	}
}

func (d definition) effect() toolfold.Effect {
	switch h := d.hints(); {
	case h.ReadOnly:
		return toolfold.Reads
	case h.Destructive:
		return toolfold.Deletes
	}
	return toolfold.Adds
}

// digest identifies what a user has accepted of a tool: all that says what it does.
func (d definition) digest() string {
	h := d.hints()
	text := ordered.MustJSON([]any{d.Name, d.Title, d.Description, d.InputSchema, d.OutputSchema, d.Annotations.Title, h})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// definitions reads the tools that were sent. Of two of one name the first counts; what
// is no tool is left out.
func (k kept) definitions() (list []definition, odd []string) {
	seen := map[string]bool{}
	for _, raw := range k.Tools {
		d := definition{raw: raw}
		switch err := json.Unmarshal(raw, &d); {
		case err != nil || d.Name == "":
			odd = append(odd, "a tool without a name")
		case seen[d.Name]:
			odd = append(odd, fmt.Sprintf("%q is listed twice", shorten.Quoted(d.Name)))
		default:
			seen[d.Name] = true
			list = append(list, d)
		}
	}
	return list, odd
}

// heldTool is a tool that is not offered.
type heldTool struct{ Name, why string }

// held lists the tools that wait for approval.
func (k kept) held() []heldTool {
	var list []heldTool
	all, _ := k.definitions()
	for _, d := range all {
		switch accepted, ok := k.Accepted[d.Name]; {
		case !ok:
			list = append(list, heldTool{shorten.Quoted(d.Name), "new"})
		case accepted != d.digest():
			list = append(list, heldTool{shorten.Quoted(d.Name), "changed since it was accepted"})
		}
	}
	return list
}

// source identifies how the server is started or reached, so that the list of another
// is not taken for its. The folder that it starts in is that of the caller.
func (l *link) source() string {
	sum := sha256.Sum256(ordered.MustJSON([]any{l.Server.Argv, l.Server.URL, l.Server.SSE}))
	return hex.EncodeToString(sum[:])
}

var unsafeName = regex.Lazy(`[^A-Za-z0-9_-]+`)

// file is the name of the file that keeps what is known of the server.
func (l *link) file() string {
	sum := sha256.Sum256([]byte(l.Name))
	return strings.Trim(shorten.To(unsafeName().ReplaceAllString(l.Name, "_"), 40), "…") + "-" + hex.EncodeToString(sum[:4]) + ".json"
}

// restore takes over what is kept of the server.
func (l *link) restore() error {
	k, found, err := l.read()
	if err != nil || !found {
		return err
	}
	if slices.ContainsFunc(k.Plan.Families, func(f fold.Family) bool { return l.gateway.taken(f.Name, l) }) {
		k.Plan = fold.Plan{} // another has the name since
	}
	return l.adopt(k)
}

// read reads what is kept of the server; false for nothing.
func (l *link) read() (k kept, found bool, err error) {
	if l.gateway.options.Dir == "" {
		return k, false, nil
	}
	root, err := os.OpenRoot(l.gateway.options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, err
	}
	defer root.Close()
	text, err := safefile.Read(root, l.file(), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, fmt.Errorf("reading what is kept of it: %w", err)
	}
	if json.Unmarshal(text, &k) != nil || k.Source != l.source() {
		return kept{}, false, nil // it is asked again
	}
	return k, true, nil
}

// save keeps what is known of the server. The lock is held.
func (l *link) save() error {
	dir := l.gateway.options.Dir
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return safefile.Replace(root, l.file(), ordered.MustJSON(l.kept))
}

// take accepts a list that the server sent: all of the first one, later what has not
// changed.
func (l *link) take(answer upstream.Answer) error {
	k := l.latest()
	first, before := k.Tools == nil, k.acceptedTools()
	accepted := map[string]string{}
	for name, digest := range k.Accepted {
		accepted[name] = digest
	}
	k.Source, k.Instructions, k.Tools, k.Accepted = l.source(), answer.Instructions, answer.Tools, accepted
	if k.Tools == nil {
		k.Tools = []json.RawMessage{}
	}
	all, odd := k.definitions()
	for _, text := range odd {
		l.gateway.options.Log.Warn("listing the tools of an upstream", "upstream", l.Name, "left out", text)
	}
	for _, d := range all {
		if first || l.Changes != Hold {
			if before, ok := accepted[d.Name]; !first && (!ok || before != d.digest()) && l.Changes == Warn {
				l.gateway.options.Log.Warn("a tool of an upstream has changed", "upstream", l.Name, "tool", d.Name)
			}
			accepted[d.Name] = d.digest()
		}
	}
	k.remember(before)
	return l.adopt(k)
}

// latest returns what is kept of the server, with what another process has accepted or
// planned since.
func (l *link) latest() kept {
	l.mu.Lock()
	k := l.kept
	l.mu.Unlock()
	if others, found, err := l.read(); err == nil && found {
		return others
	}
	return k
}

// acceptedTools returns the definitions that are accepted, by name.
func (k kept) acceptedTools() map[string]json.RawMessage {
	tools := maps.Clone(k.Before)
	if tools == nil {
		tools = map[string]json.RawMessage{}
	}
	all, _ := k.definitions()
	for _, d := range all {
		if k.Accepted[d.Name] == d.digest() {
			tools[d.Name] = d.raw
		}
	}
	return tools
}

// remember keeps the definitions that were accepted of the tools that are held back.
func (k *kept) remember(accepted map[string]json.RawMessage) {
	k.Before = map[string]json.RawMessage{}
	all, _ := k.definitions()
	for _, d := range all {
		if was := accepted[d.Name]; was != nil && k.Accepted[d.Name] != d.digest() {
			k.Before[d.Name] = was
		}
	}
}

// tools returns what a plan has to know of the tools.
func (k kept) tools() (tools []fold.Tool) {
	all, _ := k.definitions()
	for _, d := range all {
		size := len(d.Name) + len(d.Description) + len(d.InputSchema)
		tools = append(tools, fold.Tool{Name: d.Name, Reads: d.hints().ReadOnly, Size: size})
	}
	return tools
}

// adopt plans, offers and keeps what is accepted.
func (l *link) adopt(k kept) error {
	tools := k.tools()
	all, _ := k.definitions()
	l.gateway.planning.Lock()
	defer l.gateway.planning.Unlock()
	taken := func(name string) bool { return l.gateway.taken(name, l) }
	k.Plan, _ = k.Plan.Join(fold.Server{Name: l.Name, Alone: l.Alone, Taken: taken}, tools)
	families, err := l.build(k)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	same := bytes.Equal(ordered.MustJSON(l.kept), ordered.MustJSON(k))
	l.kept, l.families, l.trouble = k, families, ""
	l.live = map[string]string{}
	for _, d := range all {
		if digest := d.digest(); k.Accepted[d.Name] == digest {
			l.live[d.Name] = digest
		}
	}
	if same {
		return nil
	}
	if err := l.save(); err != nil {
		l.gateway.options.Log.Warn("keeping the list of an upstream", "upstream", l.Name, "err", err)
	}
	return nil
}

// approve accepts tools as they are listed now.
func (l *link) approve(names []string) ([]string, error) {
	k := l.latest()
	before := k.acceptedTools()
	accepted := map[string]string{}
	for name, digest := range k.Accepted {
		accepted[name] = digest
	}
	var taken []string
	all, _ := k.definitions()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(d definition) bool { return d.Name == name }) {
			return nil, fmt.Errorf("the server %s lists no tool %q", l.Name, name)
		}
	}
	for _, d := range all {
		if accepted[d.Name] != d.digest() && (len(names) == 0 || slices.Contains(names, d.Name)) {
			accepted[d.Name] = d.digest()
			taken = append(taken, d.Name)
		}
	}
	k.Accepted = accepted
	k.remember(before)
	if err := l.adopt(k); err != nil {
		return nil, err
	}
	l.gateway.tell()
	return taken, nil
}

// build makes the families of a plan, of the tools that are accepted and let through.
func (l *link) build(k kept) ([]*toolfold.Family, error) {
	byName := map[string]definition{}
	all, _ := k.definitions()
	for _, d := range all {
		if k.Accepted[d.Name] == d.digest() && l.shows(d.Name) {
			byName[d.Name] = d
		}
	}
	var families []*toolfold.Family
	for _, planned := range k.Plan.Families {
		f := toolfold.Family{
			Name: planned.Name, Summary: planned.Summary, Words: l.Name, Category: l.category(), Tier: toolfold.Extended,
			Apiece: true, Bare: planned.Bare, ResultLimit: l.ResultLimit, Trouble: l.why,
		}
		for _, p := range planned.Actions {
			d, ok := byName[p.Tool]
			if !ok {
				continue
			}
			a, err := l.action(p.Name, d)
			if err != nil {
				return nil, err
			}
			if f.Actions = append(f.Actions, a); f.Bare {
				f.Doc = d.Description
			}
		}
		if len(f.Actions) == 0 {
			continue
		}
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

// offers reports whether a tool with this digest is listed and accepted now.
func (l *link) offers(tool, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[tool] == digest
}

// category is the server's name, by which lists of tools are filtered.
func (l *link) category() toolfold.Category {
	if name := toolfold.Category(l.Name); name != reserved.Discovery {
		return name
	}
	return reserved.Discovery + "_mcp"
}

func (l *link) action(name string, d definition) (*toolfold.Action, error) {
	hints, digest := d.hints(), d.digest()
	text := plain(d.Description)
	if strings.TrimSpace(text) == "" {
		text = plain(d.Title + d.Annotations.Title)
	}
	if strings.TrimSpace(text) == "" {
		text = strings.ReplaceAll(name, "_", " ")
	}
	return toolfold.External{
		Name: name, Description: text, Server: l.Name, InputSchema: d.InputSchema, Category: l.category(),
		Effect: d.effect(), Hints: &hints, Lenient: true, Definition: d.raw, Aliases: []string{l.Name + "." + d.Name, d.Name},
		Relay: func(ctx context.Context, args json.RawMessage) (toolfold.Reply, error) {
			if !l.offers(d.Name, digest) { // the list has changed since the caller saw it
				return toolfold.Reply{}, toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s has changed it", d.Name, l.Name).
					WithHint("tools.list says what is held back until the user approves")
			}
			return l.call(ctx, d.Name, args)
		},
	}.Action()
}

// plain returns a text without characters that a reader does not see: controls but line
// ends, and characters that turn the direction of text or take no room.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}
