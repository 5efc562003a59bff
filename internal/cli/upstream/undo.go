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

// undoImport restores the entries that imports removed from clients' files, removes toolfold's, and
// removes the upstreams from the settings. Entries that were changed since, or whose name is taken,
// stay. They remain in the record, so that another undo can finish.
func undoImport(c *cli.Context, o *settings.Options) error {
	folder := filepath.Dir(o.Files.Global)
	record, err := clientfile.ReadImports(folder)
	if err != nil {
		return err
	}
	if record == nil {
		return errors.New("there is no import to undo")
	}
	u := undoRun{out: c.App.Writer, problems: c.App.ErrWriter, options: o}
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
	if u.problemCount > 0 {
		fmt.Fprintln(c.App.ErrWriter, "toolfold: the rest is put back; correct the named entries, and repeat toolfold upstream import --undo")
		return cli.Exit("", env.ExitFailed)
	}
	return nil
}

// undoRun is a running undo.
type undoRun struct {
	out, problems io.Writer
	options       *settings.Options
	problemCount  int // problems so far
}

// problem reports something that could not be undone.
func (u *undoRun) problem(format string, args ...any) {
	u.problemCount++
	fmt.Fprintf(u.problems, "toolfold: "+format+"\n", args...)
}

// run undoes the changes in a record, the newest first, and removes finished ones from it. save writes
// the record.
func (u *undoRun) run(c *cli.Context, record *clientfile.Imports, save func() error) error {
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

// putBack undoes the changes in a file. left is true if some of them remain in the record.
func (u *undoRun) putBack(f *clientfile.ImportRecord) (left bool, err error) {
	h := f.Client()
	if h == nil {
		return true, fmt.Errorf("%s: the client %q is not known: copy the entries that you want from %s", f.Path, f.Host, f.Backup)
	}
	now, err := clientfile.Read(f.Path)
	if err != nil && !missing(err) {
		return true, clientfile.At(f.Path, err)
	}
	sum := clientfile.Sum(now)
	if sum == f.Before && err == nil { // import was stopped before it wrote the file, or undo after it did
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

// putEntriesBack restores the entries in a file that has changed since, and removes toolfold's. That is
// removed last, because it shows the layout of the file.
func (u *undoRun) putEntriesBack(h *hosts.Host, f *clientfile.ImportRecord) (left bool, err error) {
	var rest clientfile.ImportRecord
	var problems []string
	done, err := clientfile.Edit(f.Path, "", func(text []byte) ([]byte, error) {
		rest, problems = *f, nil // edit may run again
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

// without removes toolfold's entry from a text. If import added its name to the client's list of
// allowed servers, that is removed too.
func without(h *hosts.Host, text []byte, allowed bool) ([]byte, error) {
	text, err := h.Remove(text, hosts.Server)
	if err != nil || !allowed {
		return text, err
	}
	return h.Dismiss(text)
}

// withEntry returns a text with an entry restored, or the reason why it cannot be. An entry that is
// already restored stays.
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

// removeUpstreams removes the upstreams that import added from the settings and the record. Those whose
// entries are not restored stay, and so do upstreams that the user has changed since.
func (u *undoRun) removeUpstreams(c *cli.Context, record *clientfile.Imports) error {
	needed := map[string]bool{}
	for _, f := range record.Files {
		if f.Host == "" { // in an incomplete record of an older version
			return nil
		}
		for _, e := range f.Entries {
			needed[e.Upstream] = true
		}
	}
	o, err := settings.Load(c) // the current ones
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
			continue // removed or changed by the user
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

// upgrade completes the record of a file that an older version wrote. It derives the removed entries
// from the backup and the upstreams. A complete record stays unchanged.
func (u *undoRun) upgrade(f *clientfile.ImportRecord, record *clientfile.Imports) error {
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
		return nil // without a file there is no entry
	}
	if slices.Contains(h.Entry(now).Command, "serve") { // written by import or setup
		f.Own, _ = h.Value(now, hosts.Server) // a fault of the file is reported later
	}
	return nil
}

// upstreamOf returns the name of the upstream that import made of an entry; empty if import did not take it over.
func (u *undoRun) upstreamOf(e hosts.Entry, record *clientfile.Imports) string {
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

// isUpstream reports whether an upstream equals the recorded one.
func isUpstream(recorded json.RawMessage, u config.Upstream) bool {
	var was config.Upstream
	return json.Unmarshal(recorded, &was) == nil && string(ordered.MustJSON(was)) == string(ordered.MustJSON(u))
}
