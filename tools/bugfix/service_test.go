package bugfix_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/bugfix"
)

// bench calls the actions like a client, in its own workspace. Its file has two faults with fixes
// and one without.
type bench struct {
	toolfoldtest.Talk
	t   *testing.T
	ctx context.Context
	dir string
}

const cart = "export function f(a: any, el: Element) {\n  if (a = 1) return 1;\n  if (a === NaN) return 2;\n  " +
	"eval(el.id + req.body.code);\n  return 3;\n}\n"

func newBench(t *testing.T) *bench {
	t.Helper()
	db := storagetest.Open(t, "memory:")
	b := &bench{t: t, ctx: t.Context(), dir: t.TempDir()}
	b.write("src/cart.ts", cart)
	ids := 0
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	runner := toolfoldtest.Runner(toolfoldtest.Mount(t, bugfix.Family, bugfix.New(scan.Bench{
		Scanner: scan.Scanner{Dir: b.dir}, Store: db.Scan(), Workspace: "w",
		Now:   func() time.Time { return start.Add(time.Duration(ids) * time.Second) },
		NewID: func() string { ids++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids) },
	})))
	b.Talk = toolfoldtest.Talk{T: t, Call: func(action, args string) string {
		return string(runner.Call(b.ctx, "bugfix."+action, json.RawMessage(args)).Content)
	}}
	return b
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

// get calls an action that must succeed and reads its result into out.
func (b *bench) get(action, args string, out any) {
	b.t.Helper()
	content := b.Call(action, args)
	if err := json.Unmarshal([]byte(content), out); err != nil || strings.HasPrefix(content, `{"error"`) {
		b.t.Fatalf("%s %s: %s", action, args, content)
	}
}

func TestScanListRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var scanned bugfix.ScanOut
	b.get("scan", `{"paths":["src"]}`, &scanned)
	if scanned.Count != 3 || scanned.Files != 1 || scanned.HasMore || len(scanned.TopItems) != 3 ||
		fmt.Sprint(scanned.BySeverity) != "map[critical:1 high:2]" {
		t.Errorf("scanned %+v", scanned)
	}
	var list bugfix.ListOut
	b.get("list", `{}`, &list)
	if list.Total != 3 || list.ScanID != scanned.ScanID || list.HasMore {
		t.Errorf("listed %+v", list)
	}
	for i, item := range list.Items {
		top := scanned.TopItems[i]
		if item.BugID != top.BugID || item.File != top.File || item.Line != top.Line || item.Fixable != top.Fixable || item.Snippet == "" ||
			item.Advice == "" || item.Rule == "" {
			t.Errorf("listed %+v, shown %+v", item, top)
		}
	}
	unsafe := slices.IndexFunc(list.Items, func(i bugfix.Item) bool { return !i.Fixable })
	var ran bugfix.RunOut
	b.get("run", fmt.Sprintf(`{"bugId":%q,"dryRun":false,"autoApply":true}`, list.Items[unsafe].BugID), &ran)
	if ran.Written || ran.Diff != "" || ran.Advice == "" || !strings.Contains(ran.Note, "no safe fix") || b.read("src/cart.ts") != cart {
		t.Errorf("without a fix: %+v", ran)
	}
	safe := list.Items[slices.IndexFunc(list.Items, func(i bugfix.Item) bool { return i.Rule == "js/nan-comparison" })]
	for _, args := range []string{"", `,"autoApply":true`, `,"dryRun":false`, `,"dryRun":true,"autoApply":true`} {
		ran = bugfix.RunOut{}
		b.get("run", fmt.Sprintf(`{"bugId":%q%s}`, strings.ToUpper(safe.BugID), args), &ran)
		if ran.Written || !strings.Contains(ran.Diff, "\n+  if (Number.isNaN(a)) return 2;\n") ||
			!strings.Contains(ran.Note, "nothing was written") || b.read("src/cart.ts") != cart {
			t.Errorf("%s: %+v", args, ran)
		}
	}
	ran = bugfix.RunOut{}
	b.get("run", fmt.Sprintf(`{"bugId":%q,"dryRun":false,"autoApply":true}`, safe.BugID), &ran)
	if !ran.Written || ran.Note != "" || ran.Backup == "" || b.read(ran.Backup) != cart ||
		b.read("src/cart.ts") != strings.Replace(cart, "a === NaN", "Number.isNaN(a)", 1) {
		t.Errorf("applied %+v; the file holds %s", ran, b.read("src/cart.ts"))
	}
	b.Refuse("run", fmt.Sprintf(`{"bugId":%q}`, list.Items[unsafe+1].BugID), scan.FileChanged, "has changed since", "scan it again")
	again := bugfix.ScanOut{}
	b.get("scan", `{"paths":["src/cart.ts"]}`, &again)
	if again.Count != 2 || again.TopItems[0].BugID != list.Items[unsafe].BugID {
		t.Errorf("scanned again %+v", again)
	}
	ran = bugfix.RunOut{}
	b.get("run", fmt.Sprintf(`{"bugId":%q,"dryRun":false,"autoApply":true,"createBackup":false}`, again.TopItems[1].BugID), &ran)
	if !ran.Written || ran.Backup != "" {
		t.Errorf("applied %+v", ran)
	}
	b.Refuse("run", `{"bugId":"00000000-0000-4000-8000-000000000009"}`, bugfix.NotFound, "no finding", "bugfix.list")
}

func TestListPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Expect("list", `{}`, `{"items":[],"total":0,"hasMore":false,"warnings":["there are no items; bugfix.scan adds to them"]}`)
	b.write("src/many.ts", strings.Repeat("if (a === NaN) b();\n", 7))
	b.get("scan", `{"paths":["src/many.ts"]}`, &bugfix.ScanOut{})
	var seen []string
	cursor := ""
	for {
		var page bugfix.ListOut
		b.get("list", fmt.Sprintf(`{"limit":2,"category":"logic-error","cursor":%q}`, cursor), &page)
		if page.Total != 7 || len(page.Items) > 2 || page.HasMore != (page.NextCursor != "") {
			t.Fatalf("page %+v", page)
		}
		for _, item := range page.Items {
			seen = append(seen, fmt.Sprint(item.File, ":", item.Line))
		}
		if cursor = page.NextCursor; !page.HasMore {
			break
		}
		// A newer scan does not affect the pages of this one.
		b.get("scan", `{"paths":["src/cart.ts"]}`, &bugfix.ScanOut{})
	}
	if want := "src/many.ts:1 src/many.ts:2 src/many.ts:3 src/many.ts:4 src/many.ts:5 src/many.ts:6 " +
		"src/many.ts:7"; strings.Join(seen, " ") != want {
		t.Errorf("pages had %v", seen)
	}
	var high bugfix.ListOut
	b.get("list", `{"severity":"high"}`, &high)
	if high.Total != 2 {
		t.Errorf("high: %+v", high)
	}
	b.Refuse("list", `{"scanId":"00000000-0000-4000-8000-000000000099"}`, scan.ScanMissing, "no scan", "leave scanId out")
	b.Refuse("list", `{"cursor":"zzz"}`, "INVALID_INPUT", "cursor", "")
	b.Refuse("scan", `{"paths":["../x"]}`, workspace.PathNotUsable, "outside", "in the workspace")
}

