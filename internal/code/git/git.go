// Package git asks git which files and lines of a folder changed. The repository may be untrusted,
// so git runs nothing that its configuration names: no file system monitor, hooks, attribute
// filters, diff programs, or programs that fetch missing objects.
package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/system/outside"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Uncommitted as a reference stands for the checked-out commit. Staged does too, but compares that
// commit with the index, from which the next commit is made, instead of the files.
const (
	Uncommitted = "uncommitted"
	Staged      = "staged"
)

// Ref is the parameter for a reference.
var Ref = toolfold.String{
	Name: "since", Doc: "Branch, tag, commit or uncommitted: judges only changes.", Unclear: true, MinLen: 1, MaxLen: maxRef,
}

// Change is a file of a working tree that differs from a commit.
type Change struct {
	Path  string  // below the folder, with slashes
	Gone  bool    // it was deleted
	New   bool    // the commit does not have it
	Whole bool    // it changed, but git lists no lines, for example because it is binary
	Index bool    // it is compared with the index, and to be read from there, see [Read]
	Lines []Lines // added or changed lines, and the lines around removed ones; in order
}

// Differs reports whether the content of the file differs from the commit; a new mode does not
// count.
func (c Change) Differs() bool { return c.Gone || c.New || c.Whole || len(c.Lines) > 0 }

// Lines is a range of lines, from 1, both ends included.
type Lines struct{ From, To int }

// Has reports whether a line changed; 0 is the file itself. For new files, and if the changed lines
// are unknown, every line counts as changed.
func (c Change) Has(line int) bool {
	return c.New || c.Whole || slices.ContainsFunc(c.Lines, func(l Lines) bool { return l.From <= line && line <= l.To })
}

// Limits of one call.
const (
	gitTime    = time.Minute
	gitOutput  = 64 << 20 // bytes
	MaxChanges = 10_000
	maxRef     = 250 // bytes
)

// NoChanges is the error of a call for which git could not read the repository or the reference.
type NoChanges struct {
	Reason, Hint string

	cause error
}

// Error implements error.
func (e *NoChanges) Error() string { return e.Reason }

// Unwrap returns the error of the git process, or nil if git did not fail.
func (e *NoChanges) Unwrap() error { return e.cause }

func none(hint, format string, args ...any) error {
	return &NoChanges{Reason: fmt.Sprintf(format, args...), Hint: hint}
}

const withoutGit = "name the files instead"

// Since returns the files below dir that differ from a commit, sorted by name. It includes new
// files and leaves out ignored ones. A renamed file counts as deleted and as new. ref is a branch,
// a tag, a hash, [Uncommitted] or [Staged]; the commit is the merge base of ref and HEAD.
//
// Files in also are returned even if git lists no difference: without lines if the commit has them,
// else as new, for example ignored files and files of another repository. Their paths are below
// dir, with slashes. The error is a [NoChanges] or the context's.
func Since(ctx context.Context, dir, ref string, also ...string) ([]Change, error) {
	bounded, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	r, err := open(bounded, dir)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	base, err := r.base(bounded, ref)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	r.index = ref == Staged
	changes, err := r.changes(bounded, base)
	if err == nil {
		err = r.add(bounded, base, changes, also)
	}
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if len(changes) > MaxChanges {
		return nil, none(withoutGit, "more than %d files have changes", MaxChanges)
	}
	list := make([]Change, 0, len(changes))
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		changes[name].Index = r.index
		list = append(list, *changes[name])
	}
	return list, nil
}

