//go:build unix

package policy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is a repository that makes git run a program, which leaves a mark.
// It returns the path of the mark.
func hostile(t *testing.T, way string) (repo, string) {
	t.Helper()
	r := newRepo(t, map[string]string{"a.txt": "1", "b/c.txt": "1"})
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
		r.git("config", "core.fsmonitor", program)
	case "hook":
		hook, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		r.write(".git/hooks/post-index-change", string(hook))
		if err := os.Chmod(filepath.Join(r.dir, ".git/hooks/post-index-change"), 0o755); err != nil {
			t.Fatal(err)
		}
	case "filter", "required filter", "included filter":
		r.write(".gitattributes", "* filter=Ev.il=x\n")
		config := fmt.Sprintf("[filter \"Ev.il=x\"]\n\tclean = %s\n", program)
		if way == "required filter" {
			config += "\trequired = true\n\tsmudge = " + program + "\n"
		}
		at := ".git/config"
		if way == "included filter" {
			at = "more.cfg"
			r.git("config", "include.path", "../more.cfg")
		}
		old, _ := os.ReadFile(filepath.Join(r.dir, at))
		r.write(at, string(old)+config)
	case "process":
		r.write(".gitattributes", "* filter=p\n")
		r.git("config", "filter.p.process", program)
	case "fetch":
		r.write("b/new.txt", "1")
		r.git("add", "b/new.txt") // so that the tree is compared
		tree := strings.TrimSpace(r.git("rev-parse", "HEAD:b"))
		if err := os.Remove(filepath.Join(r.dir, ".git/objects", tree[:2], tree[2:])); err != nil {
			t.Fatal(err)
		}
		r.git("config", "core.repositoryFormatVersion", "1")
		r.git("config", "extensions.partialClone", "origin")
		r.git("config", "remote.origin.promisor", "true")
		r.git("config", "remote.origin.url", "ext::"+program)
		r.git("config", "protocol.ext.allow", "always")
	case "submodule":
		other := newRepo(t, map[string]string{"x": "1"})
		r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.dir, "sub")
		r.git("commit", "-q", "-m", "sub")
		inside := repo{t, filepath.Join(r.dir, "sub")}
		inside.git("config", "core.fsmonitor", program)
		inside.write("x", "2")
	}
	r.write("a.txt", "2")
	if way == "hook" || way == "fetch" {
		return r, mark
	}
	r.write("b/c.txt", "2")
	return r, mark
}

// Nothing that an untrusted repository names is run. That each way works is
// seen by plain git.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"fsmonitor", "hook", "filter", "required filter", "included filter", "process", "fetch", "submodule"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r, mark := hostile(t, way)
			changes, err := Uncommitted(t.Context(), r.dir)
			if _, ran := os.Stat(mark); ran == nil {
				t.Fatal("the repository ran a program")
			}
			if way != "fetch" && (err != nil || len(changes) == 0) { // that one lacks what git needs
				t.Errorf("changes %v, %v", changes, err)
			}
			if way == "hook" { // status calls it when it writes the index
				r.write("b/c.txt", "1")
			}
			limited, end := context.WithTimeout(t.Context(), 20*time.Second)
			defer end()
			plain := exec.CommandContext(limited, "git", "status", "--porcelain")
			plain.Dir, plain.WaitDelay = r.dir, time.Second
			out, _ := plain.CombinedOutput()
			if _, ran := os.Stat(mark); ran != nil {
				t.Errorf("the attack does not work on plain git either: %s", out)
			}
		})
	}
}

// A command of a policy runs only where the user trusts the workspace.
func TestCommandNeedsTrust(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	r := newRepo(t, nil)
	r.write("a", "1")
	policy := fmt.Sprintf("gates: [contract_tests]\ncontractTests: {command: [touch, %q]}\n", mark)
	for _, trusted := range []bool{false, true} {
		got := r.check(trusted, policy)[0]
		_, err := os.Stat(mark)
		if (err == nil) != trusted {
			t.Errorf("trusted %v: ran is %v", trusted, err == nil)
		}
		if !trusted && (got.Status != Warn || !strings.Contains(got.Paths[0].Reason, "toolfold trust")) || trusted && got.Status != Pass {
			t.Errorf("trusted %v: %+v", trusted, got)
		}
	}
}

func TestCommandEnds(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	for command, want := range map[string]string{
		"[sh, -c, \"echo before; sleep 60\"], timeoutMs: 1000": Fail + " longer than 1s: before", "[no-such-program-here]": Warn +
			" cannot be started", "[sh, -c, \"echo Bearer abcdefghijklmnopqrstuvwx; exit 3\"]": Fail + " exit status 3",
	} {
		got := r.check(true, "gates: [contract_tests]\ncontractTests: {command: "+command+"}\n")[0]
		status, text, _ := strings.Cut(want, " ")
		if got.Status != status || !strings.Contains(got.Paths[0].Reason, text) || strings.Contains(got.Paths[0].Reason, "abcdefghij") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}
