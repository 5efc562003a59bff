package component_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/tools/design/component"
)

// A test that was built with -trimpath does not know where the standard library is.
func TestMain(m *testing.M) {
	if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}
	os.Exit(m.Run())
}

// models are components of every type, plain, with everything, and with names
// that mean something in some language or end something in another.
func models() []component.Model {
	var list []component.Model
	for _, kind := range component.Types() {
		bare := component.Model{Name: "ping", Type: kind, Description: "Pings."}
		if kind == "repository" {
			bare.Outputs = []component.Output{{Name: "value", Type: "string"}}
		}
		full := order(kind)
		full.Patterns = []string{"singleton", "factory", "decorator", "proxy", "Saga"}
		list = append(list, bare, order(kind), full)
		for i, name := range []string{"class", "Self", "default", "Object", "main", "std", "run", "Promise", "2fa", "input", "Error", "None",
			"record", "shared instance", "type", "import", "self"} {
			if kind == "module" || kind == "service" || kind == "function" {
				list = append(list, reservedNames(name, kind, i))
			}
		}
	}
	for i, text := range hostile {
		m := order(component.Types()[i%len(component.Types())])
		m.Description, m.Patterns = text, []string{text, "factory"}
		m.Name = "n " + strings.Map(ascii, text)
		m.Inputs[0].Description, m.Outputs[0].Description = text, text
		m.Inputs[0].Name = "f " + strings.Map(ascii, text)
		list = append(list, m)
	}
	return list
}

// ascii drops letters of other scripts, which are refused in names.
func ascii(r rune) rune {
	if r > '~' {
		return '-'
	}
	return r
}

func reservedNames(name, kind string, i int) component.Model {
	m := component.Model{Name: name, Type: kind, Description: "d", Patterns: []string{"singleton", "factory"}[:i%3%2+1]}
	for _, word := range []string{"class", "type", "self", "input", "def", "fn", "func", "string", "__proto__", "constructor", "toString",
		"hashCode", "record", "match", "str", "async", "int64", "nil", "None", "any"} {
		m.Inputs = append(m.Inputs, component.Input{Name: word, Type: "string"})
		if word != "any" && word != "input" {
			m.Dependencies = append(m.Dependencies, word)
		}
	}
	m.Dependencies = append(m.Dependencies, "execute", "find", "new", "inner", "errors", "time", "sync", "ctx", "c", "Instant", "Option",
		"Vec", "Protocol", "dataclass", "Send", "Debug", "UnsupportedOperationException", "output")
	for _, kind := range []string{"String", "Vec", "Option2", "Protocol", "Record2", "Instant2", name + "Input", name + "Output", "Default" +
		name, "Error", "Result", "Box", "Uint8Array", "Override", "Foo[]", "[]Foo", "Promise<Foo>", "list[dict[str, Foo]]",
		"map<boolean, list<set<int>>>", "datetime", "Foo??"} {
		if words := strings.Fields(kind); len(words) > 0 && !strings.ContainsAny(name, " ") {
			m.Outputs = append(m.Outputs, component.Output{Name: fmt.Sprintf("out%d", len(m.Outputs)), Type: kind})
		}
	}
	return m
}

func TestGoCompiles(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	std := importer.ForCompiler(fset, "source", nil)
	for i, m := range models() {
		source := generate(t, m, "go").File()
		file, err := parser.ParseFile(fset, fmt.Sprintf("%d.go", i), source, parser.ParseComments)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if _, err := (&gotypes.Config{Importer: std}).Check("p", fset, []*ast.File{file}, nil); err != nil {
			t.Errorf("%v\n%s", err, source)
		}
		checkGoForm(t, fset, file)
	}
}

// checkGoForm holds a file to what go vet and gofmt's readers ask of one: no tag on a field that nothing
// encodes, imports in one group, any for the empty interface.
func checkGoForm(t *testing.T, fset *token.FileSet, file *ast.File) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				if n.Tag != nil && !name.IsExported() {
					t.Errorf("%s: %s has the tag %s", fset.Position(n.Pos()), name, n.Tag.Value)
				}
			}
		case *ast.InterfaceType:
			if len(n.Methods.List) == 0 {
				t.Errorf("%s: an interface without methods", fset.Position(n.Pos()))
			}
		case *ast.GenDecl:
			if first := fset.Position(n.Pos()).Line; n.Tok == token.IMPORT && fset.Position(n.End()).Line != first+len(n.Specs)+1 {
				t.Errorf("%s: the imports stand apart", fset.Position(n.Pos()))
			}
		}
		return true
	})
}

