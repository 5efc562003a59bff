package memory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/tools/memory"
)

// withFolder returns a service with a folder for files.
func withFolder(t *testing.T) *memory.Service {
	t.Helper()
	s := setup(t)
	s.Folder = t.TempDir()
	return s
}

func write(t *testing.T, s *memory.Service, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *memory.Service, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A file has the entries of all pages of an export, each whole, and an import of the file stores
// them as they were.
func TestExportFileHoldsAllPages(t *testing.T) {
	t.Parallel()
	from, to := withFolder(t), withFolder(t)
	fill(t, from, "n", 2000, func(i int) (key, value string) {
		return fmt.Sprintf("k%04d", i), `{"text":"` + strings.Repeat("é", i%50) + `","id":12345678901234567890,"list":[` +
			strings.Repeat("1,", 60) + `1]}`
	})
	store(t, from, "large", "k", `"`+strings.Repeat("x", 200_000)+`"`)
	call(t, from.Store, memory.StoreIn{Key: "tagged", Value: json.RawMessage(`1.50`), Tags: []string{"b", "a"}, TTLMs: new(3600_000)})

	bounded := callctx.WithRoom(t.Context(), callctx.DefaultRoom)
	out, err := from.ExportFile(bounded, memory.ExportFileIn{Path: "backup/notes.json"})
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, from, "backup/notes.json")
	equal(t, out, memory.ExportFileOut{Path: "backup/notes.json", Count: 2002, Bytes: len(text), ExportedAt: out.ExportedAt})
	if info, err := os.Stat(filepath.Join(from.Folder, "backup/notes.json")); err != nil ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	write(t, to, "notes.json", text)
	if in := call(t, to.Import, memory.ImportIn{Path: "notes.json"}); in.Imported != 2002 || in.Failed != 0 {
		t.Fatalf("import: %+v", in)
	}
	if in := call(t, to.Import, memory.ImportIn{Path: "notes.json"}); in.Skipped != 2002 {
		t.Fatalf("second import: %+v", in)
	}
	if again := call(t, to.ExportFile, memory.ExportFileIn{Path: "again.json"}); again.Bytes != out.Bytes ||
		read(t, to, "again.json") != text {
		t.Errorf("another export has %d bytes, want %d", again.Bytes, out.Bytes)
	}
	part := call(t, from.ExportFile, memory.ExportFileIn{Path: "part.json", Namespace: "n", Prefix: "k19"})
	if part.Count != 100 {
		t.Errorf("a part has %+v", part)
	}
}

// Export replaces its own files only, and not by an export of nothing.
func TestExportFileKeepsOtherFiles(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	store(t, s, "n", "k", `1`)
	if first := call(t, s.ExportFile, memory.ExportFileIn{Path: "notes.json"}); first.Replaced || first.Count != 1 {
		t.Errorf("first: %+v", first)
	}
	store(t, s, "n", "l", `2`)
	second := call(t, s.ExportFile, memory.ExportFileIn{Path: filepath.Join(s.Folder, "notes.json")})
	if !second.Replaced || second.Count != 2 || second.Path != "notes.json" {
		t.Errorf("second: %+v", second)
	}
	before := read(t, s, "notes.json")
	refused(t, s.ExportFile, memory.ExportFileIn{Path: "notes.json", Namespace: "absent"}, toolfold.InvalidInput)
	refused(t, s.ExportFile, memory.ExportFileIn{Path: "new.json", Namespace: "absent"}, toolfold.InvalidInput)
	if after := read(t, s, "notes.json"); after != before {
		t.Errorf("an export of nothing left %s", after)
	}
	for name, text := range map[string]string{
		"empty.json": "", "package.json": `{"name":"app","data":[]}`, "list.json": `[{"key":"k","value":1}]`, "notes.txt": "mine",
	} {
		write(t, s, name, text)
		told := refused(t, s.ExportFile, memory.ExportFileIn{Path: name}, workspace.FileExists)
		if read(t, s, name) != text || !strings.Contains(told.Error(), name) {
			t.Errorf("%s became %q: %v", name, read(t, s, name), told)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Folder, "new.json")); err == nil {
		t.Error("a file was written by an export of nothing")
	}
}

func TestFilesOfExportsStayInside(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	store(t, s, "n", "k", `1`)
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte(`{"exportedAt":"x","data":[{"key":"secret","value":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.Folder, "link.json")); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	for _, path := range []string{"../x.json", outside, "link.json", ".git/config", "."} {
		refused(t, s.ExportFile, memory.ExportFileIn{Path: path}, workspace.PathNotUsable)
	}
	for _, path := range []string{"../x.json", outside, "link.json", "absent.json", "."} {
		refused(t, s.Import, memory.ImportIn{Path: path}, workspace.PathNotUsable)
	}
	s.Folder = ""
	refused(t, s.ExportFile, memory.ExportFileIn{Path: "x.json"}, workspace.PathNotUsable)
	refused(t, s.Import, memory.ImportIn{Path: "x.json"}, workspace.PathNotUsable)
}

// A file is checked as the arguments of a call: as a whole, then entry by entry.
func TestImportOfFiles(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	for text, reason := range map[string]string{
		"":                                      "EOF",
		"mine":                                  "invalid character",
		`{"data":[{"key":"k","value":1}]`:       "EOF",
		`{"data":[]} {}`:                        "more than one",
		`{"notes":[]}`:                          "no list data",
		`{"data":{}}`:                           "no list data",
		`"text"`:                                "no list data",
		`{"data":[{"key":"k","key":"l"}]}`:      "duplicate",
		"{\"data\":[{\"key\":\"\xff\"}]}":       "UTF-8",
		`[` + strings.Repeat("1,", 3e4) + `1]`:  "more than 30,000 entries",
		`[` + strings.Repeat(" ", 32<<20) + `]`: "more than 33554432 bytes",
	} {
		write(t, s, "f.json", text)
		told := refused(t, s.Import, memory.ImportIn{Path: "f.json"}, workspace.PathNotUsable)
		if !strings.Contains(told.Error(), "f.json") || !strings.Contains(told.Error(), reason) || told.Hint == "" {
			t.Errorf("%.40q: %v, want %q", text, told, reason)
		}
	}
	write(t, s, "f.json", `[{"key":"good","value":{"a":1}}, {"key":"far","value":1e999}, {"key":"deep","value":`+
		strings.Repeat("[", 300)+strings.Repeat("]", 300)+`}, 7]`)
	out := call(t, s.Import, memory.ImportIn{Path: "f.json"})
	equal(t, out.Errors, []memory.Rejected{
		{Index: 1, Message: "value has a number beyond 64-bit floating point"},
		{Index: 2, Message: "value nests deeper than 195 levels"},
		{Index: 3, Message: "an entry must be an object with key and value"},
	})
	write(t, s, "page.json", `{"count":1,"hasMore":true,"data":[{"key":"page","value":1}]}`)
	if out := call(t, s.Import, memory.ImportIn{Path: "page.json"}); out.Imported != 1 || !strings.Contains(out.Message, "more pages") {
		t.Errorf("import of a page: %+v", out)
	}
	refused(t, s.Import, memory.ImportIn{}, toolfold.InvalidInput)
	refused(t, s.Import, memory.ImportIn{Path: "f.json", Data: []json.RawMessage{}}, toolfold.InvalidInput)
}
