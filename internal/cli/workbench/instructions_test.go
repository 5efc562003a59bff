package workbench

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/tokens"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

// Every client pays for the instructions on every turn.
func TestInstructionsAreShort(t *testing.T) {
	t.Parallel()
	for _, mode := range surface.Modes() {
		for _, level := range lazy.Levels() {
			for _, form := range entry.Forms() {
				for _, fold := range consolidate.Folds() {
					text := Instructions(surface.New(surface.Options{Mode: mode, Level: level, Params: form, Fold: fold}), target.Eager, nil)
					if n := utf8.RuneCountInString(text); n > serve.MaxInstructions {
						t.Errorf("%s %s %s %s: %d characters, more than %d: %s", mode, level, form, fold, n, serve.MaxInstructions, text)
					}
					if alone := mode == surface.Legacy || fold == consolidate.None; alone == strings.Contains(text, "with action") {
						t.Errorf("%s %s: %s", mode, fold, text)
					}
				}
			}
		}
	}
}

// For hosts that search for tools, the instructions list the families, in at most 100 tokens for any
// number of families.
func TestInstructionsNameFamilies(t *testing.T) {
	t.Parallel()
	many := app.Families()
	for i := range 300 {
		many = append(many, &toolfold.Family{Name: fmt.Sprintf("upstream_%d_pull_requests", i), Summary: "Pull requests of somebody's forge"})
	}
	for name, test := range map[string]struct {
		families []*toolfold.Family
		all      bool
	}{"own": {app.Families(), true}, "upstreams": {many, false}} {
		for _, fold := range consolidate.Folds() {
			text := Instructions(surface.New(surface.Options{Fold: fold, Level: lazy.Full}), target.Deferring, test.families)
			if n, err := tokens.Count(text); err != nil || n > 100 {
				t.Errorf("%s %s: %d tokens, %v: %s", name, fold, n, err, text)
			}
			if n := utf8.RuneCountInString(text); n > serve.MaxInstructions {
				t.Errorf("%s %s: %d characters: %s", name, fold, n, text)
			}
			for _, f := range app.Families() {
				if f.Category != callctx.Discovery && test.all && !strings.Contains(text, " "+f.Name) {
					t.Errorf("%s %s: no %s in %s", name, fold, f.Name, text)
				}
			}
			if strings.Contains(text, "memory (notebook)") != test.all || strings.Contains(text, " more") == test.all {
				t.Errorf("%s %s: %s", name, fold, text)
			}
		}
	}
}

// Unlisted families of this program are not named: hosts that search for tools would search for them.
func TestInstructionsNameListed(t *testing.T) {
	t.Parallel()
	families := append(app.Families(), &toolfold.Family{Name: "memory_mcp", Server: "memory", Summary: "Knowledge graph"})
	text := Instructions(surface.New(surface.Options{Level: lazy.Full, Tier: toolfold.Core}), target.Deferring, families)
	if !strings.Contains(text, "memory_mcp (knowledge graph)") || !strings.Contains(text, " task ") || strings.Contains(text, "design") {
		t.Errorf("%s", text)
	}
}

// Other servers' instructions are quoted under their names, each with its first sentence. The limit
// covers all of it, and servers whose sentence does not fit are named.
func TestInstructionsQuote(t *testing.T) {
	t.Parallel()
	family := func(name, text string) *toolfold.Family {
		return &toolfold.Family{Name: name, Server: name, Instructions: text}
	}
	docs := family("docs", "Use this server to fetch\ndocumentation. It has \"two\" tools.")
	twice := &toolfold.Family{Name: "docs_write", Server: "docs", Instructions: docs.Instructions}
	for _, test := range []struct {
		families []*toolfold.Family
		room     int
		want     string
	}{
		{[]*toolfold.Family{docs, twice, family("quiet", ""), {Name: "memory"}}, 400, "\ndocs says: \"Use this server to fetch documentation.\""},
		{[]*toolfold.Family{family("q", `Say "yes" to all`)}, 400, "\nq says: \"Say \\\"yes\\\" to all\""},
		{[]*toolfold.Family{docs}, 0, ""},
		{[]*toolfold.Family{family("long", strings.Repeat("word ", 500)), docs}, 400,
			"\ndocs says: \"Use this server to fetch documentation.\"\ntools.describe has the instructions of long."},
	} {
		if got := quoteNames(test.families, test.room); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	var many []*toolfold.Family
	for i := range 300 {
		many = append(many, family(fmt.Sprintf("server_%d", i), "Use this server whenever the user asks about a thing."))
	}
	text := quoteNames(many, 400)
	if n, err := tokens.Count(text); err != nil || n > 400 || n < 200 || !strings.Contains(text, "more servers") {
		t.Errorf("%d tokens, %v: %s", n, err, text)
	}
}
