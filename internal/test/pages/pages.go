// Package pages reads the Markdown of the repository for tests.
package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Read returns the Markdown pages below the root of the repository, by path with slashes. It skips
// test data, installed packages, build output and hidden folders.
func Read(t testing.TB, root string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && (slices.Contains([]string{"testdata", "node_modules", "dist"}, name) ||
			strings.HasPrefix(name, ".") && path != root):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := filepath.Rel(root, path)
		pages[filepath.ToSlash(page)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
