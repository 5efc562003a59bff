// Package scaffold has the command new, which writes a server to start with.
package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/toolfold/toolfold/examples"
	"github.com/toolfold/toolfold/internal/cli/env"
)

const (
	toolfold = "github.com/toolfold/toolfold" // the module
	language = "1.26.0"                       // the version of Go that the module needs
)

// Command returns the command new.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write the Go module of an MCP server of your own, to begin with",
		ArgsUsage: "NAME",
		Description: "NAME is a module path, such as example.com/me/notes, or one word. The module has one family of\n" +
			"tools, a test that passes and a program that serves. It goes into the folder of the path's last word,\n" +
			"which must be empty or not exist. A toolfold that is not a release needs --replace.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "replace", Usage: "build with the clone of toolfold in this `DIR`, not with a release"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return env.UsageError("new takes one name, such as notes or example.com/me/notes")
			}
			return create(c, c.Args().First(), c.String("replace"))
		},
	}
}

// create writes the module with this name, and prints its files and the next commands.
func create(c *cli.Context, name, clone string) error {
	if err := module.CheckImportPath(name); err != nil {
		return env.UsageError("%q is not a module path: %v", name, errors.Unwrap(err))
	}
	prefix, _, ok := module.SplitPathVersion(name)
	if !ok {
		return env.UsageError("%q is not a module path: its last word is not a major version of a module", name)
	}
	dir := path.Base(prefix)
	requirements, err := goMod(name, clone, env.Version())
	if err != nil {
		return err
	}
	type file struct {
		path string
		text []byte
	}
	files := []file{{"go.mod", requirements}}
	own := strings.NewReplacer("Command notes", "Command "+dir, `Name: "notes"`, "Name: "+strconv.Quote(dir))
	err = fs.WalkDir(examples.Notes, "notes", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := examples.Notes.ReadFile(at)
		files = append(files, file{strings.TrimPrefix(at, "notes/"), []byte(own.Replace(string(text)))})
		return err
	})
	if err != nil {
		return err
	}
	switch there, err := os.ReadDir(dir); {
	case err == nil && len(there) > 0:
		return fmt.Errorf("the folder %s is not empty: choose another name, or run new elsewhere", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, f.text, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(c.App.Writer, at)
	}
	_, err = fmt.Fprintf(c.App.Writer, "\nnext: cd %s && go mod tidy && go vet ./... && go test ./...\n"+
		"then: go run . serves one client on standard input and output, go run . -http 127.0.0.1:8080 serves HTTP\n", dir)
	return err
}

// goMod returns the go.mod of a module that is built with a clone of toolfold. If clone is empty, it
// requires the release that this program is.
func goMod(name, clone, version string) ([]byte, error) {
	if !semver.IsValid(version) || semver.Build(version) != "" || module.IsPseudoVersion(version) {
		if clone == "" {
			return nil, env.UsageError("this toolfold is not a release (%s), so Go cannot download its packages: "+
				"--replace DIR names a clone to build with", version)
		}
		version = "v0.0.0"
	}
	text := fmt.Sprintf("module %s\n\ngo %s\n\nrequire %s %s\n", name, language, toolfold, version)
	if clone == "" {
		return []byte(text), nil
	}
	root, err := filepath.Abs(clone)
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || modfile.ModulePath(own) != toolfold {
		return nil, env.UsageError("--replace %s: the folder is not a clone of %s", clone, toolfold)
	}
	return fmt.Appendf(nil, "%s\nreplace %s => %s\n", text, toolfold, modfile.AutoQuote(root)), nil
}