func TestPythonRuns(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	dir := write(t, "python", func(i int) string { return fmt.Sprintf("m%d.py", i) }, "")
	run(t, dir, python, "-W", "error", "-c", "import glob, importlib\nfor f in glob.glob('m*.py'): importlib.import_module(f[:-3])")
}

func TestJavaScriptRuns(t *testing.T) {
	t.Parallel()
	node := tool(t, "node")
	dir := write(t, "javascript", func(i int) string { return fmt.Sprintf("m%d.mjs", i) }, "")
	run(t, dir, node, "--input-type=module", "-e", "import {readdirSync} from 'node:fs'; for (const f of readdirSync('.')) await "+
		"import(process.cwd() + '/' + f);")
}

func TestRustCompiles(t *testing.T) {
	t.Parallel()
	rustc := tool(t, "rustc")
	dir := write(t, "rust", func(i int) string { return fmt.Sprintf("m%d.rs", i) }, "")
	var crate strings.Builder
	for i := range models() {
		fmt.Fprintf(&crate, "pub mod m%d;\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib.rs"), []byte(crate.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, rustc, "--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-D", "unused", "lib.rs")
}

func TestJavaCompiles(t *testing.T) {
	t.Parallel()
	javac := tool(t, "javac")
	dir := write(t, "java", func(i int) string { return fmt.Sprintf("m%d/File.java", i) }, "package m%d;\n")
	var files []string
	for i := range models() {
		files = append(files, fmt.Sprintf("m%d/File.java", i))
	}
	run(t, dir, javac, append([]string{"-encoding", "UTF-8", "-proc:none", "-Xdoclint:none", "-d", "out"}, files...)...)
}

// mustHaveTools is set where everything is installed, so that nothing is left
// out there.
const mustHaveTools = "TOOLFOLD_TEST_COMPILERS"

// tool finds a compiler; a test that needs one that is missing says so.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		err = exec.Command(path, "--version").Run() // it may be a launcher without anything to launch, as of rustup in a new home
	}
	if err != nil && os.Getenv(mustHaveTools) != "" {
		t.Fatalf("%s is not installed, and %s is set", name, mustHaveTools)
	}
	if err != nil {
		t.Skipf("%s is not installed: what is generated for it was not compiled here", name)
	}
	t.Logf("compiling with %s", path)
	return path
}

// write puts the code of every model into a new folder.
func write(t *testing.T, lang string, name func(i int) string, header string) string {
	t.Helper()
	dir := t.TempDir()
	for i, m := range models() {
		source := generate(t, m, lang).File()
		if header != "" {
			source = fmt.Sprintf(header, i) + source
		}
		file := filepath.Join(dir, name(i))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%.6000s", command, err, out)
	}
}

// Whatever the names and texts, nothing panics, and Go's parser and types
// accept what is made.
func FuzzComponent(f *testing.F) {
	for _, text := range hostile {
		f.Add("place order", "list<Foo?>", text, "event bus", text, 0)
		f.Add(text, text, text, text, "factory", 3)
	}
	fset := token.NewFileSet()
	std := importer.ForCompiler(fset, "source", nil)
	f.Fuzz(func(t *testing.T, name, kind, doc, dependency, pattern string, n int) {
		types := component.Types()
		m := component.Model{
			Name: name, Type: types[uint(n)%uint(len(types))], Description: doc, Patterns: []string{pattern, "decorator"},
			Inputs:       []component.Input{{Name: dependency, Type: kind, Description: doc}},
			Outputs:      []component.Output{{Name: name, Type: kind, Description: doc}},
			Dependencies: []string{dependency, name + "2"},
		}
		for _, lang := range component.Languages() {
			code, problems := component.Generate(m, lang)
			if len(problems) > 0 || lang != "go" {
				continue
			}
			file, err := parser.ParseFile(fset, "x.go", code.File(), parser.ParseComments)
			if err != nil {
				t.Fatalf("%v\n%s", err, code.File())
			}
			if _, err := (&gotypes.Config{Importer: std}).Check("p", fset, []*ast.File{file}, nil); err != nil {
				t.Fatalf("%v\n%s", err, code.File())
			}
		}
	})
}
