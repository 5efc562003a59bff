package scan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/redact"
)

// The error codes of a fix.
const (
	FileChanged  = "FILE_CHANGED"      // since the scan
	FileReadOnly = "FILE_NOT_WRITABLE" // the file, its folder or the folder of the backup
	FixFailed    = "FIX_FAILED"        // the fix cannot be applied
	NoTests      = "NO_TEST_COMMAND"   // no test command is set
)

// BackupFolder is the folder of the backups, below the workspace.
const BackupFolder = ".toolfold/backups"

// Change holds the options for applying fixes.
type Change struct {
	Write  bool     // false = only show the diff
	Backup bool     // keep copies of the original files
	Test   []string // the argument vector that tests the change; nil = no tests
}

// FixResult is the result of a change.
type FixResult struct {
	Outcome
	refusals []refusal
	files    []fixedFile // the files as they are written now
}

// refusal is a finding that was not fixed, with the reason: an error of this package.
type refusal struct {
	Finding
	err error
}

// Outcome holds the result fields of a change. Embed it in the result of an
// action.
type Outcome struct {
	Written bool             `json:"applied" doc:"Whether the fixes were written."`
	Note    string           `json:"note,omitempty" doc:"Why they were not; absent if they were."`
	Diff    string           `json:"diff,omitempty" doc:"Unified diff; absent without a safe fix."`
	Backup  string           `json:"backup,omitempty" doc:"Copy of the file as it was; of several files the folder of the copies."`
	Fixed   int              `json:"fixed,omitempty" doc:"How many findings the diff fixes, if several were asked for."`
	Left    []UnfixedFinding `json:"left,omitempty" doc:"The findings that it does not fix; at most 50 are shown."`
	More    int              `json:"moreLeft,omitempty" doc:"How many more it does not fix."`
	Tests   *Tests           `json:"tests,omitempty" doc:"Result of the test command; absent if it did not run."`
}

// UnfixedFinding is a finding that should have been fixed but was not.
type UnfixedFinding struct {
	ID     string `json:"id" doc:"The finding." format:"uuid"`
	File   string `json:"file" doc:"Where."`
	Line   int    `json:"line" doc:"From 1."`
	Reason string `json:"reason" doc:"Why, and the next step."`
}

// Tests is the result of the test command.
type Tests struct {
	Passed bool   `json:"passed" doc:"Whether the command succeeded."`
	Output string `json:"output,omitempty" doc:"End of its output; absent if they passed."`
}

// writing lets only one goroutine change files at a time, from checking them to the end of the
// tests.
var writing sync.Mutex

// Apply applies the fixes of findings, all fixes of a file together, to files that have not changed
// since the scan. The result lists the findings that were not fixed, with the reason. If it returns
// an error, or if the tests fail, the files are restored.
func (s Scanner) Apply(ctx context.Context, findings []Finding, c Change) (*FixResult, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	writing.Lock()
	defer writing.Unlock()
	applied := &FixResult{}
	files := applied.mend(root, findings, c)
	if len(files) == 0 {
		applied.Note = "nothing was written: there is nothing that can be fixed"
		return applied, nil
	}
	var diffs strings.Builder
	for _, m := range files {
		diffs.WriteString(unified(m.name, m.before, m.after))
	}
	applied.Diff = cutDiff(diffs.String())
	if !c.Write {
		applied.Note = "nothing was written: pass autoApply: true and dryRun: false to write it"
		return applied, nil
	}
	if c.Backup {
		if applied.Backup, err = backup(root, files); err != nil {
			return nil, err
		}
	}
	if err := write(root, files); err != nil {
		return nil, err
	}
	applied.Written, applied.files = true, files
	if c.Test == nil {
		return applied, nil
	}
	applied.Tests, err = s.test(ctx, c.Test)
	if err == nil && applied.Tests.Passed {
		return applied, nil
	}
	applied.Written, applied.files, applied.Note = false, nil, "the tests failed: all is as it was before"
	return applied, errors.Join(err, restore(root, files))
}

// fixedFile is a file with fixes applied.
type fixedFile struct {
	name          string
	hash          string // of before, as in Finding.Hash
	before, after string
	findings      []Finding // the fixed ones
}

