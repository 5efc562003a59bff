// Package setup has the command setup, which connects clients to the server, and git and clients to the
// hook.
package setup

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/hooks"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/target"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Command returns the command.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "setup",
		Usage:     "connect a client: print the entry for its settings, or write it",
		ArgsUsage: "[CLIENT [-- SERVE-OPTION…]]",
		Description: "Without CLIENT it lists the clients, their files and whether toolfold is in them. With\n" +
			"--write it puts the entry into the client's file after a backup; other members of the entry\n" +
			"and comments stay. Without CLIENT it asks on a terminal for each client found. --undo puts the\n" +
			"former entry back. The entry serves --for the client, which chooses its list. Options after --\n" +
			"go to toolfold serve, or with --hooks to toolfold hook. For an unknown CLIENT it prints the\n" +
			"entry that most clients take.\n\n" +
			"toolfold setup codex\n" +
			"toolfold setup --write qwen -- --listing=full\n" +
			"toolfold setup --hooks --write git",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "write", Usage: "put the entry into the client's file"},
			&cli.StringFlag{Name: "for", Usage: "serve the list for this client or kind (" + strings.Join(target.Names(), ", ") + ")",
				DefaultText: "the client"},
			&cli.BoolFlag{Name: "undo", Usage: "take the entry out of the client's file"},
			&cli.BoolFlag{Name: "hooks", Usage: "have commits, or a client's edits, in this repository judged by guard.check (" +
				strings.Join(hooks.Names(), ", ") + ")"},
		},
		BashComplete: func(c *cli.Context) { fmt.Fprintln(c.App.Writer, strings.Join(hosts.Names(), "\n")) },
		Action:       setupAction,
	}
}

func setupAction(c *cli.Context) error {
	switch write, undo := c.Bool("write"), c.Bool("undo"); {
	case write && undo:
		return env.UsageError("--write and --undo exclude each other")
	case c.IsSet("for") && undo:
		return env.UsageError("--for and --undo exclude each other")
	case c.IsSet("for") && target.Find(c.String("for")) == nil:
		return env.UsageError("%s", suggest.OneOf("--for", c.String("for"), target.Names()))
	}
	name, rest := c.Args().First(), c.Args().Tail()
	if strings.HasPrefix(name, "-") { // flag parsing drops a leading --
		name, rest = "", append([]string{"--"}, c.Args().Slice()...)
	}
	var options []string
	if len(rest) > 0 {
		if rest[0] != "--" {
			return env.UsageError("%q is too much: name one client, and put options of serve after --", rest[0])
		}
		options = append([]string{}, rest[1:]...)
	}
	if c.Bool("hooks") {
		return setupHooks(c, name, options)
	}
	if err := settings.RefusedByServe(env.Of(c), options); err != nil {
		return err
	}
	if name == "" {
		return setupWithoutClient(c, options)
	}
	h := hosts.Find(name)
	if h == nil {
		return setupUnknown(c, name, options)
	}
	switch {
	case (c.Bool("write") || c.Bool("undo")) && h.Path == nil:
		return env.UsageError("%s has no file that setup writes: %s", h.Title, h.Manual)
	case c.Bool("undo"):
		return undoClient(c, h)
	case c.Bool("write"):
		return connect(c, h, options)
	}
	binary, err := clientfile.Binary()
	if err != nil {
		return err
	}
	args, row := entryArgs(c, h.Name)
	args = append(args, options...)
	fmt.Fprint(c.App.Writer, h.Snippet(binary, args))
	return explain(c, h, row, args, "")
}

// setupUnknown prints the entry that most clients accept, for a client that is not in the table. A name
// close to a known one is an error.
func setupUnknown(c *cli.Context, name string, options []string) error {
	if near := suggest.Nearest(name, hosts.Names()); near != "" {
		return env.UsageError("unknown client %q, did you mean %q?", name, near)
	}
	if c.Bool("write") || c.Bool("undo") {
		return env.UsageError("the file of %q is not known: toolfold setup %s prints an entry to paste; setup writes for %s", name, name,
			strings.Join(hosts.Readable(), ", "))
	}
	binary, err := clientfile.Binary()
	if err != nil {
		return err
	}
	args, row := entryArgs(c, string(target.Eager))
	args = append(args, options...)
	fmt.Fprint(c.App.Writer, hosts.Plain().Snippet(binary, args))
	w := tabwriter.NewWriter(c.App.ErrWriter, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "client\t%s is not known here; this is the entry that most clients take\n", name)
	fmt.Fprintf(w, "goes into\tthe client's list of MCP servers: often mcp.json in its folder in your home (~/.%s/mcp.json),\n",
		strings.ToLower(name))
	fmt.Fprintf(w, "\tmcpServers in its settings, or a page such as Settings | MCP; its documentation names the place\n")
	fmt.Fprintf(w, "cost\t%s\nlist\t%s\n", costText(c, args), row.Text())
	return w.Flush()
}

