package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/upstream"
)

// definition holds the members of a tool that the gateway reads.
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
	digest string // of everything a user accepts in the tool, see identity
}

// hints returns the tool's annotations, with the protocol's defaults. A tool that only reads is not
// destructive by default.
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

// digestMark is the prefix of a digest of a whole definition. Digests of older versions are plain hex.
const digestMark = "2-"

// identity returns the digest of the whole definition.
func (d definition) identity() string { return identityOf(d.raw) }

// identityOf returns the digest of a JSON object. It does not depend on the order of the members.
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

// formerIdentity returns the digest that older versions used. It covers less.
func (d definition) formerIdentity() string {
	return sumOf(ordered.MustJSON([]any{d.Name, d.Title, d.Description, d.InputSchema, d.OutputSchema, d.Annotations.Title, d.hints()}))
}

// effect returns the effect of the tool's annotations; zero if it has no annotations.
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

// readDefinition reads members by their exact names, as clients do. A member in other letter case must
// not stand in for an accepted one. tool is valid JSON. ok is false if it is not a tool.
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

// hold takes the tools of a list. Duplicates and invalid entries are skipped; the first of a name wins.
func (k *record) hold(tools []json.RawMessage) {
	k.read(tools, definition.identity)
	k.own = k.texts().identity()
}

// texts returns the title and the instructions of the server as a definition without a name.
func (k record) texts() definition {
	texts := ordered.Map{{Key: "title", Value: k.Title}, {Key: "instructions", Value: k.Instructions}}
	if k.Description != "" {
		texts = append(texts, ordered.Member{Key: "description", Value: k.Description})
	}
	return definition{raw: ordered.MustJSON(texts), digest: k.own}
}

// pins returns everything that a user accepts of the server: its tools, title and instructions.
func (k record) pins() []definition {
	if k.Tools == nil {
		return nil
	}
	return append(slices.Clip(k.definitions), k.texts())
}

// renew replaces accepted digests of older versions. It does so for definitions that are unchanged
// since, or whose accepted version is known.
func (k *record) renew() {
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
	undescribed.Description = "" // older versions did not cover it
	if was := k.Accepted[""]; was == sumOf([]byte(k.Instructions)) || was == undescribed.texts().identity() {
		k.Accepted[""] = k.own
	}
}

