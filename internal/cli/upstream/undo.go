package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/config"
)

// undoImport puts the entries that imports took out back into the files of the clients, takes toolfold's out, and takes
// the upstreams out of the settings. An entry that was changed since, and one whose name is taken, stays as it is: the
// record has what is left, so that another undo finishes.
func undoImport(c *cli.Context, o *settings.Options) error {
	folder := filepath.Dir(o.Files.Global)
	record, err := clientfile.ReadImports(folder)
	if err != nil {
		return err
	}
	if record == nil {
		return errors.New("there is no import to undo")
	}
	u := undoing{out: c.App.Writer, problems: c.App.ErrWriter, options: o}
	for _, f := range record.Files {
		if err := u.upgrade(f, record); err != nil {
			u.problem("%v", clientfile.At(f.Path, err))
		}
	}
	var clients []*hosts.Host
	for _, f := range record.Files {
		if h := f.Client(); h != nil {
			clients = append(clients, h)
		}
	}
	if err := confirmRunning(c, clients); err != nil {
		return err
	}
	if err := u.run(c, record, func() error { return record.Write(folder) }); err != nil {
		return err
	}
	if u.left > 0 {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: the rest is put back; correct the named entries, and repeat toolfold upstream import --undo")
		return cli.Exit("", env.ExitFailed)
	}
	return nil
}

// undoing is an undo under way.
type undoing struct {
	out, problems io.Writer
	options       *settings.Options
	left          int // problems so far
}

// problem names something that is left as it is.
func (u *undoing) problem(format string, args ...any) {
	u.left++
	fmt.Fprintf(u.problems, "toolfold: "+format+"\n", args...)
}

// run puts back what a record has, the newest first, and takes out of the record what is done. Save writes the record.
func (u *undoing) run(c *cli.Context, record *clientfile.Imports, save func() error) error {
	for i := len(record.Files) - 1; i >= 0; i-- {
		f := record.Files[i]
		left, err := u.putBack(f)
		if err != nil {
			u.problem("%v", err)
			continue
		}
		if left {
			if err := save(); err != nil {
				return err
			}
			continue
		}
		record.Files = slices.Delete(record.Files, i, i+1)
		if err := save(); err != nil {
			return err
		}
		if err := os.Remove(f.Backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the backup: %w", err)
		}
	}
	return errors.Join(u.removeSets(c, record), u.removeUpstreams(c, record), save())
}

// putBack puts back what import changed in a file. Left reports whether something is left, which the record has.
func (u *undoing) putBack(f *clientfile.Imported) (left bool, err error) {
	h := f.Client()
	if h == nil {
		return true, fmt.Errorf("%s: the client %q is not known: copy the entries that you want from %s", f.Path, f.Host, f.Backup)
	}
	now, err := clientfile.Read(f.Path)
	if err != nil && !missing(err) {
		return true, clientfile.At(f.Path, err)
	}
	sum := clientfile.Sum(now)
	if sum == f.Before && err == nil { // import was stopped before it wrote the file, or undo behind it
		return false, nil
	}
	if sum == f.SHA256 {
		before, err := clientfile.Read(f.Backup)
		if err == nil {
			if err := clientfile.Replace(f.Path, now, before); err != nil {
				return true, err
			}
			fmt.Fprintf(u.out, "put back %s\n", f.Path)
			return false, nil
		}
	}
	return u.putEntriesBack(h, f)
}

