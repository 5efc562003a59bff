package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/english"
)

// The statuses of a gate, and of a check.
const (
	Pass = "PASS"
	Warn = "WARN" // a person should look, or something could not be checked
	Fail = "FAIL"
)

// Change is a file that was changed, or is about to be.
type Change struct {
	Path string // as the caller names it, or below the workspace with slashes
	Gone bool   // it was deleted

	// Since holds the changed lines of the file; nil if they are unknown: then every line is
	// judged.
	Since *git.Change
}

// Since returns the files of the workspace that differ from a commit, see [git.Since], and the
// files in names. Without all, it returns only files in names. Names outside of the workspace are
// returned unchanged.
func (c Checker) Since(ctx context.Context, ref string, all bool, names []string) ([]Change, error) {
	k, err := c.open(Policy{}, nil)
	if err != nil {
		return nil, err
	}
	defer k.root.Close()
	var changes []Change
	var inside []string
	for _, name := range names {
		if below, ok := k.inside(name); ok {
			inside = append(inside, below)
		} else {
			changes = append(changes, Change{Path: name})
		}
	}
	changed, err := git.Since(ctx, c.Dir, ref, inside...)
	if err != nil {
		return nil, err
	}
	for _, c := range changed {
		if all || slices.Contains(inside, c.Path) {
			changes = append(changes, Change{Path: c.Path, Gone: c.Gone, Since: &c})
		}
	}
	return changes, nil
}

// Named returns changes for these files in which every line is judged. A missing file that the last
// commit has is Gone.
func (c Checker) Named(ctx context.Context, names []string) ([]Change, error) {
	k, err := c.open(Policy{}, nil)
	if err != nil {
		return nil, err
	}
	defer k.root.Close()
	var changes []Change
	absent := map[string]int{} // index in changes, by the path below the workspace
	for i, name := range names {
		changes = append(changes, Change{Path: name})
		if below, ok := k.inside(name); ok {
			if _, err := k.root.Lstat(filepath.FromSlash(below)); errors.Is(err, fs.ErrNotExist) {
				absent[below] = i
			}
		}
	}
	if len(absent) == 0 {
		return changes, nil
	}
	differ, err := git.Since(ctx, c.Dir, git.Uncommitted)
	var none *git.NoChanges
	if err != nil && !errors.As(err, &none) { // without a repository, deleted files are unknown
		return nil, err
	}
	for _, d := range differ {
		if i, ok := absent[d.Path]; ok {
			changes[i].Gone = d.Gone
		}
	}
	return changes, nil
}

// judges reports whether a line of the file is part of the change; 0 is the file itself.
func (c Change) judges(line int) bool {
	return c.Since == nil || c.Since.Has(line)
}

// Offence is a path that fails a gate.
type Offence struct {
	Path   string `json:"path" doc:"The file."`
	Reason string `json:"reason" doc:"Why the file fails the gate."`
}

// Result is the result of a gate.
type Result struct {
	Gate       string    `json:"gate" doc:"Which one." enum:"path_violation,change_radius,dependency,contract_tests,config_validation,sensitive_change"`
	Status     string    `json:"status" doc:"Its answer." enum:"PASS,WARN,FAIL"`
	Message    string    `json:"message" doc:"Why."`
	Paths      []Offence `json:"paths,omitempty" doc:"The first 20 files that it is about."`
	Suggestion string    `json:"suggestion,omitempty" doc:"The next step."`
}

// Worst returns the worst status of the results.
func Worst(results []Result) string {
	for _, status := range []string{Fail, Warn} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Status == status }) {
			return status
		}
	}
	return Pass
}

// Checker checks changes to a workspace.
type Checker struct {
	Dir     string
	Trusted func() bool // nil = never

	// TestCommand returns the argument vector that the user has set to test the workspace, or nil
	// if there is none. A nil func means no command, too.
	TestCommand func() ([]string, error)
}

// Limits of one check.
const (
	maxFile  = 1 << 20  // bytes
	maxFiles = 64 << 20 // bytes of all files of a check
	maxShown = 20       // offences per gate
)

