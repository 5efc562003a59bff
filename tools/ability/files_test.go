package ability

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

// All fields of front matter are parsed, with the defaults of register.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why, text string
		want      Ability
	}{
		{"no front matter", "# Text\n", Ability{ID: "name", Content: "# Text\n", Priority: 50, Enabled: true}},
		{"empty", "", Ability{ID: "name", Priority: 50, Enabled: true}},
		{"empty front matter", "---\n---\nText", Ability{ID: "name", Content: "Text", Priority: 50, Enabled: true}},
		{"comment only", "---\n# nothing\n---\n\nText", Ability{ID: "name", Content: "Text", Priority: 50, Enabled: true}},
		{"one key", "---\npriority: 7\n---\nText", Ability{ID: "name", Content: "Text", Priority: 7, Enabled: true}},
		{"windows", "\ufeff---\r\nenabled: false\r\n---\r\na\r\nb", Ability{ID: "name", Content: "a\nb", Priority: 50}},
		{"rules in the text", "---\npriority: 1\n---\na\n\n---\n\nb", Ability{ID: "name", Content: "a\n\n---\n\nb", Priority: 1, Enabled: true}},
		{"everything", `---
abilityId: other-name
displayName: "Ein: Titel"
version: "1.2"
author: Ana
description: >
  folded
  text
category: 日本語
tags: [a, "b c"]
applicableTo:
  - coder
  - reviewer
excludeFrom: ["*"]
requires: [base]
conflicts: [rival]
priority: 100
enabled: true
---
Text`, Ability{
			ID: "other-name", DisplayName: "Ein: Titel", Version: "1.2", Author: "Ana", Description: "folded text\n",
			Category: "日本語", Tags: []string{"a", "b c"}, ApplicableTo: []string{"coder", "reviewer"}, ExcludeFrom: []string{"*"},
			Requires: []string{"base"}, Conflicts: []string{"rival"}, Priority: 100, Enabled: true, Content: "Text",
		}},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			got, fault := parse("name", test.text)
			if fault != nil {
				t.Fatal(*fault)
			}
			test.want.Source = workspace.InFile
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A broken file is reported with the line and the fix.
func TestParseFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why, text string
		line      int
		reason    string
	}{
		{"misspelt key", "---\ntags: [a]\nprioritty: 3\n---\n", 3, `"prioritty" is unknown, did you mean "priority"?`},
		{"type", "---\ntags: [a]\n\nenabled: perhaps\n---\n", 4, "enabled must be boolean, got string"},
		{"range", "---\npriority: 101\n---\n", 2, "priority must be 1 to 100, got 101"},
		{"item", "---\ntags:\n  - a\n  - 7\n---\n", 4, "tags/1 must be string, got number"},
		{"two faults", "---\npriority: 0\nenabled: 1\n---\n", 3, "enabled must be boolean, got number; priority must be 1 to 100, got 0"},
		{"id", "---\nabilityId: Not_An_Id\n---\n", 2, `abilityId "Not_An_Id" is not lower-case letters, digits and dashes with a letter first`},
		{"own id", "---\ncategory: a\nrequires: [name]\n---\n", 3, "requires/0 must be a valid id of another ability"},
		{"twice", "---\ncategory: a\ncategory: b\n---\n", 3, `"category" stands there twice: first in line 2`},
		{"no mapping", "---\n- a\n---\n", 2, "it must be names with values"},
		{"no end", "---\ncategory: a\n", 1, "the front matter has no closing ---"},
		{"endless", "---\n" + strings.Repeat("# comment\n", 4000) + "---\n", 1, "the front matter has no closing --- in its first 16384 bytes"},
		{"alias", "---\ntags: &t [a]\n---\n", 2, "anchors and aliases are not taken"},
		{"aliases of aliases", "---\ncategory: &a x\ntags: [*a, *a]\n---\n", 2, "anchors and aliases are not taken"},
		{"not UTF-8", "a\xff", 0, "it is not UTF-8"},
		{"long", strings.Repeat("é", maxContent+1), 0, "the content has 50001 characters, more than 50000"},
		{"many faults", "---\na: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\n---\n", 2,
			`"a" is unknown; "b" is unknown; "c" is unknown; "d" is unknown; "e" is unknown; and 1 more`},
		{"not a number", "---\npriority: .nan\n---\n", 2, ".nan has no meaning in JSON"},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			_, got := parse("name", test.text)
			if got == nil {
				t.Fatal("it is taken")
			}
			if got.Line != test.line || got.Reason != test.reason {
				t.Errorf("line %d: %s\nwant line %d: %s", got.Line, got.Reason, test.line, test.reason)
			}
		})
	}
	_, got := parse("name", "---\ntags: [a\ncategory: b\n---\n")
	if got == nil || got.Line < 2 || strings.Contains(got.Reason, "\n") {
		t.Errorf("a syntax error: %+v", got)
	}
	if _, got := parse("Name_", "text"); got == nil || got.Line != 0 || !strings.Contains(got.Reason, `"Name_"`) {
		t.Errorf("a file name that is no id: %+v", got)
	}
}