// setupWithoutClient lists the clients. With --write it asks on a terminal which installed clients to
// connect.
func setupWithoutClient(c *cli.Context, options []string) error {
	switch {
	case c.Bool("undo"):
		return env.UsageError("--undo needs the client whose entry goes: toolfold setup lists them")
	case !c.Bool("write"):
		return listClients(c)
	}
	var found []*hosts.Host
	var names []string
	for i := range hosts.Hosts {
		if h := &hosts.Hosts[i]; h.Installed() {
			found, names = append(found, h), append(names, h.Name)
		}
	}
	if len(found) == 0 {
		return env.UsageError("no client that setup writes to is found: name one of %s", strings.Join(hosts.Readable(), ", "))
	}
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return env.UsageError("name a client to write to; found are %s", strings.Join(names, ", "))
	}
	answers, chosen, failed := bufio.NewScanner(os.Stdin), 0, false
	for _, h := range found {
		path, err := h.Path()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "put toolfold into %s (%s)? [y/N] ", h.Title, path)
		if !answers.Scan() {
			fmt.Fprintln(c.App.ErrWriter)
			break
		}
		if answer := strings.ToLower(strings.TrimSpace(answers.Text())); answer != "y" && answer != "yes" {
			continue
		}
		chosen++
		if err := connect(c, h, options); err != nil { // the other clients' files may be fine
			failed = true
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s: %v\n", h.Title, err)
		}
	}
	if chosen == 0 {
		fmt.Fprintln(c.App.ErrWriter, "nothing is written")
	}
	if err := answers.Err(); err != nil || !failed {
		return err
	}
	return cli.Exit("", env.ExitFailed)
}

// entryArgs returns the arguments of the entry, and the list that they select: --for, or else suits.
func entryArgs(c *cli.Context, suits string) ([]string, *target.Row) {
	row := target.Find(cmp.Or(c.String("for"), suits))
	return []string{"serve", "--for=" + row.Name}, row
}

// costText returns the cost of the list that a server with these arguments serves. It counts the tools
// of upstreams as far as this machine knows them, and starts no server.
func costText(c *cli.Context, args []string) string {
	text := ""
	err := settings.AsServe(env.Of(c), args[1:], func(c *cli.Context) error {
		o, g, err := servers.OpenGateway(c, c.String(settings.UpstreamsFlag.Name))
		if err != nil {
			return err
		}
		defer g.Close()
		served, err := servers.SurfaceCost(o, g)
		if text = fmt.Sprintf("%d tokens in %d tools", served.Tokens, served.Tools); len(served.Unasked) > 0 {
			text += fmt.Sprintf("; not counted, since they were not asked yet: %s", strings.Join(served.Unasked, ", "))
		}
		if len(served.Fails) > 0 {
			text += fmt.Sprintf("; %s: %s", english.Count(len(served.Fails), "server fails", "servers fail"), strings.Join(served.Fails, ", "))
		}
		return err
	})
	if err != nil {
		return fmt.Sprintf("not known: %v", err)
	}
	return text
}

// connect puts the entry into the client's file. If options is nil, the entry keeps its options.
func connect(c *cli.Context, h *hosts.Host, options []string) error {
	binary, err := clientfile.Binary()
	if err != nil {
		return err
	}
	args, row := entryArgs(c, h.Name)
	return writeClient(c, h, row, func(text []byte) ([]byte, error) {
		had, words := h.Options(text), options
		if words == nil {
			words = had
			if err := settings.RefusedByServe(env.Of(c), words); err != nil {
				return nil, fmt.Errorf("its entry has options that serve refuses (%w): give those that it should have after --", err)
			}
		}
		for _, option := range had {
			if !slices.Contains(words, option) {
				fmt.Fprintf(c.App.ErrWriter, "left out %s, which the entry had\n", option)
			}
		}
		return h.Put(text, binary, slices.Concat(args, words))
	})
}

