//go:build unix

package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/code/git/gittest"
)

// hostile returns a repository that makes git run a program, which creates a mark, and the path of
// the mark.
func hostile(t *testing.T, way string) (gittest.Repo, string) {
	t.Helper()
	r := gittest.New(t, map[string]string{"a.txt": "1", "b/c.txt": "1"})
	mark := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	script := "#!/bin/sh\necho ran >> '" + mark + "'\n"
	if strings.HasSuffix(way, "filter") {
		script += "cat\n"
	}
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	switch way {
	case "fsmonitor":
		r.Git("config", "core.fsmonitor", program)
	case "hook":
		hook, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		r.Write(".git/hooks/post-index-change", string(hook))
		if err := os.Chmod(filepath.Join(r.Dir, ".git/hooks/post-index-change"), 0o755); err != nil {
			t.Fatal(err)
		}
	case "filter", "required filter", "included filter":
		r.Write(".gitattributes", "* filter=Ev.il=x\n")
		config := fmt.Sprintf("[filter \"Ev.il=x\"]\n\tclean = %s\n", program)
		if way == "required filter" {
			config += "\trequired = true\n\tsmudge = " + program + "\n"
		}
		at := ".git/config"
		if way == "included filter" {
			at = "more.cfg"
			r.Git("config", "include.path", "../more.cfg")
		}
		old, _ := os.ReadFile(filepath.Join(r.Dir, at))
		r.Write(at, string(old)+config)
	case "process":
		r.Write(".gitattributes", "* filter=p\n")
		r.Git("config", "filter.p.process", program)
	case "fetch":
		r.Write("b/new.txt", "1")
		r.Git("add", "b/new.txt") // so that the tree is compared
		tree := strings.TrimSpace(r.Git("rev-parse", "HEAD:b"))
		if err := os.Remove(filepath.Join(r.Dir, ".git/objects", tree[:2], tree[2:])); err != nil {
			t.Fatal(err)
		}
		r.Git("config", "core.repositoryFormatVersion", "1")
		r.Git("config", "extensions.partialClone", "origin")
		r.Git("config", "remote.origin.promisor", "true")
		r.Git("config", "remote.origin.url", "ext::"+program)
		r.Git("config", "protocol.ext.allow", "always")
	case "submodule":
		other := gittest.New(t, map[string]string{"x": "1"})
		r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "sub")
		r.Git("commit", "-q", "-m", "sub")
		inside := gittest.Repo{T: t, Dir: filepath.Join(r.Dir, "sub")}
		inside.Git("config", "core.fsmonitor", program)
		inside.Write("x", "2")
	}
	r.Write("a.txt", "2")
	if way == "hook" || way == "fetch" {
		return r, mark
	}
	r.Write("b/c.txt", "2")
	return r, mark
}

// Git runs nothing that an untrusted repository names. Plain git shows that each way works.
func TestUntrustedRepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"fsmonitor", "hook", "filter", "required filter", "included filter", "process", "fetch", "submodule"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r, mark := hostile(t, way)
			changes, err := Since(t.Context(), r.Dir, Uncommitted)
			if _, ran := os.Stat(mark); ran == nil {
				t.Fatal("the repository ran a program")
			}
			if way != "fetch" && (err != nil || len(changes) == 0) { // fetch lacks objects that git needs
				t.Errorf("changes %v, %v", changes, err)
			}
			if way == "hook" { // status calls the hook when it writes the index
				r.Write("b/c.txt", "1")
			}
			limited, end := context.WithTimeout(t.Context(), 2*time.Minute)
			defer end()
			plain := exec.CommandContext(limited, "git", "status", "--porcelain")
			plain.Dir, plain.WaitDelay = r.Dir, time.Second
			out, _ := plain.CombinedOutput()
			if _, ran := os.Stat(mark); ran != nil {
				t.Errorf("the attack does not work on plain git either: %s", out)
			}
		})
	}
}
