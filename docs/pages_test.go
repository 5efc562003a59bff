package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/docs"
	"github.com/toolfold/toolfold/internal/golden"
	"github.com/toolfold/toolfold/tools/all"
)

func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	pages, err := docs.Pages(all.Families())
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range pages {
		golden.Compare(t, path, content)
	}
	checkLeftovers(t, pages)
}

func TestReadmeIsFresh(t *testing.T) {
	t.Parallel()
	const path = "../README.md"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := docs.Readme(string(readme), all.Families())
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, path, fresh)
}

// checkLeftovers finds pages of families that are gone.
func checkLeftovers(t *testing.T, pages map[string]string) {
	t.Helper()
	err := filepath.WalkDir("tools", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		if _, ok := pages[filepath.ToSlash(path)]; !ok {
			t.Errorf("%s belongs to no family: delete it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
