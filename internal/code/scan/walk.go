package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/scan/runner"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// The error codes of a scan.
const (
	PathMissing = "PATH_NOT_FOUND" // none of the paths exists
)

// skippedFolders hold third-party or generated files. They and hidden folders are skipped, unless a
// path names them.
var skippedFolders = []string{"node_modules", "bower_components", "dist", "build", "out", "coverage", "vendor", "target", "__pycache__",
	"venv", "site-packages"}

// noRules are the endings of sources with JavaScript in them that are not read.
var noRules = []string{".vue", ".svelte", ".astro"}

// Limits of a walk.
const (
	maxPath    = 1000    // bytes
	maxEntries = 500_000 // visited entries
	maxGlob    = 500     // bytes
)

// walker collects the files of a scan.
type walker struct {
	ctx      context.Context
	root     *os.Root
	exclude  []string
	maxFiles int
	changed  map[string]git.Change // the files to scan; nil = all

	from       string          // the requested path at which the walk began
	requested  map[string]bool // requested paths
	files      []string        // below the workspace, with slashes; no duplicates
	toolFiles  []string        // files that only tools read
	vendored   int             // number of vendored and generated files, which are left out
	skipped    []SkippedFile
	seen       map[string]bool
	unknown    map[string]int // number of files without rules, by ending
	otherFiles int            // number of files in other languages, including unknown
	entries    int
	truncated  string
}

// walk returns the files below the paths of a request that rules or tools read, in order, without
// duplicates.
func (s Scanner) walk(ctx context.Context, root *os.Root, r Request, changed map[string]git.Change) (*walker, error) {
	w := &walker{ctx: ctx, root: root, maxFiles: r.MaxFiles, changed: changed, requested: map[string]bool{}, seen: map[string]bool{},
		unknown: map[string]int{}}
	for i, pattern := range r.Exclude {
		pattern = strings.TrimPrefix(strings.TrimSuffix(pattern, "/"), "./")
		if len(pattern) > maxGlob || CheckGlob(pattern) != nil {
			return nil, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
				Path: fmt.Sprintf("/excludePatterns/%d", i), Kind: toolfold.ProblemFormat,
				Want: fmt.Sprintf("glob such as **/*.test.ts, with at most %d combinations of alternatives", MaxAlternatives),
			}}}
		}
		w.exclude = append(w.exclude, pattern)
	}
	var names []string
	for _, start := range r.Paths {
		name, ok := s.inside(start)
		if !ok {
			return nil, toolfold.Errorf(workspace.PathNotUsable, "%s is outside of the workspace; nothing was scanned", shorten.Quoted(start)).
				WithHint("name files and folders by their paths in the workspace")
		}
		names = append(names, name)
		w.requested[name] = true
	}
	missing := 0
	for _, name := range names {
		if err := w.start(name); err != nil {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var unusable *fs.PathError // for example the name is too long, or below a file
			if !errors.As(err, &unusable) {
				return nil, err
			}
			missing++
			w.skip(name, "there is nothing at this path")
		}
	}
	for _, ext := range slices.Sorted(maps.Keys(w.unknown)) {
		w.skip("**/*"+ext, fmt.Sprintf("this kind of file is not read; there are %d", w.unknown[ext]))
	}
	if missing == len(names) {
		return nil, toolfold.Errorf(PathMissing, "nothing is at %s", shorten.Quoted(strings.Join(names, ", "))).
			WithHint(`paths are below the workspace; "." is all of it`)
	}
	return w, nil
}

// inside returns a path as a name below the workspace, with slashes. It is false for other paths.
func (s Scanner) inside(start string) (string, bool) {
	name := filepath.FromSlash(start)
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(s.Dir)
		if err != nil {
			return "", false
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", false
		}
	}
	name = filepath.Clean(name)
	if len(start) > maxPath || !filepath.IsLocal(name) || strings.ContainsFunc(start, func(r rune) bool { return r < ' ' }) {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// start walks from a requested path. It does not follow links, not even on the way to the path.
func (w *walker) start(name string) error {
	var above ignoreRules
	var attrs attributes
	w.from = name
	for i, part := range strings.Split(name, "/") {
		folder := path.Join(strings.Split(name, "/")[:i]...)
		if folder == "" {
			folder = "."
		}
		info, err := w.root.Lstat(filepath.FromSlash(path.Join(folder, part)))
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return toolfold.Errorf(workspace.PathNotUsable, "%s leads through a link, which is not followed; nothing was scanned",
				shorten.Quoted(name)).
				WithHint("name the file or folder that the link leads to, if it is in the workspace")
		}
		if w.isForeign(folder) {
			return nil
		}
		if path.Join(folder, part) == name && !info.IsDir() {
			if !Knows(name) && !runner.Wanted(name) {
				w.skip(name, "no rules for this kind of file")
				w.otherFiles++
				return nil
			}
			w.add(name)
			return nil
		}
		if name != "." {
			above, attrs = above.below(w.root, folder), attrs.below(w.root, folder)
		}
	}
	return w.folder(name, above, attrs)
}

