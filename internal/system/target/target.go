// Package target lists the tool lists that suit hosts and kinds of hosts: the values of serve
// --for.
package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind is how a host presents tools to a model, which determines the best list.
type Kind string

// The kinds.
const (
	Eager     Kind = "eager"     // sends every definition with every request
	Deferring Kind = "deferring" // sends names, and a definition once a model has searched for it
	Code      Kind = "code"      // a model writes code that calls tools as functions
	Strict    Kind = "strict"    // passes on, or lets a model write, only declared members, at every depth
)

// Kinds lists the kinds.
func Kinds() []Kind { return []Kind{Eager, Deferring, Code, Strict} }

// Surface is a tool list, as settings of serve. Empty fields mean the defaults.
type Surface struct {
	Listing, Fold, Params string
	Structured            bool   // all answers are also structured content
	ResultLimit           int    // bytes of an answer
	AlwaysLoad            string // the tools that deferring hosts are asked to load at once
	Resources             string // the resources that are offered
}

// Row is a host, or a kind of hosts, for which a server can be configured.
type Row struct {
	Name    string // of a host or a kind
	Kind    Kind
	Surface *Surface // nil = the kind's surface
	Why     string   // why the row differs from its kind, or why the kind's surface suits it
}

// All is the table of surfaces, kinds first. Captured hosts have the surface with which a model
// needed the fewest rounds, and then the fewest bytes; a test compares the table with the captures.
// Other hosts have their kind's surface.
var All = []Row{
	{Name: string(Eager), Kind: Eager, Surface: &Surface{Listing: "signature"},
		Why: "A call with an optional parameter takes a round less than with `lazy`, which leaves these out; `full` saves no round."},
	{Name: string(Deferring), Kind: Deferring, Surface: &Surface{Listing: "signature"},
		Why: "One search loads a whole family, and its description has all that a call needs."},
	{Name: string(Code), Kind: Code, Surface: &Surface{Listing: "full", Fold: "none"},
		Why: "Functions whose results have types need no round in which a model looks at one."},
	{Name: string(Strict), Kind: Strict, Surface: &Surface{Listing: "signature", Params: "text"},
		Why: "`params` as JSON text is the one form that closed schemas and grammars at every depth let through."},

	{Name: "claude-code", Kind: Deferring, Surface: &Surface{Listing: "signature", AlwaysLoad: "all"},
		Why: "Its search prefers its own tools, so toolfold's are loaded at once."},
	{Name: "codex", Kind: Code, Surface: &Surface{Listing: "full", Fold: "none", Resources: "none"},
		Why: "Its models write code. It tries to read resources instead of calling tools, so no resources are offered."},
	{Name: "gemini", Kind: Eager},
	{Name: "opencode", Kind: Eager},
	{Name: "qwen", Kind: Deferring},
	{Name: "copilot", Kind: Eager},
	{Name: "cline", Kind: Eager},
	{Name: "cursor", Kind: Eager},
	{Name: "vscode", Kind: Deferring},
	{Name: "claude-desktop", Kind: Deferring},
	{Name: "antigravity", Kind: Eager},
	{Name: "devin", Kind: Eager},
	{Name: "zed", Kind: Eager},
	{Name: "kiro", Kind: Eager},
	{Name: "junie", Kind: Eager},
	{Name: "warp", Kind: Eager},
	{Name: "lm-studio", Kind: Eager},
	{Name: "goose", Kind: Eager},
	{Name: "amp", Kind: Eager},
	{Name: "roo", Kind: Eager},
	{Name: "kilo", Kind: Eager},
	{Name: "continue", Kind: Eager},
	{Name: "n8n", Kind: Eager},
}

// Find returns the row with a name, completed from its kind, or nil.
func Find(name string) *Row {
	find := func(name string) *Row {
		i := slices.IndexFunc(All, func(t Row) bool { return t.Name == name })
		if i < 0 {
			return nil
		}
		return &All[i]
	}
	t := find(name)
	if t == nil {
		return nil
	}
	row, kind := *t, find(string(t.Kind))
	row.Surface, row.Why = cmp.Or(row.Surface, kind.Surface), cmp.Or(row.Why, kind.Why)
	return &row
}

// Names lists the names that [Find] accepts.
func Names() []string {
	names := make([]string, len(All))
	for i, t := range All {
		names[i] = t.Name
	}
	return names
}

// Text describes and explains the surface, in Markdown.
func (t *Row) Text() string {
	return fmt.Sprintf("`--for=%s` is %s. %s", t.Name, t.Options(), t.Why)
}

// Options returns the surface as options of serve, in Markdown.
func (t *Row) Options() string {
	var parts []string
	for _, set := range [][2]string{
		{"listing", t.Surface.Listing}, {"fold", t.Surface.Fold}, {"params", t.Surface.Params}, {"always-load", t.Surface.AlwaysLoad},
		{"resources", t.Surface.Resources},
	} {
		if set[1] != "" {
			parts = append(parts, "`--"+set[0]+"="+set[1]+"`")
		}
	}
	if t.Surface.Structured {
		parts = append(parts, "`--structured`")
	}
	if t.Surface.ResultLimit > 0 {
		parts = append(parts, fmt.Sprintf("`--result-limit=%d`", t.Surface.ResultLimit))
	}
	return strings.Join(parts, " ")
}

// Settings returns the surface as values by setting name, without defaults.
func (s *Surface) Settings() map[string]any {
	values := map[string]any{}
	for name, value := range map[string]string{
		"listing": s.Listing, "fold": s.Fold, "params": s.Params, "alwaysLoad": s.AlwaysLoad, "resources": s.Resources,
	} {
		if value != "" {
			values[name] = value
		}
	}
	if s.Structured {
		values["structured"] = true
	}
	if s.ResultLimit > 0 {
		values["resultLimit"] = s.ResultLimit
	}
	return values
}
