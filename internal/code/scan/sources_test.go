package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A very long module name is not repeated for each name imported from it.
func TestLongModuleNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a.", maxPath)
	got, fault, _ := Imports("a.py", "from "+long+"a import b, c\nimport d\n")
	if diff := cmp.Diff([]Import{{Line: 1}, {Names: []string{"d"}, Line: 2}}, got); diff != "" || fault != "" {
		t.Errorf("%s %s", fault, diff)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "app/main.go", "package main\n\nimport \"fmt\"\n")
	s.write(t, "app/tests/a.go", "package tests\n")
	s.write(t, "app/mocks/a.go", "package mocks\n")
	s.write(t, "app/many.py", strings.Repeat("import a\n", maxImports+1))
	s.write(t, "app/minified.js", strings.Repeat("a", 30_000))
	s.write(t, "other/a.go", "package other\n")
	got, err := s.Sources(t.Context(), "app/")
	if err != nil {
		t.Fatal(err)
	}
	if got.Folder != "app" || got.Tests != 2 {
		t.Errorf("%s, %d tests", got.Folder, got.Tests)
	}
	var read []string
	for _, f := range got.Files {
		read = append(read, fmt.Sprintf("%s %d %v", f.Name, len(f.Imports), f.Main))
	}
	if diff := cmp.Diff([]string{"app/main.go 1 true", fmt.Sprintf("app/many.py %d false", maxImports)}, read); diff != "" {
		t.Error(diff)
	}
	if len(got.Skipped) != 2 {
		t.Errorf("%+v", got.Skipped)
	}
	// A named folder is read, even if it serves tests elsewhere.
	if got, err := s.Sources(t.Context(), "app/tests"); err != nil || len(got.Files) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
