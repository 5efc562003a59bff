package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/cmd/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/safefile"
	"github.com/toolfold/toolfold/migration"
)

// maxMigrated bounds a file that is looked through, in bytes.
const maxMigrated = 16 << 20

// notMigrated are folders that hold what others wrote or what is generated.
var notMigrated = []string{".git", "node_modules", "vendor", "dist", "build", "target", ".venv", "__pycache__"}

func checkAction(c *cli.Context) error {
	found := 0
	err := eachFile(c, func(root *os.Root, name, display string, uses []migration.Use, _, _ []byte) error {
		for _, u := range uses {
			found++
			fmt.Fprintf(c.App.Writer, "%s:%d: %s → %s", display, u.Line, u.Name, u.Now)
			if u.Note != "" {
				fmt.Fprintf(c.App.Writer, " (%s)", u.Note)
			}
			fmt.Fprintln(c.App.Writer)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case found > 0:
		return fmt.Errorf("%d uses of legacy tools; toolfold migrate rewrite shows how they would change", found)
	}
	return nil
}

func rewriteFilesAction(c *cli.Context) error {
	left, changed := 0, 0
	err := eachFile(c, func(root *os.Root, name, display string, uses []migration.Use, before, after []byte) error {
		for _, u := range uses {
			if u.ByHand {
				left++
				fmt.Fprintf(stderr, "%s:%d: %s: by hand: %s (%s)\n", display, u.Line, u.Name, u.Now, u.Note)
			} else if u.Note != "" {
				fmt.Fprintf(stderr, "%s:%d: %s: %s\n", display, u.Line, u.Name, u.Note)
			}
		}
		if string(before) == string(after) {
			return nil
		}
		changed++
		if !c.Bool("write") {
			_, err := c.App.Writer.Write(diff.Diff("a/"+filepath.ToSlash(display), before, "b/"+filepath.ToSlash(display), after))
			return err
		}
		if err := safefile.Replace(root, name, after); err != nil {
			return fmt.Errorf("writing %s: %w", display, err)
		}
		_, err := fmt.Fprintf(c.App.Writer, "rewritten %s\n", display)
		return err
	})
	switch {
	case err != nil:
		return err
	case left > 0:
		return fmt.Errorf("%d uses are left to be changed by hand", left)
	case changed > 0 && !c.Bool("write"):
		fmt.Fprintln(stderr, "nothing is written yet: add --write")
	}
	return nil
}

// eachFile calls do for every file below the paths of a command that names
// legacy tools, with its name below root, the path to show, and its text before
// and after. Files that cannot be read are reported.
func eachFile(c *cli.Context, do func(root *os.Root, name, display string, uses []migration.Use, before, after []byte) error) error {
	if c.NArg() == 0 {
		return usageError("migrate %s takes files or folders", c.Command.Name)
	}
	rewriter := migration.NewRewriter(app.Families())
	for _, path := range c.Args().Slice() {
		dir, first := path, "."
		if info, err := os.Stat(path); err != nil {
			return usageError("%v", err)
		} else if !info.IsDir() {
			dir, first = filepath.Dir(path), filepath.Base(path)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		err = fs.WalkDir(root.FS(), first, func(name string, entry fs.DirEntry, err error) error {
			display := filepath.Join(dir, filepath.FromSlash(name))
			switch {
			case err != nil:
				fmt.Fprintf(stderr, "toolfold: %s: %v\n", display, err)
				return nil
			case entry.IsDir() && slices.Contains(notMigrated, entry.Name()):
				return fs.SkipDir
			case !entry.Type().IsRegular() || !migration.Reads(name):
				return nil
			}
			before, err := safefile.Read(root, name, maxMigrated)
			if err != nil {
				fmt.Fprintf(stderr, "toolfold: %s is left out: %v\n", display, err)
				return nil
			}
			uses, after := rewriter.Uses(name, before)
			if len(uses) == 0 {
				return nil
			}
			return do(root, name, display, uses, before, after)
		})
		if err := errors.Join(err, root.Close()); err != nil {
			return err
		}
	}
	return nil
}
