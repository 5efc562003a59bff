package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/docs"
	"github.com/toolfold/toolfold/internal/test/golden"
)

// pagesDir is the folder of the pages.
const pagesDir = "../../../docs"

func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	pages, err := docs.Pages(app.Families())
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range pages {
		golden.Compare(t, filepath.Join(pagesDir, path), content)
	}
	checkLeftovers(t, pages)
}

// The generated parts of handwritten pages match the declarations.
func TestPartsAreFresh(t *testing.T) {
	t.Parallel()
	pages, err := docs.Parts(app.Families())
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range pages {
		path := filepath.Join(pagesDir, name)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := docs.Renew(string(page), parts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden.Compare(t, path, fresh)
	}
}

// checkLeftovers finds pages of families and clients that no longer exist.
func checkLeftovers(t *testing.T, pages map[string]string) {
	t.Helper()
	for _, folder := range []string{"tools", "clients", "migration"} {
		checkFolder(t, folder, pages)
	}
}

func checkFolder(t *testing.T, folder string, pages map[string]string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(pagesDir, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(pagesDir, path)
		if err != nil {
			return err
		}
		if _, ok := pages[filepath.ToSlash(name)]; !ok {
			t.Errorf("%s is not generated: delete it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
