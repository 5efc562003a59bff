package cli

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/surface"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"toolfold":  func() { os.Exit(run(context.Background(), env.New(), os.Args)) },
		"ask-mcp":   askServer,
		"slow-mcp":  slowServer,
		"count-mcp": countServer,
		"small-mcp": smallServer,
		"graph-mcp": graphServer,
		"desk-mcp":  deskServer,
	})
}

// Every script runs the command like a user, with its own home and workspace. UPDATE_SCRIPTS updates
// the files that cmp compares.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("TOOLS", strconv.Itoa(len(surface.List(app.Families(), surface.Options{})))) // number of listed tools
			env.Setenv("HOME", home)
			env.Setenv("XDG_DATA_HOME", filepath.Join(home, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			env.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
			env.Setenv("LocalAppData", filepath.Join(home, "data"))
			env.Setenv("AppData", filepath.Join(home, "config"))
			return os.MkdirAll(home, 0o700)
		},
	})
}
