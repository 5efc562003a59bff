package docs

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

//go:embed *.md.tmpl
var texts embed.FS

var clientsTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("clients").Funcs(template.FuncMap{
		"target": target.Find,
		"upper":  func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
	}).ParseFS(texts, "client.md.tmpl", "clients.md.tmpl", "hosts.md.tmpl"))
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
		"tool":    func(a *toolfold.Action) string { return entry.Select(a).Tool },
		"example": func(a *toolfold.Action) string { return string(entry.Select(a).Example()) },
		"params":  func(a *toolfold.Action) []parameter { return parameters("", a.Params()) },
		"results": func(a *toolfold.Action) []result { return results("", a.Results()) },
		"word":    entry.TypeWord,
		"cell":    func(s string) string { return strings.ReplaceAll(s, "|", " \\| ") },
		"json":    func(v any) string { return string(ordered.MustJSON(v)) },
		"bounds":  bounds,
		"formats": formats,
	}).ParseFS(texts, "family.md.tmpl"))
})

// Pages returns every generated page by its path below docs.
func Pages(specs []*toolfold.Family) (map[string]string, error) {
	guide, err := Guide(specs)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{"migration.md": guide.Text}
	for name, text := range guide.Families {
		pages["migration/"+name+".md"] = text
	}
	render := func(path string, templates *template.Template, name string, data any) error {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, name, data); err != nil {
			return fmt.Errorf("page %s: %w", path, err)
		}
		pages[path] = b.String()
		return nil
	}
	var clients []*hosts.Host // pointers: the template calls methods of the pointer
	for i := range hosts.Hosts {
		host := &hosts.Hosts[i]
		clients = append(clients, host)
		if err := render("clients/"+host.Name+".md", clientsTemplate(), "client.md.tmpl", host); err != nil {
			return nil, err
		}
	}
	if err := render("clients.md", clientsTemplate(), "clients.md.tmpl", map[string]any{"Hosts": clients}); err != nil {
		return nil, err
	}
	measured, err := captures()
	if err != nil {
		return nil, err
	}
	lists := map[string]any{"Targets": target.All, "Best": bestTable(measured), "All": candidatesTable(measured)}
	if err := render("hosts.md", clientsTemplate(), "hosts.md.tmpl", lists); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := render("tools/"+s.Name+".md", familyTemplate(), "family.md.tmpl", s); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// result is a result field with its path for include_fields.
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

// parameter is a parameter, or a member of one, with its path in the call.
type parameter struct {
	Path  string
	Param toolfold.Param
	Needs bool // required in its object
}

// parameters lists parameters, each followed by the members of its objects.
func parameters(prefix string, params []toolfold.Param) []parameter {
	var list []parameter
	for _, p := range params {
		path, object := prefix+p.Name, p
		list = append(list, parameter{Path: path, Param: p})
		for object.Items != nil {
			path, object = path+"[]", *object.Items
		}
		members := parameters(path+".", object.Members())
		for i, m := range members {
			members[i].Needs = m.Needs || slices.ContainsFunc(object.Required, func(r toolfold.Param) bool { return path+"."+r.Name == m.Path })
		}
		list = append(list, members...)
	}
	return list
}

// formats explains the formats that a family's parameters use.
func formats(s *toolfold.Family) (list []string) {
	used := map[string]bool{}
	for _, a := range s.Actions {
		for _, p := range parameters("", a.Params()) {
			used[p.Param.Format] = true
		}
	}
	for _, f := range []struct{ name, text string }{
		{"date", "a day, such as `2026-01-31`"},
		{"date-time", "RFC 3339 with its zone, such as `2026-01-31T12:00:00Z`"},
		{"uri", "absolute, with its scheme"},
		{"uuid", "an id as results have it, in 8-4-4-4-12 hexadecimal digits"},
	} {
		if used[f.name] {
			list = append(list, fmt.Sprintf("`%s` is %s", f.name, f.text))
		}
	}
	return list
}

// bounds describes the limits of a parameter.
func bounds(p toolfold.Param) string {
	list := limits(p)
	if p.Items != nil {
		for _, limit := range limits(*p.Items) {
			list = append(list, "each "+limit)
		}
	}
	for _, other := range p.Also {
		list = append(list, "also `"+other+"`")
	}
	if len(list) == 0 {
		return ""
	}
	text := strings.Join(list, ", ")
	return " " + strings.ToUpper(text[:1]) + text[1:] + "."
}

func limits(p toolfold.Param) (list []string) {
	between := func(least, most float64, of string) {
		number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
		switch {
		case least == most && least != 0:
			list = append(list, number(least)+of)
		case !math.IsInf(least, -1) && !math.IsInf(most, 1):
			list = append(list, number(least)+" to "+number(most)+of)
		case !math.IsInf(least, -1):
			list = append(list, "at least "+number(least)+of)
		case !math.IsInf(most, 1):
			list = append(list, "at most "+number(most)+of)
		}
	}
	count := func(least, most int, of string) {
		low, high := math.Inf(-1), math.Inf(1)
		if least > 0 {
			low = float64(least)
		}
		if most > 0 {
			high = float64(most)
		}
		between(low, high, of)
	}
	low, high := math.Inf(-1), math.Inf(1)
	if p.Min != nil {
		low = *p.Min
	}
	if p.Max != nil {
		high = *p.Max
	}
	between(low, high, "")
	count(p.MinLen, p.MaxLen, " characters")
	count(p.MinItems, p.MaxItems, " items")
	return list
}
