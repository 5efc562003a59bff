package toolfold_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold"
)

// Actions get the requests of their family in order. Errors name the line.
func TestAsks(t *testing.T) {
	t.Parallel()
	family := func(asks string) *toolfold.Family {
		actions := []*toolfold.Action{{Name: "fire"}, {Name: "cool", Asks: []string{"own"}}}
		return toolfold.Family{Name: "kiln", Asks: asks, Actions: actions}.Declared()
	}
	f := family("# fire\nheat it up\n\n  bake the pots \n# cool\nlet it rest\n")
	if diff := cmp.Diff([][]string{{"heat it up", "bake the pots"}, {"own"}}, [][]string{f.Actions[0].Asks, f.Actions[1].Asks}); diff != "" {
		t.Error(diff)
	}
	for asks, want := range map[string]string{
		"\nheat it up\n":              `kiln: asks, line 2: a line such as "# NAME", with the name of an action, must stand before its requests`,
		"# fire\na\n# fire\nb\n":      "kiln: asks, line 3: fire is there twice",
		"# fire\na\n# melt\nmelt it":  "kiln: has asks for melt, which is no action of it",
		"# fire\nheat it\nheat it\n":  `kiln.fire: asks "heat it" twice`,
		"# fire\n" + long + "\nb\n\n": "kiln.fire: the ask has 201 characters",
	} {
		if err := family(asks).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", asks, err, want)
		}
	}
}

var long = strings.Repeat("a", 201)
