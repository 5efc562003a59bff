package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// nested repeats a text on separate lines, so that lines stay short.
func nested(text string, n int) string { return strings.Repeat(text+"\n", n) }

// doubled returns declarations that each use the previous one twice. %[1]d is the number of a
// declaration, and %[2]d the previous number.
func doubled(first, each string, n int) string {
	var all strings.Builder
	all.WriteString(first + "\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&all, each+"\n", i, i-1)
	}
	return all.String()
}

// numbered returns a text for each number.
func numbered(each string, n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, each+"\n", i)
	}
	return all.String()
}

// hostileGo returns packages on which a parser, the type checker, an analyser, a compiler or the go
// command could use unlimited time or memory. Each has an honest package beside it.
func hostileGo() map[string]map[string]string {
	of := func(text string) map[string]string { return map[string]string{"a/a.go": "package a\n\n" + text} }
	doubling := "import \"unsafe\"\n\n" + doubled("type A0 struct{ a int }", "type A%d struct{ a, b A%d }", 60) +
		"const size = unsafe.Sizeof(A60{})\n"
	imports := func(path string) string { return "package a\n\nimport _ \"" + path + "\"\n" }
	h := "package h\n\n" + doubling
	return map[string]map[string]string{
		"parentheses":         of("var X = " + nested("(", 90_000) + "1" + strings.Repeat(")", 90_000)),
		"functions":           of("var X = " + nested("func(){", 24_000) + nested("}", 24_000)),
		"not":                 of("var X = " + nested("!", 99_000) + "true\n"),
		"minus":               of("func F(x int) int { return " + nested("- ", 99_000) + "x }\n"),
		"sum":                 of("func F(x string) string { return x" + strings.Repeat("+\nx", 99_000) + "}\n"),
		"calls":               of("type T struct{}\n\nfunc (t T) F() T { return t }\n\nvar X = T{}" + strings.Repeat(".\nF()", 49_000) + "\n"),
		"literals":            of("var X = " + nested("[]any{", 30_000) + strings.Repeat("}", 30_000) + "\n"),
		"blocks":              of("func F() " + nested("{", 30_000) + nested("}", 30_000)),
		"else":                of("func F(x int) {\n" + nested("if x > 0 {} else", 40_000) + "{}\n}\n"),
		"pointers":            of("var X " + nested("*", 90_000) + "int\n"),
		"array":               of("var X [1 << 46]int\n\nvar Y = [1 << 40]byte{1<<40 - 1: 1}\n\nfunc F() { x := X; _ = x }\n"),
		"size":                of(doubling),
		"size in a test":      {"a/a_test.go": "package a\n\n" + doubling},
		"generic without end": of("type T[P any] struct{ f *T[[]P] }\n\nfunc F[P any]() { F[[]P]() }\n\nvar X T[int]\n"),
		"generic copies":      of("func F() { F0(1) }\n\n" + copies(40)),
		"constants":           of(doubled("const c0 = 1<<500 + 0.1", "const c%d = c%d * c%[2]d / 3", 3000)),
		"text":                of(doubled("const s0 = \"0123456789\"", "const s%d = s%d + s%[2]d", 40) + "const n = len(s40)\n"),
		"large literal":       of("var X = map[string]any{\n" + numbered("\"k%[1]d\": []int{%[1]d},", 40_000) + "}\n"),
		"switch":              of("func F(x int) int {\nswitch x {\n" + numbered("case %[1]d:\n\treturn x * %[1]d", 30_000) + "}\nreturn 0\n}\n"),
		"cycle":               {"a/a.go": imports("example.com/m/b"), "b/b.go": "package b\n\nimport _ \"example.com/m/a\"\n"},
		"interfaces":          of(doubled("type I0 interface{ M() }", "type I%d interface{ I%d; N%[1]d() I%[1]d }", 4000) + "var X I4000\n"),
		"methods": of("type T struct{}\n\n" + numbered("func (T) M%d() {}", 30_000) +
			"type I interface {\n" + numbered("M%d()", 30_000) + "}\n\nvar X I = T{}\n"),
		"type sets": of(doubled("type C0 interface{ int | string }", "type C%d interface{ C%d | C%[2]d }", 40) + "func F[T C40](t T) {}\n"),
		"shifts":    of("const c = 1" + strings.Repeat("<<\n1", 90_000) + "\n\nvar X = 1 << 1 << 1000000000000\n"),
		"embedded": of(doubled("type E0 struct{ X int }", "type E%d struct{ E%d; *F%[2]d }\ntype F%[1]d struct{ E%[2]d }", 300) +
			"type F0 struct{ X int }\n\nvar X = E300{}.X\n"),
		"same": of(doubled("type A0 = int\ntype B0 = int", "type A%[1]d = struct{ a, b A%[2]d }\ntype B%[1]d = struct{ a, b B%[2]d }", 40) +
			"var a A40\n\nvar X B40 = a\n"),
		"jumps":      of("func F(x int) {\n" + numbered("l%[1]d:\n\tif x > %[1]d {\n\t\tx++\n\t\tgoto l%[1]d\n\t}", 15_000) + "}\n"),
		"loops":      of("func F(x int) {\n" + nested("for x > 0 {", 3000) + "x++\n" + nested("}", 3000) + "}\n"),
		"constraint": {"a/a.go": "//go:build " + strings.Repeat("(", 100_000) + "\n\npackage a\n", "a/b.go": "package a\n"},
		"embedded files": {"a/a.go": "package a\n\nimport _ \"embed\"\n\n//go:embed " + strings.Repeat("*a", 200) + "\nvar X string\n",
			"a/" + strings.Repeat("a", 200): ""},
		"C": {"a/a.go": "package a\n\n// " + strings.Repeat("#include </dev/zero>\n// ", 10_000) + "\nimport \"C\"\n\nvar X = C.x\n"},
		"replaced": {"go.mod": goMod + "\nrequire example.com/h v1.0.0\n\nreplace example.com/h => ./h\n",
			"h/go.mod": "module example.com/h\n", "h/h.go": h, "a/a.go": imports("example.com/h")},
		"go.work": {"go.work": "go 1.22\n\nuse .\nuse ./h\n", "h/go.mod": "module example.com/h\n\ngo 1.22\n", "h/h.go": h,
			"a/a.go": imports("example.com/h")},
		"vendor": {"go.mod": goMod + "\nrequire example.com/h v1.0.0\n", "vendor/example.com/h/h.go": h,
			"vendor/modules.txt": "# example.com/h v1.0.0\n## explicit\nexample.com/h\n", "a/a.go": imports("example.com/h")},
	}
}

