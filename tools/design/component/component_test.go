package component_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/test/golden"
	"github.com/toolfold/toolfold/tools/design/component"
)

// hostile are texts that end comments and literals somewhere.
var hostile = []string{
	`"; drop`, "*/ alert(1) /*", `""" + x + """`, "line\nbreak\r\u2028\u0085next", `\u002a/ \u000a int x;`, "`${x}`",
	"</script>", "#\x00{}", "'''\\", "\u202egnihton", "日本語 🎉", "@link {@code x}", "*\u200b/", "*\\/", "//", "/*", `\`, `ends with "`,
}

func optional() *bool { return new(bool) }

// order has something in every field of the model.
func order(kind string) component.Model {
	return component.Model{
		Name: "place order", Type: kind, Description: "Places an order.\nAsks the stock first.",
		Inputs: []component.Input{
			{Name: "customer-id", Type: "uuid", Description: "Who orders."},
			{Name: "lines", Type: "OrderLine[]"},
			{Name: "due", Type: "Date", Required: optional()},
			{Name: "class", Type: "map<string, number?>", Description: "Prices by class."},
			{Name: "tags", Type: "set<string>", Required: optional()},
			{Name: "count", Type: "int | null"},
			{Name: "whenDone", Type: "callback"},
		},
		Outputs: []component.Output{{Name: "orderID", Type: "string", Description: "Of the new order."},
			{Name: "lines", Type: "list<OrderLine>"}, {Name: "raw", Type: "bytes"}, {Name: "extra", Type: "any"}},
		Dependencies: []string{"StockService", "event bus"},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, lang := range component.Languages() {
		if lang == "other" {
			continue
		}
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, kind := range []string{"service", "repository", "function", "module"} {
				m := order(kind)
				if kind == "service" {
					m.Patterns = []string{"singleton", "factory", "CQRS"}
				}
				fmt.Fprintf(&b, "-- %s --\n%s", kind, generate(t, m, lang).File())
			}
			for _, framework := range []string{"React", "Vue"} {
				m := order("component")
				if m.Patterns = []string{framework}; strings.HasSuffix(lang, "script") {
					fmt.Fprintf(&b, "-- component of %s --\n%s", framework, generate(t, m, lang).File())
				}
			}
			golden.Compare(t, "testdata/"+lang+".txtar", b.String())
		})
	}
}

func generate(t *testing.T, m component.Model, lang string) component.Code {
	t.Helper()
	code, problems := component.Generate(m, lang)
	if len(problems) > 0 {
		t.Fatalf("%s %s: %+v", lang, m.Type, problems)
	}
	if again, _ := component.Generate(m, lang); again != code {
		t.Errorf("%s %s: the same model gave another text", lang, m.Type)
	}
	return code
}

// Each part of the model changes the text, in every language.
func TestEverythingShapesTheText(t *testing.T) {
	t.Parallel()
	for _, lang := range component.Languages() {
		if lang == "other" {
			continue
		}
		whole := generate(t, order("service"), lang).File()
		for what, change := range map[string]func(*component.Model){
			"type":         func(m *component.Model) { m.Type = "controller" },
			"description":  func(m *component.Model) { m.Description = "Another." },
			"inputs":       func(m *component.Model) { m.Inputs = m.Inputs[1:] },
			"outputs":      func(m *component.Model) { m.Outputs = m.Outputs[1:] },
			"dependencies": func(m *component.Model) { m.Dependencies = m.Dependencies[1:] },
			"required":     func(m *component.Model) { m.Inputs[1].Required = optional() },
			"singleton":    func(m *component.Model) { m.Patterns = []string{"Singleton"} },
			"factory":      func(m *component.Model) { m.Patterns = []string{"factory"} },
			"decorator":    func(m *component.Model) { m.Patterns = []string{"decorator"} },
			"any pattern":  func(m *component.Model) { m.Patterns = []string{"saga"} },
		} {
			m := order("service")
			change(&m)
			if generate(t, m, lang).File() == whole {
				t.Errorf("%s: %s changes nothing", lang, what)
			}
		}
		texts := map[string]string{}
		for _, kind := range component.Types() {
			text := generate(t, order(kind), lang).File()
			if other := texts[text]; other != "" {
				t.Errorf("%s: %s and %s are the same", lang, kind, other)
			}
			texts[text] = kind
		}
	}
}

