package scan_test

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolfold/toolfold/internal/code/scan"
)

func TestCheckGlob(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"**/*.go":                              "",
		"./**/{node_modules,dist,build}/**":    "",
		`\{a,a\}` + strings.Repeat(`\{,`, 100): "",
		"[":                                    "is not a glob",
		strings.Repeat("{a,a}", 8):             "",
		strings.Repeat("{a,a}", 9):             "has more than 256 combinations of alternatives",
		"{{a,a},{a,a}}" + strings.Repeat("{{a,a},{a,a}}", 3): "has more than 256 combinations of alternatives",
		strings.Repeat("{a,a}", 64) + "b":                    "has more than 256 combinations of alternatives",
	} {
		err := scan.CheckGlob(pattern)
		if got := ""; err != nil && err.Error() != want || err == nil && got != want {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
		if err == nil { // must return in time
			doublestar.MatchUnvalidated(pattern, strings.Repeat("a", 200))
		}
	}
}