// The caller gets progress, and a cancelled scan stores nothing.
func TestProgressAndCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 200 {
		b.write(fmt.Sprintf("src/f%d.ts", i), "if (a === NaN) b();\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var progress []toolfold.Progress
	b.ctx = callctx.With[func(toolfold.Progress)](ctx, func(p toolfold.Progress) { progress = append(progress, p) })
	b.get("scan", `{"paths":["src"],"maxFiles":200}`, &bugfix.ScanOut{})
	if len(progress) < 2 || progress[len(progress)-1].Done != 200 || progress[0].Total != 200 || progress[0].Message == "" {
		t.Errorf("progress %v", progress)
	}
	before := b.Call("list", `{"limit":1}`)
	b.ctx = callctx.With[func(toolfold.Progress)](ctx, func(toolfold.Progress) { cancel() })
	if got := b.Call("scan", `{"paths":["src"],"maxFiles":200}`); !strings.Contains(got, `"CANCELLED"`) {
		t.Errorf("a cancelled scan answered %.200s", got)
	}
	b.ctx = t.Context()
	if after := b.Call("list", `{"limit":1}`); after != before {
		t.Errorf("listed %s, before %s", after, before)
	}
}

// One call fixes all findings of a rule or a file, and leaves the other findings of these files
// valid.
func TestRunMany(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const text = "x = 1\nif x is 500: pass\nyaml.load(x)\nif x is 500: pass\n"
	b.write("src/cart.ts", "export {};\n")
	b.write("a.py", text)
	b.write("b.py", text)
	b.get("scan", `{"paths":["."]}`, &bugfix.ScanOut{})
	var list bugfix.ListOut
	b.get("list", `{"limit":50}`, &list)
	other, ids := "", []string{}
	for _, item := range list.Items {
		switch {
		case item.File != "a.py":
		case item.Rule == "python/unsafe-yaml":
			other = item.BugID
		default:
			ids = append(ids, item.BugID)
		}
	}
	if other == "" || len(ids) != 2 {
		t.Fatalf("found %+v", list.Items)
	}
	const write = `"dryRun":false,"autoApply":true`
	var out bugfix.RunOut
	b.get("run", `{"rule":"is-literal"}`, &out)
	if out.Written || out.Fixed != 4 || strings.Count(out.Diff, "+if x == 500") != 4 || out.Item != nil || b.read("a.py") != text {
		t.Errorf("a dry run: %+v", out)
	}
	out = bugfix.RunOut{}
	b.get("run", fmt.Sprintf(`{"bugIds":[%q,%q],%s}`, ids[0], ids[1], write), &out)
	half := strings.ReplaceAll(text, "is 500", "== 500")
	if !out.Written || out.Fixed != 2 || len(out.Left) > 0 || b.read("a.py") != half || b.read(out.Backup) != text || b.read("b.py") != text {
		t.Errorf("two by their ids: %+v; a.py holds %s", out, b.read("a.py"))
	}
	out = bugfix.RunOut{}
	b.get("run", fmt.Sprintf(`{"bugId":%q,%s}`, other, write), &out)
	if whole := strings.Replace(half, ".load", ".safe_load", 1); !out.Written || out.BugID != other || b.read("a.py") != whole {
		t.Errorf("one whose place did not change: %+v; a.py holds %s", out, b.read("a.py"))
	}
	out = bugfix.RunOut{}
	b.get("run", fmt.Sprintf(`{"file":%q,%s}`, filepath.Join(b.dir, "b.py"), write), &out)
	if !out.Written || out.Fixed != 3 || b.read("b.py") != b.read("a.py") {
		t.Errorf("all of a file: %+v; b.py holds %s", out, b.read("b.py"))
	}
	b.Refuse("run", `{}`, "INVALID_INPUT", "not clear which findings to fix", "bugIds")
	b.Refuse("run", fmt.Sprintf(`{"bugId":%q,"rule":"x"}`, other), "INVALID_INPUT", "not clear which findings to fix", "bugIds")
	b.Refuse("run", `{"rule":"no-such-rule"}`, bugfix.NotFound, "no finding of that rule", "bugfix.list")
	b.Refuse("run", `{"file":"../a.py"}`, bugfix.NotFound, "no finding of that rule and file", "bugfix.list")
	unknown := fmt.Sprintf(`{"bugIds":[%q,"00000000-0000-4000-8000-000000000009"],%s}`, other, write)
	b.Refuse("run", unknown, bugfix.NotFound, "no finding", "list")
}
