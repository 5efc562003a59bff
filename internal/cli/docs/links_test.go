package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/toolfold/toolfold/internal/test/pages"
)

// repository is the root of the repository.
const repository = "../../.."

// The most lines of a reference page, and of the README.
const (
	pageLines   = 200
	readmeLines = 120
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
)

// TestLinks checks that each link of a page to a file or section has a target.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages.Read(t, repository)
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(match[1], "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
				continue
			}
			if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s links to %s, but %s has no such section", page, match[1], target)
			}
		}
	}
}

// TestPagesAreShort checks the length of pages, that the index links every page, and that a page links
// its sections.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	all := pages.Read(t, repository)
	index := all["docs/README.md"]
	for page, text := range all {
		limit := pageLines
		switch {
		case page == "README.md":
			limit = readmeLines
		case !strings.HasPrefix(page, "docs/"), strings.HasPrefix(page, "docs/tools/"):
			continue
		}
		if n := strings.Count(text, "\n"); n > limit {
			t.Errorf("%s has %d lines, more than %d", page, n, limit)
		}
		if filepath.Dir(page) != "docs" || page == "docs/README.md" {
			continue
		}
		if !strings.Contains(index, "]("+filepath.Base(page)+")") {
			t.Errorf("docs/README.md does not link %s", page)
		}
		sections := strings.Split("\n"+fence.ReplaceAllString(text, ""), "\n## ")
		for _, section := range sections[1:] {
			title, _, _ := strings.Cut(section, "\n")
			if len(sections) > 3 && !strings.Contains(sections[0], "](#"+anchor(title)+")") {
				t.Errorf("%s does not link its section %q before the first one", page, title)
			}
		}
	}
}

// anchors returns the anchors of the sections of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := anchor(match[1])
		for n := 1; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", anchor(match[1]), n)
		}
		found[name] = true
	}
	return found
}

// anchor returns the anchor that forges give a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
