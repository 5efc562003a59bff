package regex_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// All expressions compile, although they are compiled late. No package variable compiles one at
// every start.
func TestExpressions(t *testing.T) {
	t.Parallel()
	checked := 0
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			variables, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range variables.Specs {
				values, _ := spec.(*ast.ValueSpec)
				for i := 0; values != nil && i < len(values.Values); i++ {
					call, ok := values.Values[i].(*ast.CallExpr)
					if !ok {
						continue
					}
					switch function, _ := call.Fun.(*ast.SelectorExpr); {
					case function == nil:
					case function.Sel.Name == "MustCompile":
						t.Errorf("%s: %s is compiled at every start: use regex.Lazy", path, values.Names[i])
					case function.Sel.Name == "Lazy":
						checked++
						if text, ok := literal(call.Args[0]); ok {
							if _, err := regexp.Compile(text); err != nil {
								t.Errorf("%s: %s: %v", path, values.Names[i], err)
							}
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 40 {
		t.Errorf("only %d expressions were checked", checked)
	}
}

// literal returns the value of a string of concatenated literals.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, alsoOK := literal(e.Y)
		return left + right, ok && alsoOK
	}
	return "", false
}
