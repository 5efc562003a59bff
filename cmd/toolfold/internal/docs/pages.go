// Package docs renders the reference pages from the declarations. The pages
// lie beside it; a test keeps them fresh and, with -update, writes them.
package docs

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/hosts"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/migration"
	"github.com/toolfold/toolfold/surface"
)

//go:embed family.md.tmpl
var familyText string

//go:embed clients.md.tmpl
var clientsText string

var clientsTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("clients").Funcs(template.FuncMap{
		"target": hosts.FindTarget,
		"upper":  func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	}).Parse(clientsText))
})

var familyTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("family").Funcs(template.FuncMap{
		"legacy": func(a *toolfold.Action) string {
			var list []string
			for _, old := range a.Legacy {
				list = append(list, "`"+old.Name+"`")
			}
			return strings.Join(list, ", ")
		},
		"usage":   func(a *toolfold.Action) string { return entry.Select(a).Usage(entry.DetailTypes) },
		"example": func(a *toolfold.Action) string { return string(entry.Select(a).Example()) },
		"params":  func(a *toolfold.Action) []toolfold.Param { return a.Params() },
		"results": func(a *toolfold.Action) []result { return results("", a.Results()) },
		"word":    entry.TypeWord,
		"cell":    func(s string) string { return strings.ReplaceAll(s, "|", " \\| ") },
		"json":    func(v any) string { return string(ordered.MustJSON(v)) },
		"bounds":  bounds,
	}).Parse(familyText))
})

// Pages returns every generated page by its path below docs.
func Pages(specs []*toolfold.Family) (map[string]string, error) {
	guide, err := Guide(specs)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{"migration.md": guide}
	var byAddress []*hosts.Host // their snippets are methods
	for i := range hosts.Hosts {
		byAddress = append(byAddress, &hosts.Hosts[i])
	}
	tables, err := captureTables()
	if err != nil {
		return nil, err
	}
	var clients strings.Builder
	page := map[string]any{"Hosts": byAddress, "Targets": hosts.Targets, "Captures": tables}
	if err := clientsTemplate().Execute(&clients, page); err != nil {
		return nil, fmt.Errorf("page of clients: %w", err)
	}
	pages["clients.md"] = clients.String()
	for _, s := range specs {
		var b strings.Builder
		if err := familyTemplate().Execute(&b, s); err != nil {
			return nil, fmt.Errorf("page of %s: %w", s.Name, err)
		}
		pages["tools/"+s.Name+".md"] = b.String()
	}
	return pages, nil
}

// Guide returns the migration guide, with what the folds cost.
func Guide(specs []*toolfold.Family) (string, error) {
	var costs migration.Costs
	for fold, tokens := range map[consolidate.Fold]*int{consolidate.ByFamily: &costs.Family, consolidate.ByEffect: &costs.Effect,
		consolidate.None: &costs.None} {
		cost, err := doctor.Count(surface.List(specs, surface.Options{Fold: fold}))
		if err != nil {
			return "", err
		}
		*tokens = cost.Tokens
	}
	return migration.Guide(specs, costs)
}

// result is a result field with the path that include_fields takes.
type result struct {
	Path  string
	Param toolfold.Param
}

func results(prefix string, params []toolfold.Param) []result {
	var list []result
	for _, p := range params {
		list = append(list, result{prefix + p.Name, p})
		list = append(list, results(prefix+p.Name+".", p.Members())...)
	}
	return list
}

// bounds says the limits of a parameter in words.
func bounds(p toolfold.Param) string {
	var list []string
	add := func(format string, n any) { list = append(list, fmt.Sprintf(format, n)) }
	if p.Min != nil {
		add("at least %v", *p.Min)
	}
	if p.Max != nil {
		add("at most %v", *p.Max)
	}
	if p.MaxLen > 0 {
		add("at most %d characters", p.MaxLen)
	}
	if p.MaxItems > 0 {
		add("at most %d items", p.MaxItems)
	}
	if len(list) == 0 {
		return ""
	}
	text := strings.Join(list, ", ")
	return " " + strings.ToUpper(text[:1]) + text[1:] + "."
}
