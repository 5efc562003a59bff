package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/storage"
)

var onlyFlag = &cli.StringSliceFlag{
	Name: "only", Usage: "only these kinds: " + strings.Join(storage.ArchiveKinds(), ", ") + "; separated by commas, may be repeated",
}

// ExportCommand returns the command export.
func ExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write all that the store holds to a file", ArgsUsage: "FILE",
		Description: "The file has the state of one moment, also while toolfold runs. It is readable for you alone.\n" +
			"toolfold import reads it, into a store of either database.",
		Flags: append(settings.Flags("store"), onlyFlag, env.JSONFlag), Action: exportStore,
	}
}

// ImportCommand returns the command import.
func ImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "bring what export wrote into the store", ArgsUsage: "[FILE]",
		Description: "All of the file is written or nothing. Objects that the store has are skipped if they are equal;\n" +
			"if one is different, nothing is written without --replace. Tasks that have not ended and schedules\n" +
			"stay paused until --activate, which needs no file.",
		Flags: append(settings.Flags("store"), onlyFlag, env.JSONFlag,
			&cli.BoolFlag{Name: "replace", Usage: "replace objects of the store that are different"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what would be written, and write nothing"},
			&cli.BoolFlag{Name: "activate", Usage: "let imported tasks and schedules run"}),
		Action: importStore,
	}
}

// archiveOf returns the file and the kinds of objects from the command line. The file is empty for
// an import that only activates.
func archiveOf(c *cli.Context) (file string, kinds []string, err error) {
	file = c.Args().First()
	activates := c.NArg() == 0 && c.Bool("activate")
	switch {
	case c.NArg() == 1 && file == "" && c.Command.Name == "export":
		return "", nil, env.UsageError("the name of the file is empty: name a file to write, such as backup.jsonl")
	case c.NArg() == 1 && file == "":
		return "", nil, env.UsageError("the name of the file is empty: name a file that toolfold export wrote")
	case c.NArg() > 1 || c.NArg() == 0 && !activates || file == "-":
		return "", nil, env.UsageError("%s takes the name of one file", c.Command.Name)
	}
	for _, name := range []string{"replace", "dry-run", onlyFlag.Name} {
		if activates && c.IsSet(name) {
			return "", nil, env.UsageError("--%s needs a file: without one, import --activate lets all imported tasks and schedules run", name)
		}
	}
	for _, list := range c.StringSlice(onlyFlag.Name) {
		for _, kind := range strings.Split(list, ",") {
			if kind = strings.TrimSpace(kind); !slices.Contains(storage.ArchiveKinds(), kind) {
				return "", nil, env.UsageError("--only: unknown kind %q: one of %s", kind, strings.Join(storage.ArchiveKinds(), ", "))
			}
			kinds = append(kinds, kind)
		}
	}
	return file, kinds, nil
}

var errNoStore = errors.New("there is no store yet: nothing was stored; toolfold status shows which store is used, --store names another")

// openStore opens the store for a command, with the settings. It returns [errNoStore] if only an import of a file
// would make one.
func openStore(c *cli.Context) (db *storage.DB, o *settings.Options, err error) {
	if o, err = settings.Load(c); err != nil {
		return nil, o, err
	}
	if o.Store == "memory:" {
		return nil, o, errors.New("the store memory: ends with its process: name another one with --store")
	}
	exists, err := storage.Exists(c.Context, o.Store, o.StoreOptions()...)
	if err != nil {
		return nil, o, err
	}
	url := o.Store
	switch {
	case !exists && (c.Command.Name != "import" || c.NArg() == 0):
		return nil, o, errNoStore
	case !exists && c.Bool("dry-run"):
		url = "memory:" // the store would be empty too
	case c.Bool("dry-run"):
		if err := storage.CheckCurrent(c.Context, o.Store, o.StoreOptions()...); err != nil {
			return nil, o, fmt.Errorf("%w: a dry run does not upgrade it; start this version of toolfold on it first", err)
		}
	}
	db, err = storage.Open(c.Context, url, o.StoreOptions()...)
	return db, o, err
}

// shownEvery is the number of objects between two lines of progress.
const shownEvery = 100

// progress shows text on a terminal and replaces its previous line. Without a terminal it does
// nothing.
func progress(c *cli.Context, text string) {
	if env.Of(c).ErrOnTerminal() {
		fmt.Fprintf(env.Of(c).Err.Writer, "\r\x1b[K%s", text)
	}
}

// bar returns a progress bar.
func bar(done, all int) string {
	const width = 30
	full := width * done / max(all, 1)
	return fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("=", full), strings.Repeat(" ", width-full), done, all)
}