// folder walks a folder in order of names, files first.
func (w *walker) folder(name string, above ignoreRules, attrs attributes) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.isForeign(name) {
		return nil
	}
	dir, err := w.root.Open(filepath.FromSlash(name))
	if err != nil {
		w.skip(name, reason(err))
		return nil
	}
	entries, err := dir.ReadDir(maxEntries - w.entries)
	dir.Close()
	if err != nil && err != io.EOF {
		w.skip(name, reason(err))
		return nil
	}
	if w.entries += len(entries); w.entries >= maxEntries {
		w.truncated = fmt.Sprintf("the paths have more than %d entries", maxEntries)
		return nil
	}
	above, attrs = above.below(w.root, name), attrs.below(w.root, name)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var folders []string
	for _, e := range entries {
		below := path.Join(name, e.Name())
		hidden := strings.HasPrefix(e.Name(), ".")
		switch {
		case hidden && !runner.Reaches(below), w.excluded(below), above.match(below, e.IsDir()):
		case e.IsDir():
			vendored, known := attrs.marks(path.Join(below, "file"))
			if !slices.Contains(skippedFolders, e.Name()) || known && !vendored {
				folders = append(folders, below)
			}
		case e.Type().IsRegular():
			if w.reads(below) && w.isVendored(below, attrs) {
				w.vendored++
			} else if w.reads(below) {
				w.add(below)
			} else if w.isRequested(below) {
				w.otherFiles++
				if ext := strings.ToLower(path.Ext(below)); slices.Contains(noRules, ext) {
					w.unknown[ext]++
				}
			}
		}
		if w.truncated != "" {
			return nil
		}
	}
	for _, below := range folders {
		if err := w.folder(below, above, attrs); err != nil || w.truncated != "" {
			return err
		}
	}
	return nil
}

// isVendored reports whether a file is vendored or generated, by .gitattributes or else by its path
// below the requested one.
func (w *walker) isVendored(name string, attrs attributes) bool {
	if !w.isRequested(name) || w.requested[name] {
		return false
	}
	if vendored, known := attrs.marks(name); known {
		return vendored
	}
	return vendored().MatchString(strings.TrimPrefix(name, w.from+"/"))
}

// isForeign reports whether a scan of changes must skip a folder, because it is a repository of its
// own, for example a submodule: git does not list its changes.
func (w *walker) isForeign(folder string) bool {
	if w.changed == nil || folder == "." {
		return false
	}
	if _, err := w.root.Lstat(filepath.FromSlash(path.Join(folder, ".git"))); err != nil {
		return false
	}
	for name := range w.changed {
		if strings.HasPrefix(name, folder+"/") { // git lists its changes, so it is not
			return false
		}
	}
	w.skip(folder, "it is a repository of its own, whose changes are not known here: scan it without since")
	return true
}

// excluded reports whether an exclude glob matches a path. A glob without a slash also matches the
// last name of a path. A glob that matches a folder excludes everything below it.
func (w *walker) excluded(name string) bool {
	return slices.ContainsFunc(w.exclude, func(glob string) bool {
		return doublestar.MatchUnvalidated(glob, name) || !strings.Contains(glob, "/") && doublestar.MatchUnvalidated(glob, path.Base(name))
	})
}

func (w *walker) add(name string) {
	if w.seen[name] || w.excluded(name) {
		return
	}
	if !w.isRequested(name) {
		return
	}
	if len(w.files)+len(w.toolFiles) == w.maxFiles {
		w.truncated = fmt.Sprintf("only the first %d files were scanned, by maxFiles", w.maxFiles)
		return
	}
	w.seen[name] = true
	if Knows(name) {
		w.files = append(w.files, name)
	} else {
		w.toolFiles = append(w.toolFiles, name)
	}
}

// reads reports whether rules or tools read a file. In a hidden folder that is not requested, only
// tools do.
func (w *walker) reads(name string) bool {
	if !Knows(name) {
		return runner.Wanted(name)
	}
	below := name
	if w.from != "." {
		below = strings.TrimPrefix(name, w.from)
	}
	return !strings.Contains("/"+below, "/.")
}

// isRequested reports whether a file is one of the changed files, or all files are scanned.
func (w *walker) isRequested(name string) bool {
	_, changed := w.changed[name]
	return w.changed == nil || changed
}

func (w *walker) skip(name, why string) {
	w.skipped = append(w.skipped, SkippedFile{Path: name, Reason: why})
}

// reason returns the text of a file system error without paths of this machine.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return "it cannot be read: " + err.Error()
}