// Read returns the texts that the index has of files below dir, by name. Files without a text there
// are left out. The error is a [NoChanges] or the context's.
func Read(ctx context.Context, dir string, names []string) (map[string]string, error) {
	bounded, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	r, err := open(bounded, dir)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	r.index = true
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "\n") })
	if len(names) == 0 {
		return nil, nil
	}
	r.asks = ":./" + strings.Join(names, "\n:./") + "\n"
	answers, err := r.run(bounded, "cat-file", "--batch")
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	texts := map[string]string{}
	for _, name := range names {
		head, rest, _ := strings.Cut(answers, "\n")
		answers = rest
		fields := strings.Fields(head)
		if strings.HasSuffix(head, " missing") || len(fields) != 3 {
			continue
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= len(answers) {
			return nil, none(withoutGit, "git answered with %s", shorten.Quoted(head))
		}
		if fields[1] == "blob" {
			texts[name] = answers[:size]
		}
		answers = answers[size+1:]
	}
	return texts, nil
}

type repository struct {
	dir   string
	git   string // the program; git and path lie outside of dir
	path  string // $PATH of programs that git starts
	index bool   // compare with the index, the one that git gives its hooks
	asks  string // standard input of a command

	// overrides alternates names and values of settings that override those of the repository.
	overrides []string
}

func newRepository(dir string) *repository {
	return &repository{dir: dir, git: outside.Program(dir, "git"), path: outside.Path(dir)}
}

// open sets overrides so that git runs no other programs, and checks that dir is in a working tree.
func open(ctx context.Context, dir string) (*repository, error) {
	r := newRepository(dir)
	r.overrides = []string{
		"core.fsmonitor", "false", "core.hooksPath", os.DevNull, "core.untrackedCache", "false", "status.submoduleSummary", "false",
		"protocol.allow", "never", "core.quotePath", "false", "diff.orderFile", os.DevNull,
	}
	names, err := r.run(ctx, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		lower := strings.ToLower(name)
		switch {
		case !strings.HasPrefix(lower, "filter."):
		case strings.HasSuffix(lower, ".clean"), strings.HasSuffix(lower, ".smudge"), strings.HasSuffix(lower, ".process"):
			r.overrides = append(r.overrides, name, "")
		case strings.HasSuffix(lower, ".required"):
			r.overrides = append(r.overrides, name, "false")
		}
	}
	inside, err := r.run(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(inside) != "true" {
		return nil, none(withoutGit, "the workspace is in no working tree of git")
	}
	return r, nil
}

// base returns the hash of the commit that ref leads to, or of the empty tree before the first
// commit.
func (r *repository) base(ctx context.Context, ref string) (string, error) {
	if ref == Uncommitted || ref == Staged {
		head, err := r.commit(ctx, "HEAD")
		if err != nil || head != "" {
			return head, err
		}
		empty, err := r.run(ctx, "hash-object", "-t", "tree", "--stdin") // of an empty input
		return strings.TrimSpace(empty), err
	}
	if len(ref) > maxRef {
		return "", none("name a branch, a tag or a commit", "since is longer than %d bytes", maxRef)
	}
	found, err := r.commit(ctx, ref)
	if err != nil {
		return "", err
	}
	if found == "" {
		return "", none("name a branch, a tag or a commit, or uncommitted", "git knows no commit %s here", shorten.Quoted(ref))
	}
	common, err := r.run(ctx, "merge-base", "--end-of-options", found, "HEAD")
	if common = strings.TrimSpace(common); err != nil || common == "" {
		return found, ctx.Err() // no common ancestor, or nothing is checked out
	}
	return common, nil
}

// commit returns the hash of the commit that ref names, or "" if there is no such commit. Callers
// resolve a reference with it before they pass it to any other command.
func (r *repository) commit(ctx context.Context, ref string) (string, error) {
	if strings.ContainsAny(ref, "\x00\n") {
		return "", nil
	}
	hash, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	var exit *child.ExitError
	if errors.As(err, &exit) {
		return "", nil
	}
	return strings.TrimSpace(hash), err
}

// File returns the text that a commit has of a file. A text longer than limit bytes is an error.
// ref is a branch, a tag or a hash; name is below dir, with slashes. The error is a [NoChanges] or
// the context's.
func File(ctx context.Context, dir, ref, name string, limit int) ([]byte, error) {
	bounded, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	text, err := file(bounded, dir, ref, name, limit)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return []byte(text), nil
}

func file(ctx context.Context, dir, ref, name string, limit int) (string, error) {
	r, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	if len(ref) > maxRef {
		return "", none("name a branch, a tag or a commit", "the reference is longer than %d bytes", maxRef)
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", none("name a file of the workspace", "%s is not below the folder", shorten.Quoted(name))
	}
	commit, err := r.commit(ctx, ref)
	if err != nil {
		return "", err
	}
	if commit == "" {
		return "", none("name a branch, a tag or a commit", "git knows no commit %s here", shorten.Quoted(ref))
	}
	output, err := r.run(ctx, "ls-tree", "--long", "-z", commit, "--", name)
	if err != nil {
		return "", err
	}
	entry, _, _ := strings.Cut(output, "\t") // mode, type, hash and size
	parts := strings.Fields(entry)
	if len(parts) != 4 {
		return "", none("name a file that the commit has", "%s has no file %s", shorten.Quoted(ref), shorten.Quoted(name))
	}
	if parts[1] != "blob" || parts[0] == "120000" {
		return "", none("name a file", "%s is no plain file there", shorten.Quoted(name))
	}
	if size, err := strconv.Atoi(parts[3]); err != nil || size > limit {
		return "", none("name a smaller file", "%s has more than %d bytes there", shorten.Quoted(name), limit)
	}
	return r.run(ctx, "cat-file", "blob", parts[2])
}

// changes returns the files that differ from a commit or tree, by path.
func (r *repository) changes(ctx context.Context, base string) (map[string]*Change, error) {
	comparing := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--relative", "--submodule=short",
		"--ignore-submodules=dirty"}
	if r.index {
		comparing = append(comparing, "--cached")
	}
	output, err := r.run(ctx, append(comparing, "--raw", "--numstat", "-z", base, "--", ".")...)
	if err != nil {
		return nil, err
	}
	byPath := changedFiles(output)
	patch, err := r.run(ctx, append(comparing, "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", base, "--",
		".")...)
	if err != nil {
		return nil, err
	}
	for name, lines := range changedLines(patch) {
		if c := byPath[name]; c != nil {
			c.Lines, c.Whole = lines, false
		}
	}
	if r.index { // the index has no untracked files
		return byPath, nil
	}
	others, err := r.run(ctx, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(others, "\x00"), "\x00") {
		if name = strings.TrimSuffix(name, "/"); name != "" { // of a nested repository only the folder is listed
			byPath[name] = &Change{Path: name, New: true}
		}
	}
	return byPath, nil
}

