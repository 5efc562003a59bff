//go:build unix

package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/code/scan/runner"
)

// TestMain hides the machine's linters, whose findings the tests do not expect.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		hidden, err := os.MkdirTemp("", "programs")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(hidden)
		folders := filepath.SplitList(os.Getenv("PATH"))
		for i, folder := range folders {
			if folders[i], err = withoutLinters(folder, filepath.Join(hidden, fmt.Sprint(i))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		os.Setenv("PATH", strings.Join(folders, string(filepath.ListSeparator)))
		return m.Run()
	}())
}

func isLinter(program os.DirEntry) bool {
	return slices.ContainsFunc(runner.All, func(r runner.Runner) bool { return r.Name == program.Name() })
}

// withoutLinters returns a folder of programs. If it has linters, it returns another folder with
// links to the rest.
func withoutLinters(folder, other string) (string, error) {
	programs, err := os.ReadDir(folder)
	if err != nil || !slices.ContainsFunc(programs, isLinter) {
		return folder, nil
	}
	if err := os.Mkdir(other, 0o755); err != nil {
		return "", err
	}
	for _, p := range slices.DeleteFunc(programs, isLinter) {
		if err := os.Symlink(filepath.Join(folder, p.Name()), filepath.Join(other, p.Name())); err != nil {
			return "", err
		}
	}
	return other, nil
}
