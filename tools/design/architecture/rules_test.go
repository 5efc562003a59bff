package architecture

import (
	"strings"
	"testing"
)

// Each system is its arrows, from type to type; those that break the pattern are marked.
func TestArrowsThatBreakThePattern(t *testing.T) {
	t.Parallel()
	for pattern, arrows := range map[string]string{
		"layered": "presentation>application application>domain domain>database presentation>database domain>application! " +
			"port>presentation! infrastructure>domain! database>presentation! service>application",
		"clean": "presentation>application infrastructure>domain application>domain domain>application! application>infrastructure! " +
			"domain>port application>presentation!",
		"hexagonal":    "adapter>port adapter>database port>domain domain>port domain>adapter! application>database! domain>external!",
		"ddd":          "infrastructure>domain domain>infrastructure! domain>database!",
		"event-driven": "domain>presentation", "other": "domain>presentation",
	} {
		m := Model{Name: "n", Pattern: pattern}
		want := map[string]bool{}
		for _, arrow := range strings.Fields(arrows) {
			plain := strings.TrimSuffix(arrow, "!")
			from, to, _ := strings.Cut(plain, ">")
			m.Components = append(m.Components, Component{ID: plain + "/a", Name: from, Type: from, Dependencies: []string{plain + "/b"}},
				Component{ID: plain + "/b", Name: to, Type: to})
			want[plain] = arrow != plain
		}
		d, problems := Generate(m, Markdown)
		if problems != nil {
			t.Fatal(problems)
		}
		got := map[string]bool{}
		for _, b := range d.Breaks {
			got[strings.TrimSuffix(b.From, "/a")] = b.Why != "" && b.To != b.From
		}
		for arrow, breaks := range want {
			if got[arrow] != breaks {
				t.Errorf("%s: %s breaks it: %v", pattern, arrow, got[arrow])
			}
		}
		if hasBreaks := strings.Contains(d.Documentation, "These arrows break it"); hasBreaks != (len(d.Breaks) > 0) {
			t.Errorf("%s: the page says %v", pattern, hasBreaks)
		}
	}
}

func TestSharedDatabase(t *testing.T) {
	t.Parallel()
	m := Model{Name: "n", Pattern: "microservices", Components: []Component{{ID: "a", Name: "a", Type: "service",
		Dependencies: []string{"d", "e"}},
		{ID: "b", Name: "b", Type: "service", Dependencies: []string{"d", "a"}}, {ID: "d", Name: "d", Type: "database"},
		{ID: "e", Name: "e", Type: "database"}}}
	d, _ := Generate(m, Mermaid)
	if len(d.Breaks) != 2 || d.Breaks[0].From != "a" || d.Breaks[1].From != "b" || d.Breaks[0].To != "d" {
		t.Errorf("%+v", d.Breaks)
	}
}
