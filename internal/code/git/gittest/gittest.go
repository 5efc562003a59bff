// Package gittest makes repositories for tests.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Repo is a repository in a folder of a test.
type Repo struct {
	T   *testing.T
	Dir string
}

// Git sets these variables for hooks. If a hook ran the tests, they would commit to its repository.
func init() {
	for _, variable := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"} {
		_ = os.Unsetenv(variable)
	}
}

// New returns a repository whose branch main has one commit with these files. It skips the test if
// git is not installed.
func New(t *testing.T, files map[string]string) Repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := Repo{t, t.TempDir()}
	r.Git("init", "-q", "-b", "main")
	for name, text := range files {
		r.Write(name, text)
	}
	r.Commit("start")
	return r
}

// Git runs git in the repository and returns what it prints.
func (r Repo) Git(args ...string) string {
	r.T.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"},
		args...)...)
	cmd.Dir = r.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Commit commits all that changed.
func (r Repo) Commit(message string) {
	r.T.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
}

// Write writes a file, and the folders above it.
func (r Repo) Write(name, text string) {
	r.T.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.T.Fatal(err)
	}
}
