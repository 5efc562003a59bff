package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/config"
)

// edit is the planned change of a client's list of servers.
type edit struct {
	host          *hosts.Host
	candidates    []*candidate
	options       []string // of serve, in toolfold's new entry; nil if the client already has an entry
	variables     []string // environment variables that toolfold needs there
	before, after []byte
	ending        string // of the backup
	record        *clientfile.ImportRecord
}

// writeCandidates adds the upstreams and edits the clients' files: all of it or nothing. The edits are
// prepared in memory. They are recorded before the first write, so that undo works even if the process
// is killed.
func writeCandidates(c *cli.Context, o *settings.Options, found *survey) error {
	edits, added, err := planEdits(o, found)
	if err != nil {
		return err
	}
	var clients []*hosts.Host
	for _, e := range edits {
		clients = append(clients, e.host)
	}
	if err := confirmRunning(c, clients); err != nil {
		return err
	}
	folder := filepath.Dir(o.Files.Global)
	former, err := clientfile.ReadImports(folder)
	if err != nil {
		return err
	}
	mine := &clientfile.Imports{Upstreams: added.asRecord(), Sets: maps.Clone(found.sets)}
	for _, e := range edits {
		mine.Files = append(mine.Files, e.record)
	}
	if err := mergeImports(former, mine).Write(folder); err != nil {
		return err
	}
	if err := write(c, o, edits, added, found.sets, func() error { return mergeImports(former, mine).Write(folder) }); err != nil {
		return rollBack(c, o, folder, former, mine, err)
	}
	if err := keepCandidates(c, found.candidates); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %v; the first start asks the servers again\n", err)
	}
	return printEdits(c, o, edits)
}

// additions are the upstreams that import adds to the settings.
type additions map[string]config.Upstream

// asRecord returns the upstreams in the form of the record.
func (a additions) asRecord() map[string]json.RawMessage {
	list := map[string]json.RawMessage{}
	for name, u := range a {
		list[name] = ordered.MustJSON(u)
	}
	return list
}

// planEdits returns the edits of the clients' files and the upstreams to add.
func planEdits(o *settings.Options, found *survey) (edits []*edit, added additions, err error) {
	binary, err := clientfile.Binary()
	if err != nil {
		return nil, nil, err
	}
	added = additions{}
	stamp := time.Now().UTC().Format("20060102T150405.000000")
	for _, cl := range found.clients {
		e := &edit{host: cl.host, options: cl.options, record: &clientfile.ImportRecord{Path: cl.path}}
		if e.ending = "." + stamp + ".bak"; cl.base != nil { // the file may also be edited for all folders
			e.record.Folder, e.ending = cl.folder, fmt.Sprintf(".%s-%d.bak", stamp, len(edits))
		}
		for _, t := range found.of(cl) {
			if t.name == "" {
				continue
			}
			if _, known := o.Upstreams[t.name]; !known {
				added[t.name] = t.upstream
			}
			e.candidates = append(e.candidates, t)
		}
		if len(e.candidates) > 0 {
			edits = append(edits, e)
		}
	}
	texts := map[string][]byte{} // edited texts of files, by path
	for _, e := range edits {
		e.variables = secretNames(o.Upstreams, added)
		if e.options != nil { // its set has no other upstreams
			e.variables = secretNames(e.upstreams())
		}
		path := e.record.Path
		text, err := texts[path], error(nil)
		if text == nil {
			text, err = clientfile.Read(path)
		}
		if err == nil {
			err = e.plan(text, binary)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("nothing is written: %w", clientfile.At(path, err))
		}
		texts[path] = e.after
	}
	return edits, added, nil
}

// upstreams returns the upstreams that replace the client's servers.
func (e *edit) upstreams() map[string]config.Upstream {
	list := map[string]config.Upstream{}
	for _, t := range e.candidates {
		list[t.name] = t.upstream
	}
	return list
}

// plan prepares the edit of a file's text: it adds toolfold's entry and removes the imported ones.
func (e *edit) plan(text []byte, binary string) (err error) {
	r := &clientfile.ImportRecord{Path: e.record.Path, Host: e.host.Name, Folder: e.record.Folder, Before: clientfile.Sum(text)}
	if r.Backup, err = clientfile.BackupPath(r.Path, e.ending); err != nil {
		return err
	}
	after := text
	if has, err := e.host.Has(text, hosts.Server); err != nil {
		return err
	} else if !has {
		if after, err = e.put(text, binary, r); err != nil {
			return err
		}
	}
	for _, t := range e.candidates {
		now, err := e.host.Value(text, t.entry.Name)
		if err != nil {
			return err
		}
		if string(now) != string(t.value) {
			return fmt.Errorf("its entry %s was changed meanwhile: import again", t.entry.Name)
		}
		var part hosts.Part
		if after, part, err = e.host.Take(after, t.entry.Name); err != nil {
			return err
		}
		if back, err := e.host.ValueOf(part); err != nil || string(back) != string(now) {
			return fmt.Errorf("its entry %s could not be put back later: take it over by hand", t.entry.Name)
		}
		r.Entries = append([]clientfile.ImportedEntry{{Part: part, Upstream: t.name}}, r.Entries...)
	}
	if err := e.host.Check(after); err != nil {
		return fmt.Errorf("the edit would break it: %w", err)
	}
	r.SHA256 = clientfile.Sum(after)
	e.before, e.after, *e.record = text, after, *r
	return nil
}