// Any file is an ability, or has a fault described on one line.
func FuzzParse(f *testing.F) {
	f.Add("---\ntags: [a, b]\npriority: 3\n---\nText")
	f.Add("---\na: !!binary x\n? b\n: - c\n---\n")
	f.Add("---\n<<: {a: 1}\n\"k\": |\n  x\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, fault := parse("name", text)
		if fault == nil && (misnamed(a.ID) != "" || a.Priority < 1 || a.Priority > 100) {
			t.Errorf("%q became %+v", text, a)
		}
		if fault != nil && (fault.Reason == "" || fault.Line < 0) {
			t.Errorf("%q: %+v", text, fault)
		}
	})
}

// Broken files do not hide the others, and no file outside of the workspace is read.
func TestFolder(t *testing.T) {
	t.Parallel()
	s, dir := newService(t)
	writeFile(t, dir, "plain.md", "Plain.")
	writeFile(t, dir, "good.md", "Good.")
	writeFile(t, dir, "bad.md", "---\nprioritty: 3\n---\n")
	writeFile(t, dir, "copy.md", "---\nabilityId: good\n---\n")
	writeFile(t, dir, "huge.md", strings.Repeat("x", maxFile+1))
	writeFile(t, dir, "notes.txt", "not Markdown")
	writeFile(t, dir, ".hidden.md", "an editor's")
	writeFile(t, dir, "folder.md/inner.md", "not looked into")
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, Folder, "link.md")); err != nil {
		t.Fatal(err)
	}
	got, err := s.inFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Ability{
		"good":  {ID: "good", Priority: 50, Enabled: true, Source: "file", File: ".toolfold/abilities/copy.md"},
		"plain": {ID: "plain", Content: "Plain.", Priority: 50, Enabled: true, Source: "file", File: ".toolfold/abilities/plain.md"},
	}
	if diff := cmp.Diff(want, got.abilities); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	reasons := map[string]string{
		"bad.md": `"prioritty" is unknown`, "good.md": "belongs to .toolfold/abilities/copy.md",
		"huge.md": "more than 216384", "link.md": "escapes",
	}
	for _, b := range got.broken {
		name := filepath.Base(b.File)
		if reasons[name] == "" || !strings.Contains(b.Reason, reasons[name]) || strings.Contains(b.Reason, dir) {
			t.Errorf("%+v", b)
		}
		delete(reasons, name)
	}
	if len(reasons) > 0 {
		t.Errorf("not reported: %v", reasons)
	}
}

// Each read returns the current files.
func TestFolderFollowsEdits(t *testing.T) {
	t.Parallel()
	s, dir := newService(t)
	for _, text := range []string{"One.", "Two.", "---\nnope: 1\n---\n", "---\nnope: 1\n---\n", "Three."} {
		writeFile(t, dir, "a.md", text)
		got, err := s.inFiles(t.Context())
		if broken := strings.Contains(text, "nope"); err != nil || broken != (len(got.broken) == 1) || !broken &&
			got.abilities["a"].Content != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, Folder, "a.md")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.inFiles(t.Context()); err != nil || len(got.abilities)+len(got.broken) > 0 {
		t.Errorf("removed: %+v, %v", got, err)
	}
}
