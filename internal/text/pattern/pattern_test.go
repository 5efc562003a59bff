package pattern_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/text/pattern"
)

// A pattern matches like a regular expression with .* for each *, also across line ends.
func TestMatch(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters string) string {
		var b strings.Builder
		for range random.IntN(7) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 20_000 {
		p, name := pattern.Pattern(text("ab.*")), text("ab.*\n")
		want := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(string(p)), `\*`, ".*") + "$").MatchString(name)
		if p.Match(name) != want {
			t.Fatalf("%q matches %q: %t, want %t", p, name, !want, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pattern.Pattern{
		" memory.* ": "memory.*", "mcp__toolfold__memory": "memory", "toolfold.memory.get": "memory.get", "mytoolfold_x": "mytoolfold_x",
	} {
		if got := pattern.Parse(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
	if p := pattern.Parse("a.*b"); p.Start() != "a." || p.Exact() || !pattern.Parse("a.b").Exact() || pattern.Parse("a.b").Start() != "a.b" {
		t.Errorf("%q begins with %q", p, p.Start())
	}
}
