package architecture_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/tools/design/architecture"
)

// shop has a component of every type.
func shop() architecture.Model {
	m := architecture.Model{Name: "Book shop", Description: "Sells books.\n\nAnd *maps*.", Pattern: "hexagonal"}
	for i, kind := range architecture.Types() {
		c := architecture.Component{ID: "id " + kind, Name: "The " + kind, Type: kind}
		if i > 0 {
			c.Description = "Does | things, at length: " + strings.Repeat("and more ", 20)
			c.Dependencies = []string{"id domain", "id domain", "id external"}
		}
		m.Components = append(m.Components, c)
	}
	return m
}

func generate(t *testing.T, m architecture.Model, format string) architecture.Drawing {
	t.Helper()
	d, problems := architecture.Generate(m, format)
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", format, problems)
	}
	if again, _ := architecture.Generate(m, format); !reflect.DeepEqual(again, d) {
		t.Errorf("%s: the same model gave another drawing", format)
	}
	return d
}

// small are systems of what shop lacks: one drawn across, one that keeps to its pattern, and one of
// no pattern.
func small() []architecture.Model {
	parts := []architecture.Component{{ID: "ui", Name: "Counter", Type: "presentation", Description: "Sells.", Dependencies: []string{"db"}},
		{ID: "db", Name: "Shelf", Type: "database"}}
	return []architecture.Model{
		{Name: "Flow", Description: "Goes on.", Pattern: "pipe-filter", Components: parts},
		{Name: "Layers", Pattern: "layered", Components: parts}, {Name: "Plain", Pattern: "other", Components: parts},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, m := range append([]architecture.Model{shop()}, small()...) {
		for _, format := range []string{architecture.Mermaid, architecture.PlantUML, architecture.C4} {
			fmt.Fprintf(&b, "-- %s %s --\n%s", m.Name, format, generate(t, m, format).Diagram)
		}
		fmt.Fprintf(&b, "-- %s markdown --\n%s", m.Name, generate(t, m, architecture.Markdown).Documentation)
	}
	golden.Compare(t, "testdata/architecture.txtar", b.String())
}

// hostile are texts that end labels, lines or cells somewhere.
var hostile = []string{
	`a"]; click c1 "javascript:alert(1)`, "end", "a\nb --> c1", "%%{init: {}}%%", "`x`", "#quot;", "<script>", "a|b", "```", "@enduml",
	"'comment",
	`"), Rel(c1, c2, "`, "!include /etc/passwd", `%getenv("HOME")`, "$x", "<b>", "[[http://x]]", "~~~", "**b** __u__ //i// --s--", "\\n",
	"---", "日本語 🎉", "&lt;", "1. x", "\u202e",
}

// models are the plain one, one that is drawn across, and as many as it takes
// to have every hostile text as the name of a system or component.
func models() []architecture.Model {
	across := shop()
	across.Pattern = "cqrs"
	list := []architecture.Model{shop(), across}
	for from := 0; from < len(hostile); {
		m := shop()
		m.Name, m.Description = hostile[from]+"x", hostile[from]
		for i := range m.Components {
			text := hostile[from]
			m.Components[i] = architecture.Component{ID: fmt.Sprint(text, i), Name: text + "y", Type: m.Components[i].Type, Description: text}
			if from++; from == len(hostile) {
				m.Components = m.Components[:i+1]
				break
			}
		}
		list = append(list, m)
	}
	return list
}

// A diagram has as many lines, quotes and brackets as the same one with plain
// names: nothing in a name means anything.
func TestNamesCannotBreakDiagrams(t *testing.T) {
	t.Parallel()
	for _, format := range []string{architecture.Mermaid, architecture.PlantUML, architecture.C4} {
		skeleton := func(m architecture.Model) string {
			diagram := generate(t, m, format).Diagram
			_, diagram, _ = strings.Cut(diagram, "\n---\n") // the title of Mermaid is a YAML text
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune("\"\n[]{}|!\\`%$@", r) {
					return r
				}
				return -1
			}, diagram)
		}
		plain := shop()
		for i := range plain.Components {
			plain.Components[i].Dependencies = plain.Components[0].Dependencies
		}
		for _, text := range hostile {
			m := shop()
			for i := range m.Components {
				m.Components[i].Name, m.Components[i].Description = text+"y", text
				m.Components[i].Dependencies = nil
			}
			if diff := cmp.Diff(skeleton(plain), skeleton(m)); diff != "" {
				t.Errorf("%s: %q changes the diagram: %s", format, text, diff)
			}
		}
	}
}

// mustHaveTools is set where everything is installed, so that nothing is left
// out there.
const mustHaveTools = "TOOLFOLD_TEST_COMPILERS"

// c4Macros stand in for the library of C4-PlantUML, which Debian's PlantUML
// comes without.
const c4Macros = `!define LAYOUT_LEFT_RIGHT() left to right direction
!define System_Boundary(id, label) rectangle "label" as id
!define Boundary(id, label) rectangle "label" as id
!define Container(id, label, kind, text) component "label" as id
!define ContainerDb(id, label, kind, text) database "label" as id
!define ContainerQueue(id, label, kind, text) queue "label" as id
!define System_Ext(id, label, text) cloud "label" as id
!define Rel(from, to, label) from --> to : label
`

func TestPlantUMLReads(t *testing.T) {
	t.Parallel()
	command, err := exec.LookPath("plantuml")
	if err != nil && os.Getenv(mustHaveTools) != "" {
		t.Fatalf("plantuml is not installed, and %s is set", mustHaveTools)
	}
	if err != nil {
		t.Skip("plantuml is not installed: what is drawn for it was not read here")
	}
	dir := t.TempDir()
	args := []string{"-checkonly", "-charset", "UTF-8"}
	for i, m := range models() {
		for _, format := range []string{architecture.PlantUML, architecture.C4} {
			diagram := strings.Replace(generate(t, m, format).Diagram, "!include <C4/C4_Container>\n", c4Macros, 1)
			file := filepath.Join(dir, fmt.Sprintf("%d-%s.puml", i, format))
			if err := os.WriteFile(file, []byte(diagram), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
	}
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-Djava.awt.headless=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		change func(*architecture.Model)
		path   string
	}{
		"no name":                    {func(m *architecture.Model) { m.Name = "\n" }, "/name"},
		"an id twice":                {func(m *architecture.Model) { m.Components[3].ID = m.Components[2].ID }, "/components/3/id"},
		"a component without a name": {func(m *architecture.Model) { m.Components[3].Name = " " }, "/components/3/name"},
		"a dependency that there is not": {func(m *architecture.Model) {
			m.Components[3].Dependencies[1] = "id Domain"
		}, "/components/3/dependencies/1"},
		"more dependencies than there are": {func(m *architecture.Model) {
			m.Components[3].Dependencies = strings.Split(strings.Repeat("id domain,", 11)+"id domain", ",")
		}, "/components/3/dependencies"},
	} {
		m := shop()
		test.change(&m)
		drawing, problems := architecture.Generate(m, architecture.C4)
		if !reflect.DeepEqual(drawing, architecture.Drawing{}) {
			t.Errorf("%s: there is a drawing beside the problems", what)
		}
		var paths []string
		for _, p := range problems {
			paths = append(paths, p.Path)
		}
		if diff := cmp.Diff([]string{test.path}, paths); diff != "" {
			t.Errorf("%s: %s %+v", what, diff, problems)
		}
	}
	if _, problems := architecture.Generate(shop(), "ascii"); len(problems) != 1 || problems[0].Path != "/format" {
		t.Errorf("a format that there is not: %+v", problems)
	}
}
