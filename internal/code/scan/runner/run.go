package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/system/outside"
	"github.com/toolfold/toolfold/internal/text/redact"
)

// Limits of a tool run.
const (
	runFiles  = 200              // per command line
	runTime   = 10 * time.Minute // for all files in all folders
	runOutput = 32 << 20         // bytes
	runValues = 1 << 20          // values and lines of an output: each needs much more memory than its text
	cpuTime   = 5 * time.Minute  // of each process, times the number of processors
	maxError  = 6000             // bytes of standard error
)

// Result is the result of a tool in a folder.
type Result struct {
	Folder  string   // relative to the project, with slashes
	Reports []Report // file names are relative to the project; includes reports from before an error
	Err     error
}

// Run runs a tool in each of its folders. It drops reports about files that belong to another of
// the folders, where their configuration is.
func (p Project) Run(ctx context.Context, r Run) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		running, stop := context.WithTimeoutCause(ctx, runTime, errSlow)
		defer stop()
		for _, at := range r.places {
			reports, err := p.in(running, r.Runner, at)
			reports = slices.DeleteFunc(reports, func(report Report) bool {
				home, known := r.home[report.File]
				return known && home != at.folder
			})
			if !yield(Result{at.folder, reports, err}) || ctx.Err() != nil {
				return
			}
		}
	}
}

// in runs a tool in a folder.
func (p Project) in(ctx context.Context, r Runner, at place) ([]Report, error) {
	command, names, clean, err := p.command(r, at)
	if err != nil {
		return nil, err
	}
	defer clean()
	if r.Whole {
		return p.runOnce(ctx, r, command, nil)
	}
	most := runFiles
	if r.List != "" {
		most = max(len(names), 1)
	}
	var list []Report
	for chunk := range slices.Chunk(names, most) {
		reports, err := p.isolateFailure(ctx, r, command, chunk)
		if list = append(list, reports...); err != nil {
			return list, err
		}
	}
	return list, nil
}

// writeList writes names to a temporary file, one per line.
func writeList(names []string) (file string, err error) {
	for _, name := range names {
		if strings.ContainsAny(name, "\r\n") {
			return "", fmt.Errorf("the name %q has a line break: rename the file, or leave it out with excludePatterns", name)
		}
	}
	f, err := os.CreateTemp("", "toolfold-*")
	if err != nil {
		return "", fmt.Errorf("writing the list of its files: %w", err)
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("writing the list of its files: %w", err)
	}
	return f.Name(), nil
}

// isolateFailure runs a tool over files. If it fails because of a single file, it reports that file
// as unreadable, with the results for the others. It finds the file by bisection, and fails if both
// halves of the files fail.
func (p Project) isolateFailure(ctx context.Context, r Runner, c child.Command, names []string) ([]Report, error) {
	list, err := p.runOnce(ctx, r, c, names)
	for len(names) > 1 && err != nil && ctx.Err() == nil {
		half := len(names) / 2
		first, firstErr := p.runOnce(ctx, r, c, names[:half])
		second, secondErr := p.runOnce(ctx, r, c, names[half:])
		list = slices.Concat(list, first, second)
		switch {
		case firstErr != nil && secondErr != nil:
			return list, err
		case firstErr != nil:
			names, err = names[:half], firstErr
		default:
			names, err = names[half:], secondErr
		}
		if name, ok := p.below(c.Dir, names[0]); ok && err != nil && len(names) == 1 {
			return append(list, Report{File: name, Message: err.Error()}), nil
		}
	}
	return list, err
}

// runOnce runs a tool once over files; nil means that the tool finds the files.
func (p Project) runOnce(ctx context.Context, r Runner, c child.Command, names []string) (list []Report, err error) {
	if r.List != "" {
		file, err := writeList(names)
		if err != nil {
			return nil, err
		}
		defer os.Remove(file)
		names = []string{strings.ReplaceAll(r.List, "{file}", file)}
	}
	c.Argv = slices.Concat(c.Argv, names)
	output, err := output(ctx, c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var reports []Report
	if err == nil {
		if reports, err = r.Read(output); err != nil {
			err = fmt.Errorf("it printed: %s", line(string(output), 200))
		}
	}
	for _, report := range reports {
		if name, ok := p.below(c.Dir, report.File); ok && err == nil {
			report.File = name
			list = append(list, report.clean())
		}
	}
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), p.Dir, "."))
	}
	return list, err
}