// check is the state that the gates of one check share.
type check struct {
	Checker
	policy  Policy
	root    *os.Root
	real    string // the absolute path of the workspace, links resolved
	changes []Change

	texts map[string]fileText
	index map[string]string // texts of staged changes
	bytes int64
	areas map[string]string // areas of folders, for ByPackage
}

// fileText holds the text of a changed file, or why it was not read.
type fileText struct {
	text string
	why  string // empty = the text was read, or the file is gone
	gone bool
}

// open starts a check of changes against a policy. The caller closes its root.
func (c Checker) open(p Policy, changes []Change) (*check, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	k := &check{Checker: c, policy: p, root: root, real: dir, texts: map[string]fileText{}, areas: map[string]string{}}
	seen := map[string]bool{}
	for _, change := range changes {
		if name, ok := k.inside(change.Path); ok {
			change.Path = name
		}
		if !seen[change.Path] {
			seen[change.Path] = true
			k.changes = append(k.changes, change)
		}
	}
	return k, nil
}

// Check returns one result for each gate of the policy, in the policy's order.
func (c Checker) Check(ctx context.Context, p Policy, changes []Change) ([]Result, error) {
	k, err := c.open(p, changes)
	if err != nil {
		return nil, err
	}
	defer k.root.Close()
	var staged []string
	for _, c := range k.changes {
		if c.Since != nil && c.Since.Index && !c.Gone {
			staged = append(staged, c.Path)
		}
	}
	if len(staged) > 0 {
		if k.index, err = git.Read(ctx, c.Dir, staged); err != nil {
			return nil, err
		}
	}
	var results []Result
	for _, gate := range p.Gates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v := verdict{}
		switch gate {
		case PathViolation:
			k.paths(&v)
		case ChangeRadius:
			k.radius(&v)
		case Dependency:
			k.dependencies(&v)
		case ContractTests:
			err = k.tests(ctx, &v)
		case ConfigValidation:
			err = k.configs(ctx, &v)
		case SensitiveChange:
			err = k.sensitive(ctx, &v)
		}
		if err != nil {
			return nil, err
		}
		results = append(results, v.result(gate))
	}
	return results, nil
}

// verdict collects the findings of a gate.
type verdict struct {
	fails, warns []Offence
	person       bool   // a warning asks a person to look at a change
	unchecked    bool   // a warning reports that something could not be checked
	older        int    // faults on lines that did not change
	known        int    // secrets that the baseline lists
	pass         string // the message if there are no fails and warns
	fail         string // the message if there are fails; empty = a generic one
	suggestion   string
}

func (v *verdict) addFailure(path, format string, args ...any) {
	v.fails = append(v.fails, Offence{path, fmt.Sprintf(format, args...)})
}

// addWarning adds a file that could not be checked.
func (v *verdict) addWarning(path, format string, args ...any) {
	v.unchecked = true
	v.warns = append(v.warns, Offence{path, fmt.Sprintf(format, args...)})
}

// addFlag adds a change that a person should look at.
func (v *verdict) addFlag(path, why string) {
	v.person = true
	v.warns = append(v.warns, Offence{path, why + ": a person should look at the change"})
}

// advice returns the suggestion for the warnings.
func (v *verdict) advice() string {
	var do []string
	if v.person {
		do = append(do, "show the change of these files to a person who answers for them, before it is merged")
	}
	if v.unchecked {
		do = append(do, "remove the reason why a file was not checked, or check it by hand")
	}
	return strings.Join(do, "; ")
}

func (v *verdict) result(gate string) Result {
	r := v.judged(gate)
	if v.older > 0 {
		r.Message += "; " + english.Count(v.older, "older one", "older ones") + " on lines that did not change"
	}
	if v.known > 0 {
		r.Message += fmt.Sprintf("; %d more that %s lists", v.known, baselineFile)
	}
	return r
}

