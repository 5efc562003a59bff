//go:build unix

package scan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

// started lists the programs of fakeTool in a folder that ran.
func started(t *testing.T, folder string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*.arguments"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		names = append(names, strings.TrimSuffix(filepath.Base(name), ".arguments"))
	}
	return names
}

// The go command and git of an untrusted workspace do not run, even if $PATH contains their folder
// or links to them.
func TestGoAndGitOfTheWorkspaceDoNotRun(t *testing.T) {
	for _, kind := range []string{"folder", "links"} {
		t.Run(kind, func(t *testing.T) {
			s := Scanner{Dir: t.TempDir()}
			s.write(t, "go.mod", goMod)
			s.write(t, "a.go", "package a\n\nfunc F(a int) {\n\ta = a\n}\n")
			s.write(t, ".git/HEAD", "ref: refs/heads/main\n")
			own, links := filepath.Join(s.Dir, "bin"), t.TempDir()
			for _, name := range []string{"go", "git", "sh"} {
				fakeTool(t, filepath.Join(own, name), "", 0)
				if err := os.Symlink(filepath.Join(own, name), filepath.Join(links, name)); err != nil {
					t.Fatal(err)
				}
			}
			onlyTools(t, map[string]string{"folder": own, "links": links}[kind])
			report := s.must(t, Request{Purpose: Bugs})
			if !slices.Contains(places(report.Findings), "a.go:4 vet/assign") {
				t.Errorf("found %v, skipped %v", places(report.Findings), report.Skipped)
			}
			s.must(t, Request{Purpose: Refactorings})
			_, err := s.Scan(t.Context(), Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 10, Since: "uncommitted"})
			t.Log(err)
			if ran := started(t, own); ran != nil {
				t.Errorf("ran %v", ran)
			}
		})
	}
}

// The go command does not write go.work.sum into a workspace.
func TestGoWorkStays(t *testing.T) {
	own, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, err := modfile.Parse("go.mod", own, nil)
	if err != nil {
		t.Fatal(err)
	}
	needed := slices.IndexFunc(module.Require, func(r *modfile.Require) bool { return r.Mod.Path == "github.com/google/go-cmp" })
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "go.work", "go 1.24\n\nuse ./a\n\nuse ./b\n\nreplace example.com/c => ./c\n")
	s.write(t, "a/go.mod", "module example.com/a\n\ngo 1.24\n\nrequire github.com/google/go-cmp "+module.Require[needed].Mod.Version+"\n")
	s.write(t, "a/a.go", "package a\n\nimport (\n\t_ \"github.com/google/go-cmp/cmp\"\n\n\t\"example.com/b\"\n)\n\n"+
		"func F(a int) {\n\tb.F(a, a)\n\ta = a\n}\n")
	s.write(t, "b/go.mod", "module example.com/b\n\ngo 1.24\n\nrequire example.com/c v1.0.0\n")
	s.write(t, "b/b.go", "package b\n\nimport \"example.com/c\"\n\nfunc F(a, b int) { c.F(a) }\n")
	s.write(t, "c/go.mod", "module example.com/c\n\ngo 1.24\n")
	s.write(t, "c/c.go", "package c\n\nfunc F(a int) {}\n")
	for _, purpose := range []Purpose{Bugs, Refactorings} {
		report := s.must(t, Request{Purpose: purpose})
		if purpose == Bugs && !slices.Contains(places(report.Findings), "a/a.go:11 vet/assign") || report.Skipped != nil {
			t.Errorf("found %v, skipped %v", places(report.Findings), report.Skipped)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.Dir, "go.work.sum")); err == nil {
		t.Error("it was written")
	}
}

// A program in $PATH that starts programs of its working directory, as version managers do, finds
// none of the workspace.
func TestToolsStartNothingOfTheirFolder(t *testing.T) {
	s := everything(t)
	fakeTool(t, filepath.Join(s.Dir, "own", "program"), "", 0)
	bin := t.TempDir()
	onlyTools(t, bin)
	for _, name := range []string{"eslint", "ruff", "mypy", "shellcheck", "actionlint"} {
		fakeTool(t, filepath.Join(bin, name), "", 0)
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n[ -x own/program ] && own/program\necho '[]'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.must(t, Request{Purpose: Bugs})
	if ran := started(t, filepath.Join(s.Dir, "own")); ran != nil {
		t.Errorf("ran %v", ran)
	}
}

// If the folder of temporary files is in the workspace, a scan writes no files there, and reports
// that.
func TestTemporaryFilesAreOutside(t *testing.T) {
	s := everything(t)
	s.write(t, "go.work", "go 1.24\n\nuse .\n")
	bin := t.TempDir()
	onlyTools(t, bin)
	fakeTool(t, filepath.Join(bin, "shellcheck"), `{"comments":[]}`, 0)
	s.write(t, "temporary/.gitignore", "*")
	t.Setenv("TMPDIR", filepath.Join(s.Dir, "temporary"))
	report := s.must(t, Request{Purpose: Bugs})
	text := fmt.Sprint(report.Skipped)
	if !strings.Contains(text, "shellcheck did not work: the folder of temporary files is in the workspace") {
		t.Errorf("skipped %s", text)
	}
	if started(t, bin) != nil {
		t.Error("shellcheck ran")
	}
}

// Tools never mistake a file name for an option.
func TestNamesOfFilesAreNoOptions(t *testing.T) {
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	bin := t.TempDir()
	onlyTools(t, bin)
	fakeTool(t, filepath.Join(bin, "shellcheck"), `{"comments":[]}`, 0)
	for _, name := range []string{"@b.sh", "--version.sh", "-.sh"} {
		s.write(t, name, "echo\n")
	}
	if _, err := s.Scan(context.Background(), Request{Purpose: Bugs, Paths: []string{"."}, MaxFiles: 10}); err != nil {
		t.Fatal(err)
	}
	arguments, err := os.ReadFile(filepath.Join(bin, "shellcheck.arguments"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("--format json1 -- ./--version.sh ./-.sh ./@b.sh ", string(arguments)); diff != "" {
		t.Error(diff)
	}
}
