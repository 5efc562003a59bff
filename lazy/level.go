// Package lazy decides how much of a surface a client sees at once, and returns the rest on
// request: find, describe, load.
//
// It needs only tools and their entries, from any surface and with schemas of any origin.
//
// It is not a stable API: see docs/stability.md.
package lazy

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/schema"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// TTL is the time for which a client may cache a list.
const TTL = 5 * time.Minute

// Level is how much of each tool a listing shows.
type Level string

// The levels, least first.
const (
	Search    Level = "search"    // discovery, the core tier and loaded tools
	Lazy      Level = "lazy"      // names, actions and their required parameters
	Signature Level = "signature" // every parameter by name and type; in the description if the tool has actions
	Full      Level = "full"      // whole schemas
)

// Levels lists the levels, least first.
func Levels() []Level { return []Level{Search, Lazy, Signature, Full} }

// ListedTool is a tool in tools/list. Models pay for its JSON, not for the hints.
type ListedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Hints       toolfold.Hints  `json:"-"`

	// OutputSchema is the schema of structured results; nil if it is not listed. Hosts use it in
	// programs: models do not pay for it.
	OutputSchema json.RawMessage `json:"-"`

	Discovery bool          `json:"-"` // it finds the other tools
	Tier      toolfold.Tier `json:"-"`
	External  bool          `json:"-"` // it is another server's

	// Words returns further search words of its actions for hosts. Nil in [Stubs].
	Words func() string `json:"-"`

	// Definition is the unchanged definition of another server's tool that is listed on its own;
	// nil for other tools.
	Definition json.RawMessage `json:"-"`
}

// List lists a surface at a level. The search level has only discovery and the core tier.
func List(surface []entry.Tool, level Level) []ListedTool {
	list := make([]ListedTool, 0, len(surface))
	purposes := sync.OnceValue(func() map[string]string { return purposes(surface) })
	for _, t := range surface {
		if level != Search || t.Tier == toolfold.Core || t.Category == callctx.Discovery {
			l := show(t, level)
			l.Words = func() string { return hint(t, purposes) }
			list = append(list, l)
		}
	}
	return list
}

// Within returns the tools up to a tier, which tools/list may show. Discovery and other servers'
// tools are in every tier.
func Within(surface []entry.Tool, tier toolfold.Tier) []entry.Tool {
	return slices.DeleteFunc(slices.Clone(surface), func(t entry.Tool) bool {
		return t.Tier > tier && t.Category != callctx.Discovery && !external(t)
	})
}

// external reports whether a tool is another server's.
func external(t entry.Tool) bool { return t.Entries[0].Action.Definition != nil }

// Stubs returns the shortest valid list: names and summaries.
func Stubs(surface []entry.Tool) []ListedTool {
	list := make([]ListedTool, len(surface))
	for i, t := range surface {
		list[i] = ListedTool{
			Name: t.Name, Description: t.Summary, InputSchema: ordered.MustJSON(object(ordered.Map{}, nil)),
			Hints: t.Hints, Discovery: t.Category == callctx.Discovery, Tier: t.Tier, External: external(t),
		}
	}
	return list
}

// show lists a tool at a level. The description of a tool with actions names them and their
// parameters; a single action has its parameters in the schema only. Below the full level a schema
// has only types. For a tool with actions it declares the action and the member for its parameters;
// if calls are flat, it declares all parameters at the signature level and only the action below.
// It stays an open object, so that hosts that check arguments accept undeclared ones.
func show(t entry.Tool, level Level) ListedTool {
	l := ListedTool{
		Name: t.Name, Description: described(t), Hints: t.Hints, Discovery: t.Category == callctx.Discovery, Tier: t.Tier, External: external(t),
	}
	switch {
	case t.Dispatches():
		actions := required(t.Entries)
		switch {
		case level == Signature && nests(t), level == Full && t.Entries[0].Action.Family.Apiece:
			actions = signatures(t.Entries, entry.DetailTypes)
		case level == Full || level == Signature:
			actions = signatures(t.Entries, entry.DetailNames)
		}
		l.Description += ": " + actions
	case level == Full && t.Doc != "":
		l.Description += " " + t.Doc
	}
	l.InputSchema = briefSchema(t, level)
	if !t.Dispatches() {
		l.Definition = t.Entries[0].Action.Definition
	}
	if t.Typed && level == Full {
		l.OutputSchema = schema.Whole(t.Entries[0].Action)
	}
	return l
}

// described returns the beginning of a description, which hosts search if they defer tools. For a
// single action of a family it is the family's subject and the action's summary.
func described(t entry.Tool) string {
	if t.Subject == "" || t.Summary == "" {
		return t.Summary
	}
	return t.Subject + ": " + english.LowerFirst(t.Summary)
}

