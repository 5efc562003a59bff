// Package imports finds which files of a workspace import which of its files and folders:
//   - Go: by the modules of go.mod files;
//   - JavaScript and TypeScript: by relative paths, the mappings of tsconfig.json and package.json,
//
// and the names of the workspace's packages;
//   - Python: by relative dots, and from folders that may be on its path.
package imports

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Graph holds the imports between the sources below a folder.
type Graph struct {
	scan.Sources
	Arrows []Arrow // in the order of files and lines

	Computed int // imports whose target is known only at run time
	Outside  int // imports of workspace files outside of the folder
	Lost     int // imports that look like the workspace's, but lead to no source
}

// Arrow is an import of a file, or of a folder that is one package, by another file.
type Arrow struct {
	From string
	Line int
	To   string
}

// Read reads the sources below a folder of the workspace at dir.
func Read(ctx context.Context, dir, folder string) (*Graph, error) {
	sources, err := scan.Scanner{Dir: dir}.Sources(ctx, folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reader{root: root, graph: &Graph{Sources: *sources}, files: map[string]bool{}, folders: map[string]bool{},
		goFolders: map[string]bool{}, texts: map[string][]byte{}, modules: map[string]module{}, configs: map[string]mapping{}}
	r.index()
	for _, file := range sources.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, i := range file.Imports {
			r.follow(file.Name, i)
		}
	}
	return r.graph, nil
}

// reader resolves the imports of a graph.
type reader struct {
	root  *os.Root
	graph *Graph

	files     map[string]bool
	folders   map[string]bool // folders with a source in or below them
	goFolders map[string]bool // folders with a Go file in them

	texts      map[string][]byte // configuration files, by path; nil = missing or unreadable
	modules    map[string]module // by folder
	allModules []module          // the longest paths first
	configs    map[string]mapping
	packages   map[string]string   // folders of package.json files, by package name
	tops       map[string][]string // folders that hold a Python package, by the package's name
}

// maxConfig bounds the size of a go.mod, package.json or tsconfig.json.
const maxConfig = 256 << 10

// index records the files and folders of the sources, and their modules and packages.
func (r *reader) index() {
	scripts := false
	for _, file := range r.graph.Files {
		r.files[file.Name] = true
		switch folder := path.Dir(file.Name); languageOf(file.Name) {
		case golang:
			r.goFolders[folder] = true
			r.module(folder)
		case script:
			scripts = true
		}
		for folder := path.Dir(file.Name); !r.folders[folder]; folder = path.Dir(folder) {
			if r.folders[folder] = true; folder == r.graph.Folder {
				break
			}
		}
	}
	slices.SortStableFunc(r.allModules, func(a, b module) int { return cmp.Or(longest(a.path, b.path), strings.Compare(a.folder, b.folder)) })
	r.indexPython()
	if scripts {
		r.indexPackages()
	}
}

type language int

const (
	golang language = iota
	python
	script
)

func languageOf(name string) language {
	switch strings.ToLower(path.Ext(name)) {
	case ".go":
		return golang
	case ".py", ".pyi":
		return python
	}
	return script
}

// follow adds the arrow of an import.
func (r *reader) follow(from string, i scan.Import) {
	if len(i.Names) == 0 {
		r.graph.Computed++
		return
	}
	var to string
	var own bool // whether the import names something in the workspace
	switch languageOf(from) {
	case golang:
		to, own = r.followGo(i)
	case python:
		to, own = r.followPython(from, i)
	default:
		to, own = r.followScript(from, i)
	}
	switch {
	case !own:
	case r.files[to], r.folders[to]:
		r.graph.Arrows = append(r.graph.Arrows, Arrow{from, i.Line, to})
	case to != "" && !r.below(to):
		r.graph.Outside++
	default:
		r.graph.Lost++
	}
}

// below reports whether a path is in the folder of the graph.
func (r *reader) below(name string) bool {
	return r.graph.Folder == "." && name != ".." && !strings.HasPrefix(name, "../") || name == r.graph.Folder ||
		strings.HasPrefix(name, r.graph.Folder+"/")
}

// text returns a configuration file, or nil if it does not exist or cannot be read.
func (r *reader) text(name string) []byte {
	text, known := r.texts[name]
	if !known {
		var err error
		if text, err = safefile.Read(r.root, filepath.FromSlash(name), maxConfig); err != nil {
			text = nil
		}
		r.texts[name] = text
	}
	return text
}

// exists reports whether the workspace, also outside of the folder, has a file or folder of this
// name.
func (r *reader) exists(name string) bool {
	_, err := r.root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// upwards yields a folder and its parents, up to the workspace.
func upwards(folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for ; yield(folder) && folder != "."; folder = path.Dir(folder) {
		}
	}
}

// longest orders names so that the longest come first.
func longest(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }

// inside returns the part of a path below a folder, or below another prefix such as a module path.
func inside(name, folder string) (rest string, ok bool) {
	if name == folder {
		return "", true
	}
	return strings.CutPrefix(name, folder+"/")
}
