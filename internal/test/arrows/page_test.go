package arrows

import (
	"os/exec"
	"strings"
	"testing"
)

// pageLines limits the declarations that an author of a family must know: one page.
const pageLines = 70

// Declarations that only our own packages need are under internal or methods.
func TestPage(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "doc", "-short", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), "\n"); n < 20 || n > pageLines {
		t.Errorf("go doc -short prints %d lines, a page has %d:\n%s", n, pageLines, out)
	}
}