// judged returns the result without the counts of older and known findings.
func (v *verdict) judged(gate string) Result {
	all := slices.Concat(v.fails, v.warns)
	r := Result{Gate: gate, Status: Pass, Message: v.pass, Paths: all[:min(len(all), maxShown)]}
	if len(all) == 0 {
		return r
	}
	r.Status, r.Suggestion = Warn, v.advice()
	switch {
	case len(v.fails) > 0:
		r.Status, r.Message, r.Suggestion = Fail, v.fail, v.suggestion
		if r.Message == "" {
			r.Message = english.Count(len(v.fails), "file", "files") + " must not be so"
		}
		if n := len(v.warns); n > 0 {
			r.Message += fmt.Sprintf("; %d more to look at", n)
		}
	default:
		r.Message = english.Count(len(v.warns), "file", "files") + " to look at"
	}
	if len(all) > maxShown {
		r.Message += fmt.Sprintf("; the first %d of %d are shown", maxShown, len(all))
	}
	return r
}

// inside returns a path relative to the workspace, with slashes. It is false if the path is
// outside.
func (k *check) inside(target string) (string, bool) {
	name := filepath.FromSlash(target)
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(k.Dir)
		if err != nil {
			return "", false
		}
		below, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsLocal(below) {
			below, err = filepath.Rel(k.real, name)
		}
		if err != nil {
			return "", false
		}
		name = below
	}
	name = filepath.Clean(name)
	return filepath.ToSlash(name), filepath.IsLocal(name) && !strings.ContainsRune(target, 0)
}

// names returns the names of a file below the workspace: the given one and, if folders on the way
// are links, the resolved one. It is false for a file outside.
func (k *check) names(target string) ([]string, bool) {
	name, ok := k.inside(target)
	if !ok {
		return nil, false
	}
	folder, rest := path.Dir(name), path.Base(name)
	for {
		real, err := filepath.EvalSymlinks(filepath.Join(k.real, filepath.FromSlash(folder)))
		if err == nil {
			below, err := filepath.Rel(k.real, real)
			if err != nil || !filepath.IsLocal(below) {
				return nil, false
			}
			if other := path.Join(filepath.ToSlash(below), rest); other != name {
				return []string{name, other}, true
			}
			return []string{name}, true
		}
		if !errors.Is(err, fs.ErrNotExist) || folder == "." {
			return []string{name}, err == nil || errors.Is(err, fs.ErrNotExist)
		}
		if info, err := os.Lstat(filepath.Join(k.real, filepath.FromSlash(folder))); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, false // a dangling link: its target could be created later
		}
		folder, rest = path.Dir(folder), path.Join(path.Base(folder), rest)
	}
}

// path returns why the policy forbids a change of a file, or "" if it does not.
func (k *check) path(target string) string {
	names, ok := k.names(target)
	if !ok {
		return "it is outside of the workspace"
	}
	for i, name := range names {
		led := ""
		if i > 0 {
			led = "; a link leads to " + name
		}
		if pattern, ok := matchesFolded(k.policy.Forbidden, name); ok {
			return "forbiddenPaths has " + pattern + led
		}
		if !matches(k.policy.Allowed, name) && len(k.policy.Allowed) > 0 {
			return "allowedPaths does not have it" + led
		}
	}
	return ""
}

// paths runs the gate path_violation.
func (k *check) paths(v *verdict) {
	for _, c := range k.changes {
		if why := k.path(c.Path); why != "" {
			v.addFailure(c.Path, "%s", why)
		}
	}
	v.pass = english.Count(len(k.changes), "file", "files") + " may change"
	v.fail = english.Count(len(v.fails), "file", "files") + " may not change"
	v.suggestion = "take these changes back, or make them under a policy that allows them"
}

// manifests are the files that make their folder a package.
var manifests = []string{"package.json", "pyproject.toml", "setup.py", "Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts",
	"go.mod", "composer.json", "Package.swift", "pubspec.yaml"}

