package scaffold

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// A release is required by its version. Any other version needs a clone.
func TestGoMod(t *testing.T) {
	t.Parallel()
	got, err := goMod("notes", "", "v1.2.3")
	if want := "module notes\n\ngo 1.26.0\n\nrequire github.com/toolfold/toolfold v1.2.3\n"; err != nil || string(got) != want {
		t.Errorf("go.mod of a release: %v\n%s\nwant %s", err, got, want)
	}
	for _, version := range []string{"(devel)", "", "v0.0.0-20261128124453-5e7ca99031ea", "v1.2.3+dirty",
		"v1.2.4-0.20261128124453-5e7ca99031ea"} {
		if _, err := goMod("notes", "", version); err == nil || !strings.Contains(err.Error(), "--replace") {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// The Go version is that in this module's go.mod.
func TestLanguage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if own.Go.Version != language || own.Module.Mod.Path != toolfold {
		t.Errorf("the module %s is in Go %s", own.Module.Mod.Path, own.Go.Version)
	}
}
