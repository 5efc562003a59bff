package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolfold/toolfold/internal/code/imports"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/test/golden"
)

// read returns what the files of an archive import.
func read(t *testing.T, archive *txtar.Archive) *imports.Graph {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := imports.Read(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// drawn is the drawing of a graph.
func drawn(t *testing.T, m Model, g *imports.Graph, format string) Drawing {
	t.Helper()
	m, problems := fromImports(m, g)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	d, problems := Generate(m, format)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	return d
}

func TestFoldersGolden(t *testing.T) {
	t.Parallel()
	for language, pattern := range map[string]string{"go": "hexagonal", "typescript": "layered", "python": "clean"} {
		archive, err := txtar.ParseFile("testdata/sources-" + language + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		m, g := Model{Name: "Shop", Description: "As it is.", Pattern: pattern}, read(t, archive)
		var b strings.Builder
		for _, format := range []string{Mermaid, PlantUML, C4} {
			fmt.Fprintf(&b, "-- %s --\n%s", format, drawn(t, m, g, format).Diagram)
		}
		fmt.Fprintf(&b, "-- markdown --\n%s", drawn(t, m, g, Markdown).Documentation)
		golden.Compare(t, "testdata/drawn-"+language+".txtar", b.String())
	}
}

// graph is one of files and arrows between them, "a/x.go>b".
func graph(files string, arrows ...string) *imports.Graph {
	g := &imports.Graph{Sources: scan.Sources{Folder: "."}}
	for name := range strings.FieldsSeq(files) {
		name, main := strings.CutSuffix(name, "!")
		g.Files = append(g.Files, scan.SourceFile{Name: name, Main: main})
	}
	for i, arrow := range arrows {
		from, to, _ := strings.Cut(arrow, ">")
		g.Arrows = append(g.Arrows, imports.Arrow{From: from, Line: i + 1, To: to})
	}
	return g
}

// types lists the components with their types.
func types(t *testing.T, m Model, g *imports.Graph) (list []string) {
	t.Helper()
	m, problems := fromImports(m, g)
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	for _, c := range m.Components {
		list = append(list, c.ID+" "+c.Type)
	}
	return list
}

func TestTypesOfFolders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, files string
		want        []string
	}{
		{"every name", "x/Domain/a.go x/use_cases/a.go x/service-layer/a.go x/repositories/a.go x/stores/a.go x/other/a.go x/a.go",
			[]string{"x ", "x/Domain domain", "x/other ", "x/repositories infrastructure", "x/service-layer application",
				"x/stores infrastructure", "x/use_cases application"}},
		{"folders below are of the layer", "domain/order/vo/a.go domain/services/a.go ports/repositories/a.go db/models/a.go",
			[]string{"db/models infrastructure", "domain/order/vo domain", "domain/services domain", "ports/repositories port"}},
		{"what holds layers is none", "services/user/models/a.go services/user/util/a.go services/user/a.go web/services/a.go web/a.go",
			[]string{"services/user ", "services/user/models domain", "services/user/util ", "web ", "web/services application"}},
		{"app and core only beside others", "a/app/a.go a/core/a.go b/app/a.go b/core/x/a.go b/adapters/a.go",
			[]string{"a/app ", "a/core ", "b/adapters adapter", "b/app application", "b/core/x domain"}},
		{"what scripts call a store", "a/store/x.ts b/store/x.go c/stores/x.py",
			[]string{"a/store ", "b/store infrastructure", "c/stores infrastructure"}},
		{"a main package puts others together", "app/main.go! domain/a.go", []string{"app ", "domain domain"}},
		{"files in folders of no layer", "u/u.controller.ts u/u.service.ts u/x.service.ts u/u.module.ts p/models.py p/views.py db/models.py " +
			"p/models.go p/Views.py p/application.py",
			[]string{"db infrastructure", "p ", "p/models.py domain", "p/views.py presentation", "u ", "u/*.controller.ts presentation",
				"u/*.service.ts application"}},
	} {
		if diff := cmp.Diff(test.want, types(t, Model{Name: "x"}, graph(test.files))); diff != "" {
			t.Errorf("%s: %s", test.what, diff)
		}
	}
}

// A folder that the caller names is one component with those below it, of the type that the caller gives.
func TestTypesOfNamedFolders(t *testing.T) {
	t.Parallel()
	g := graph("ports/http/a.go ports/grpc/a.go app/a.go lib/deep/a.go lib/a.go", "ports/http/a.go>app", "app/a.go>lib/deep")
	m := Model{Name: "x", Pattern: "clean", Components: []Component{
		{ID: "ports", Name: "Entry", Type: "presentation", Description: "HTTP and gRPC."}, {ID: "./app/", Name: "App", Type: "application"},
		{ID: "lib/deep", Name: "Deep", Type: "database"},
	}}
	want := []string{"app application", "lib ", "lib/deep database", "ports presentation"}
	if diff := cmp.Diff(want, types(t, m, g)); diff != "" {
		t.Error(diff)
	}
	d := drawn(t, m, g, Mermaid)
	if len(d.Breaks) != 1 || d.Breaks[0].From != "app" || d.Breaks[0].To != "lib/deep" || d.Breaks[0].At != "app/a.go:2" {
		t.Errorf("%+v", d.Breaks)
	}
	if !strings.Contains(d.Diagram, "Deep") || !strings.Contains(d.Diagram, "Entry") {
		t.Errorf("the names that were given are not drawn: %s", d.Diagram)
	}
	for path, c := range map[string]Component{
		"/components/0/id":           {ID: "gone", Name: "x", Type: "domain"},
		"/components/0/dependencies": {ID: "app", Name: "x", Type: "domain", Dependencies: []string{"lib"}},
	} {
		_, problems := fromImports(Model{Components: []Component{c}}, g)
		if len(problems) != 1 || problems[0].Path != path {
			t.Errorf("%s: %+v", path, problems)
		}
	}
}

// What breaks a pattern is the same, however many folders are drawn as one.
func TestFolding(t *testing.T) {
	t.Parallel()
	var files, imported []string
	for i := range 30 {
		files = append(files, fmt.Sprintf("m%02d/domain/a.go m%02d/infra/deep/a.go", i, i))
		imported = append(imported, fmt.Sprintf("m%02d/domain/a.go>m%02d/infra/deep", i, i),
			fmt.Sprintf("m%02d/domain/a.go>m%02d/domain", i, (i+1)%30))
	}
	g := graph(strings.Join(files, " "), imported...)
	d := drawn(t, Model{Name: "x", Pattern: "clean"}, g, Mermaid)
	if len(d.Breaks) != 31 || d.Breaks[0].From != "m00/domain" || d.Breaks[0].To != "m00/infra/deep" ||
		!strings.HasPrefix(d.Breaks[30].Why, "cycle: ") {
		t.Errorf("%+v", d.Breaks)
	}
	const note = "50 of 60 folders are drawn, which hold the rest; breaks name each as it is"
	if got := strings.Count(d.Diagram, "[\""); got != 50+3 || !slices.Contains(d.Notes, note) {
		t.Errorf("%d components and groups, %q", got, d.Notes)
	}
	for i := range 60 {
		files = append(files, fmt.Sprintf("n%02d/a.go", i))
	}
	component := Component{ID: "n59", Name: "n59", Type: "port"}
	list := types(t, Model{Name: "x", Components: []Component{component}}, graph(strings.Join(files, " ")))
	if len(list) != 50 || !slices.Contains(list, "n59 port") || !slices.Contains(list, ". ") {
		t.Errorf("%d components: %q", len(list), list)
	}
}

// Folders of several layers are opened before larger ones of one, and what all hold is kept.
func TestLargeFoldersAreOpened(t *testing.T) {
	t.Parallel()
	files := "a/one/two/domain/x.go a/one/two/infra/x.go main.go"
	for i := range 40 {
		files += fmt.Sprintf(" b/n%02d/x.go b/n%02d/deep/x.go c%02d/x.go", i, i, i)
	}
	list := types(t, Model{Name: "x"}, graph(files))
	want := []string{". ", "a/one/two/domain domain", "a/one/two/infra infrastructure", "b "}
	if diff := cmp.Diff(want, list[:4]); diff != "" || len(list) != 44 {
		t.Errorf("%d components: %s", len(list), diff)
	}
}

// Those who keep records know them, in whatever layer these are.
func TestRecordsOfLayers(t *testing.T) {
	t.Parallel()
	g := graph("models/x.go domain/x.go db/x.go", "db/x.go>models", "db/x.go>domain")
	d := drawn(t, Model{Name: "x", Pattern: "layered"}, g, Mermaid)
	if len(d.Breaks) != 1 || d.Breaks[0].To != "domain" {
		t.Errorf("%+v", d.Breaks)
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	g := graph("a/x.ts b/x.ts c/x.ts d/x.ts domain/x.ts infra/x.ts", "a/x.ts>b/x.ts", "a/x.ts>b/x.ts", "b/x.ts>c/x.ts", "c/x.ts>a/x.ts",
		"c/x.ts>a/x.ts", "a/x.ts>d/x.ts", "domain/x.ts>infra/x.ts", "infra/x.ts>domain/x.ts")
	d := drawn(t, Model{Name: "x", Pattern: "layered"}, g, Mermaid)
	want := []Break{
		{From: "infra", To: "domain", Why: "infrastructure is a layer below domain", At: "infra/x.ts:8"},
		{From: "b", To: "c", Why: "cycle: b → c → a → b; 1 import here", At: "b/x.ts:3"},
	}
	if diff := cmp.Diff(want, d.Breaks); diff != "" {
		t.Error(diff)
	}
	if d := drawn(t, Model{Name: "x", Pattern: "cqrs"}, g, Mermaid); len(d.Breaks) > 0 ||
		!strings.Contains(strings.Join(d.Notes, "\n"), "cqrs is not checked") {
		t.Errorf("%+v", d)
	}
}

// Names of folders tell no databases, which services own; the caller can.
func TestSharedFolder(t *testing.T) {
	t.Parallel()
	g := graph("a/x.go b/x.go tables/x.go", "a/x.go>tables", "b/x.go>tables")
	m := Model{Name: "x", Pattern: "microservices"}
	if d := drawn(t, m, g, Mermaid); len(d.Breaks) > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "microservices is not checked") ||
		strings.Contains(d.Documentation, "Every arrow") {
		t.Errorf("%+v", d)
	}
	m.Components = []Component{{ID: "tables", Name: "Tables", Type: "database"}}
	if d := drawn(t, m, g, Mermaid); len(d.Breaks) != 2 || d.Breaks[1].At != "b/x.go:2" {
		t.Errorf("%+v", d.Breaks)
	}
}

// A long cycle is cut, like any text of files.
func TestLongCycle(t *testing.T) {
	t.Parallel()
	var files string
	var imported []string
	for i := range 60 {
		files += fmt.Sprintf(" folder%02d/x.ts", i)
		imported = append(imported, fmt.Sprintf("folder%02d/x.ts>folder%02d/x.ts", i, (i+1)%60))
	}
	d := drawn(t, Model{Name: "x", Pattern: "layered"}, graph(files, imported...), Mermaid)
	if len(d.Breaks) != 1 || len(d.Breaks[0].Why) > 2*maxWay || !strings.Contains(d.Breaks[0].Why, "…; 1 import here") {
		t.Errorf("%+v", d.Breaks)
	}
}

func TestManyBreaks(t *testing.T) {
	t.Parallel()
	files, imported := "infra/x.ts", []string{}
	for i := range 60 {
		files += fmt.Sprintf(" domain/d%d/x.ts", i)
		imported = append(imported, fmt.Sprintf("domain/d%d/x.ts>infra/x.ts", i))
	}
	d := drawn(t, Model{Name: "x", Pattern: "ddd"}, graph(files, imported...), Mermaid)
	if len(d.Breaks) != maxBreaks || !slices.Contains(d.Notes, "10 more arrows break the pattern") {
		t.Errorf("%d breaks, %q", len(d.Breaks), d.Notes)
	}
}
