package arrows

import (
	"os/exec"
	"strings"
	"testing"
)

// pageLines is a page of declarations: what an author of a family has to know of.
const pageLines = 70

// What only our own rooms need of each other stands under internal, or is a method.
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