// wordsOf joins the words of a tool's family and actions, each once.
func wordsOf(t entry.Tool) string {
	var all []string
	add := func(list string) {
		for word := range strings.SplitSeq(list, ", ") {
			if word != "" && !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	add(t.Entries[0].Action.Family.Words)
	for _, e := range t.Entries {
		add(e.Action.Words)
	}
	return strings.Join(all, ", ")
}

// nests reports whether calls of a tool are shown with the member params.
func nests(t entry.Tool) bool { return slices.ContainsFunc(t.Entries, (*entry.Entry).Nests) }

// form is all that the schema of a tool with actions depends on if it declares no parameters.
type form struct {
	of    entry.Form
	nests bool
}

// brief caches schemas by form, because they are the same for all tools.
var brief sync.Map

// briefSchema returns the schema of a tool at a level.
func briefSchema(t entry.Tool, level Level) json.RawMessage {
	f := form{t.Form, nests(t)}
	same := t.Dispatches() && !t.Whole && level != Full && (level != Signature || f.nests)
	if known, ok := brief.Load(f); ok && same {
		return known.(json.RawMessage)
	}
	made := ordered.MustJSON(schemaAt(t, level))
	if same {
		brief.Store(f, made)
	}
	return made
}

func schemaAt(t entry.Tool, level Level) ordered.Map {
	if (level == Full || t.Whole) && !t.Dispatches() && t.Entries[0].Action.Input != nil { // another server's, which may have definitions
		var whole ordered.Map
		_ = json.Unmarshal(t.Schema(), &whole)
		return whole
	}
	properties, required := ordered.Map{}, []string(nil)
	switch {
	case t.Whole || level == Full:
		var whole struct {
			Properties ordered.Map
			Required   []string
		}
		_ = json.Unmarshal(t.Schema(), &whole) // it is a generated schema, so it is valid
		properties, required = whole.Properties, whole.Required
	default:
		whole := level == Signature && !nests(t)
		var params []toolfold.Param
		if t.Dispatches() {
			properties.Set(callctx.ArgAction, ordered.Map{{Key: "type", Value: "string"}})
			required = append(required, callctx.ArgAction)
			if whole {
				params = consolidate.Union(actionsOf(t.Entries))
			}
		} else {
			params = t.Entries[0].ListedParams()
			for _, p := range t.Entries[0].Required() {
				required = append(required, p.Name)
			}
		}
		for _, p := range params {
			if whole || slices.Contains(required, p.Name) {
				properties.Set(p.Name, schema.Of(p, schema.Style{Brief: true, Recorded: t.Entries[0].Legacy}))
			}
		}
	}
	kind := "object"
	if t.Form == entry.FormText {
		kind = "string"
	}
	switch {
	case t.Whole && level != Full:
		for i, p := range properties {
			if isObject(p.Value.(json.RawMessage)) {
				properties[i].Value = ordered.Map{{Key: "type", Value: kind}}
			}
		}
	case !t.Whole && nests(t):
		properties.Set(callctx.ArgParams, ordered.Map{{Key: "type", Value: kind}})
	}
	return object(properties, required)
}

func isObject(schema json.RawMessage) bool {
	var s struct{ Type toolfold.Kind }
	return json.Unmarshal(schema, &s) == nil && s.Type == toolfold.KindObject
}

// required returns the actions with their required parameters: store(key,value) get(key|keys) list.
// Actions with the same parameters are grouped, in the place of the first: pause|resume(queueId).
// An unclear name is followed by its meaning: run(bugId)=fix.
func required(entries []*entry.Entry) string {
	var groups []struct{ verbs, params, means string }
	for _, e := range entries {
		params, means := e.Parameters(entry.DetailRequired, nil), e.Action.Means
		same := -1
		if params != "" && means == "" {
			same = slices.IndexFunc(groups, func(g struct{ verbs, params, means string }) bool { return g.params == params && g.means == "" })
		}
		if same < 0 {
			groups = append(groups, struct{ verbs, params, means string }{e.Verb(), params, means})
			continue
		}
		groups[same].verbs += "|" + e.Verb()
	}
	var parts []string
	for _, g := range groups {
		part := g.verbs + g.params
		if g.means != "" {
			part += "=" + g.means
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// signatures returns the signatures of actions. The values of a type are listed only once.
func signatures(entries []*entry.Entry, detail entry.Detail) string {
	parts, printed := make([]string, len(entries)), map[string]bool{}
	for i, e := range entries {
		parts[i] = e.Signature(detail, printed)
	}
	return strings.Join(parts, " ")
}

func actionsOf(entries []*entry.Entry) []*toolfold.Action {
	actions := make([]*toolfold.Action, len(entries))
	for i, e := range entries {
		actions[i] = e.Action
	}
	return actions
}

func object(properties ordered.Map, required []string) ordered.Map {
	o := ordered.Map{{Key: "type", Value: "object"}, {Key: "properties", Value: properties}}
	if len(required) > 0 {
		o.Set("required", required)
	}
	return o
}
