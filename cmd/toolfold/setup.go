package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/hosts"
	"github.com/toolfold/toolfold/internal/safefile"
)

// maxClientFile bounds the file of a client, in bytes.
const maxClientFile = 64 << 20

func setupCommand() *cli.Command {
	return &cli.Command{
		Name:      "setup",
		Usage:     "connect a client: print what its settings need, or write it",
		ArgsUsage: "[CLIENT [-- SERVE-OPTION…]]",
		Description: "Without CLIENT it lists the clients, their files and whether toolfold is in them. With\n" +
			"--write the entry is put into the client's own file after a backup beside it; what an entry\n" +
			"had stays. --undo takes it out again and brings back what was there. The entry serves\n" +
			"--for the client, which chooses the list that suits it. What follows -- goes to toolfold\n" +
			"serve too.\n\n" +
			"toolfold setup codex\n" +
			"toolfold setup --write qwen -- --listing=full",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "write", Usage: "put the entry into the client's file"},
			&cli.StringFlag{Name: "for", Usage: "serve what suits this client or kind (" + strings.Join(hosts.TargetNames(), ", ") + ")",
				DefaultText: "the client"},
			&cli.BoolFlag{Name: "undo", Usage: "take the entry out of the client's file"},
		},
		BashComplete: func(c *cli.Context) { fmt.Fprintln(c.App.Writer, strings.Join(hosts.Names(), "\n")) },
		Action:       setupAction,
	}
}

func setupAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return listClients(c)
	}
	name, options := c.Args().First(), c.Args().Tail()
	given := len(options) > 0
	if given {
		if options[0] != "--" {
			return usageError("%q is too much: name one client, and put options of serve after --", options[0])
		}
		options = options[1:]
		if err := refusedByServe(options); err != nil {
			return err
		}
	}
	h := hosts.Find(name)
	switch {
	case h == nil:
		return usageError("unknown client %q: one of %s", name, strings.Join(hosts.Names(), ", "))
	case c.IsSet("for") && hosts.FindTarget(c.String("for")) == nil:
		return usageError("--for must be one of %s, got %q", strings.Join(hosts.TargetNames(), ", "), c.String("for"))
	case c.IsSet("for") && c.Bool("undo"):
		return usageError("--for and --undo exclude each other")
	case c.Bool("write") && c.Bool("undo"):
		return usageError("--write and --undo exclude each other")
	case (c.Bool("write") || c.Bool("undo")) && h.Path == nil:
		return usageError("%s has no file that setup writes: %s", h.Title, h.Manual)
	}
	if c.Bool("undo") {
		return undoClient(c, h)
	}
	binary, err := installed()
	if err != nil {
		return err
	}
	args, target := h.Args(), hosts.FindTarget(cmp.Or(c.String("for"), h.Name))
	args[len(args)-1] = "--for=" + target.Name
	if c.Bool("write") {
		return writeClient(c, h, target, func(text []byte) ([]byte, error) {
			had := h.Options(text)
			if !given {
				options = had
			}
			for _, option := range had {
				if !slices.Contains(options, option) {
					fmt.Fprintf(stderr, "left out %s, which the entry had\n", option)
				}
			}
			return h.Put(text, binary, append(args, options...))
		})
	}
	fmt.Fprint(c.App.Writer, h.Snippet(binary, append(args, options...)))
	return explain(h, target, "")
}

// refusedByServe returns the error of serve for options that it would refuse.
func refusedByServe(options []string) error {
	command := serveCommand()
	command.Action = func(c *cli.Context) error {
		_, err := settingFiles(c)
		return err
	}
	app := newApp()
	app.Commands = []*cli.Command{command}
	refuseWrong(app.Commands)
	return app.Run(append([]string{"toolfold", "serve"}, options...))
}

// explain prints what the user has to know and do beside the entry: once it is written
// what is left.
func explain(h *hosts.Host, target *hosts.Target, written string) error {
	w := tabwriter.NewWriter(stderr, 0, 0, 2, ' ', 0)
	where, add, next := h.Manual, h.Add, ""
	if written != "" {
		where, add, next = "", "", "start "+h.Title+" again, and approve what it asks for"
	} else if h.Path != nil {
		path, err := h.Path()
		if err != nil {
			return err
		}
		where = path + ", or: toolfold setup --write " + h.Name
	}
	for _, row := range [][2]string{
		{"goes into", where}, {"or run", add}, {"next", next}, {"approval", h.Approve}, {"list", target.Text()}, {"rules", h.Rules},
		{"note", h.Note},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	return w.Flush()
}

// installed returns the path of this program, which clients can start.
func installed() (string, error) {
	binary, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the binary: %w", err)
	}
	if slash := filepath.ToSlash(binary); strings.Contains(slash, "/go-build") && strings.Contains(slash, "/exe/") {
		return "", errors.New("go run leaves no binary that a client could start: go install ./cmd/toolfold first")
	}
	return binary, nil
}