// add adds those of the named files that changes lacks.
func (r *repository) add(ctx context.Context, base string, changes map[string]*Change, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return changes[name] != nil })
	for some := range slices.Chunk(names, 50) {
		had, err := r.run(ctx, append([]string{"ls-tree", "--name-only", "-z", base, "--"}, some...)...)
		if err != nil {
			return err
		}
		for _, name := range some {
			changes[name] = &Change{Path: name, New: !slices.Contains(strings.Split(had, "\x00"), name)}
		}
	}
	return nil
}

// run runs git in the folder and returns what it prints.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	if r.git == "" {
		return "", none(withoutGit, "git cannot be started: it is not in $PATH outside of the workspace")
	}
	env := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") && !strings.HasPrefix(entry, "LC_ALL=") {
			env = append(env, entry)
		}
	}
	if file := os.Getenv("GIT_INDEX_FILE"); r.index && file != "" { // git sets it for the hooks of a partial commit, too
		if absolute, err := filepath.Abs(file); err == nil {
			env = append(env, "GIT_INDEX_FILE="+absolute)
		}
	}
	env = append(env, "PATH="+r.path, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(r.overrides)/2))
	for i := 0; i < len(r.overrides); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, r.overrides[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, r.overrides[i+1]))
	}
	out, stderr := &child.BoundedBuffer{Limit: gitOutput}, &child.BoundedBuffer{Limit: gitOutput}
	err := child.Run(ctx, child.Command{Argv: append([]string{r.git, "--no-pager", "--literal-pathspecs"}, args...), Dir: r.dir, Env: env,
		Stdin: strings.NewReader(r.asks), Stdout: out, Stderr: stderr})
	var start *child.StartError
	var exit *child.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case errors.As(err, &start):
		return "", none(withoutGit, "git cannot be started: %s", start.Reason)
	case errors.Is(err, context.DeadlineExceeded):
		return "", none(withoutGit, "git took longer than %v", gitTime)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(stderr.String(), "not a git repository"):
		return "", none(withoutGit, "the workspace is no git repository")
	case strings.Contains(stderr.String(), "must be run in a work tree"):
		return "", none(withoutGit, "the folder is in no working tree of git")
	case strings.Contains(stderr.String(), "dubious ownership"):
		return "", none(withoutGit, "the repository belongs to another user, and git's setting safe.directory does not name it")
	case errors.As(err, &exit):
		return "", &NoChanges{"git did not read the repository: " + exit.State, withoutGit, err}
	}
	return "", none(withoutGit, "git printed more than %d bytes", gitOutput)
}