// command returns the command of a tool in a folder without its files, and the files as arguments.
// Call clean to remove temporary files.
func (p Project) command(r Runner, at place) (c child.Command, names []string, clean func(), err error) {
	args, config := r.Args, filepath.FromSlash(at.config)
	dir := filepath.Join(p.Dir, filepath.FromSlash(at.folder))
	c, clean = child.Command{Dir: dir, CPU: cpuTime * time.Duration(runtime.GOMAXPROCS(0))}, func() {}
	before := "./" // so that a name is not an option or an argument file, such as @x.py
	if p.Apart != "" {
		temp, err := outside.Temp(p.Dir)
		if err != nil {
			return c, nil, nil, err
		}
		clean = func() { _ = os.RemoveAll(temp) }
		config = filepath.Join(temp, cmp.Or(r.Apart.File, "config"))
		if err := os.WriteFile(config, []byte(r.Apart.Config), 0o600); err != nil {
			clean()
			return c, nil, nil, fmt.Errorf("making its configuration: %w", err)
		}
		switch before = dir + string(filepath.Separator); {
		case r.Apart.AtRoot:
			c.Dir = filepath.VolumeName(p.Dir) + string(filepath.Separator)
		case !r.Apart.Go:
			c.Dir = temp
		}
		args = r.Apart.Args
		c.Env = p.environment(r, config)
	}
	for _, name := range at.files {
		names = append(names, before+filepath.FromSlash(strings.TrimPrefix(name, at.folder+"/")))
	}
	c.Argv = slices.Clone(at.argv)
	for _, argument := range args {
		c.Argv = append(c.Argv, strings.ReplaceAll(argument, "{config}", config))
	}
	return c, names, clean, nil
}

// environment returns the environment of a tool that must not run code of the project.
func (p Project) environment(r Runner, config string) []string {
	env := os.Environ()
	if r.Apart.Go {
		env = slices.Clone(p.GoEnv)
	}
	env = slices.DeleteFunc(env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(loading, name)
	})
	for _, variable := range r.Apart.Env {
		env = append(env, strings.ReplaceAll(variable, "{config}", config))
	}
	return append(env, "PATH="+outside.Path(p.Dir))
}

// loading are the environment variables that make interpreters load code, which may be in the
// project.
var loading = []string{"NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "MYPYPATH", "LD_PRELOAD", "BASH_ENV",
	"ENV"}

// errSlow is the error of a tool that took too long.
var errSlow = fmt.Errorf("it took longer than %v", runTime)

// output runs a command and returns its standard output. Most tools exit with status 1 if they have
// findings, tsc and mypy also with 2.
func output(ctx context.Context, c child.Command) ([]byte, error) {
	out, errs := &child.BoundedBuffer{Limit: runOutput}, &child.Tail{Keep: 2 * maxError}
	c.Stdout, c.Stderr = out, errs
	err := child.Run(ctx, c)
	var exit *child.ExitError
	switch {
	case out.Full:
		return nil, fmt.Errorf("its output is longer than %d MB", runOutput>>20)
	case errors.As(err, &exit) && (exit.State == "exit status 1" || exit.State == "exit status 2") && len(out.Bytes()) > 0:
	case err != nil:
		return nil, fmt.Errorf("%w; it printed: %s", err, brief(errs.Quote(maxError, redact.Text)))
	}
	if values := bytes.Count(out.Bytes(), []byte(",")) + bytes.Count(out.Bytes(), []byte("\n")); values > runValues {
		return nil, fmt.Errorf("its output has more than %d values", runValues)
	}
	return out.Bytes(), nil
}

// brief returns an error message as one line, without Python stack frames and download messages of
// the go command.
func brief(text string) string {
	var lines []string
	inCalls := false
	for row := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(row, "Traceback (most recent call last):"):
			inCalls = true
		case inCalls && strings.HasPrefix(row, " "), strings.HasPrefix(strings.TrimSpace(row), "go: downloading "):
		default:
			inCalls = false
			lines = append(lines, row)
		}
	}
	return line(strings.Join(lines, ""), 200)
}

// below converts a file name printed by a tool that ran in dir to a name relative to the project.
func (p Project) below(dir, name string) (string, bool) {
	name = filepath.FromSlash(strings.TrimPrefix(name, "file://"))
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if !outside.Holds(p.Dir, name) {
		folder, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil {
			return "", false
		}
		name = filepath.Join(folder, filepath.Base(name))
	}
	name, err := filepath.Rel(p.Dir, name)
	return filepath.ToSlash(name), err == nil && filepath.IsLocal(name)
}
