// Package target has the lists of tools that suit hosts and kinds of hosts: the values of serve --for.
package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind says how a host shows the tools of a server to a model, which decides what
// list suits it.
type Kind string

// The kinds.
const (
	Eager     Kind = "eager"     // sends every definition with every request
	Deferring Kind = "deferring" // sends names, and definitions once a model has searched for them
	Code      Kind = "code"      // a model writes code, in which tools are functions
	Strict    Kind = "strict"    // passes on, or lets a model write, only what a schema declares, at every depth
)

// Kinds lists the kinds.
func Kinds() []Kind { return []Kind{Eager, Deferring, Code, Strict} }

// Surface is a list of tools, as the settings of serve make it. What is empty has
// the default of the setting.
type Surface struct {
	Listing, Fold, Params string
	Structured            bool   // answers are structured content too where they are not anyway
	ResultLimit           int    // bytes of an answer
	AlwaysLoad            string // which tools hosts that defer are asked to show at once
	Resources             string // what is offered as resources
}

// Row is a host, or a kind of hosts, that a server can be told to serve for.
type Row struct {
	Name    string // of a host or of a kind
	Kind    Kind
	Surface *Surface // nil = that of the kind
	Why     string   // where the row is not its kind's; or what a kind's rests on
}

// All is the table of surfaces, the kinds first. Hosts that were captured
// have what took a model the fewest rounds there, and then the fewest bytes; a test
// compares the table with the captures. The others have what their kind has.
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

// Find returns the row of a name, with the surface filled in; nil for an unknown name.
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

// Names lists the names that [Find] knows.
func Names() []string {
	names := make([]string, len(All))
	for i, t := range All {
		names[i] = t.Name
	}
	return names
}

// Text says what the surface is and why, in Markdown.
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

// Settings returns the surface as values by the name of the setting, the ones that
// it leaves to their defaults left out.
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
