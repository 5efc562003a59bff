package arrows

import (
	"cmp"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// Tests may import any package except the whole application, see [overApplication].
func TestArrows(t *testing.T) {
	t.Parallel()
	checked, used := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
			checkTest(t, path, used)
		case strings.HasSuffix(path, ".go"):
			checked++
			checkFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range overApplication {
		if !used[rule] {
			t.Errorf("no test of %s is over the application: take it out of overApplication", rule)
		}
	}
	if checked < 20 {
		t.Errorf("only %d files were checked", checked)
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	from, imports := importsOf(t, path)
	for _, imported := range imports {
		checkImport(t, from, imported)
	}
}

// checkTest fails if a test imports the application without permission, and records in used the
// rule that allows it.
func checkTest(t *testing.T, path string, used map[string]bool) {
	t.Helper()
	from, imports := importsOf(t, path)
	for _, imported := range imports {
		if imported != module+"/internal/app" && imported != module+"/internal/test/workbench" {
			continue
		}
		i := slices.IndexFunc(overApplication, func(rule string) bool {
			return from == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(from, rule)
		})
		if i >= 0 {
			used[overApplication[i]] = true
		} else {
			t.Errorf("a test of %s imports %s, and so links the whole program: move it, or name the package in overApplication", from, imported)
		}
	}
}

// importsOf returns the folder of a file, relative to the root of the module, and its imports.
func importsOf(t *testing.T, path string) (dir string, imports []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		imports = append(imports, imported)
	}
	if dir, err = filepath.Rel(root, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(dir), imports
}

func checkImport(t *testing.T, from, imported string) {
	t.Helper()
	for library, home := range onlyIn {
		if strings.HasPrefix(imported, library) && from != home && from != plain {
			t.Errorf("%s imports %s: only %s may", from, imported, home)
		}
	}
	if imported != module && !strings.HasPrefix(imported, module+"/") {
		return
	}
	to := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"), ".")
	ok, known := allowed(from, to)
	if !known {
		t.Errorf("%s has no rule: say in rules_test.go what it may import", from)
	} else if !ok {
		t.Errorf("%s imports %s, against the arrows in rules_test.go", from, to)
	}
}

func TestForbiddenDependencies(t *testing.T) {
	t.Parallel()
	for from, libraries := range forbidden {
		out, err := exec.Command("go", "list", "-deps", module+"/"+from).Output()
		if err != nil {
			t.Fatalf("listing what %s depends on: %v", from, err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, module) {
			t.Errorf("%s does not depend on the language: %s", from, out)
		}
		for _, library := range libraries {
			if i := slices.IndexFunc(deps, func(dep string) bool { return dep == library || strings.HasPrefix(dep, library+"/") }); i >= 0 {
				t.Errorf("%s depends on %s", from, deps[i])
			}
		}
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to  string
		ok, known bool
	}{
		{"serve", ".", true, true},
		{".", "serve", false, true},
		{".", "internal/text/suggest", true, true},
		{".", "internal/run/engine", false, true},
		{"consolidate", "legacy", false, true},
		{"tools/memory", ".", true, true},
		{"tools/memory", "tools/session", false, true},
		{"tools/memory", "serve", false, true},
		{"tools/memory", "internal/storage", false, true},
		{"tools/queue", "tools/task", false, true},
		{"tools/design/api", "tools/design/text", true, true},
		{"tools/design/api", "tools/design/schema", false, true},
		{"internal/run/engine", ".", true, true},
		{"internal/run/engine", "tools/task", false, true},
		{"internal/run/engine", "call", false, true},
		{"cmd/toolfold", "internal/cli", true, true},
		{"cmd/toolfold", "internal/app", false, true},
		{"cmd/toolfold", "internal/test/workbench", false, true},
		{"toolfoldtest", "internal/test/golden", true, true},
		{"internal/cli", "internal/cli/doctor", true, true},
		{"internal/cli/doctor", "internal/cli/servers", true, true},
		{"internal/cli/doctor", "internal/cli/serve", false, true},
		{"internal/cli/servers", "internal/cli/doctor", false, true},
		{"internal/storage/queue", "tools/task", true, true},
		{"internal/code/scan", "internal/storage", false, true},
		{"internal/app", "internal/storage", true, true},
		{"internal/storage", "internal/app", false, true},
		{"internal/app", "internal/test/testwait", false, true},
		{"cmd/toolfold", "internal/test/testwait", false, true},
		{"internal/test/mcptest", "internal/test/testwait", true, true},
		{"toolfoldtest", "internal/test/golden", true, true},
		{"serve", "internal/storage", false, true},
		{"elsewhere", ".", false, false},
	} {
		if ok, known := allowed(test.from, test.to); ok != test.ok || known != test.known {
			t.Errorf("allowed(%s, %s) = %v, %v, want %v, %v", test.from, test.to, ok, known, test.ok, test.known)
		}
	}
}