// mend applies the fixes in memory and returns the files sorted by name. It refuses findings
// without a fix, and those of files that have changed.
func (a *FixResult) mend(root *os.Root, findings []Finding, c Change) (files []fixedFile) {
	byFile := map[string][]Finding{}
	for _, f := range findings {
		byFile[f.File] = append(byFile[f.File], f)
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		before, err := readUnchanged(root, byFile[name][0])
		if err == nil && c.Write {
			err = writable(root, name)
		}
		var fits []Finding
		for _, f := range byFile[name] {
			switch {
			case !f.Fixable():
				a.refuse(f, toolfold.Errorf(FixFailed, "there is no safe fix").WithHint("follow the advice"))
			case err != nil:
				a.refuse(f, err)
			case f.Hash != byFile[name][0].Hash:
				a.refuse(f, changedSince(name))
			default:
				fits = append(fits, f)
			}
		}
		if m := a.together(name, before, fits); len(m.findings) > 0 {
			files = append(files, m)
		}
	}
	return files
}

func (a *FixResult) refuse(f Finding, err error) { a.refusals = append(a.refusals, refusal{f, err}) }

// together applies as many fixes of a file as possible. The file must parse after each of them.
func (a *FixResult) together(name, before string, findings []Finding) fixedFile {
	m := fixedFile{name: name, before: before, after: before}
	var edits []Edit
	var fits []Finding
	for _, f := range findings {
		if overlap(edits, f.Edits) {
			a.refuse(f, toolfold.Errorf(FixFailed, "another fix changes the same place").WithHint("scan the file again once that is written"))
			continue
		}
		edits, fits = append(edits, f.Edits...), append(fits, f)
	}
	if after, err := fixText(name, before, edits); err == nil {
		m.after, m.findings = after, fits
	} else { // some fixes fail, or conflict
		edits = nil
		for _, f := range fits {
			after, err := fixText(name, before, slices.Concat(edits, f.Edits))
			if err != nil {
				a.refuse(f, toolfold.Errorf(FixFailed, "%s: %v; nothing was written", name, err).WithHint("change the file by hand: %s", f.Advice))
				continue
			}
			m.after, m.findings, edits = after, append(m.findings, f), append(edits, f.Edits...)
		}
	}
	if len(m.findings) > 0 {
		m.hash = m.findings[0].Hash
	}
	return m
}

// maxLeft bounds the findings that an outcome lists as not fixed.
const maxLeft = 50

// count sets how many of the findings are fixed, and lists the others.
func (a *FixResult) count(of int) {
	a.Fixed = of - len(a.refusals)
	for i, r := range a.refusals {
		if i == maxLeft {
			a.More = len(a.refusals) - i
			break
		}
		reason := r.err.Error()
		if e := (*toolfold.Error)(nil); errors.As(r.err, &e) {
			reason = e.Message + "; " + e.Hint
		}
		a.Left = append(a.Left, UnfixedFinding{r.ID, r.File, r.Line, reason})
	}
}

// write writes files that have not changed since before. If one fails, it restores the others.
func write(root *os.Root, files []fixedFile) error {
	for i, m := range files {
		err := m.check(root) // it may have changed while the backup was made
		if err == nil {
			if err = safefile.Replace(root, filepath.FromSlash(m.name), []byte(m.after)); err != nil {
				err = notWritable(m.name, reason(err))
			}
		}
		if err != nil {
			return errors.Join(err, restore(root, files[:i]))
		}
	}
	return nil
}

// check returns an error if the file differs from before.
func (m fixedFile) check(root *os.Root) error {
	_, err := readUnchanged(root, Finding{File: m.name, Hash: m.hash})
	return err
}

// readUnchanged returns the text of a finding's file. It is an error if the file changed since the
// scan.
func readUnchanged(root *os.Root, f Finding) (string, error) {
	info, err := root.Lstat(filepath.FromSlash(f.File))
	if errors.Is(err, fs.ErrNotExist) {
		return "", toolfold.Errorf(FileChanged, "%s is not there any more; nothing was written", f.File).WithHint("scan again")
	}
	if err != nil || !info.Mode().IsRegular() {
		return "", toolfold.Errorf(FileChanged, "%s is no plain file inside the workspace any more; nothing was written", f.File).
			WithHint("scan again")
	}
	content, err := read(root, f.File)
	if err != nil {
		return "", toolfold.Errorf(FileChanged, "%s: %s; nothing was written", f.File, reason(err)).WithHint("scan again")
	}
	sum := sha256.Sum256([]byte(content))
	if hex.EncodeToString(sum[:]) != f.Hash {
		return "", changedSince(f.File)
	}
	return content, nil
}