// explain prints notes about the entry: cost, approval, list, rules. written is the path of the file
// that has the entry, or empty. If it is empty, the notes begin with where to put the entry, otherwise
// with the next step.
func explain(c *cli.Context, h *hosts.Host, row *target.Row, args []string, written string) error {
	w := tabwriter.NewWriter(c.App.ErrWriter, 0, 0, 2, ' ', 0)
	where, add, next := h.Manual, h.Add, ""
	if written != "" {
		where, add, next = "", "", "start "+h.Title+" again, and approve its questions"
		if text, err := clientfile.Read(written); err == nil && h.Entry(text).Off {
			next = "switch the entry on, which its settings switch off; then " + next
		}
	} else if h.Path != nil {
		path, err := h.Path()
		if err != nil {
			return err
		}
		where = path + ", or: toolfold setup --write " + h.Name
	}
	for _, row := range [][2]string{
		{"goes into", where}, {"or run", add}, {"next", next}, {"cost", h.Title + ": " + costText(c, args)}, {"approval", h.Approve},
		{"list", row.Text()}, {"rules", h.Rules},
		{"note", h.Note},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	return w.Flush()
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
			text, err := clientfile.Read(path)
			has, broken := h.Has(text, hosts.Server)
			switch {
			case errors.Is(err, fs.ErrNotExist) && h.Installed():
				state = "installed, no file"
			case errors.Is(err, fs.ErrNotExist):
				state = "not found"
			case err != nil:
				state = err.Error()
			case broken != nil:
				state = broken.Error()
			case has && h.Entry(text).Off:
				state = "has toolfold, switched off"
			case has:
				state = "has toolfold"
			default:
				state = "without toolfold"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", h.Name, h.Title, path, state)
	}
	return w.Flush()
}

// clientPath returns the path of the client's file, with links resolved.
func clientPath(h *hosts.Host) (string, error) {
	path, err := h.Path()
	if err != nil {
		return "", err
	}
	return clientfile.FollowLinks(path)
}

// writeClient puts the entry into a client's file, after a backup, and prints the remaining steps.
func writeClient(c *cli.Context, h *hosts.Host, row *target.Row, edit func([]byte) ([]byte, error)) error {
	path, err := clientPath(h)
	if err != nil {
		return err
	}
	ending := clientfile.Backup
	var was json.RawMessage
	if text, err := clientfile.Read(path); err == nil {
		has, err := h.Has(text, hosts.Server)
		if err == nil {
			was, err = h.Value(text, hosts.Server)
		}
		switch {
		case err != nil:
			return clientfile.At(path, err)
		case !has: // an older backup is outdated
			if err := clientfile.RemoveBackups(path); err != nil {
				return err
			}
		case isMadeBySetup(h, text):
			ending = ""
		}
	}
	done, err := clientfile.Edit(path, ending, edit)
	switch {
	case err != nil:
		return err
	case !done.Changed:
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.Path)
		return err
	case done.Backup != "":
		fmt.Fprintf(c.App.Writer, "backup   %s\n", done.Backup)
	}
	if own, err := h.Value(done.After, hosts.Server); err != nil {
		return err
	} else if err := clientfile.RecordOwn(settings.Folder(), done.Path, was, own); err != nil {
		return err
	}
	if _, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.Path); err != nil {
		return err
	}
	text, err := clientfile.Read(done.Path)
	if err != nil {
		return err
	}
	return explain(c, h, row, h.Entry(text).Command[1:], done.Path)
}

// isMadeBySetup reports whether a client's file is exactly the one that setup writes if there is no
// file.
func isMadeBySetup(h *hosts.Host, text []byte) bool {
	words := h.Entry(text).Command
	return len(words) > 0 && string(text) == h.Snippet(words[0], words[1:])
}

// undoClient restores the entry that a client's file had before setup, or removes it. If nothing else
// has changed since, it restores the whole file, or removes it if there was none.
func undoClient(c *cli.Context, h *hosts.Host) error {
	path, err := clientPath(h)
	if err != nil {
		return err
	}
	before, backup, err := clientfile.ReadBackup(path)
	if err != nil {
		return err
	}
	hadFile := backup != ""
	now, err := clientfile.Read(path)
	if err == nil && !hadFile && isMadeBySetup(h, now) {
		if err := os.Remove(path); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "removed  %s\n", path)
		return err
	}
	done, err := clientfile.Edit(path, "", func(text []byte) ([]byte, error) {
		if has, err := h.Has(text, hosts.Server); !has || err != nil {
			return text, err
		}
		words := h.Entry(text).Command
		if len(words) > 0 && hadFile {
			if put, err := h.Put(before, words[0], words[1:]); err == nil && bytes.Equal(put, text) {
				return before, nil
			}
		}
		without, err := h.Restore(text, before)
		if err != nil && hadFile {
			return nil, fmt.Errorf("%w; %s has the former text", err, backup)
		}
		return without, err
	})
	switch {
	case err != nil:
		return err
	case !done.Changed:
		_, err = fmt.Fprintf(c.App.Writer, "%s is as it should be\n", done.Path)
		return err
	}
	was, err := h.Value(now, hosts.Server)
	if err != nil {
		return err
	}
	if own, err := h.Value(done.After, hosts.Server); err != nil {
		return err
	} else if err := clientfile.RecordOwn(settings.Folder(), done.Path, was, own); err != nil {
		return err
	}
	if hadFile { // the file is newer than the backup, except for the restored entry
		if err := clientfile.RemoveBackups(path); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(c.App.Writer, "written  %s\n", done.Path)
	return err
}
