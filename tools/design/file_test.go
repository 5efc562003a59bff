package design

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold"

	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/toolfoldtest"
)

func TestFilesAreWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out := b.get("schema", user(`,"outputPath":"src/types/user.ts"`))
	if fmt.Sprint(out["file"]) != fmt.Sprintf("map[bytes:%d path:src/types/user.ts]", len(userText)) {
		t.Errorf("file: %v", out["file"])
	}
	b.expectFile("src/types/user.ts", userText)
	b.expectFiles("src", "src/types", "src/types/user.ts")
	if again := b.get("schema", user("")); again["designId"] != out["designId"] || again["content"] != userText || out["content"] != nil {
		t.Errorf("with a file %v, without one %v", out, again)
	}

	absolute := filepath.ToSlash(filepath.Join(b.workspace, "a.ts"))
	out = b.get("schema", user(`,"outputPath":"`+absolute+`"`))
	if fmt.Sprint(out["file"]) != fmt.Sprintf("map[bytes:%d path:a.ts]", len(userText)) {
		t.Errorf("file: %v", out["file"])
	}
}

func TestEndingsChooseYAML(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	api := `{"name":"n","endpoints":[{"path":"/","method":"GET","summary":"s"}],"outputPath":"%s"}`
	for name, start := range map[string]string{"a.yaml": "openapi: ", "a.YML": "openapi: ", "a.json": "{", "a": "{"} {
		if got := b.readBack(b.get("api", fmt.Sprintf(api, name)))["content"].(string); !strings.HasPrefix(got, start) {
			t.Errorf("%s: %.40s", name, got)
		}
	}
}

func TestOwnFilesAreReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.get("schema", user(`,"outputPath":"a.ts"`))
	b.get("schema", user(`,"outputPath":"a.ts"`))
	changed := strings.Replace(user(`,"outputPath":"a.ts"`), "email\",", "mail\",", 1)
	b.get("schema", changed)
	b.expectFile("a.ts", strings.Replace(userText, "email", "mail", 1))
	b.expectFiles("a.ts")

	b.write("a.ts", userText+"// mine\n")
	b.Refuse("schema", changed, workspace.FileExists, "a.ts exists", "overwrite: true")
	b.expectFile("a.ts", userText+"// mine\n")
}

func TestForeignFilesStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.ts", "mine")
	b.Refuse("schema", user(`,"outputPath":"a.ts"`), workspace.FileExists, "a.ts exists", "overwrite: true")
	b.write("empty.ts", "")
	b.Refuse("schema", user(`,"outputPath":"empty.ts"`), workspace.FileExists, "empty.ts exists", "overwrite: true")
	b.write("large.ts", strings.Repeat("x", MaxBytes+1))
	b.Refuse("schema", user(`,"outputPath":"large.ts"`), workspace.FileExists, "large.ts exists", "overwrite: true")
	b.expectFile("a.ts", "mine")
	if len(b.store.designs) != 0 {
		t.Error("a design was stored although its file was refused")
	}
	b.get("schema", user(`,"outputPath":"a.ts","overwrite":true`))
	b.expectFile("a.ts", userText)
	if info, err := os.Stat(filepath.Join(b.workspace, "a.ts")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	b.expectFiles("a.ts", "empty.ts", "large.ts")
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.ts")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("file.ts", "mine")
	for link, target := range map[string]string{"out": outside, "leak.ts": secret, "self.ts": "file.ts", "nowhere": "missing",
		"gone": filepath.Join(outside, "missing")} {
		if err := os.Symlink(target, filepath.Join(b.workspace, link)); err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
	before := []string{"file.ts", "gone", "leak.ts", "nowhere", "out", "self.ts"}
	for _, path := range []string{
		"../x.ts", "a/../../x.ts", "..", ".", "/", "/etc/x.ts", filepath.ToSlash(secret), "out/x.ts", "out/new/x.ts", "out/secret.ts", "leak.ts",
		"self.ts", "nowhere/x.ts", "gone", "gone/x.ts", "file.ts/x.ts", ".git/hooks/x", ".toolfold/config.json", "a/.git/config", ".env", "a/",
		"a\\u0000b", "a\\nb.ts",
		strings.Repeat("a/", 600) + "x.ts", strings.Repeat("x", 300),
	} {
		for _, overwrite := range []string{"", `,"overwrite":true`} {
			b.Refuse("schema", user(`,"outputPath":"`+path+`"`+overwrite), workspace.PathNotUsable, "nothing was written", "docs/api.yaml")
		}
	}
	b.expectFiles(before...)
	b.expectFile("file.ts", "mine")
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "secret" {
		t.Errorf("the file outside is %q, %v", raw, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
	if len(b.store.designs) != 0 {
		t.Error("a design was stored although its file was refused")
	}
}

func TestWithoutWorkspaceNothingIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runner = toolfoldtest.Runner(toolfoldtest.Mount(t, Family, New(b.store, "", b.now)))
	b.Refuse("schema", user(`,"outputPath":"a.ts"`), workspace.PathNotUsable, "there is no workspace", "design.get")
}

// Of several that write one new file at once, with texts of their own, each
// succeeds, for they are all toolfold's; the file is one of the texts.
func TestWritingAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	service := New(b.store, b.workspace, b.now)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			in := SchemaIn{Format: "typescript", Output: Output{OutputPath: "a/b.ts"}}
			in.Name = fmt.Sprintf("User%d", i)
			_, errs[i] = service.Schema(t.Context(), in)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	b.expectFiles("a", "a/b.ts")
}

// A file that somebody else makes after toolfold looked stays.
func TestNewForeignFilesStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	target, err := New(b.store, b.workspace, b.now).open(t.Context(), Output{OutputPath: "a/b.ts"})
	if err != nil {
		t.Fatal(err)
	}
	b.write("a/b.ts", "mine")
	err = target.Write([]byte("ours"))
	target.Close()
	var refused *toolfold.Error
	if !errors.As(err, &refused) || refused.Code != workspace.FileExists {
		t.Errorf("writing answered %v", err)
	}
	b.expectFile("a/b.ts", "mine")
	b.expectFiles("a", "a/b.ts")
}
