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
		"slow-mcp":  slowServer,
		"count-mcp": countServer,
		"small-mcp": smallServer,
		"graph-mcp": graphServer,
		"desk-mcp":  deskServer,
	})
}

// Every script runs the command as a user would, in a home and a workspace of
// its own. With UPDATE_SCRIPTS set, what cmp compares is written.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("TOOLS", strconv.Itoa(len(surface.List(app.Families(), surface.Options{})))) // that are listed
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