// Admit checks files that are about to be written against the path gates of a policy. It returns
// the first refused file. If the policy has the gate change_radius, it also returns the area of
// each file: its folder or package, depending on the policy.
func (c Checker) Admit(p Policy, files []string) (refused *Offence, areas []string, err error) {
	k, err := c.open(p, nil)
	if err != nil {
		return nil, nil, err
	}
	defer k.root.Close()
	for _, file := range files {
		names, ok := k.names(file)
		if why := k.path(file); why != "" && (p.Has(PathViolation) || !ok) {
			return &Offence{file, why}, nil, nil
		}
		if p.Has(ChangeRadius) {
			areas = append(areas, k.area(names[len(names)-1]))
		}
	}
	return nil, areas, nil
}

// area returns the folder or the package of a file. A Go package is a folder; other packages are
// the nearest folder with a manifest.
func (k *check) area(name string) string {
	folder := path.Dir(name)
	if k.policy.By != ByPackage || path.Ext(name) == ".go" {
		return folder
	}
	if known, ok := k.areas[folder]; ok {
		return known
	}
	area := folder
	for area != "." && !slices.ContainsFunc(manifests, func(m string) bool {
		info, err := k.root.Stat(filepath.FromSlash(path.Join(area, m)))
		return err == nil && info.Mode().IsRegular()
	}) {
		area = path.Dir(area)
	}
	k.areas[folder] = area
	return area
}

// radius runs the gate change_radius.
func (k *check) radius(v *verdict) {
	areas := map[string]bool{}
	for _, c := range k.changes {
		if names, ok := k.names(c.Path); ok { // paths outside are for the path gate
			areas[k.area(names[len(names)-1])] = true
		}
	}
	what := map[string]string{ByDirectory: "folder", ByPackage: "package"}[k.policy.By]
	v.pass = fmt.Sprintf("%s, of at most %d", english.Count(len(areas), what, what+"s"), k.policy.Radius)
	if len(areas) <= k.policy.Radius {
		return
	}
	for area := range areas {
		v.fails = append(v.fails, Offence{area, "a " + what + " with changes"})
	}
	slices.SortFunc(v.fails, func(a, b Offence) int { return strings.Compare(a.Path, b.Path) })
	v.fail = fmt.Sprintf("%s have changes, more than %d", english.Count(len(areas), what, what+"s"), k.policy.Radius)
	v.suggestion = "split the change"
}

// text returns the text of a changed file.
func (k *check) text(c Change) fileText {
	if known, ok := k.texts[c.Path]; ok {
		return known
	}
	known := fileText{gone: c.Gone}
	name, ok := k.inside(c.Path)
	switch {
	case c.Gone:
	case !ok:
		known.why = "it is outside of the workspace"
	case k.bytes > maxFiles:
		known.why = fmt.Sprintf("it was not read: the files before it have %d bytes together", maxFiles)
	case c.Since != nil && c.Since.Index:
		text, has := k.index[name]
		switch {
		case !has:
			known.why = "it was not read: the index has no text of it"
		case len(text) > maxFile:
			known.why = fmt.Sprintf("it was not read: it has more than %d bytes", maxFile)
		default:
			known.text = text
		}
		k.bytes += int64(len(known.text))
	default:
		known.text, known.why = k.read(name)
		k.bytes += int64(len(known.text))
	}
	k.texts[c.Path] = known
	return known
}

// read returns the text of a regular file of at most maxFile bytes, or why it cannot be read.
func (k *check) read(name string) (text, why string) {
	info, err := k.root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "it was not read: it is not there"
	case err == nil && info.IsDir():
		return "", "it was not read: it is a folder, name its files"
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", "it was not read: it is a link"
	}
	raw, err := safefile.Read(k.root, filepath.FromSlash(name), maxFile)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", "it was not read: " + err.Error()
	}
	return string(raw), ""
}

// module returns the module path and the folder of the Go module around a folder, or empty strings.
func (k *check) module(folder string) (module, at string) {
	for at = folder; ; at = path.Dir(at) {
		if text, why := k.read(path.Join(at, "go.mod")); why == "" {
			return modfile.ModulePath([]byte(text)), at
		}
		if at == "." {
			return "", ""
		}
	}
}
