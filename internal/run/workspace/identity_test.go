package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/run/workspace"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNameOfRepository(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ origin, want string }{
		"https":            {"https://github.com/acme/shop.git", "github.com/acme/shop"},
		"with credentials": {"https://ann:secret@GitHub.com/acme/shop", "github.com/acme/shop"},
		"with a query":     {"https://github.com/acme/shop.git?token=secret#secret", "github.com/acme/shop"},
		"ssh":              {"ssh://git@github.com:22/acme/shop.git", "github.com/acme/shop"},
		"as ssh takes it":  {"git@github.com:acme/shop.git", "github.com/acme/shop"},
		"without a user":   {"github.com:acme/shop/", "github.com/acme/shop"},
		"a local path":     {"/srv/git/shop.git", ""},
		"a file":           {"file:///srv/git/shop.git", ""},
		"a drive":          {`C:\git\shop`, ""},
		"no origin":        {"", ""},
		"broken":           {"https://[::1/shop", ""},
		"no scheme":        {"://secret", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, ".git", "config"), "[core]\n\tbare = false\n\turl = no\n[remote \"other\"]\n\turl = no\n"+
				"[remote \"origin\"]\n\tfetch = x\n\tURL = "+c.origin+"\n[branch \"main\"]\n\turl = no\n")
			got := workspace.Name(dir, "", true)
			if c.want == "" {
				if !strings.HasSuffix(got, filepath.ToSlash(dir)) || strings.Contains(got, "secret") {
					t.Errorf("%q, want this machine and the path", got)
				}
				return
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := workspace.Name(dir, "mine", true); got != "mine" {
		t.Errorf("%q, want the setting", got)
	}
	if got := workspace.Name(dir, strings.Repeat("x", 1000), true); len(got) != 500 {
		t.Errorf("a name has %d bytes", len(got))
	}
	plain := workspace.Name(dir, "", true)
	if !strings.HasSuffix(plain, ":"+filepath.ToSlash(dir)) || strings.HasPrefix(plain, ":") {
		t.Errorf("%q, want this machine and the path", plain)
	}
	if again := workspace.Name(filepath.Join(dir, "x", ".."), "", true); again != plain {
		t.Errorf("%q and %q are one folder", again, plain)
	}
	write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\nurl=https://h.org/r\n")
	below := filepath.Join(dir, "a", "b")
	write(t, filepath.Join(below, "f"), "")
	if got := workspace.Name(below, "", true); got != "h.org/r//a/b" {
		t.Errorf("a folder in a repository is %q", got)
	}
}

// The origin in or around an untrusted folder is not used.
func TestNameOfUntrusted(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\nurl=https://h.org/r\n")
	below := filepath.Join(dir, "a")
	write(t, filepath.Join(below, "f"), "")
	for _, folder := range []string{dir, below} {
		if got := workspace.Name(folder, "", false); !strings.HasSuffix(got, ":"+filepath.ToSlash(folder)) || strings.HasPrefix(got, ":") {
			t.Errorf("%s is %q, want this machine and the path", folder, got)
		}
	}
	if got := workspace.Name(dir, "mine", false); got != "mine" {
		t.Errorf("%q, want the user's setting", got)
	}
}

// A linked worktree belongs to the same workspace as its repository.
func TestNameOfWorktree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	main, linked := filepath.Join(dir, "main"), filepath.Join(dir, "linked")
	write(t, filepath.Join(main, ".git", "config"), "[remote \"origin\"]\n\turl = https://h.org/r\n")
	write(t, filepath.Join(main, ".git", "worktrees", "linked", "commondir"), "../..\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "linked")+"\n")
	for _, folder := range []string{main, linked} {
		if got := workspace.Name(folder, "", true); got != "h.org/r" {
			t.Errorf("%s is %q", folder, got)
		}
	}
}
