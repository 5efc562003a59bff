package design

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

const spec = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a: {get: {responses: {'200': {description: d}}}}\n"

func TestCheckComparesWithFilesAndCommits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	repo := gittest.New(t, map[string]string{"docs/api.yaml": spec})
	if err := os.CopyFS(b.workspace, os.DirFS(repo.Dir)); err != nil {
		t.Fatal(err)
	}
	b.write("old.yaml", spec)
	b.write("docs/api.yaml", strings.Replace(spec, "/a:", "/b:", 1))
	for _, against := range []string{"main:docs/api.yaml", "main:", "HEAD:./docs/api.yaml", "old.yaml", b.workspace + "/old.yaml"} {
		out := b.get("check", `{"path":"docs/api.yaml","against":"`+against+`"}`)
		breaks, _ := out["breaks"].([]any)
		if len(breaks) != 1 || breaks[0].(map[string]any)["rule"] != "path-removed" || out["format"] != "openapi 3.0.3" {
			t.Errorf("%s: %v", against, out)
		}
	}
	if out := b.get("check", `{"path":"docs/api.yaml"}`); out["breaks"] != nil || out["summary"] != "0 errors, 0 warnings" {
		t.Error(out)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	repo := gittest.New(t, map[string]string{"a.yaml": spec, "folder/x": "1",
		"event.yaml": "asyncapi: 3.0.0\ninfo: {title: t, version: '1'}\n"})
	if err := os.CopyFS(b.workspace, os.DirFS(repo.Dir)); err != nil {
		t.Fatal(err)
	}
	b.write("large.yaml", strings.Repeat("#", 4<<20)+"\n")
	for args, want := range map[string]string{
		`{"path":"../a.yaml"}`:                             "not inside the workspace",
		`{"path":"/etc/passwd"}`:                           "not inside the workspace",
		`{"path":"b.yaml"}`:                                "there is no file b.yaml",
		`{"path":"folder"}`:                                "cannot be checked",
		`{"path":"folder/x"}`:                              "it is no object",
		`{"path":"large.yaml"}`:                            "more than 4194304 bytes",
		`{"path":"a.yaml","against":"event.yaml"}`:         "one is asyncapi and the other openapi",
		`{"path":"a.yaml","against":"nowhere:a.yaml"}`:     "git knows no commit nowhere",
		`{"path":"a.yaml","against":"main:../a.yaml"}`:     "not inside the workspace",
		`{"path":"a.yaml","against":"main:b.yaml"}`:        "has no file b.yaml",
		`{"path":"a.yaml","against":"main:folder"}`:        "no plain file",
		`{"path":"a.yaml","against":"--output=x:a.yaml"}`:  "git knows no commit",
		`{"path":"a.yaml","against":"missing/older.yaml"}`: "there is no file",
	} {
		if got := b.call("check", args); !strings.Contains(got, want) || strings.Contains(got, b.workspace) || !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %s, not %q", args, got, want)
		}
	}
}

func TestCheckReadsOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var paths strings.Builder
	for i := range 60 {
		fmt.Fprintf(&paths, "  /a%d: {get: {responses: {'200': {description: d}}}}\n", i)
	}
	b.write("old.yaml", spec+paths.String())
	b.write("new.yaml", spec)
	first := b.get("check", `{"path":"new.yaml","against":"old.yaml"}`)
	rest := b.get("check", `{"path":"new.yaml","against":"old.yaml","offset":50}`)
	if len(first["breaks"].([]any)) != 50 || first["nextOffset"] != 50.0 || first["breaksTotal"] != 60.0 ||
		len(rest["breaks"].([]any)) != 10 || rest["nextOffset"] != nil {
		t.Errorf("%v\n%v", first["nextOffset"], rest)
	}
}
