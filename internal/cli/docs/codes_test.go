package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// code is an error code that a package declares.
type code struct {
	value string // such as TASK_NOT_FOUND
	dir   string
	name  string // of the constant
}

// TestCodes compares docs/errors.md with the error codes in the sources. Each code is declared once and
// used, and no error uses an undeclared code.
func TestCodes(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	files := token.NewFileSet()
	packages := map[string][]*ast.File{} // by folder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || name == "examples" || name == "node_modules" || name == "storagetest" || name == "attack" ||
			name == "notetest" ||
			strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]code{}
	uses := map[string]int{} // by folder and name, or package and name
	literal := map[string]token.Position{}
	for dir, list := range packages {
		for _, file := range list {
			for _, c := range declaredCodes(file, dir) {
				if other, twice := declared[c.value]; twice {
					t.Errorf("%s is declared as %s in %s and as %s in %s: use one of them", c.value, other.name, other.dir, c.name, c.dir)
				}
				declared[c.value] = c
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					uses[dir+"."+n.Name]++
				case *ast.SelectorExpr:
					if from, ok := n.X.(*ast.Ident); ok {
						uses[from.Name+"."+n.Sel.Name]++
					}
				case *ast.CallExpr:
					if value := literalCode(n); value != "" {
						literal[value] = files.Position(n.Pos())
					}
				}
				return true
			})
		}
	}
	for _, c := range declared {
		if inside := uses[c.dir+"."+c.name] - 1; inside+uses[packages[c.dir][0].Name.Name+"."+c.name] == 0 {
			t.Errorf("%s of %s is never used", c.name, c.dir)
		}
	}
	// Families write codes of other families as text, because they do not import them.
	for value, at := range literal {
		if _, ok := declared[value]; !ok {
			t.Errorf("%s: the code %s of an error is declared nowhere", at, value)
		}
	}
	page, err := os.ReadFile(root + "/docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)`( †)? \\|").FindAllStringSubmatch(string(page), -1) {
		if codes[row[1]] {
			t.Errorf("docs/errors.md has %s twice", row[1])
		}
		codes[row[1]] = true
	}
	for _, value := range slices.Sorted(maps.Keys(declared)) {
		if !codes[value] {
			t.Errorf("docs/errors.md lacks %s of %s", value, declared[value].dir)
		}
	}
	for value := range codes {
		if _, there := declared[value]; !there {
			t.Errorf("docs/errors.md has %s, which nothing declares", value)
		}
	}
}

// codeForm is the form of codes: at least two words, except for two single words.
var codeForm = regexp.MustCompile(`^([A-Z]+(_[A-Z]+)+|CANCELLED|TIMEOUT)$`)

// declaredCodes returns the constants of a file with the form of a code. Names of environment variables
// have it too.
func declaredCodes(file *ast.File, dir string) []code {
	var list []code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			if value, _ := strconv.Unquote(literal.Value); codeForm.MatchString(value) && !strings.HasPrefix(value, "TOOLFOLD_") {
				list = append(list, code{value, dir, name.Name})
			}
		}
		return true
	})
	return list
}

// literalCode returns the code in a call of Errorf that is a literal; empty if it is not.
func literalCode(call *ast.CallExpr) string {
	name := ""
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = fun.Sel.Name
	case *ast.Ident:
		name = fun.Name
	}
	if name != "Errorf" || len(call.Args) == 0 {
		return ""
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return ""
	}
	value, _ := strconv.Unquote(literal.Value)
	if !codeForm.MatchString(value) {
		return ""
	}
	return value
}
