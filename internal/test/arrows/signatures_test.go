package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Signatures of importable packages have no types that importers cannot name. Families that use the
// types of their internal package are exempt, see [runsOn].
func TestSignatures(t *testing.T) {
	t.Parallel()
	checked := 0
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules" ||
			slices.Contains([]string{"internal", "testdata"}, entry.Name())) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if file.Name.Name != "main" {
			checked++
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			from := filepath.ToSlash(dir)
			for _, found := range leaks(file) {
				_, typ, _ := strings.Cut(found, " has ")
				name, _, _ := strings.Cut(typ, ".")
				used[from+" "+name] = true
				if !slices.Contains(runsOn[from], name) {
					t.Errorf("%s: %s", strings.TrimPrefix(path, root+"/"), found)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for from, names := range runsOn {
		for _, name := range names {
			if !used[from+" "+name] {
				t.Errorf("%s has no type of %s in its signatures: take it out of runsOn", from, name)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d files were checked", checked)
	}
}

// stable lists the packages that docs/stability.md promises.
var stable = []string{".", "ask", "content", "serve", "toolfoldtest"}

// The comment of every other importable package states that it is not stable.
func TestStable(t *testing.T) {
	t.Parallel()
	comments := map[string]string{} // by folder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root ||
			slices.Contains([]string{"internal", "testdata", "node_modules", "cmd", "e2e", "examples"}, entry.Name())) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				return err
			}
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			comments[filepath.ToSlash(dir)] += file.Doc.Text()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, comment := range comments {
		if slices.Contains(stable, dir) == strings.Contains(comment, "not a stable API") {
			t.Errorf("the comment of package %s, and the list of stable packages, say different things", dir)
		}
	}
	if len(comments) < 30 {
		t.Errorf("only %d packages were checked", len(comments))
	}
}

func TestLeaks(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`func F(m ordered.Map) {}`:                     "F has ordered.Map",
		`func F[T ordered.Map](t T) {}`:                "F has ordered.Map",
		`func f(m ordered.Map) {}`:                     "",
		`func F() { var m ordered.Map; _ = m }`:        "",
		`func (t *T) M() []ordered.Map { return nil }`: "T.M has ordered.Map",
		`func (t t) M() []ordered.Map { return nil }`:  "",
		`type T struct{ A map[string]*ordered.Map }`:   "T has ordered.Map",
		`type T struct{ a ordered.Map }`:               "",
		`type T struct{ ordered.Map }`:                 "T has ordered.Map",
		`type T interface{ M(func(x ordered.Map)) }`:   "T has ordered.Map",
		`type T interface{ m(func(x ordered.Map)) }`:   "",
		`type T = ordered.Map`:                         "T has ordered.Map",
		`var V ordered.Map`:                            "V has ordered.Map",
		`var V = ordered.New()`:                        "V has ordered.New",
		`var V = &ordered.Map{}`:                       "V has ordered.Map",
		`var V = len(ordered.Names)`:                   "",
		`var v = ordered.New()`:                        "",
		`func F(m jsonx.Map) {}`:                       "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import "github.com/toolfold/toolfold/internal/text/ordered"
import "example.com/internal/text/jsonx"
`+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(leaks(file), "; "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// leaks lists the exported declarations of a file that have a type of an internal package of this
// module in their signature.
func leaks(file *ast.File) []string {
	l := leakFinder{internal: map[string]bool{}}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if !strings.HasPrefix(path, module+"/") || !strings.Contains(path, "/internal/") {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		l.internal[name] = true
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			l.function(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				l.spec(spec)
			}
		}
	}
	return l.found
}

// leakFinder collects the results of [leaks].
type leakFinder struct {
	internal map[string]bool // names of imported packages
	found    []string
}

func (l *leakFinder) function(d *ast.FuncDecl) {
	name := d.Name.Name
	if d.Recv != nil {
		receiver := ""
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && receiver == "" {
				receiver = id.Name
			}
			return true
		})
		if !ast.IsExported(receiver) {
			return
		}
		name = receiver + "." + name
	}
	if d.Name.IsExported() {
		l.check(name, d.Type)
	}
}

func (l *leakFinder) spec(spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			if s.TypeParams != nil {
				l.check(s.Name.Name, s.TypeParams)
			}
			l.check(s.Name.Name, s.Type)
		}
	case *ast.ValueSpec:
		for i, name := range s.Names {
			switch {
			case !name.IsExported():
			case s.Type != nil:
				l.check(name.Name, s.Type)
			case i < len(s.Values):
				l.check(name.Name, typeOf(s.Values[i]))
			}
		}
	}
}

// typeOf returns the part of an expression that states its type, or an empty identifier if no part
// does.
func typeOf(value ast.Expr) ast.Node {
	switch v := value.(type) {
	case *ast.UnaryExpr:
		return typeOf(v.X)
	case *ast.CompositeLit:
		return v.Type
	case *ast.CallExpr:
		return v.Fun
	}
	return &ast.Ident{}
}

// check finds types of internal packages in a type. It skips unexported members.
func (l *leakFinder) check(name string, typ ast.Node) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			hidden := len(n.Names) > 0
			for _, member := range n.Names {
				hidden = hidden && isMember(typ, n) && !member.IsExported()
			}
			return !hidden
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && l.internal[x.Name] {
				l.found = append(l.found, name+" has "+x.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
}

// isMember reports whether a field belongs to a struct or an interface and is not a parameter.
func isMember(typ ast.Node, field *ast.Field) bool {
	found := false
	ast.Inspect(typ, func(n ast.Node) bool {
		var list *ast.FieldList
		switch n := n.(type) {
		case *ast.StructType:
			list = n.Fields
		case *ast.InterfaceType:
			list = n.Methods
		default:
			return true
		}
		for _, f := range list.List {
			found = found || f == field
		}
		return true
	})
	return found
}
