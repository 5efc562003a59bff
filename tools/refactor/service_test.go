package refactor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/refactor"
)

const page = "import { a } from \"./a\";\nimport { z } from \"./z\";\nexport function f(x: any) {\n" +
	"  var n = a;\n  if (n.indexOf(\"b\") !== -1) return x;\n  " +
	"const y = n;\n  return y;\n}\n"

// bench calls the actions like a client, in its own workspace with one file. command tests it.
type bench struct {
	toolfoldtest.Talk
	t       *testing.T
	file    string
	command []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db := storagetest.Open(t, "memory:")
	dir := t.TempDir()
	b := &bench{t: t, file: filepath.Join(dir, "page.ts")}
	if err := os.WriteFile(b.file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ids := 0
	runner := toolfoldtest.Runner(toolfoldtest.Mount(t, refactor.Family, refactor.New(scan.Bench{
		Scanner: scan.Scanner{Dir: dir}, Store: db.Scan(), Workspace: "w", Now: time.Now,
		NewID:       func() string { ids++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids) },
		TestCommand: func() ([]string, error) { return b.command, nil },
	})))
	b.Talk = toolfoldtest.Talk{T: t, Call: func(action, args string) string {
		return string(runner.Call(t.Context(), "refactor."+action, json.RawMessage(args)).Content)
	}}
	return b
}

func (b *bench) get(action, args string, out any) {
	b.t.Helper()
	content := b.Call(action, args)
	if err := json.Unmarshal([]byte(content), out); err != nil || strings.HasPrefix(content, `{"error"`) {
		b.t.Fatalf("%s %s: %s", action, args, content)
	}
}

func (b *bench) holds(want string) {
	b.t.Helper()
	got, err := os.ReadFile(b.file)
	if err != nil || string(got) != want {
		b.t.Errorf("the file holds %s, %v", got, err)
	}
}

func TestScanAndList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rules := func(args string) string {
		var scanned refactor.ScanOut
		b.get("scan", args, &scanned)
		var out refactor.ListOut
		b.get("list", `{"limit":500}`, &out)
		if out.ScanID != scanned.ScanID || out.Total != scanned.Count {
			t.Errorf("%s: listed %+v, scanned %+v", args, out, scanned)
		}
		var list []string
		for _, item := range out.Items {
			list = append(list, strings.TrimPrefix(item.Rule, "js/")+" "+item.Impact)
		}
		return strings.Join(list, ", ")
	}
	usual := "var-declaration trivial, unused-import trivial"
	for args, want := range map[string]string{
		`{"paths":["."]}`:                                 usual,
		`{"paths":["."],"minConfidence":0.88}`:            "var-declaration trivial",
		`{"paths":["."],"minConfidence":0}`:               usual,
		`{"paths":["."],"maxImpact":"trivial"}`:           usual,
		`{"paths":["."],"types":["optimize-imports"]}`:    "unused-import trivial",
		`{"paths":["."],"excludePatterns":["*.ts"]}`:      "",
		`{"paths":["page.ts"],"maxImpact":"breaking"}`:    usual,
		`{"paths":["page.ts"],"types":["rename","move"]}`: "",
	} {
		if got := rules(args); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	b.get("scan", `{"paths":["."]}`, &refactor.ScanOut{})
	for args, want := range map[string]int{`{"type":"modernize-syntax"}`: 1, `{"impact":"minor"}`: 0, `{"type":"move"}`: 0,
		`{"type":"optimize-imports","impact":"trivial"}`: 1} {
		var list refactor.ListOut
		if b.get("list", args, &list); list.Total != want || len(list.Items) != want {
			t.Errorf("%s: %+v, want %d", args, list, want)
		}
	}
	b.Refuse("list", `{"type":"modernise"}`, "INVALID_INPUT", "type must be one of its allowed values", "")
}

func TestApply(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var scanned refactor.ScanOut
	b.get("scan", `{"paths":["."],"types":["modernize-syntax"]}`, &scanned)
	id := scanned.TopItems[0].OpportunityID
	apply := func(more string) (out refactor.ApplyOut) {
		t.Helper()
		b.get("apply", fmt.Sprintf(`{"opportunityId":%q%s}`, id, more), &out)
		return out
	}
	const write = `,"dryRun":false,"autoApply":true`
	changed := strings.Replace(page, "var n", "const n", 1)
	if out := apply(""); out.Written || !strings.Contains(out.Diff, "+  const n = a;") || out.Note == "" ||
		out.Tests != nil {
		t.Errorf("a dry run: %+v", out)
	}
	b.Refuse("apply", fmt.Sprintf(`{"opportunityId":%q,"runTests":true}`, id), "INVALID_INPUT", "does not write", "autoApply: true")
	b.Refuse("apply", fmt.Sprintf(`{"opportunityId":%q%s,"runTests":true}`, id, write), scan.NoTests, "no test command", "testCommand")
	b.holds(page)

	b.command = []string{"grep", "var n", "page.ts"} // the change removes this
	if out := apply(write + `,"runTests":true`); out.Written || out.Tests == nil || out.Tests.Passed ||
		!strings.Contains(out.Note, "as it was before") || !strings.Contains(out.Tests.Output, "exit status 1") {
		t.Errorf("tests that fail: %+v, %+v", out, out.Tests)
	}
	b.holds(page)

	b.command = []string{"grep", "const n", "page.ts"}
	out := apply(write + `,"runTests":true`)
	if !out.Written || out.Tests == nil || !out.Tests.Passed || out.Note != "" {
		t.Errorf("tests that pass: %+v, %+v", out, out.Tests)
	}
	b.holds(changed)
	backup, err := os.ReadFile(filepath.Join(filepath.Dir(b.file), filepath.FromSlash(out.Backup)))
	if err != nil || string(backup) != page {
		t.Errorf("the backup holds %s, %v", backup, err)
	}
	b.Refuse("apply", `{"opportunityId":"00000000-0000-4000-8000-000000000009"}`, refactor.NotFound, "no finding", "refactor.list")
}
