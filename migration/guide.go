package migration

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

//go:embed *.md.tmpl
var guideTexts embed.FS

var guideTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(guideTexts, "*.md.tmpl"))
})

// row is one legacy tool in the guide.
type row struct {
	Old, New, Renamed string
	OldCall, NewCall  string
}

type change struct{ Name, Text string }

type section struct {
	Name    string
	Rows    []row
	Changes []change
}

// Costs holds the tokens of the default tool list, by fold.
type Costs struct{ Family, Effect, None int }

// A Guide is the migration guide for callers, in Markdown.
type Guide struct {
	Text     string            // the rules for all tools
	Families map[string]string // by name of a family with legacy tools, its calls
}

// NewGuide generates the guide for the families in specs. Costs are the tokens of their lists.
func NewGuide(specs []*toolfold.Family, costs Costs) (*Guide, error) {
	guide := &Guide{Families: map[string]string{}}
	var sections []section
	rewriter := NewRewriter(specs)
	for _, s := range specs {
		section, err := rewriter.section(s)
		if err != nil {
			return nil, fmt.Errorf("guide for %s: %w", s.Name, err)
		}
		if len(section.Rows) == 0 {
			continue
		}
		sections = append(sections, section)
		var b strings.Builder
		if err := guideTemplates().ExecuteTemplate(&b, "family.md.tmpl", section); err != nil {
			return nil, err
		}
		guide.Families[s.Name] = b.String()
	}
	var b strings.Builder
	err := guideTemplates().ExecuteTemplate(&b, "guide.md.tmpl", map[string]any{
		"Families": sections, "Costs": costs,
		"First": map[string]string{"Old": sections[0].Rows[0].OldCall, "New": sections[0].Rows[0].NewCall},
	})
	guide.Text = b.String()
	return guide, err
}

func (r *Rewriter) section(s *toolfold.Family) (section, error) {
	section := section{Name: s.Name}
	for _, a := range s.Actions {
		for _, old := range a.Legacy {
			row, err := r.row(entry.Spell(a, old))
			if err != nil {
				return section, err
			}
			section.Rows = append(section.Rows, row)
		}
		if a.Changed != "" {
			section.Changes = append(section.Changes, change{a.FullName(), a.Changed})
		}
	}
	return section, nil
}

func (r *Rewriter) row(e *entry.Entry) (row, error) {
	call := Call{Name: e.Tool, Arguments: e.Example()}
	now, _, err := r.Rewrite(call)
	if err != nil {
		return row{}, err
	}
	var renamed []string
	for _, p := range e.Action.Params() {
		if was := e.Spelling(p.Name); was != p.Name {
			renamed = append(renamed, fmt.Sprintf("`%s` → `%s`", was, p.Name))
		}
	}
	return row{
		Old: e.Tool, New: entry.Select(e.Action).Title(), Renamed: strings.Join(renamed, ", "),
		OldCall: string(ordered.MustJSON(call)), NewCall: string(ordered.MustJSON(now)),
	}, nil
}
