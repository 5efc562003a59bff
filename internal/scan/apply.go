package scan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/child"
	"github.com/toolfold/toolfold/internal/redact"
	"github.com/toolfold/toolfold/internal/safefile"
)

// The codes of a fix.
const (
	FileChanged  = "FILE_CHANGED"      // since the scan
	FileReadOnly = "FILE_NOT_WRITABLE" // the file, its folder or the backup's
	FixFailed    = "FIX_FAILED"        // the fix does not go
	NoTests      = "NO_TEST_COMMAND"   // nothing says how to run the tests
)

// BackupFolder holds the backups, below the workspace.
const BackupFolder = ".toolfold/backups"

// Change says what to do with the fix of a finding.
type Change struct {
	Write  bool     // else the difference is all
	Backup bool     // keep the file as it was
	Test   []string // the argument vector that tests the change; nil = none
}

// Applied is the result of a change.
type Applied struct {
	Outcome
	Tests *Tests // nil = none ran
}

// Outcome holds the result fields of a change. Embed it in the result of an
// action.
type Outcome struct {
	Written bool   `json:"applied" doc:"Whether the fix was written."`
	Note    string `json:"note,omitempty" doc:"Why it was not; absent if it was."`
	Diff    string `json:"diff,omitempty" doc:"Unified diff; absent without a safe fix."`
	Backup  string `json:"backup,omitempty" doc:"Copy of the file as it was."`
}

// Tests is the result of the test command.
type Tests struct {
	Passed bool   `json:"passed" doc:"Whether the command succeeded."`
	Output string `json:"output,omitempty" doc:"End of its output; absent if they passed."`
}

// writing lets one goroutine of the process change a file at a time: from the
// look at it to the end of the tests.
var writing sync.Mutex

// Apply makes the fix of a finding, if the file is still as it was scanned.
// Where an error is returned, and where the tests fail, the file is as before.
func (s Scanner) Apply(ctx context.Context, f Finding, c Change) (*Applied, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	writing.Lock()
	defer writing.Unlock()
	before, err := unchanged(root, f)
	if err != nil {
		return nil, err
	}
	after, err := fixed(f, before)
	if err != nil {
		return nil, toolfold.Errorf(FixFailed, "%s: %v; nothing was written", f.File, err).WithHint("change the file by hand: %s", f.Advice)
	}
	applied := &Applied{Outcome: Outcome{Diff: unified(f.File, before, after)}}
	if !c.Write {
		applied.Note = "nothing was written: pass autoApply: true and dryRun: false to write it"
		return applied, nil
	}
	if err := writable(root, f.File); err != nil {
		return nil, err
	}
	if c.Backup {
		if applied.Backup, err = backup(root, f, before); err != nil {
			return nil, err
		}
	}
	if _, err := unchanged(root, f); err != nil { // while the backup was made
		return nil, err
	}
	if err := safefile.Replace(root, filepath.FromSlash(f.File), []byte(after)); err != nil {
		return nil, notWritable(f.File, reason(err))
	}
	applied.Written = true
	if c.Test == nil {
		return applied, nil
	}
	applied.Tests, err = s.test(ctx, c.Test)
	if err == nil && applied.Tests.Passed {
		return applied, nil
	}
	applied.Written, applied.Note = false, "the tests failed: the file is as it was before"
	return applied, errors.Join(err, restore(root, f.File, before, after))
}

// unchanged returns the text of a finding's file, if it has not changed since the scan.
func unchanged(root *os.Root, f Finding) (string, error) {
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
		return "", toolfold.Errorf(FileChanged, "%s has changed since it was scanned; nothing was written", f.File).
			WithHint("scan it again: the finding keeps its id if it is still there")
	}
	return content, nil
}

// writable refuses a file that its mode protects: replacing it would go round
// that.
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

// backup keeps the text of a finding's file under a name that follows from it.
func backup(root *os.Root, f Finding, content string) (string, error) {
	name := path.Join(BackupFolder, f.File+"."+f.Hash[:12])
	if have, err := read(root, name); err == nil && have == content {
		return name, nil
	}
	err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755)
	if err == nil {
		err = ignoreBackups(root)
	}
	if err == nil {
		err = safefile.Replace(root, filepath.FromSlash(name), []byte(content))
	}
	if err != nil {
		return "", toolfold.Errorf(FileReadOnly, "the backup %s cannot be written: %s; nothing was written", name, reason(err)).
			WithHint("make its folder writable, or pass createBackup: false")
	}
	return name, nil
}

// ignoreBackups keeps backups out of what git shows and commits.
func ignoreBackups(root *os.Root) error {
	name := filepath.FromSlash(path.Join(BackupFolder, ".gitignore"))
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	return safefile.Replace(root, name, []byte("*\n"))
}

// restore puts the text of before back, unless somebody else changed the file
// meanwhile.
func restore(root *os.Root, name, before, after string) error {
	if now, err := read(root, name); err != nil || now != after {
		return toolfold.Errorf(FileChanged, "%s was changed while the tests ran, so the fix was not taken back", name).
			WithHint("look at the file: it holds the fix and that change")
	}
	if err := safefile.Replace(root, filepath.FromSlash(name), []byte(before)); err != nil {
		return toolfold.Errorf(FileReadOnly, "%s still has the fix, as it cannot be written back: %s", name, reason(err)).
			WithHint("copy the backup over it")
	}
	return nil
}

// Limits of the test command.
const (
	testTime   = 10 * time.Minute
	testOutput = 3000 // bytes that are shown, from the end
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
