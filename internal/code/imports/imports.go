// Package imports finds which files of a workspace import which files and folders of it: in
// Go by the modules of go.mod files, in JavaScript and TypeScript by relative paths, by what
// tsconfig.json and package.json map, and by the names of the workspace's packages, in Python
// by relative dots and from the folders that can be on its path.
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

// Graph holds what the sources below a folder import of each other.
type Graph struct {
	scan.Sources
	Arrows []Arrow // in the order of files and lines

	Computed int // imports that are known only when the code runs
	Outside  int // imports of the workspace that lead out of the folder
	Lost     int // imports of the workspace, by their form, that lead to no source that was read
}

// Arrow says that a file imports another, or a folder that is one package.
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
	folders   map[string]bool // with a source in or below them
	goFolders map[string]bool // with a Go file in them

	texts    map[string][]byte // configuration that was read, by path; nil = there is none
	modules  map[string]module // by folder
	known    []module          // the longest paths first
	configs  map[string]mapping
	packages map[string]string   // folders of package.json files, by the name that these have
	tops     map[string][]string // folders that hold a Python package, by its name
}

// maxConfig bounds the size of a go.mod, package.json or tsconfig.json.
const maxConfig = 256 << 10

// index notes which files and folders there are, and the modules and packages that these are.
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
	slices.SortStableFunc(r.known, func(a, b module) int { return cmp.Or(longest(a.path, b.path), strings.Compare(a.folder, b.folder)) })
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
	var own bool // of the workspace
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

// below reports whether a path is in the folder that is read.
func (r *reader) below(name string) bool {
	return r.graph.Folder == "." && name != ".." && !strings.HasPrefix(name, "../") || name == r.graph.Folder ||
		strings.HasPrefix(name, r.graph.Folder+"/")
}

// text returns a file of configuration; nil where there is none that can be read.
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

// exists reports whether something in the workspace, which may be outside of the folder, has a name.
func (r *reader) exists(name string) bool {
	_, err := r.root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// upwards yields a folder and those above it, up to the workspace.
func upwards(folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for ; yield(folder) && folder != "."; folder = path.Dir(folder) {
		}
	}
}

// longest orders names so that the longest come first.
func longest(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }

// inside returns what a path has below a folder, or below a prefix of another kind such as the
// path of a module.
func inside(name, folder string) (rest string, ok bool) {
	if name == folder {
		return "", true
	}
	return strings.CutPrefix(name, folder+"/")
}