// Hooks returns the folder in which git looks for hooks of the working tree around dir. It is an
// error if that folder is outside of the repository, because its hooks run in other repositories
// too, or if core.hooksPath switches hooks off.
func Hooks(dir string) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), gitTime)
	defer stop()
	r := newRepository(dir) // rev-parse and config run no program of the settings, so overrides are not needed
	switch set, err := r.run(ctx, "config", "--null", "--get", "core.hooksPath"); {
	case err != nil: // it is not set, or the next command returns the reason
	case set == "\x00", set == os.DevNull+"\x00":
		return "", none("", "core.hooksPath is %q, with which git runs no hooks: set it to a folder of this repository, or take it out of "+
			"the file that git config --show-origin core.hooksPath names", strings.TrimSuffix(set, "\x00"))
	}
	var paths []string
	for _, what := range [][]string{{"--git-path", "hooks"}, {"--show-toplevel"}, {"--git-common-dir"}} {
		path, err := r.run(ctx, append([]string{"rev-parse", "--path-format=absolute"}, what...)...)
		if err != nil {
			return "", err
		}
		paths = append(paths, filepath.Clean(strings.TrimSuffix(path, "\n")))
	}
	for _, own := range paths[1:] {
		if outside.Holds(own, paths[0]) {
			return paths[0], nil
		}
	}
	return "", none("", "core.hooksPath is %s, whose hooks run in other repositories too: set core.hooksPath in this repository, "+
		"or call toolfold hook git from the hook there", paths[0])
}

// Private reports whether the file at an absolute path stays in this clone of the working tree
// around dir: git ignores it, or it is in git's own folder. The file need not exist.
func Private(dir, path string) (bool, error) {
	ctx, stop := context.WithTimeout(context.Background(), gitTime)
	defer stop()
	r, err := open(ctx, dir)
	if err != nil {
		return false, err
	}
	own, err := r.run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return false, err
	}
	if outside.Holds(strings.TrimSuffix(own, "\n"), path) {
		return true, nil
	}
	_, err = r.run(ctx, "--no-literal-pathspecs", "check-ignore", "--quiet", "--", path) // check-ignore takes no pathspecs
	var exit *child.ExitError
	if errors.As(err, &exit) { // not ignored, or in another working tree
		return false, nil
	}
	return err == nil, err
}

// Top returns the nearest folder, from folder upwards, that is the top of a git working tree. If
// there is none, it returns folder and false.
func Top(folder string) (top string, ok bool) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, true
		}
		if at == filepath.Dir(at) {
			return folder, false
		}
	}
}
