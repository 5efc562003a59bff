// Package git asks git what changed in a folder.
//
// The repository need not be trusted: nothing that its configuration names is run.
// Of that, git would run the file system monitor, hooks, the filters of attributes,
// programs that show differences and, where objects are missing, what fetches them.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/child"
	"github.com/toolfold/toolfold/internal/shorten"
)

// Uncommitted stands for the commit that is checked out, where a reference is asked for.
const Uncommitted = "uncommitted"

// Ref is the parameter for a reference.
var Ref = toolfold.String{
	Name: "since", Doc: "Branch, tag, commit or uncommitted: judges only changes.", Unclear: true, MinLen: 1, MaxLen: maxRef,
}

// Change is a file of a working tree that differs from a commit.
type Change struct {
	Path  string  // below the folder, with slashes
	Gone  bool    // it was deleted
	New   bool    // the commit does not have it
	Lines []Lines // that were added, or changed, or stand where some were taken out; in order
}

// Lines is a run of lines, both included, from 1.
type Lines struct{ From, To int }

// Has reports whether a line changed. Every line of a new file did.
func (c Change) Has(line int) bool {
	return c.New || slices.ContainsFunc(c.Lines, func(l Lines) bool { return l.From <= line && line <= l.To })
}

// Limits of a look at a repository.
const (
	gitTime    = time.Minute
	gitOutput  = 64 << 20 // bytes
	MaxChanges = 10_000
	maxRef     = 250 // bytes
)

// NoChanges says why the changes of a working tree cannot be told.
type NoChanges struct{ Reason, Hint string }

// Error implements error.
func (e *NoChanges) Error() string { return e.Reason }

func none(hint, format string, args ...any) error {
	return &NoChanges{fmt.Sprintf(format, args...), hint}
}

const withoutGit = "name the files instead"

// Since returns what differs in a folder of a working tree from a commit, in the
// order of names: new files included, ignored ones not. A file that was renamed
// counts as deleted and as new. The commit is the last that the work has in common
// with a reference, which is a branch, a tag or a hash, or [Uncommitted]. The error
// is a [NoChanges] or that of the context.
func Since(ctx context.Context, dir, ref string) ([]Change, error) {
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
	changes, err := r.changes(bounded, base)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if len(changes) > MaxChanges {
		return nil, none(withoutGit, "more than %d files have changes", MaxChanges)
	}
	return changes, nil
}

// repository is a folder of a working tree.
type repository struct {
	dir string

	// overrides are names and values of settings in turn, which go before those of
	// the repository.
	overrides []string
}

// open finds the settings that make git run nothing, and that the folder is in a working tree.
func open(ctx context.Context, dir string) (*repository, error) {
	r := &repository{dir: dir, overrides: []string{
		"core.fsmonitor", "false", "core.hooksPath", os.DevNull, "core.untrackedCache", "false", "status.submoduleSummary", "false",
		"protocol.allow", "never", "core.quotePath", "false", "diff.orderFile", os.DevNull,
	}}
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

// base returns the hash of the commit, or of the empty tree before the first, that a
// reference leads to.
func (r *repository) base(ctx context.Context, ref string) (string, error) {
	if ref == Uncommitted {
		head, err := r.commit(ctx, "HEAD")
		if err != nil || head != "" {
			return head, err
		}
		empty, err := r.run(ctx, "hash-object", "-t", "tree", "--stdin") // which is at its end
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
		return found, ctx.Err() // they have none in common, or nothing is checked out
	}
	return common, nil
}

// commit returns the hash of the commit that a reference names; empty where it names
// none. That is asked before the reference stands in any other command.
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

// changes returns what differs from a commit or tree.
func (r *repository) changes(ctx context.Context, base string) ([]Change, error) {
	comparing := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--relative", "--submodule=short",
		"--ignore-submodules=dirty"}
	listed, err := r.run(ctx, append(comparing, "--name-status", "-z", base, "--", ".")...)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*Change{}
	fields := strings.Split(listed, "\x00")
	for ; len(fields) > 1; fields = fields[2:] {
		byPath[fields[1]] = &Change{Path: fields[1], Gone: fields[0] == "D", New: fields[0] == "A"}
	}
	patch, err := r.run(ctx, append(comparing, "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", base, "--",
		".")...)
	if err != nil {
		return nil, err
	}
	for name, lines := range changedLines(patch) {
		if c := byPath[name]; c != nil {
			c.Lines = lines
		}
	}
	others, err := r.run(ctx, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(others, "\x00"), "\x00") {
		if name != "" {
			byPath[name] = &Change{Path: name, New: true}
		}
	}
	changes := make([]Change, 0, len(byPath))
	for _, c := range byPath {
		changes = append(changes, *c)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// run runs git in the folder and returns what it prints.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	env := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") && !strings.HasPrefix(entry, "LC_ALL=") {
			env = append(env, entry)
		}
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(r.overrides)/2))
	for i := 0; i < len(r.overrides); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, r.overrides[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, r.overrides[i+1]))
	}
	out, stderr := &limited{}, &limited{}
	err := child.Run(ctx, child.Command{Argv: append([]string{"git", "--no-pager", "--literal-pathspecs"}, args...), Dir: r.dir, Env: env,
		Stdout: out, Stderr: stderr})
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
	case strings.Contains(stderr.String(), "dubious ownership"):
		return "", none(withoutGit, "the repository belongs to another user, and git's setting safe.directory does not name it")
	case errors.As(err, &exit):
		return "", errors.Join(none(withoutGit, "git did not read the repository: %s", exit.State), err)
	}
	return "", none(withoutGit, "git printed more than %d bytes", gitOutput)
}

// limited keeps what is written, and fails when it is too much.
type limited struct{ bytes.Buffer }

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > gitOutput {
		return 0, errors.New("too much")
	}
	return l.Buffer.Write(p)
}
