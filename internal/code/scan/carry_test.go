package scan

import (
	"strings"
	"testing"
)

// Findings move with their lines through a change, unless their lines changed.
func TestCarry(t *testing.T) {
	t.Parallel()
	before := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"
	m := fixedFile{name: "x.py", hash: "h", before: before, after: "new\na\nb\nc\nD\ne\nf\ng\nh\ni\nk\nl\nend\n"}
	carry := m.carry()
	for text, want := range map[string]string{"a": "a", "b": "b", "d": "", "e": "e", "i": "i", "j": "", "k": "k", "l": "l", "b\nc": "b\nc",
		"c\nd": "", "d\ne": "", "i\nj\nk": ""} {
		at := strings.Index(before, text)
		f, ok := carry(Finding{File: "x.py", Hash: "h", Line: 1 + strings.Count(before[:at], "\n"), Edits: []Edit{{at, at + len(text), "X"}}})
		if ok != (want != "") {
			t.Errorf("%q is carried: %t", text, ok)
		}
		if ok && (m.after[f.Edits[0].Start:f.Edits[0].End] != want || f.Line != 1+strings.Count(m.after[:f.Edits[0].Start], "\n")) {
			t.Errorf("%q is carried to line %d, %q", text, f.Line, m.after[f.Edits[0].Start:f.Edits[0].End])
		}
	}
	for name, f := range map[string]Finding{"other file": {File: "y.py", Hash: "h", Line: 1}, "other text": {File: "x.py", Hash: "i", Line: 1},
		"end": {File: "x.py", Hash: "h", Line: 14}} {
		if _, ok := carry(f); ok {
			t.Errorf("%s: a finding is carried", name)
		}
	}
}

// Fixes of one file are applied together. Fixes that conflict or fail are left out with the reason,
// and the others are applied.
func TestSeveralFixes(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	const text = "import os\nx = 1\nif x is 5: pass\nif x is not 5: pass\n"
	s.write(t, "a.py", text)
	s.write(t, "b.py", text)
	s.write(t, "c.py", text)
	report := s.must(t, Request{Purpose: Bugs})
	findings := report.Findings
	for i, f := range findings {
		if f.File == "b.py" && f.Line == 3 { // the same place twice, and a fix that does not parse
			again, broken := f, f
			again.Edits = []Edit{{f.Edits[0].Start, f.Edits[0].End, "==  5"}}
			broken.Edits = []Edit{{0, 0, "((\n"}}
			findings = append(findings[:i:i], append([]Finding{f, again, broken}, findings[i+1:]...)...)
			break
		}
	}
	s.write(t, "c.py", text+"\n")
	applied, err := s.Apply(t.Context(), findings, Change{Write: true, Backup: true, Test: []string{"grep", "-c", "== 5", "a.py", "b.py"}})
	if err != nil || !applied.Written || applied.Tests == nil || !applied.Tests.Passed {
		t.Fatalf("%+v, %v", applied, err)
	}
	want := strings.NewReplacer("x is 5", "x == 5", "x is not 5", "x != 5").Replace(text)
	if s.read(t, "a.py") != want || s.read(t, "b.py") != want || s.read(t, "c.py") != text+"\n" {
		t.Errorf("a.py holds %s\nb.py %s\nc.py %s", s.read(t, "a.py"), s.read(t, "b.py"), s.read(t, "c.py"))
	}
	if s.read(t, applied.Backup+"/a.py") != text || s.read(t, applied.Backup+"/b.py") != text {
		t.Errorf("the backup is in %s: %s", applied.Backup, s.files(t))
	}
	applied.count(len(findings))
	reasons := ""
	for _, l := range applied.Left {
		reasons += l.File + ": " + l.Reason + "\n"
	}
	if applied.Fixed != 4 || strings.Count(reasons, "c.py: c.py has changed since it was scanned") != 2 ||
		strings.Count(reasons, "b.py: another fix changes the same place") != 1 ||
		strings.Count(reasons, "b.py: b.py: the file would not parse") != 1 {
		t.Errorf("%d are fixed, left are\n%s", applied.Fixed, reasons)
	}
}

// If the tests fail, all files are restored.
func TestSeveralFixesAreTakenBack(t *testing.T) {
	t.Parallel()
	s := Scanner{Dir: t.TempDir()}
	s.write(t, "a.py", "if x is 5: pass\n")
	s.write(t, "b.py", "if x is 5: pass\n")
	applied, err := s.Apply(t.Context(), s.must(t, Request{Purpose: Bugs}).Findings, Change{Write: true, Test: []string{"grep", "is", "a.py"}})
	if err != nil || applied.Written || applied.Tests == nil || applied.Tests.Passed {
		t.Fatalf("%+v, %v", applied, err)
	}
	if s.read(t, "a.py") != "if x is 5: pass\n" || s.read(t, "b.py") != "if x is 5: pass\n" {
		t.Errorf("a.py holds %s, b.py %s", s.read(t, "a.py"), s.read(t, "b.py"))
	}
}