// Frameworks make components in scripts alone, and of nothing else.
func TestFrameworks(t *testing.T) {
	t.Parallel()
	m := order("component")
	m.Patterns = []string{"react", "vue"}
	_, problems := component.Generate(m, "typescript")
	if len(problems) != 1 || problems[0].Path != "/patterns" {
		t.Errorf("of both: %+v", problems)
	}
	m.Patterns, m.Inputs[1].Name = []string{"vue"}, "Key"
	_, problems = component.Generate(m, "javascript")
	if len(problems) != 1 || problems[0].Path != "/inputs/1/name" {
		t.Errorf("a property that is Vue's: %+v", problems)
	}
	m.Patterns, m.Inputs[1].Name = []string{"react", "React"}, "on lines"
	_, problems = component.Generate(m, "javascript")
	if len(problems) != 1 || problems[0].Path != "/outputs/1/name" {
		t.Errorf("a property called like an event: %+v", problems)
	}
	for _, other := range []struct{ kind, lang string }{{"component", "python"}, {"service", "typescript"}, {"hook", "typescript"}} {
		m := order(other.kind)
		m.Patterns = []string{"react"}
		if text := generate(t, m, other.lang).File(); strings.Contains(text, "ReactNode") || !strings.Contains(text, "Patterns: react.") {
			t.Errorf("%v: %s", other, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		change func(*component.Model)
		path   string
	}{
		"a name without letters":    {func(m *component.Model) { m.Name = "***" }, "/name"},
		"a name of another script":  {func(m *component.Model) { m.Name = "注文" }, "/name"},
		"a type that is none":       {func(m *component.Model) { m.Inputs[1].Type = "string; drop" }, "/inputs/1/type"},
		"alternatives":              {func(m *component.Model) { m.Inputs[1].Type = "string | number" }, "/inputs/1/type"},
		"a type of another generic": {func(m *component.Model) { m.Inputs[1].Type = "Tree<string>" }, "/inputs/1/type"},
		"a type that is not closed": {func(m *component.Model) { m.Inputs[1].Type = "list<string" }, "/inputs/1/type"},
		"a type that is too deep": {func(m *component.Model) {
			m.Inputs[1].Type = strings.Repeat("list<", 40) + "int"
		}, "/inputs/1/type"},
		"a type with too many brackets":   {func(m *component.Model) { m.Inputs[1].Type = "int" + strings.Repeat("[]", 40) }, "/inputs/1/type"},
		"a key that cannot be one":        {func(m *component.Model) { m.Inputs[1].Type = "map<number, int>" }, "/inputs/1/type"},
		"an output that is nothing":       {func(m *component.Model) { m.Outputs[0].Type = "void" }, "/outputs/0/type"},
		"two inputs that become the same": {func(m *component.Model) { m.Inputs[1].Name = "CUSTOMER ID" }, "/inputs/1/name"},
		"a dependency named twice":        {func(m *component.Model) { m.Dependencies = []string{"event bus", "EventBus"} }, "/dependencies/1"},
		"a dependency without letters":    {func(m *component.Model) { m.Dependencies[0] = "?" }, "/dependencies/0"},
		"a repository that keeps nothing": {func(m *component.Model) { m.Type, m.Outputs = "repository", nil }, "/outputs"},
		"a language without a generator":  {nil, "/language"},
	} {
		m, lang := order("service"), "rust"
		if test.change == nil {
			lang = "other"
		} else {
			test.change(&m)
		}
		code, problems := component.Generate(m, lang)
		if code != (component.Code{}) {
			t.Errorf("%s: there is code beside the problems", what)
		}
		var paths []string
		for _, p := range problems {
			paths = append(paths, p.Path)
		}
		if diff := cmp.Diff([]string{test.path}, paths); diff != "" {
			t.Errorf("%s: %s %+v", what, diff, problems)
		}
	}
}
