package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns limits a line of Go, in characters; a tab counts as one.
const maxColumns = 140

// Lines have at most maxColumns characters, except struct tags, which cannot be broken, and
// generated files.
func TestWidth(t *testing.T) {
	t.Parallel()
	checked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		var long []int
		for i, line := range strings.Split(string(source), "\n") {
			if utf8.RuneCountInString(line) > maxColumns {
				long = append(long, i+1)
			}
		}
		if len(long) == 0 {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(file) {
			return nil
		}
		tags := map[int]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil {
				tags[files.Position(f.Tag.Pos()).Line] = true
			}
			return true
		})
		for _, line := range long {
			if !tags[line] {
				t.Errorf("%s:%d has more than %d characters: break it", path, line, maxColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 20 {
		t.Errorf("only %d files were checked", checked)
	}
}
