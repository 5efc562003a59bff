package memory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
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

// A file has the entries of an export, or only a list of them. Those that have expired meanwhile are
// reported, and the others are stored.
func TestImportOfFile(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	write(t, s, "export.json", `{"count": 2, "exportedAt": "2026-01-01T00:00:00Z", "other": [{}], "data": [
{"key": "a", "value": {"id": 12345678901234567890, "f": 1.50}, "namespace": "n", "tags": ["x"], "storedAt": "2026-01-02T00:00:00Z"},
{"key": "b", "value": 2, "expiresAt": "2020-01-01T00:00:00Z"}
], "hasMore": false}`)
	out := call(t, s.Import, memory.ImportIn{Path: "export.json"})
	equal(t, out, memory.ImportOut{Imported: 1, Failed: 1, ImportedAt: out.ImportedAt,
		Errors: []memory.ImportProblem{{Index: 1, Message: "it has expired"}}})
	got := call(t, s.Get, memory.GetIn{Key: "a", Namespace: "n"})
	if string(got.Value) != `{"id":12345678901234567890,"f":1.50}` || fmt.Sprint(got.Tags) != "[x]" || got.StoredAt.Year() != 2026 {
		t.Errorf("%s, %+v", got.Value, got)
	}
	if out := call(t, s.Import, memory.ImportIn{Path: filepath.Join(s.Folder, "export.json")}); out.Skipped != 1 {
		t.Errorf("again: %+v", out)
	}
	write(t, s, "list.json", `[{"key":"c","value":1}]`)
	if out := call(t, s.Import, memory.ImportIn{Path: "list.json", Namespace: "m"}); out.Imported != 1 {
		t.Errorf("a list: %+v", out)
	}
	write(t, s, "page.json", `{"hasMore":true,"data":[{"key":"page","value":1}]}`)
	if out := call(t, s.Import, memory.ImportIn{Path: "page.json"}); out.Imported != 1 || !strings.Contains(out.Message, "more pages") {
		t.Errorf("import of a page: %+v", out)
	}
}

// A file with a fault is refused, with the place of the fault, and stores nothing.
func TestImportOfFileRefused(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	good := `{"key":"good","value":1}`
	for text, reason := range map[string]string{
		"":     "EOF",
		"mine": "line 1: ",
		"{\"data\":[\n{\"key\":\"k\",\"value\":1}\n": "EOF",
		`{"data":[]} {}`: "more than one",
		`{"notes":[]}`:   "no list data",
		`{"data":{}}`:    "no list data",
		`"text"`:         "no list data",
		"{\n\"data\":[\n" + good + ",\n{\"key\":\"k\",\"key\":\"l\"}\n]}":           "line 4: jsontext: duplicate object member",
		"{\"data\":[\n{\"key\":\"\xff\"}]}":                                         "line 2: jsontext: invalid UTF-8",
		`[` + strings.Repeat("1,", 3e4) + `1]`:                                      "more than 30,000 entries",
		`[` + strings.Repeat(" ", 32<<20) + `]`:                                     "more than 33554432 bytes",
		"[" + good + `,{"key":"far","value":1e999}]`:                                "line 1, entry 1: value has a number beyond",
		"[" + good + ",\n" + `{"key":"deep","value":` + deep + `}]`:                 "line 2, entry 1: value nests deeper",
		"[\n" + good + ",\n\n7]":                                                    "line 4, entry 1: an entry must be an object",
		"{\"data\": [\n" + good + strings.Repeat(",\n{}", 7) + "]}":                 "7 of 8 entries that cannot be imported",
		"[" + good + strings.Repeat(",{}", 1200) + "]":                              "; and 1,195 more",
		"[" + good + `,{"key":"k","value":"` + strings.Repeat("x", 300_000) + `"}]`: "entry 1: value",
		"[" + good + `,{"key":"k","namespace":"n","bytes":300000,"omitted":true}]`:  "was too long for the answer of export",
		"[" + good + `,{"key":"k","value":1,"storedAt":"yesterday"}]`:               "entry 1: storedAt",
		"[" + good + `,{"key":"k","value":1,"colour":"red"}]`:                       `"colour" is unknown`,
	} {
		write(t, s, "f.json", text)
		_, err := s.Import(t.Context(), memory.ImportIn{Path: "f.json"})
		refused, ok := err.(*toolfold.Error)
		if !ok || !strings.Contains(err.Error(), "f.json") || !strings.Contains(err.Error(), reason) || refused.Hint == "" ||
			!strings.Contains(err.Error(), "nothing was stored") || len(err.Error()) > 900 {
			t.Errorf("%.60q: %v, want %q", text, err, reason)
		}
	}
	if stats := call(t, s.Stats, memory.StatsIn{}); stats.TotalEntries != 0 {
		t.Errorf("%d entries were stored", stats.TotalEntries)
	}
}

func TestImportTakesOneSource(t *testing.T) {
	t.Parallel()
	s := withFolder(t)
	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(outside, []byte(`[{"key":"secret","value":1}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.Folder, "link.json")); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(s.Folder, "away")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../x.json", outside, "link.json", "away/secret.json", "absent.json", ".", "a\x00b"} {
		refused(t, s.Import, memory.ImportIn{Path: path}, workspace.PathNotUsable)
	}
	told := refused(t, s.Import, memory.ImportIn{}, toolfold.InvalidInput)
	if told.Hint != "give data, or path to import a file of the workspace" {
		t.Error(told.Hint)
	}
	told = refused(t, s.Import, memory.ImportIn{Path: "f.json", Data: []json.RawMessage{}}, toolfold.InvalidInput)
	if !strings.Contains(told.Message, "both given") || told.Hint != "give one of them" {
		t.Error(told)
	}
	s.Folder = ""
	refused(t, s.Import, memory.ImportIn{Path: "x.json"}, workspace.PathNotUsable)
}