// put adds toolfold's entry to a text of the file, and records it. It runs before entries are removed,
// so that it can copy their layout.
func (e *edit) put(text []byte, binary string, r *clientfile.ImportRecord) (after []byte, err error) {
	admitted, err := e.host.Admits(text, hosts.Server)
	if err != nil {
		return nil, err
	}
	r.Allowed = !admitted
	if after, err = e.host.WithVariables(e.variables).Put(text, binary, append([]string{"serve"}, e.options...)); err != nil {
		return nil, err
	}
	r.Own, err = e.host.Value(after, hosts.Server)
	return after, err
}

// mergeImports merges the record of a former import, which may be nil, with this one.
func mergeImports(former, mine *clientfile.Imports) *clientfile.Imports {
	if former == nil {
		return mine
	}
	both := &clientfile.Imports{Files: append(slices.Clone(former.Files), mine.Files...), Upstreams: maps.Clone(former.Upstreams),
		Sets: maps.Clone(former.Sets)}
	for name, set := range mine.Sets {
		if was, known := former.Sets[name]; known && slices.Equal(was.After, set.Before) {
			set.Before = was.Before
		}
		if both.Sets == nil {
			both.Sets = map[string]clientfile.ImportedSet{}
		}
		both.Sets[name] = set
	}
	if both.Upstreams == nil {
		both.Upstreams = map[string]json.RawMessage{}
	}
	maps.Copy(both.Upstreams, mine.Upstreams)
	return both
}

// write writes the upstreams, the sets and the clients' files. If a client has changed its file
// meanwhile, the edit is planned and recorded again.
func write(c *cli.Context, o *settings.Options, edits []*edit, added additions, sets map[string]clientfile.ImportedSet,
	record func() error,
) error {
	if err := putUpstreams(c, o.Files, added); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if err := writeSet(c, o, name, sets[name].After); err != nil {
			return err
		}
	}
	binary, err := clientfile.Binary()
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := e.write(binary, record); err != nil {
			return err
		}
	}
	return nil
}

// write writes the file, after a backup.
func (e *edit) write(binary string, record func() error) error {
	for range 5 {
		if _, err := clientfile.BackUp(e.record.Path, e.ending, e.before); err != nil {
			return fmt.Errorf("backing up %s: %w", e.record.Path, err)
		}
		err := clientfile.Replace(e.record.Path, e.before, e.after)
		if !errors.Is(err, clientfile.ErrChanged) {
			return err
		}
		if err := os.Remove(e.record.Backup); err != nil { // it holds an older text
			return err
		}
		text, err := clientfile.Read(e.record.Path)
		if err == nil {
			err = e.plan(text, binary)
		}
		if err != nil {
			return clientfile.At(e.record.Path, err)
		}
		if err := record(); err != nil {
			return err
		}
	}
	return clientfile.Restless(e.record.Path)
}

// rollBack undoes a failed import, and returns the reason of the failure.
func rollBack(c *cli.Context, o *settings.Options, folder string, former, mine *clientfile.Imports, why error) error {
	u := undoRun{out: c.App.ErrWriter, problems: c.App.ErrWriter, options: o}
	err := u.run(c, mine, func() error { return mergeImports(former, mine).Write(folder) })
	if err == nil && u.problemCount == 0 {
		return fmt.Errorf("%w; nothing is taken over", why)
	}
	return errors.Join(fmt.Errorf("%w; toolfold upstream import --undo puts the written files back", why), err)
}

// textOut returns the stream for messages: with --json, standard output is reserved for JSON.
func textOut(c *cli.Context) io.Writer {
	if c.Bool(env.JSONFlag.Name) {
		return c.App.ErrWriter
	}
	return c.App.Writer
}

// printEdits names the written files, and the remaining manual steps.
func printEdits(c *cli.Context, o *settings.Options, edits []*edit) error {
	w := textOut(c)
	fmt.Fprintf(w, "written  %s\n", o.Files.Global)
	for _, e := range edits {
		fmt.Fprintf(w, "backup   %s\nwritten  %s\n", e.record.Backup, e.record.Path)
		if e.record.Own == nil && e.host.Keeps() && len(e.variables) > 0 {
			fmt.Fprintf(w, "%s keeps variables from servers, and its entry %s stays: put in it %s\n",
				e.host.Title, hosts.Server, strings.Join(e.variables, ", "))
		}
	}
	_, err := fmt.Fprintln(w, "restart the clients; toolfold upstream import --undo puts their files back")
	return err
}

// confirmRunning asks whether to go on if clients run, because they write their files too. Without a
// terminal it only warns.
func confirmRunning(c *cli.Context, clients []*hosts.Host) error {
	running := hosts.Running(c.Context)
	var names []string
	for _, h := range clients {
		if running.Has(h) && !slices.Contains(names, h.Title) {
			names = append(names, h.Title)
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s is running: close it, since it writes its file\n", h.Title)
		}
	}
	if len(names) == 0 || c.Bool(env.JSONFlag.Name) || !canAsk() || agrees(c, "go on?") {
		return nil
	}
	return errors.New("nothing is written")
}

// secretNames lists the environment variables that a server needs for upstreams: those in their settings,
// and those that locate settings and data.
func secretNames(lists ...map[string]config.Upstream) (names []string) {
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		if os.Getenv(name) != "" {
			names = append(names, name)
		}
	}
	for _, list := range lists {
		for name, u := range list {
			names = append(names, servers.EntryOf(name, u).Variables()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keepCandidates stores the servers' lists, so that the first start does not wait for them.
func keepCandidates(c *cli.Context, found []candidate) error {
	_, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return err
	}
	defer g.Close()
	answers := answersOf(found)
	for _, name := range slices.Sorted(maps.Keys(answers)) { // in order, so that names are given as in the plan
		err = errors.Join(err, g.Keep(name, answers[name]))
	}
	return err
}
