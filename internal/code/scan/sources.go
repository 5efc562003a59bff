package scan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of reading what files import.
const (
	MaxSources    = 10_000  // files below a folder
	maxImports    = 2_000   // of a file
	maxAllImports = 500_000 // of all
)

// importing is the purpose of reading what files import, for which no rules run.
const importing Purpose = "imports"

// Sources are the source files below a folder, and what they import.
type Sources struct {
	Folder    string // the one that was asked for, below the workspace, with slashes; "." is all of it
	Files     []SourceFile
	Tests     int       // files of tests, which are left out
	Skipped   []Skipped // what was not read, or only in part
	Unnamed   int       // more of that
	Truncated bool      // there are more than MaxSources files
}

// SourceFile is a file that was read, in part at least.
type SourceFile struct {
	Name    string // below the workspace, with slashes
	Imports []Import
	Main    bool // of a Go program's main package, which puts the others together
}

// Sources reads what the source files below a folder of the workspace import, those of a
// folder before those of folders in it: what a scan of it looks at, but for tests and what only
// these use. It reads in processes of their own, like a scan.
func (s Scanner) Sources(ctx context.Context, folder string) (*Sources, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	request := Request{Purpose: importing, Paths: []string{folder}, MaxFiles: MaxSources}
	w, err := s.walk(ctx, root, request, nil)
	if err != nil {
		return nil, err
	}
	name, _ := s.inside(folder) // the walk has checked it
	if info, err := root.Stat(filepath.FromSlash(name)); err != nil || !info.IsDir() {
		return nil, toolfold.Errorf(workspace.PathNotUsable, "%s is no folder", shorten.Quoted(folder)).WithHint("name the folder that it is in")
	}
	dir, err := s.place()
	if err != nil {
		return nil, err
	}
	all := len(w.files)
	w.files = slices.DeleteFunc(w.files, func(file string) bool { return servesTests(strings.TrimPrefix(file, name+"/")) })
	c := newCollector(request, w, nil)
	if err := s.fastRules(ctx, dir, w.files, c); err != nil {
		return nil, err
	}
	sources := &Sources{Folder: name, Tests: all - len(w.files), Skipped: c.skipped, Unnamed: c.unnamed, Truncated: w.truncated != ""}
	for _, file := range w.files {
		if read, ok := c.read[file]; ok && !read.Unread {
			sources.Files = append(sources.Files, SourceFile{file, read.Imports, read.Main})
		}
	}
	return sources, nil
}

// servesTests reports whether a file is one of tests, or stands in for others in them.
func servesTests(name string) bool {
	return isTest(name) || strings.HasSuffix("/"+name, "/conftest.py") ||
		slices.ContainsFunc([]string{"/testdata/", "/mocks/", "/__mocks__/", "/e2e/"}, func(folder string) bool {
			return strings.Contains("/"+name, folder)
		})
}

// importsOf reads what a file imports, by its tokens.
func importsOf(root *os.Root, name string) part {
	p := part{Read: &readFile{Name: name}}
	skip := func(why string) { p.Skipped = append(p.Skipped, Skipped{name, why}) }
	content, why := readSource(root, name)
	if l, _ := languageOf(name); why == "" && l == golang {
		p.Read.Imports, p.Read.Main, why = importsGo(name, content)
	} else if why == "" {
		source := newSource(name, content)
		p.Read.Imports = source.imports()
		if source.fault != "" {
			skip("it does not parse, so not all that it imports may be known: " + source.fault)
		}
	}
	if why != "" {
		skip(why)
		p.Read.Unread = true
	}
	if len(p.Read.Imports) > maxImports {
		p.Read.Imports = p.Read.Imports[:maxImports]
		skip(fmt.Sprintf("only its first %d imports were read", maxImports))
	}
	return p
}
