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

// Limits of reading imports.
const (
	MaxSources    = 10_000  // files below a folder
	maxImports    = 2_000   // per file
	maxAllImports = 500_000 // of all files
)

// importing is the purpose of reading imports, without rules.
const importing Purpose = "imports"

// Sources holds the source files below a folder, with their imports.
type Sources struct {
	Folder    string // the requested one, below the workspace, with slashes; "." is the workspace
	Files     []SourceFile
	Tests     int           // number of test files, which are left out
	Skipped   []SkippedFile // files not read, or only in part
	Unnamed   int           // number of skipped files beyond Skipped
	Truncated bool          // there are more than MaxSources files
}

// SourceFile is a file that was read, at least in part.
type SourceFile struct {
	Name    string // below the workspace, with slashes
	Imports []Import
	Main    bool // in package main of a Go program, which connects the other packages
}

// Sources reads the imports of the source files below a folder of the workspace, without tests and
// test helpers. Files of a folder come before those of its subfolders. Like a scan, it reads in
// separate processes.
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
	name, _ := s.inside(folder) // walk has checked it
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

// servesTests reports whether a file is a test, test data, a mock or another test helper.
func servesTests(name string) bool {
	return isTest(name) || strings.HasSuffix("/"+name, "/conftest.py") ||
		slices.ContainsFunc([]string{"/testdata/", "/mocks/", "/__mocks__/", "/e2e/"}, func(folder string) bool {
			return strings.Contains("/"+name, folder)
		})
}

// importsOf reads the imports of a file.
func importsOf(root *os.Root, name string) part {
	p := part{Read: &readFile{Name: name}}
	skip := func(why string) { p.Skipped = append(p.Skipped, SkippedFile{name, why}) }
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