// read takes tools, with the digests that digest returns.
func (k *record) read(tools []json.RawMessage, digest func(definition) string) {
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

// rejects reports whether the user has rejected a definition.
func (k record) rejects(d definition) bool { return k.Rejected[d.Name] == d.digest }

// heldTool is a tool that waits for approval.
type heldTool struct{ Name, why string }

// heldTools lists the tools that wait for approval.
func (k record) heldTools() []heldTool {
	var list []heldTool
	for _, d := range k.pins() {
		name := shorten.Quoted(d.Name)
		if d.Name == "" {
			name = "its title and instructions"
		}
		switch accepted, ok := k.Accepted[d.Name]; {
		case accepted != d.digest && k.rejects(d):
			list = append(list, heldTool{name, "rejected by the user"})
		case !ok:
			list = append(list, heldTool{name, "new"})
		case accepted != d.digest:
			list = append(list, heldTool{name, "changed since it was accepted"})
		}
	}
	return list
}

// take accepts a list of the server. It accepts the whole first list, unless that must be reviewed;
// later lists only as far as they are unchanged.
func (l *link) take(ctx context.Context, answer upstream.Answer) error {
	if size := sizeOf(answer.Tools); size > maxTools {
		return fmt.Errorf("its tool list has %d bytes, the limit is %d", size, maxTools)
	}
	for _, list := range []*[]json.RawMessage{&answer.Tools, &answer.Prompts, &answer.Resources, &answer.Templates} {
		valid := slices.DeleteFunc(slices.Clone(*list), func(entry json.RawMessage) bool { return !json.Valid(entry) })
		if left := len(*list) - len(valid); left > 0 {
			answer.LeftOut = append(slices.Clone(answer.LeftOut), fmt.Sprintf("%d entries that are not valid JSON are left out", left))
			*list = valid
		}
	}
	return l.change(ctx, saves, func(k *record) error {
		l.list(k, answer)
		return nil
	})
}

// list puts a list of the server into its record, and accepts what take accepts.
func (l *link) list(k *record, answer upstream.Answer) {
	first, unlisted, before := k.Accepted == nil, k.Tools == nil, k.acceptedTools()
	accepted := map[string]string{}
	for name, digest := range k.Accepted {
		accepted[name] = digest
	}
	k.Source, k.Accepted = l.source(), accepted
	k.Title, k.Description, k.Instructions = answer.Title, answer.Description, answer.Instructions
	k.Legacy = answer.Legacy && (unlisted || k.Version == answer.Version) // a changed server may support the newer era
	k.Version, k.Protocol = answer.Version, answer.Protocol
	k.LeftOut = slices.Clone(answer.LeftOut)
	k.limitInstructions(l.Limits.Instructions)
	if k.hold(answer.Tools); k.Tools == nil {
		k.Tools = []json.RawMessage{}
	}
	k.limitTools(l.Limits)
	k.renew()
	k.Prompts, k.Resources, k.Templates = answer.Prompts, answer.Resources, answer.Templates
	if l.Login.byCaller() {
		k.Resources = slices.DeleteFunc(slices.Clone(k.Resources), isPersonal)
	}
	for _, list := range []*[]json.RawMessage{&k.Prompts, &k.Resources, &k.Templates} {
		if size := sizeOf(*list); size > maxOffered {
			k.LeftOut = append(k.LeftOut, fmt.Sprintf("a list of %d bytes is left out: the limit is %d", size, maxOffered))
			*list = nil
		}
	}
	for _, text := range slices.Concat(answer.Problems, k.LeftOut) {
		l.gateway.options.Log.Warn("listing an upstream", "upstream", l.Name, "err", text)
	}
	for _, text := range k.odd {
		l.gateway.options.Log.Warn("listing the tools of an upstream", "upstream", l.Name, "left out", text)
	}
	k.New = k.New || first && l.FirstList == Hold
	for _, d := range k.pins() {
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
}

// acceptedTools returns the accepted definitions, by name.
func (k record) acceptedTools() map[string]json.RawMessage {
	tools := maps.Clone(k.Before)
	if tools == nil {
		tools = map[string]json.RawMessage{}
	}
	for _, d := range k.pins() {
		if k.Accepted[d.Name] == d.digest {
			tools[d.Name] = d.raw
		}
	}
	return tools
}

// remember stores the formerly accepted definitions of held tools.
func (k *record) remember(accepted map[string]json.RawMessage) {
	k.Before = map[string]json.RawMessage{}
	for _, d := range k.pins() {
		if was := accepted[d.Name]; was != nil && k.Accepted[d.Name] != d.digest {
			k.Before[d.Name] = was
		}
	}
}

// approve accepts tools as they were shown.
func (l *link) approve(tools []HeldTool) ([]string, error) {
	approved, err := l.accept(tools)
	if err == nil {
		l.gateway.tell()
	}
	return approved, err
}

// accept accepts tools as they were shown, and returns the names of the newly accepted ones.
func (l *link) accept(tools []HeldTool) (approved []string, err error) {
	err = l.change(l.gateway.life, mustSave, func(k *record) error {
		if err := l.asShown(*k, tools); err != nil {
			return err
		}
		before, accepted := k.acceptedTools(), digests{}
		maps.Copy(accepted, k.Accepted)
		approved = nil
		for _, h := range tools {
			if accepted[h.Name] != h.digest {
				accepted[h.Name] = h.digest
				approved = append(approved, h.Name)
			}
		}
		k.Accepted, k.New = accepted, k.New && len(approved) == 0
		k.remember(before)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return approved, nil
}

// reject remembers that the user has rejected held tools as they were shown, and returns their names.
func (l *link) reject(tools []HeldTool) (rejected []string, err error) {
	err = l.change(l.gateway.life, mustSave, func(k *record) error {
		if err := l.asShown(*k, tools); err != nil {
			return err
		}
		all := digests{}
		maps.Copy(all, k.Rejected)
		rejected = nil
		for _, h := range tools {
			if k.Accepted[h.Name] == h.digest {
				return fmt.Errorf("%q of the server %s is not held back any more", h.Name, l.Name)
			}
			all[h.Name] = h.digest
			rejected = append(rejected, h.Name)
		}
		k.Rejected = all
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rejected, nil
}

// asShown fails if the server has changed one of the tools since they were shown.
func (l *link) asShown(k record, tools []HeldTool) error {
	current := k.pins()
	for _, h := range tools {
		if !slices.ContainsFunc(current, func(d definition) bool { return d.Name == h.Name && d.digest == h.digest }) {
			return fmt.Errorf("the server %s has changed %q since it was shown: review it again", l.Name, h.Name)
		}
	}
	return nil
}

// offers reports whether a tool with this digest is listed and accepted.
func (l *link) offers(tool, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[tool] == digest
}