// copies returns n generic functions. Each needs twice as many instances as the previous one.
func copies(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "func F%d[T any](v T) { F%d(struct{ a T }{v}); F%[2]d([]T{v}) }\n", i, i+1)
	}
	fmt.Fprintf(&all, "func F%d[T any](T) {}\n", n)
	return all.String()
}

const goMod = "module example.com/m\n\ngo 1.22\n"

// Hostile Go only affects itself: other packages are analysed, each step ends by itself or at its
// limit, which is reported, and importers are still scanned.
func TestHostileGo(t *testing.T) {
	t.Parallel()
	kinds := hostileGo()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := Scanner{Dir: t.TempDir()}
			if !full() {
				s.limit = time.Second
			}
			s.write(t, "go.mod", goMod)
			for name, text := range kinds[kind] {
				s.write(t, name, text)
			}
			s.write(t, "ok/ok.go", "package ok\n\nimport \"fmt\"\n\nfunc F(a int) {\n\ta = a\n\tfmt.Printf(\"%s\\n\", a)\n}\n")
			report := s.must(t, Request{Purpose: Bugs})
			t.Logf("skipped %.600v", report.Skipped)
			found := strings.Join(places(report.Findings), " ")
			if !strings.Contains(found, "ok/ok.go:6 vet/assign") || !strings.Contains(found, "ok/ok.go:7 vet/printf") {
				t.Errorf("found beside it: %s", found)
			}
			for _, skipped := range report.Skipped {
				if skipped.Path == "ok" || strings.Contains(skipped.Reason, "exit status") {
					t.Errorf("%s: %s", skipped.Path, skipped.Reason)
				}
			}
		})
	}
}