// listClients prints each client with its file.
func listClients(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for i := range hosts.Hosts {
		h, state, path := &hosts.Hosts[i], "", "-"
		if h.Path != nil {
			var err error
			if path, err = h.Path(); err != nil {
				return err
			}
			text, err := readClient(path)
			has, broken := h.Has(text, hosts.Server)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				state = "no file"
			case err != nil:
				state = err.Error()
			case broken != nil:
				state = broken.Error()
			case has:
				state = "has toolfold"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", h.Name, h.Title, path, state)
	}
	return w.Flush()
}

// readClient reads the file of a client.
func readClient(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return safefile.Read(root, filepath.Base(path), maxClientFile)
}

// setupBackup is the ending of the one backup that setup keeps of a client's file: as it
// was before the entry.
const setupBackup = ".toolfold.bak"

// writeClient puts the entry into the file of a client, after a backup beside it, and
// says so, and what is left to do.
func writeClient(c *cli.Context, h *hosts.Host, target *hosts.Target, edit func([]byte) ([]byte, error)) error {
	path, err := h.Path()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if text, err := readClient(path); err == nil {
		if has, err := h.Has(text, hosts.Server); err == nil && !has { // an older backup is of another time
			if err := os.Remove(path + setupBackup); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	done, err := editFile(path, setupBackup, edit)
	switch {
	case err != nil:
		return err
	case !done.changed:
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.path)
		return err
	case done.backup != "":
		fmt.Fprintf(c.App.Writer, "backup   %s\n", done.backup)
	}
	if _, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.path); err != nil {
		return err
	}
	return explain(h, target, done.path)
}

// undoClient takes the entry out of the file of a client. Where nothing else has changed
// since setup wrote it, the file is as it was then, or gone if there was none.
func undoClient(c *cli.Context, h *hosts.Host) error {
	path, err := h.Path()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	text, err := readClient(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", path)
		return err
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	without, err := h.Remove(text, hosts.Server)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(without, text) {
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", path)
		return err
	}
	backup := path + setupBackup
	before, err := readClient(backup)
	switch {
	case err == nil && h.Same(before, without):
		without = before
	case h.Same(nil, without) && (err != nil || h.Options(before) != nil): // setup made the file
		if err := errors.Join(os.Remove(path), os.RemoveAll(backup)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "removed  %s\n", path)
		return err
	}
	done, err := editFile(path, "", func([]byte) ([]byte, error) { return without, nil })
	if err != nil {
		return err
	}
	if bytes.Equal(without, before) { // it is where it was: the backup says nothing more
		if err := os.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.path)
	return err
}

// edited holds the outcome of an edit of the file of a client.
type edited struct {
	path    string // with links followed: dotfiles are often links
	backup  string // path of the text before; empty for a new file
	after   []byte
	changed bool
}

// editFile replaces a file by what edit makes of it, after a backup beside it with that
// ending: one that is there stays, and an empty ending makes none. A file that is not
// there is empty.
func editFile(path, ending string, edit func([]byte) ([]byte, error)) (done edited, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	done.path = path
	before, err := readClient(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return done, fmt.Errorf("reading %s: %w", path, err)
	}
	if done.after, err = edit(before); err != nil {
		return done, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(before, done.after) {
		return done, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return done, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return done, err
	}
	defer root.Close()
	name := filepath.Base(path)
	backup := name + ending
	if _, err := root.Stat(backup); !isNew && ending != "" && errors.Is(err, fs.ErrNotExist) {
		info, err := root.Stat(name)
		if err == nil {
			err = root.WriteFile(backup, before, info.Mode().Perm())
		}
		if err != nil {
			return done, fmt.Errorf("backing up %s: %w", path, err)
		}
		done.backup = filepath.Join(filepath.Dir(path), backup)
	}
	if err := safefile.Replace(root, name, done.after); err != nil {
		return done, fmt.Errorf("writing %s: %w", path, err)
	}
	done.changed = true
	return done, nil
}
