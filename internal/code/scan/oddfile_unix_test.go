//go:build unix

package scan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file that makes a tool fail, or that the scan cannot read, does not affect other files.
func TestFileThatBreaksATool(t *testing.T) {
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	bin := t.TempDir()
	onlyTools(t, bin)
	for _, name := range []string{"a.sh", "b.sh", "c.sh", "d.sh", "e.sh"} {
		s.write(t, name, "echo $1\n")
	}
	s.write(t, "binary.sh", "\xff")
	program := filepath.Join(bin, "shellcheck")
	fakeTool(t, program, "", 0)
	script := "#!/bin/sh\nfor name; do case $name in ./d.sh) echo 'no idea' >&2; exit 3;; ./binary.sh) exit 3;; esac; done\n" +
		"printf '{\"comments\":['; comma=\nfor name; do case $name in ./*) printf '%s{\"file\":\"%s\",\"line\":1,\"column\":6," +
		"\"level\":\"info\",\"code\":2086,\"message\":\"m\"}' \"$comma\" \"$name\"; comma=,;; esac; done\necho ']}'\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	var files []string
	for _, f := range report.Findings {
		files = append(files, f.File)
	}
	slices.Sort(files)
	if got := strings.Join(files, " "); got != "a.sh b.sh c.sh e.sh" {
		t.Errorf("found in %s; skipped %v", got, report.Skipped)
	}
	if !slices.Contains(report.Skipped, SkippedFile{"d.sh", "shellcheck: exit status 3; it printed: no idea"}) {
		t.Errorf("skipped %v", report.Skipped)
	}
}

// The same applies to a tool that reads file names from a file, such as mypy, which fails for two
// modules with the same name.
func TestFilesThatBreakAToolTogether(t *testing.T) {
	s := Scanner{Dir: t.TempDir(), Trusted: func() bool { return true }}
	bin := t.TempDir()
	onlyTools(t, bin)
	s.write(t, "mypy.ini", "[mypy]\n")
	for _, name := range []string{"a/setup.py", "b/setup.py"} {
		s.write(t, name, "x = 1\n")
	}
	program := filepath.Join(bin, "mypy")
	fakeTool(t, program, "", 0)
	script := "#!/bin/sh\nfor file; do :; done\nfile=${file#@}; found=\n" +
		"while read -r name; do [ -z \"$found\" ] || { echo 'Duplicate module'; exit 2; }; found=$name; done <\"$file\"\n" +
		"echo \"$found:1:1: error: m  [misc]\"; exit 1\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	report := s.must(t, Request{Purpose: Bugs})
	if got := places(report.Findings); !slices.Equal(got, []string{"a/setup.py:1 mypy/misc", "b/setup.py:1 mypy/misc"}) {
		t.Errorf("found %q; skipped %v", got, report.Skipped)
	}
}

// Output that is too long is reported, even if the tool exits as after findings.
func TestToolReportsTooMuch(t *testing.T) {
	report := flooded(t, func(string) string { return strings.Repeat(" ", 33<<20) })
	if len(report.Skipped) != 1 || !strings.HasSuffix(report.Skipped[0].Reason, "its output is longer than 32 MB") {
		t.Errorf("skipped %.500v", report.Skipped)
	}
}