func exportStore(c *cli.Context) (err error) {
	name, kinds, err := archiveOf(c)
	if err != nil {
		return err
	}
	db, _, err := openStore(c)
	if err != nil {
		return err
	}
	defer db.Close()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: remove it, or name another file", name)
	}
	if err != nil {
		return err
	}
	all, done := 0, 0
	if env.Of(c).ErrOnTerminal() {
		if all, err = db.CountObjects(c.Context, kinds); err != nil {
			return errors.Join(err, file.Close(), os.Remove(name))
		}
	}
	manifest, err := db.Export(c.Context, file, kinds, func(string) {
		if done++; done%shownEvery == 0 {
			progress(c, bar(min(done, all), all))
		}
	})
	progress(c, "")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if c.Bool(env.JSONFlag.Name) {
		return env.PrintJSON(c, map[string]any{"file": name, "manifest": manifest})
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, kind := range storage.ArchiveKinds() {
		if k := manifest[kind]; k.Objects > 0 {
			fmt.Fprintf(w, "%s\t%d\n", kind, k.Objects)
		}
	}
	fmt.Fprintf(w, "written\t%s\n", name)
	return w.Flush()
}

func importStore(c *cli.Context) error {
	name, kinds, err := archiveOf(c)
	if err != nil {
		return err
	}
	if name == "" {
		return activateStore(c)
	}
	file, err := os.Open(name) // before a store is made
	if err != nil {
		return err
	}
	defer file.Close()
	db, o, err := openStore(c)
	if err != nil {
		return err
	}
	defer db.Close()
	found, err := db.Import(c.Context, file, storage.Import{
		Kinds: kinds, Replace: c.Bool("replace"), DryRun: c.Bool("dry-run"), Activate: c.Bool("activate"),
		History: o.NoteHistory(), At: time.Now(),
		Progress: func(done, all int) {
			if done%shownEvery == 0 {
				progress(c, bar(done, all))
			}
		},
	})
	progress(c, "")
	if err != nil && !errors.Is(err, storage.ErrDifferent) && !errors.Is(err, storage.ErrConflict) {
		return err
	}
	return printImport(c, found, err)
}

// activateStore lets the tasks and schedules of earlier imports run.
func activateStore(c *cli.Context) error {
	db, _, err := openStore(c)
	if err != nil {
		return err
	}
	defer db.Close()
	n, err := db.Activate(c.Context)
	if err != nil {
		return err
	}
	if c.Bool(env.JSONFlag.Name) {
		return env.PrintJSON(c, map[string]any{"activated": n})
	}
	_, err = fmt.Fprintf(c.App.Writer, "activated %d tasks and schedules\n", n)
	return err
}

// printImport prints the counts of an import and returns its error.
func printImport(c *cli.Context, found map[string]*storage.ImportCounts, err error) error {
	if c.Bool(env.JSONFlag.Name) {
		return cmp.Or(env.PrintJSON(c, map[string]any{"kinds": found, "written": err == nil && !c.Bool("dry-run")}), err)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tnew\tequal\tdifferent")
	for _, kind := range storage.ArchiveKinds() {
		if k := found[kind]; k != nil && (k.New+k.Equal+k.Different > 0 || c.IsSet(onlyFlag.Name)) {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", kind, k.New, k.Equal, k.Different)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, kind := range storage.ArchiveKinds() {
		if k := found[kind]; k != nil && len(k.Names) > 0 {
			more := ""
			if n := k.Different - len(k.Names); n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			fmt.Fprintf(c.App.Writer, "different %s: %s%s\n", kind, strings.Join(k.Names, ", "), more)
		}
	}
	for _, kind := range storage.ArchiveKinds() {
		if k := found[kind]; k != nil {
			for _, conflict := range k.Conflicts {
				fmt.Fprintf(c.App.Writer, "conflict in %s: %s\n", kind, conflict)
			}
		}
	}
	switch {
	case errors.Is(err, storage.ErrConflict):
		return fmt.Errorf("%w: remove or end these objects of the store, or leave their kind out with --only", err)
	case err != nil:
		return fmt.Errorf("%w: --replace replaces them", err)
	case c.Bool("dry-run"):
		fmt.Fprintln(c.App.Writer, "nothing is written: this is a dry run")
	case found["tasks"] != nil && found["tasks"].New+found["tasks"].Different > 0 && !c.Bool("activate"):
		fmt.Fprintln(c.App.Writer, "tasks and schedules that have not ended are paused: toolfold import --activate lets them run")
	}
	return nil
}