func changedSince(name string) error {
	return toolfold.Errorf(FileChanged, "%s has changed since it was scanned; nothing was written", name).
		WithHint("scan it again: the finding keeps its id if it is still there")
}

// writable returns an error for a read-only file, because replacing it would circumvent its mode.
func writable(root *os.Root, name string) error {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return notWritable(name, reason(err))
	}
	if info.Mode().Perm()&0o222 == 0 {
		return notWritable(name, "it is read-only")
	}
	return nil
}

func notWritable(name, why string) error {
	return toolfold.Errorf(FileReadOnly, "%s cannot be written: %s; nothing was written", name, why).
		WithHint("ask the user to make it writable")
}

// backup stores copies of files and returns the copy, or for several files the folder of the
// copies. The name is derived from the contents, so that equal backups share it.
func backup(root *os.Root, files []fixedFile) (string, error) {
	if len(files) == 1 {
		name := path.Join(BackupFolder, files[0].name+"."+files[0].hash[:12])
		return name, keep(root, name, files[0].before)
	}
	sum := sha256.New()
	for _, m := range files {
		fmt.Fprintln(sum, m.hash, m.name)
	}
	folder := path.Join(BackupFolder, hex.EncodeToString(sum.Sum(nil))[:12])
	for _, m := range files {
		if err := keep(root, path.Join(folder, m.name), m.before); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// keep writes a backup unless it already exists.
func keep(root *os.Root, name, content string) error {
	if have, err := read(root, name); err == nil && have == content {
		return nil
	}
	err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755)
	if err == nil {
		err = ignoreBackups(root)
	}
	if err == nil {
		err = safefile.Replace(root, filepath.FromSlash(name), []byte(content))
	}
	if err != nil {
		return toolfold.Errorf(FileReadOnly, "the backup %s cannot be written: %s; nothing was written", name, reason(err)).
			WithHint("make its folder writable, or pass createBackup: false")
	}
	return nil
}

// ignoreBackups keeps backups out of git status and commits.
func ignoreBackups(root *os.Root) error {
	name := filepath.FromSlash(path.Join(BackupFolder, ".gitignore"))
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	return safefile.Replace(root, name, []byte("*\n"))
}

// restore writes the original texts back, except to files that someone else changed meanwhile.
func restore(root *os.Root, files []fixedFile) error {
	var faults []error
	for _, m := range files {
		if now, err := read(root, m.name); err != nil || now != m.after {
			faults = append(faults, toolfold.Errorf(FileChanged, "%s was changed meanwhile, so the fix was not taken back", m.name).
				WithHint("look at the file: it holds the fix and that change"))
		} else if err := safefile.Replace(root, filepath.FromSlash(m.name), []byte(m.before)); err != nil {
			faults = append(faults, toolfold.Errorf(FileReadOnly, "%s still has the fix, as it cannot be written back: %s", m.name, reason(err)).
				WithHint("copy the backup over it"))
		}
	}
	return errors.Join(faults...)
}

// Limits of the test command.
const (
	testTime   = 10 * time.Minute
	testOutput = 3000 // bytes shown, from the end
)

// test runs the test command in the workspace.
func (s Scanner) test(ctx context.Context, argv []string) (*Tests, error) {
	running, stop := context.WithTimeout(ctx, testTime)
	defer stop()
	out := &child.Tail{Keep: 2 * testOutput}
	err := child.Run(running, child.Command{Argv: argv, Dir: s.Dir, Stdout: out, Stderr: out})
	var start *child.StartError
	var exit *child.ExitError
	switch {
	case err == nil:
		return &Tests{Passed: true}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case running.Err() != nil:
		return &Tests{Output: out.Quote(testOutput, redact.Text) + fmt.Sprintf("\nthe tests took longer than %v", testTime)}, nil
	case errors.As(err, &start):
		return nil, toolfold.Errorf(NoTests, "testCommand cannot be started: %s; the fix was taken back", start.Reason).
			WithHint("the user can mend the setting testCommand")
	case errors.As(err, &exit):
		return &Tests{Output: out.Quote(testOutput, redact.Text) + "\n" + exit.State}, nil
	}
	return nil, err
}