// putEntriesBack puts the entries back into a file that was changed since, and takes toolfold's out: it is the last that
// goes, as it shows how the file is laid out.
func (u *undoing) putEntriesBack(h *hosts.Host, f *clientfile.Imported) (left bool, err error) {
	var rest clientfile.Imported
	var problems []string
	done, err := clientfile.Edit(f.Path, "", func(text []byte) ([]byte, error) {
		rest, problems = *f, nil // the file may be read again
		rest.Own, rest.Allowed, rest.Entries = nil, false, nil
		if err := h.Check(text); err != nil {
			return nil, err
		}
		for _, e := range f.Entries {
			more, problem := withEntry(h, text, e)
			if problem != "" {
				rest.Entries, problems = append(rest.Entries, e), append(problems, problem)
				continue
			}
			text = more
		}
		own, err := h.Value(text, hosts.Server)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Own == nil:
		case own != nil && string(own) != string(f.Own):
			rest.Own, rest.Allowed = f.Own, f.Allowed
			problems = append(problems, fmt.Sprintf("its entry %s was changed since, and stays: take it out if you do not want it", hosts.Server))
		default:
			if text, err = without(h, text, f.Allowed); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
	if err != nil {
		return true, err
	}
	if done.Changed {
		fmt.Fprintf(u.out, "put back the entries in %s, which was changed since\n", f.Path)
	}
	for _, problem := range problems {
		u.problem("%s: %s", f.Path, problem)
	}
	*f = rest
	return len(problems) > 0, nil
}

// without returns a text without toolfold's entry, and if import put its name there, without it in the list of the
// servers that the client allows.
func without(h *hosts.Host, text []byte, allowed bool) ([]byte, error) {
	text, err := h.Remove(text, hosts.Server)
	if err != nil || !allowed {
		return text, err
	}
	return h.Dismiss(text)
}

// withEntry returns a text with an entry put back, or what keeps it out. An entry that is back already stays.
func withEntry(h *hosts.Host, text []byte, e clientfile.ImportedEntry) (with []byte, problem string) {
	was, err := h.ValueOf(e.Part)
	var now json.RawMessage
	if err == nil {
		now, err = h.Value(text, e.Key)
	}
	switch {
	case err != nil:
	case string(now) == string(was):
		return text, ""
	case now != nil:
		return nil, fmt.Sprintf("the name %s is taken by another entry: rename or remove that one", e.Key)
	default:
		with, err = h.Give(text, e.Part)
	}
	if err != nil {
		return nil, fmt.Sprintf("the entry %s cannot be put back: %v", e.Key, err)
	}
	return with, ""
}

// removeUpstreams takes the upstreams that import added out of the settings, and out of the record, except those
// whose entries are not back. One that the user has changed since is the user's.
func (u *undoing) removeUpstreams(c *cli.Context, record *clientfile.Imports) error {
	needed := map[string]bool{}
	for _, f := range record.Files {
		if f.Host == "" { // of a record that does not say
			return nil
		}
		for _, e := range f.Entries {
			needed[e.Upstream] = true
		}
	}
	o, err := settings.Load(c) // as they are now
	if err != nil {
		return err
	}
	service := config.New(o.Files, nil)
	for _, name := range slices.Sorted(maps.Keys(record.Upstreams)) {
		if needed[name] {
			fmt.Fprintf(u.problems, "toolfold: the upstream %s stays, as its entry is not back\n", name)
			continue
		}
		was := record.Upstreams[name]
		delete(record.Upstreams, name)
		if now, known := o.Upstreams[name]; !known || !isUpstream(was, now) {
			continue // it is gone, or the user has made it another
		}
		if _, err := service.Unset(config.ByUser(c.Context), config.UnsetIn{Path: "upstreams." + name, Scope: config.Global}); err != nil {
			return err
		}
		fmt.Fprintf(u.out, "removed  %s\n", name)
		secrets := removeSecrets(c.Context, map[string]config.Upstream{name: o.Upstreams[name]})
		if err := errors.Join(secrets, servers.RemoveJournal(name)); err != nil {
			fmt.Fprintf(u.problems, "toolfold: %v\n", err)
		}
		if err := leaveSets(c, o, name); err != nil {
			return err
		}
	}
	return nil
}

// upgrade completes the record of a file that an older version made: which entries it took out follows from the backup
// and from the upstreams that they became. A record that is complete stays.
func (u *undoing) upgrade(f *clientfile.Imported, record *clientfile.Imports) error {
	if f.Host != "" {
		return nil
	}
	before, err := clientfile.Read(f.Backup)
	if err != nil {
		return fmt.Errorf("reading the backup: %w", err)
	}
	h := hosts.Owner(f.Path, before)
	if h == nil {
		return fmt.Errorf("its backup %s names no servers", f.Backup)
	}
	entries, err := h.List(before)
	if err != nil {
		return err
	}
	rest := before
	for _, e := range entries {
		name := u.upstreamOf(e, record)
		if has, err := h.Has(rest, e.Name); name == "" || !has || err != nil {
			continue
		}
		var part hosts.Part
		if rest, part, err = h.Take(rest, e.Name); err != nil {
			return err
		}
		f.Entries = append([]clientfile.ImportedEntry{{Part: part, Upstream: name}}, f.Entries...)
	}
	f.Host = h.Name
	if had, err := h.Has(before, hosts.Server); had || err != nil {
		return err
	}
	now, err := clientfile.Read(f.Path)
	if err != nil {
		return nil // without a file, there is no entry in it
	}
	if slices.Contains(h.Entry(now).Command, "serve") { // as import and setup write it
		f.Own, _ = h.Value(now, hosts.Server) // the fault of a file that cannot be read is named later
	}
	return nil
}

// upstreamOf returns the name of the upstream that import made of an entry; empty if it made none.
func (u *undoing) upstreamOf(e hosts.Entry, record *clientfile.Imports) string {
	made, _, err := servers.UpstreamOf(e)
	if err != nil || e.Off || servers.IsOwn(e) {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(record.Upstreams)) {
		if isUpstream(record.Upstreams[name], made) {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.options.Upstreams)) {
		if isUpstream(ordered.MustJSON(u.options.Upstreams[name]), made) {
			return name
		}
	}
	return ""
}

// isUpstream reports whether an upstream is as the record has it.
func isUpstream(recorded json.RawMessage, u config.Upstream) bool {
	var was config.Upstream
	return json.Unmarshal(recorded, &was) == nil && string(ordered.MustJSON(was)) == string(ordered.MustJSON(u))
}
