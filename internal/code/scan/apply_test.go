package scan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

// one scans a file with one fixable fault, and returns the finding.
func one(t *testing.T) (Scanner, Finding) {
	t.Helper()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "src/a.ts", faulty)
	report := s.must(t, Request{Purpose: Bugs})
	if len(report.Findings) != 1 || !report.Findings[0].Fixable() {
		t.Fatalf("found %v", report.Findings)
	}
	return s, report.Findings[0]
}

const (
	faulty = "export const n = 1;\nif (n === NaN) n;\n"
	fixed  = "export const n = 1;\nif (Number.isNaN(n)) n;\n"
)

// apply applies the fix of one finding, and returns a refusal as an error.
func (s Scanner) apply(t *testing.T, f Finding, c Change) (*FixResult, error) {
	t.Helper()
	applied, err := s.Apply(t.Context(), []Finding{f}, c)
	if err == nil && len(applied.refusals) > 0 {
		return nil, applied.refusals[0].err
	}
	return applied, err
}

// files lists the files of the workspace.
func (s Scanner) files(t *testing.T) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(s.Dir, path)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

func code(err error) string {
	var refused *toolfold.Error
	if errors.As(err, &refused) && refused.Hint != "" {
		return refused.Code
	}
	return ""
}

func TestDiffWritesNothing(t *testing.T) {
	t.Parallel()
	s, f := one(t)
	applied, err := s.apply(t, f, Change{Backup: true})
	if err != nil {
		t.Fatal(err)
	}
	want := "diff a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,2 @@\n export const n = 1;\n" +
		"-if (n === NaN) n;\n+if (Number.isNaN(n)) n;\n"
	if applied.Diff != want || applied.Written || applied.Backup != "" {
		t.Errorf("applied %+v", applied)
	}
	if s.read(t, "src/a.ts") != faulty || s.files(t) != "src/a.ts" {
		t.Errorf("there is %s: %s", s.files(t), s.read(t, "src/a.ts"))
	}
}

func TestWriteKeepsBackupAndMode(t *testing.T) {
	t.Parallel()
	s, f := one(t)
	if err := os.Chmod(filepath.Join(s.Dir, "src/a.ts"), 0o750); err != nil {
		t.Fatal(err)
	}
	applied, err := s.apply(t, f, Change{Write: true, Backup: true})
	if err != nil || !applied.Written {
		t.Fatal(applied, err)
	}
	if s.read(t, "src/a.ts") != fixed || s.read(t, applied.Backup) != faulty ||
		s.files(t) != BackupFolder+"/.gitignore "+applied.Backup+" src/a.ts" {
		t.Errorf("there is %s: %s", s.files(t), s.read(t, "src/a.ts"))
	}
	if info, err := os.Stat(filepath.Join(s.Dir, "src/a.ts")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if again, err := s.apply(t, f, Change{Write: true}); code(err) != FileChanged {
		t.Errorf("a second time: %v, %v", again, err)
	}
	if found := s.must(t, Request{Purpose: Bugs}).Findings; len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// A file that changed since the scan, or cannot be written, stays unchanged.
func TestRefusalsTouchNothing(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "a.ts")
	if err := os.WriteFile(outside, []byte(faulty), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, path string) error
		code   string
		holds  string // empty = there is no file
	}{
		"changed": {func(_ *testing.T, path string) error { return os.WriteFile(path, []byte(faulty+"\n"), 0o644) }, FileChanged,
			faulty + "\n"},
		"gone":      {func(_ *testing.T, path string) error { return os.Remove(path) }, FileChanged, ""},
		"read-only": {func(_ *testing.T, path string) error { return os.Chmod(path, 0o444) }, FileReadOnly, faulty},
		"link": {func(_ *testing.T, path string) error {
			return errors.Join(os.Remove(path), os.Symlink(outside, path))
		}, FileChanged, faulty},
		"folder is a link": {func(_ *testing.T, path string) error {
			return errors.Join(os.RemoveAll(filepath.Dir(path)), os.Symlink(filepath.Dir(outside), filepath.Dir(path)))
		}, FileChanged, faulty},
		"backup leads out": {func(t *testing.T, path string) error {
			return os.Symlink(t.TempDir(), filepath.Join(filepath.Dir(filepath.Dir(path)), ".toolfold"))
		}, FileReadOnly, faulty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := one(t)
			path := filepath.Join(s.Dir, "src/a.ts")
			if err := test.change(t, path); err != nil {
				t.Skipf("links cannot be made here: %v", err)
			}
			before := s.files(t)
			applied, err := s.apply(t, f, Change{Write: true, Backup: true})
			if code(err) != test.code {
				t.Errorf("answered %+v, %v", applied, err)
			}
			got, _ := os.ReadFile(path)
			if string(got) != test.holds || s.files(t) != before {
				t.Errorf("there is %s now, it was %s: %q", s.files(t), before, got)
			}
			if content, err := os.ReadFile(outside); err != nil || string(content) != faulty {
				t.Errorf("the file outside holds %q, %v", content, err)
			}
		})
	}
}

// The test command decides whether a change stays.
func TestTests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argv           []string
		passes, starts bool
		output         string
	}{
		"pass":  {[]string{"grep", "Number", "src/a.ts"}, true, true, ""},
		"fail":  {[]string{"grep", "-c", "nothing", "src/a.ts"}, false, true, "0\nexit status 1"},
		"start": {[]string{"./no-such-program"}, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f := one(t)
			applied, err := s.apply(t, f, Change{Write: true, Test: test.argv})
			if !test.starts {
				if code(err) != NoTests || s.read(t, "src/a.ts") != faulty {
					t.Errorf("answered %v; the file holds %s", err, s.read(t, "src/a.ts"))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := faulty
			if test.passes {
				want = fixed
			}
			if *applied.Tests != (Tests{test.passes, test.output}) || applied.Written != test.passes || s.read(t, "src/a.ts") != want {
				t.Errorf("answered %+v, %+v; the file holds %s", applied, applied.Tests, s.read(t, "src/a.ts"))
			}
		})
	}
}

// A file that the tests themselves change is not overwritten.
func TestTestsThatChangeTheFile(t *testing.T) {
	t.Parallel()
	s, f := one(t)
	_, err := s.apply(t, f, Change{Write: true, Test: []string{"sh", "-c", "echo theirs >src/a.ts; exit 1"}})
	if code(err) != FileChanged || s.read(t, "src/a.ts") != "theirs\n" {
		t.Errorf("answered %v; the file holds %s", err, s.read(t, "src/a.ts"))
	}
}
