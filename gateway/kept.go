package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/unseen"
	"github.com/toolfold/toolfold/upstream"
)

// kept holds the record of a server between starts. In its file it is a line of JSON, and
// behind it are the tools, byte for byte as they were sent: a start does not parse them as a whole.
type kept struct {
	Source       string            `json:"source"`                // digest of how it is started or reached
	Title        string            `json:"title,omitempty"`       // of the server
	Description  string            `json:"description,omitempty"` // of the server
	Instructions string            `json:"instructions"`          // of the server, for who asks
	Version      string            `json:"version,omitempty"`     // of the server
	Legacy       bool              `json:"legacy,omitempty"`      // as of [upstream.Server]
	Tools        []json.RawMessage `json:"tools,omitempty"`       // as they were sent last; nil = never. In files of older versions it is in the line
	Sizes        []int             `json:"sizes,omitempty"`       // in bytes, of the tools behind the line
	Sum          string            `json:"sum,omitempty"`         // digest of what is behind the line, empty for a file of an older version
	Accepted     digests           `json:"accepted"`              // digests of what the user has accepted, see [kept.pinned]

	// Differing has the digests of what is listed otherwise than accepted, so that a
	// start needs to digest none; nil in files of versions that did not keep it.
	Differing digests `json:"differing"`

	// What the server offers beside its tools, as it was sent last; nil = never, or none.
	Prompts   []json.RawMessage `json:"prompts,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
	Templates []json.RawMessage `json:"templates,omitempty"`

	// Before has the definitions that were accepted of what changed since, by name.
	Before map[string]json.RawMessage `json:"before,omitempty"`

	// New says that nothing of the server is offered before its user has accepted something, see [Upstream.FirstList].
	New bool `json:"new,omitempty"`

	// Asking names the tools that have asked something of a client, which only the client's
	// own request can answer.
	Asking []string `json:"asking,omitempty"`

	// Left says what is left out of the last list, and which limit it passes.
	Left []string `json:"left,omitempty"`

	Plan fold.Plan `json:"plan"`

	// What stands in Tools, see [kept.hold].
	definitions []definition
	odd         []string // what is wrong with the list

	own    string // digest of the server's title and instructions
	former bool   // the record was read from the file of an older version
}

// digests are those of tools, by name. That of the server's title and instructions has no name.
type digests map[string]string

// UnmarshalJSON implements [json.Unmarshaler]: a start reads thousands of them.
func (d *digests) UnmarshalJSON(raw []byte) error {
	*d = nil
	if bytes.HasPrefix(raw, []byte("{")) {
		*d = digests{}
	}
	ordered.Scan(raw, func(name []byte, start, end int) { (*d)[string(name)], _ = ordered.Text(raw[start:end]) })
	return nil
}

// Bounds of what is kept of a server, in bytes: maxKept of the file, which holds the tools
// twice at most, maxTools of those, and maxOffered of each of the other lists.
const (
	bareSize   = 480 // of a tool that is listed as it came, though the user has not asked for that
	maxKept    = 64 << 20
	maxTools   = 16 << 20
	maxOffered = 8 << 20
)

// definition holds the members of a tool that are read.
type definition struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	Annotations              struct {
		Title                                                        string
		ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
	}
	raw    json.RawMessage
	meta   bool   // it has _meta
	digest string // identifies what a user has accepted of the tool: all that says what it does
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

// digestMark begins a digest of a whole definition. Digests of older versions are plain hex.
const digestMark = "2-"

// identity returns the digest of the whole definition.
func (d definition) identity() string { return identityOf(d.raw) }

// identityOf returns the digest of a JSON object. The order of its members does not count.
func identityOf(raw json.RawMessage) string {
	type member struct {
		Name  string
		Value json.RawMessage
	}
	var members []member
	ordered.Scan(raw, func(name []byte, start, end int) { members = append(members, member{string(name), raw[start:end]}) })
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.Name, b.Name) })
	return digestMark + sumOf(ordered.MustJSON(members))
}

// formerIdentity returns the digest by which older versions accepted a definition. It covers less.
func (d definition) formerIdentity() string {
	return sumOf(ordered.MustJSON([]any{d.Name, d.Title, d.Description, d.InputSchema, d.OutputSchema, d.Annotations.Title, d.hints()}))
}

// effect returns the effect that the tool's annotations state; zero if they state none.
func (d definition) effect() toolfold.Effect {
	if !d.annotated() {
		return 0
	}
	switch h := d.hints(); {
	case h.ReadOnly:
		return toolfold.Reads
	case h.Destructive:
		return toolfold.Deletes
	}
	return toolfold.Adds
}

// readDefinition reads the members by their exact names, as clients do: one in other letters
// must not stand for another in what is accepted. The tool is valid JSON. It reports false for
// what is no tool.
func readDefinition(tool json.RawMessage) (d definition, ok bool) {
	d.raw, ok = tool, true
	text := func(value []byte, to *string) {
		read, is := ordered.Text(value)
		*to, ok = read, ok && (is || string(value) == "null")
	}
	hint := func(value []byte, to **bool) {
		switch string(value) {
		case "true", "false":
			*to = new(string(value) == "true")
		case "null":
			*to = nil
		default:
			ok = false
		}
	}
	ordered.Scan(tool, func(name []byte, start, end int) {
		switch value := tool[start:end:end]; string(name) {
		case "name":
			text(value, &d.Name)
		case "title":
			text(value, &d.Title)
		case "description":
			text(value, &d.Description)
		case "inputSchema":
			d.InputSchema = value
		case "outputSchema":
			d.OutputSchema = value
		case "_meta":
			d.meta = true
		case "annotations":
			a := &d.Annotations
			ordered.Scan(value, func(name []byte, start, end int) {
				switch value := value[start:end]; string(name) {
				case "title":
					text(value, &a.Title)
				case "readOnlyHint":
					hint(value, &a.ReadOnlyHint)
				case "destructiveHint":
					hint(value, &a.DestructiveHint)
				case "idempotentHint":
					hint(value, &a.IdempotentHint)
				case "openWorldHint":
					hint(value, &a.OpenWorldHint)
				}
			})
		}
	})
	return d, ok && d.Name != ""
}

// hold takes over the tools that were sent. Of two of one name the first counts; what is
// no tool is left out.
func (k *kept) hold(tools []json.RawMessage) {
	k.read(tools, definition.identity)
	k.own = k.texts().identity()
}

// texts returns the title and the instructions of the server as a definition without a name.
func (k kept) texts() definition {
	texts := ordered.Map{{Key: "title", Value: k.Title}, {Key: "instructions", Value: k.Instructions}}
	if k.Description != "" {
		texts = append(texts, ordered.Member{Key: "description", Value: k.Description})
	}
	return definition{raw: ordered.MustJSON(texts), digest: k.own}
}

// pinned returns all that a user accepts of the server: its tools, and its title and instructions.
func (k kept) pinned() []definition {
	if k.Tools == nil {
		return nil
	}
	return append(slices.Clip(k.definitions), k.texts())
}

// renew replaces digests of older versions, for what is listed as it was accepted then, or was
// accepted before it changed.
func (k *kept) renew() {
	for _, d := range k.definitions {
		was := k.Accepted[d.Name]
		if was == "" || strings.HasPrefix(was, digestMark) {
			continue
		}
		if d.formerIdentity() == was {
			k.Accepted[d.Name] = d.digest
		} else if before, ok := readDefinition(k.Before[d.Name]); ok && before.formerIdentity() == was {
			k.Accepted[d.Name] = before.identity()
		}
	}
	undescribed := *k
	undescribed.Description = "" // versions before did not cover it
	if was := k.Accepted[""]; was == sumOf([]byte(k.Instructions)) || was == undescribed.texts().identity() {
		k.Accepted[""] = k.own
	}
}

// read takes over tools with their digests.
func (k *kept) read(tools []json.RawMessage, digest func(definition) string) {
	k.Tools, k.definitions, k.odd = tools, nil, nil
	seen := map[string]bool{}
	for _, raw := range tools {
		switch d, ok := readDefinition(raw); {
		case !ok:
			k.odd = append(k.odd, "a tool without a name")
		case seen[d.Name]:
			k.odd = append(k.odd, fmt.Sprintf("%q is listed twice", shorten.Quoted(d.Name)))
		default:
			seen[d.Name] = true
			d.digest = digest(d)
			k.definitions = append(k.definitions, d)
		}
	}
}

// heldTool is a tool that is not offered.
type heldTool struct{ Name, why string }

// held lists the tools that wait for approval.
func (k kept) held() []heldTool {
	var list []heldTool
	for _, d := range k.pinned() {
		name := shorten.Quoted(d.Name)
		if d.Name == "" {
			name = "its title and instructions"
		}
		switch accepted, ok := k.Accepted[d.Name]; {
		case !ok:
			list = append(list, heldTool{name, "new"})
		case accepted != d.digest:
			list = append(list, heldTool{name, "changed since it was accepted"})
		}
	}
	return list
}

// source identifies how the server is started or reached, so that the list of another
// is not taken for its. The folder that it starts in is that of the caller.
func (l *link) source() string {
	return sumOf(ordered.MustJSON([]any{l.Server.Argv, l.Server.URL, l.Server.SSE}))
}

var unsafeName = regex.Lazy(`[^A-Za-z0-9_-]+`)

// file is the name of the file that keeps what is known of the server.
func (l *link) file() string {
	sum := sha256.Sum256([]byte(l.Name))
	return strings.Trim(shorten.To(unsafeName().ReplaceAllString(l.Name, "_"), 40), "…") + "-" + hex.EncodeToString(sum[:4]) + recordSuffix
}

// Files of records end in recordSuffix. Those of versions whose digests covered less end in formerSuffix; they are
// left as they are for sessions of these versions that still run.
const (
	recordSuffix = ".v2.json"
	formerSuffix = ".json"
)

// restore takes over the record of the server.
func (l *link) restore(k kept) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	l.mu.Lock()
	l.kept = k
	l.mu.Unlock()
	if k.Tools == nil { // of another command or URL
		return nil
	}
	return l.adopt(l.gateway.life, k)
}

// forget drops the record of the server, which cannot be used: it is asked again. What it lists is held back but for
// what is known to be accepted.
func (l *link) forget(k kept, err error) {
	file := filepath.Join(l.gateway.options.Dir, l.file())
	l.gateway.options.Log.Warn("the record of an upstream cannot be used: it is asked again, and what it lists waits for approval",
		"upstream", l.Name, "file", file, "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unusable = true
	if k.Accepted == nil {
		k.Accepted = digests{}
	}
	l.kept, l.trouble = kept{Accepted: k.Accepted, Before: k.acceptedTools()}, fmt.Sprintf("its record %s cannot be used: %s", l.file(), err)
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
	file := l.file()
	if _, err := root.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		file = strings.TrimSuffix(file, recordSuffix) + formerSuffix
	}
	if info, err := root.Stat(file); err == nil { // before it is read: a change while that goes on is seen later
		l.mu.Lock()
		l.readOf = info.ModTime()
		l.mu.Unlock()
	}
	text, err := safefile.Read(root, file, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return k, false, nil
	} else if err != nil {
		return k, false, err
	}
	if k, found = decode(text); !found {
		return kept{}, false, errors.New("it is damaged")
	}
	if file != l.file() {
		k.former = true
		if k.Accepted == nil {
			k.Accepted = digests{}
		}
		k.hold(k.Tools)
		k.Accepted[""] = sumOf([]byte(k.Instructions)) // their title is not known
		k.own = k.Accepted[""]
		k.renew()
		return k.of(l.source()), true, nil
	}
	k.own = cmp.Or(k.Differing[""], k.Accepted[""])
	k.read(k.Tools, func(d definition) string {
		if known := cmp.Or(k.Differing[d.Name], k.Accepted[d.Name]); known != "" {
			return known
		}
		return d.identity()
	})
	return k.of(l.source()), true, nil
}

// of returns the record of the server as it is started or reached now. That of another one has no lists, so that
// the server is asked again: what is accepted counts, and the plan.
func (k kept) of(source string) kept {
	if k.Source == source {
		return k
	}
	return kept{Source: source, Accepted: k.Accepted, Before: k.acceptedTools(), Plan: k.Plan, New: k.New}
}

// encode returns the content of the file that keeps a record.
func (k kept) encode() []byte {
	tools := bytes.Join(rawBytes(k.Tools), nil)
	if k.Tools != nil {
		k.Sum = sumOf(tools)
		for _, raw := range k.Tools {
			k.Sizes = append(k.Sizes, len(raw))
		}
		k.Tools = nil
	}
	return slices.Concat(ordered.MustJSON(k), []byte("\n"), tools)
}

// decode is the reverse of encode. It reports false for a file that is not as it was written.
func decode(text []byte) (k kept, ok bool) {
	line, tools, _ := bytes.Cut(text, []byte("\n"))
	var read struct {
		kept
		Plan keptPlan `json:"plan"`
	}
	err := json.Unmarshal(line, &read)
	k = read.kept
	k.Plan = fold.Plan(read.Plan).WithoutMadeSummaries()
	if err != nil || k.Sum == "" && len(tools) > 0 || k.Sum != "" && k.Sum != sumOf(tools) {
		return kept{}, false
	}
	if k.Sum != "" {
		k.Tools = []json.RawMessage{}
	}
	for _, size := range k.Sizes {
		if size < 0 || size > len(tools) {
			return kept{}, false
		}
		k.Tools, tools = append(k.Tools, tools[:size:size]), tools[size:]
	}
	k.Sizes, k.Sum = nil, ""
	return k, true
}

// keptPlan is a plan in the file of what is kept.
type keptPlan fold.Plan

// UnmarshalJSON implements [json.Unmarshaler]: a start reads plans of thousands of tools.
func (p *keptPlan) UnmarshalJSON(raw []byte) error {
	*p = keptPlan{}
	ordered.Scan(raw, func(member []byte, start, end int) {
		if string(member) != "Families" {
			return
		}
		ordered.Items(raw[start:end], func(item []byte) {
			var f fold.Family
			ordered.Scan(item, func(member []byte, start, end int) {
				switch value := item[start:end]; string(member) {
				case "Name":
					f.Name, _ = ordered.Text(value)
				case "Summary":
					f.Summary, _ = ordered.Text(value)
				case "Range":
					f.Range, _ = ordered.Text(value)
				case "Noun":
					f.Noun, _ = ordered.Text(value)
				case "Reads":
					f.Reads = string(value) == "true"
				case "Bare":
					f.Bare = string(value) == "true"
				case "Actions":
					ordered.Items(value, func(item []byte) {
						var a fold.Action
						ordered.Scan(item, func(member []byte, start, end int) {
							switch value := item[start:end]; string(member) {
							case "Name":
								a.Name, _ = ordered.Text(value)
							case "Tool":
								a.Tool, _ = ordered.Text(value)
							}
						})
						f.Actions = append(f.Actions, a)
					})
				}
			})
			p.Families = append(p.Families, f)
		})
	})
	return nil
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// save writes the record of the server.
func (l *link) save(text []byte) error {
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
	return safefile.Replace(root, l.file(), text)
}

// take accepts a list that the server sent: all of the first one, unless it has to be looked at, later what has
// not changed.
func (l *link) take(ctx context.Context, answer upstream.Answer) error {
	l.changing.Lock()
	defer l.changing.Unlock()
	if size := sizeOf(answer.Tools); size > maxTools {
		return fmt.Errorf("its list of tools has %d bytes, more than the %d that are kept", size, maxTools)
	}
	for _, list := range []*[]json.RawMessage{&answer.Tools, &answer.Prompts, &answer.Resources, &answer.Templates} {
		valid := slices.DeleteFunc(slices.Clone(*list), func(entry json.RawMessage) bool { return !json.Valid(entry) })
		if left := len(*list) - len(valid); left > 0 {
			answer.Left = append(slices.Clone(answer.Left), fmt.Sprintf("%d entries that are not valid JSON are left out", left))
			*list = valid
		}
	}
	k := l.latest()
	first, unlisted, before := k.Accepted == nil, k.Tools == nil, k.acceptedTools()
	accepted := map[string]string{}
	for name, digest := range k.Accepted {
		accepted[name] = digest
	}
	k.Source, k.Accepted = l.source(), accepted
	k.Title, k.Description, k.Instructions = answer.Title, answer.Description, answer.Instructions
	k.Legacy = answer.Legacy && (unlisted || k.Version == answer.Version) // one that changed may know the newer era
	k.Version = answer.Version
	k.Left = slices.Clone(answer.Left)
	k.limitInstructions(l.Limits.Instructions)
	if k.hold(answer.Tools); k.Tools == nil {
		k.Tools = []json.RawMessage{}
	}
	k.limitTools(l.Limits)
	k.renew()
	k.Prompts, k.Resources, k.Templates = answer.Prompts, answer.Resources, answer.Templates
	for _, list := range []*[]json.RawMessage{&k.Prompts, &k.Resources, &k.Templates} {
		if size := sizeOf(*list); size > maxOffered {
			k.Left = append(k.Left, fmt.Sprintf("a list of %d bytes is left out: at most %d are kept", size, maxOffered))
			*list = nil
		}
	}
	for _, text := range slices.Concat(answer.Problems, k.Left) {
		l.gateway.options.Log.Warn("listing what an upstream offers", "upstream", l.Name, "err", text)
	}
	for _, text := range k.odd {
		l.gateway.options.Log.Warn("listing the tools of an upstream", "upstream", l.Name, "left out", text)
	}
	k.New = k.New || first && l.FirstList == Hold
	for _, d := range k.pinned() {
		if !k.New && (first || l.Changes != Hold) {
			if before, ok := accepted[d.Name]; !first && (!ok || before != d.digest) && l.Changes == Warn {
				what := "a tool"
				if d.Name == "" {
					what = "the title or the instructions"
				}
				l.gateway.options.Log.Warn(what+" of an upstream has changed", "upstream", l.Name, "tool", d.Name)
			}
			accepted[d.Name] = d.digest
		}
	}
	k.remember(before)
	return l.adopt(ctx, k)
}

// lists returns what the server has listed.
func (k kept) lists() [][]json.RawMessage {
	return [][]json.RawMessage{k.Tools, k.Prompts, k.Resources, k.Templates}
}

func sizeOf(list []json.RawMessage) (size int) {
	for _, entry := range list {
		size += len(entry)
	}
	return size
}

// latest returns what is kept of the server, with what another process has accepted or
// planned since.
func (l *link) latest() kept {
	l.mu.Lock()
	k, unusable := l.kept, l.unusable
	l.mu.Unlock()
	if unusable {
		return k
	}
	if others, found, err := l.read(); err == nil && found && (others.Tools != nil || k.Accepted == nil) {
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
	for _, d := range k.pinned() {
		if k.Accepted[d.Name] == d.digest {
			tools[d.Name] = d.raw
		}
	}
	return tools
}

// remember keeps the definitions that were accepted of what is held back.
func (k *kept) remember(accepted map[string]json.RawMessage) {
	k.Before = map[string]json.RawMessage{}
	for _, d := range k.pinned() {
		if was := accepted[d.Name]; was != nil && k.Accepted[d.Name] != d.digest {
			k.Before[d.Name] = was
		}
	}
}

// tools returns what a plan has to know of the tools.
func (k kept) tools() (tools []fold.Tool) {
	for _, d := range k.definitions {
		size := len(d.Name) + len(d.Description) + len(d.InputSchema)
		tools = append(tools, fold.Tool{Name: d.Name, Reads: d.hints().ReadOnly, Size: size})
	}
	return tools
}

// adopt plans, offers and keeps what is accepted. changing is held. What takes long holds no lock
// that other servers or calls wait for: where another server has taken a name meanwhile, the plan
// is made again.
func (l *link) adopt(ctx context.Context, k kept) error {
	defer l.gateway.lookAgain()
	tools, planned := k.tools(), k.Plan
	for {
		taken := l.gateway.taken(l)
		if slices.ContainsFunc(planned.Families, func(f fold.Family) bool { return taken(f.Name) }) {
			planned = fold.Plan{} // another has the name since
		}
		plan, _, err := planned.Join(ctx, fold.Server{Name: l.Name, Alone: l.Alone, Taken: taken}, tools)
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
		text, err := l.record(&k)
		if err == nil && text != nil {
			err = l.save(text) // before it is offered: what was seen is not forgotten
		}
		l.noteUnkept(err)
		l.offerAll(k, families)
		return nil
	}
}

// record returns the record of the server as it is written, without what makes it too large; nil
// where it is the one that is there.
func (l *link) record(k *kept) ([]byte, error) {
	k.former, k.Differing = false, map[string]string{}
	for _, d := range k.pinned() {
		if k.Accepted[d.Name] != d.digest {
			k.Differing[d.Name] = d.digest
		}
	}
	l.mu.Lock()
	before, unkept := l.kept, l.unkept
	l.mu.Unlock()
	if unkept == "" && reflect.DeepEqual(before, *k) {
		return nil, nil
	}
	return k.within(maxKept)
}

// reserve takes the names of a plan. It reports false, and takes none, where another server has one.
func (l *link) reserve(plan fold.Plan) bool {
	l.gateway.planning.Lock()
	defer l.gateway.planning.Unlock()
	taken := l.gateway.named(l)
	if slices.ContainsFunc(plan.Families, func(f fold.Family) bool { return taken[f.Name] }) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = map[string]bool{}
	for _, f := range slices.Concat(l.kept.Plan.Families, plan.Families) {
		l.names[f.Name] = true
	}
	return true
}

// offerAll takes over a record and what it offers.
func (l *link) offerAll(k kept, families []*toolfold.Family) {
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
	l.kept, l.families, l.live, l.names, l.trouble, l.offer = k, families, live, names, "", offer
}

// noteUnkept says why the record of the server could not be written; nil for one that was.
func (l *link) noteUnkept(err error) {
	if err != nil {
		l.gateway.options.Log.Warn("keeping the list of an upstream", "upstream", l.Name, "err", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unkept = ""; err != nil {
		l.unkept = err.Error()
	} else {
		l.unusable = false
	}
}

// approve accepts tools as they were shown.
func (l *link) approve(shown []HeldTool) ([]string, error) {
	taken, err := l.accept(shown)
	if err == nil {
		l.gateway.tell()
	}
	return taken, err
}

// accept accepts tools as they were shown, and returns their names.
func (l *link) accept(shown []HeldTool) (taken []string, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	k := l.latest()
	before := k.acceptedTools()
	accepted := map[string]string{}
	for name, digest := range k.Accepted {
		accepted[name] = digest
	}
	listed := k.pinned()
	for _, h := range shown {
		if !slices.ContainsFunc(listed, func(d definition) bool { return d.Name == h.Name && d.digest == h.digest }) {
			return nil, fmt.Errorf("the server %s has changed %q since it was shown: look at it again", l.Name, h.Name)
		}
		if accepted[h.Name] != h.digest {
			accepted[h.Name] = h.digest
			taken = append(taken, h.Name)
		}
	}
	k.Accepted, k.New = accepted, k.New && len(taken) == 0
	k.remember(before)
	if err := l.adopt(l.gateway.life, k); err != nil {
		return nil, err
	}
	return taken, nil
}

// build makes the families of a plan, of the tools that are accepted and let through.
func (l *link) build(ctx context.Context, k kept) ([]*toolfold.Family, error) {
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
			Server: l.Name, Instructions: instructions,
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
			// A server's only tool is listed by its types: its texts can be long, and the user has not asked for them.
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

// offers reports whether a tool with this digest is listed and accepted now.
func (l *link) offers(tool, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[tool] == digest
}

// category is the server's name, by which lists of tools are filtered.
func (l *link) category() toolfold.Category {
	if name := toolfold.Category(l.Name); name != callctx.Discovery {
		return name
	}
	return callctx.Discovery + "_mcp"
}

// action returns a tool as an action. A tool that asks its client does not become a task.
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
	listed := d.raw
	if d.meta {
		listed = l.outMeta(d.raw)
	}
	input, spelt := unseen.JSON(d.InputSchema)
	original := map[string]string{}
	for was, now := range spelt {
		original[now] = was
	}
	a, err := toolfold.External{
		Name: name, Description: text, Server: l.Name, InputSchema: input, Spelt: spelt, Category: l.category(),
		Effect: d.effect(), Hints: &hints, Lenient: true, Definition: listed, Aliases: l.aliases(d.Name),
		Relay: func(ctx context.Context, args json.RawMessage) (toolfold.Reply, error) {
			if !l.offers(d.Name, digest) { // the list has changed since the caller saw it
				return toolfold.Reply{}, toolfold.Errorf(toolfold.UpstreamError, "%s: the server %s has changed it", d.Name, l.Name).
					WithHint("tools.list says what is held back until the user approves")
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
