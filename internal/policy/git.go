package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/child"
)

// Change is a file that was changed, or is to be.
type Change struct {
	Path string // as the caller names it, or below the workspace with slashes
	Gone bool   // it was deleted
}

// Limits of a look at a repository.
const (
	gitTime    = time.Minute
	gitOutput  = 8 << 20 // bytes
	MaxChanges = 10_000
)

// NoRepository says why the changes of a working tree cannot be had.
type NoRepository struct{ Reason string }

// Error implements error.
func (e *NoRepository) Error() string { return e.Reason }

// Uncommitted returns the uncommitted changes in a folder of a git working tree,
// new files included, ignored ones not. A file that was renamed counts as
// deleted and as new. The error is a [NoRepository] or that of the context.
//
// The repository need not be trusted: nothing that its configuration names is
// run. Of that, status would run the file system monitor, hooks, the filters of
// attributes and, where objects are missing, what fetches them.
func Uncommitted(ctx context.Context, dir string) ([]Change, error) {
	ctx, stop := context.WithTimeout(ctx, gitTime)
	defer stop()
	overrides := []string{
		"core.fsmonitor", "false", "core.hooksPath", os.DevNull, "core.untrackedCache", "false", "status.submoduleSummary", "false",
		"protocol.allow", "never", "core.quotePath", "false",
	}
	names, err := git(ctx, dir, overrides, "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		lower := strings.ToLower(name)
		switch {
		case !strings.HasPrefix(lower, "filter."):
		case strings.HasSuffix(lower, ".clean"), strings.HasSuffix(lower, ".smudge"), strings.HasSuffix(lower, ".process"):
			overrides = append(overrides, name, "")
		case strings.HasSuffix(lower, ".required"):
			overrides = append(overrides, name, "false")
		}
	}
	prefix, err := git(ctx, dir, overrides, "rev-parse", "--is-inside-work-tree", "--show-prefix")
	if err != nil {
		return nil, err
	}
	inside, prefix, _ := strings.Cut(strings.TrimSuffix(prefix, "\n"), "\n")
	if inside != "true" {
		return nil, &NoRepository{"the workspace is in no working tree of git"}
	}
	listed, err := git(ctx, dir, overrides, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
		"--ignore-submodules=dirty", "--", ".")
	if err != nil {
		return nil, err
	}
	var changes []Change
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		if len(entry) < 4 {
			continue
		}
		name, below := strings.CutPrefix(entry[3:], prefix)
		if !below {
			return nil, &NoRepository{"the repository keeps its working tree elsewhere"}
		}
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		changes = append(changes, Change{Path: name, Gone: os.IsNotExist(err)})
	}
	if len(changes) > MaxChanges {
		return nil, &NoRepository{fmt.Sprintf("more than %d files have uncommitted changes", MaxChanges)}
	}
	return changes, nil
}

// git runs git in a folder and returns what it prints. Overrides are names and
// values of settings in turn, which go before those of the repository.
func git(ctx context.Context, dir string, overrides []string, args ...string) (string, error) {
	env := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") && !strings.HasPrefix(entry, "LC_ALL=") {
			env = append(env, entry)
		}
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(overrides)/2))
	for i := 0; i < len(overrides); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, overrides[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, overrides[i+1]))
	}
	out, stderr := &limited{}, &limited{}
	err := child.Run(ctx, child.Command{Argv: append([]string{"git", "--no-pager", "--literal-pathspecs"}, args...), Dir: dir, Env: env,
		Stdout: out, Stderr: stderr})
	var start *child.StartError
	var exit *child.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case errors.As(err, &start):
		return "", &NoRepository{"git cannot be started: " + start.Reason}
	case errors.Is(err, context.DeadlineExceeded):
		return "", &NoRepository{fmt.Sprintf("git took longer than %v", gitTime)}
	case ctx.Err() != nil:
		return "", ctx.Err()
	case strings.Contains(stderr.String(), "not a git repository"):
		return "", &NoRepository{"the workspace is no git repository"}
	case strings.Contains(stderr.String(), "dubious ownership"):
		return "", &NoRepository{"the repository belongs to another user, and git's setting safe.directory does not name it"}
	case errors.As(err, &exit):
		return "", &NoRepository{"git did not read the repository: " + exit.State}
	}
	return "", &NoRepository{fmt.Sprintf("git printed more than %d bytes", gitOutput)}
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
