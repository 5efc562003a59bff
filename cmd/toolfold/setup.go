package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

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
			"--write the entry is put into the client's own file after a backup beside it, with --undo\n" +
			"it is taken out again. The entry serves --for the client, which chooses the list that suits\n" +
			"it. What follows -- goes to toolfold serve too.\n\n" +
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
	if len(options) > 0 && options[0] == "--" {
		options = options[1:]
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
		return editClient(c, h, func(text []byte) ([]byte, error) { return h.Remove(text, hosts.Server) })
	}
	binary, err := installed()
	if err != nil {
		return err
	}
	args, target := h.Args(), hosts.FindTarget(cmp.Or(c.String("for"), h.Name))
	args[len(args)-1] = "--for=" + target.Name
	args = append(args, options...)
	if c.Bool("write") {
		return editClient(c, h, func(text []byte) ([]byte, error) { return h.Put(text, binary, args) })
	}
	fmt.Fprint(c.App.Writer, h.Snippet(binary, args))
	w := tabwriter.NewWriter(stderr, 0, 0, 2, ' ', 0)
	where := h.Manual
	if h.Path != nil {
		path, err := h.Path()
		if err != nil {
			return err
		}
		where = path + ", or: toolfold setup --write " + h.Name
	}
	for _, row := range [][2]string{
		{"goes into", where}, {"or run", h.Add}, {"approval", h.Approve}, {"list", target.Text()}, {"rules", h.Rules}, {"note", h.Note},
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

// editClient replaces the file of a client by what edit makes of it, after a
// backup beside it, and says so.
func editClient(c *cli.Context, h *hosts.Host, edit func([]byte) ([]byte, error)) error {
	path, err := h.Path()
	if err != nil {
		return err
	}
	done, err := editFile(path, edit)
	switch {
	case err != nil:
		return err
	case !done.changed:
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.path)
		return err
	case done.backup != "":
		fmt.Fprintf(c.App.Writer, "backup   %s\n", done.backup)
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

// editFile replaces a file by what edit makes of it, after a backup beside it. A
// file that is not there is empty.
func editFile(path string, edit func([]byte) ([]byte, error)) (done edited, err error) {
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
	if !isNew {
		backup := name + "." + time.Now().UTC().Format("20060102T150405.000000") + ".bak"
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
