package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/safefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take over the servers that your clients have", ArgsUsage: "[FILE…]",
		Description: "It reads the settings of the clients of this user, or a FILE as clients have it, starts the\n" +
			"servers as the client would, and shows what their tools cost. With --write they become\n" +
			"upstreams, and the client's file gets toolfold in their place, after a backup beside it;\n" +
			"--undo puts back what the last import changed. Servers that a folder has stay there.",
		Flags: append(settings.Flags("listing"), servers.TimeoutFlag, env.JSONFlag,
			&cli.StringSliceFlag{Name: "client", Usage: "only of this client: " + strings.Join(hosts.Readable(), ", ") + "; may be repeated"},
			&cli.BoolFlag{Name: "write", Usage: "take them over"},
			&cli.BoolFlag{Name: "undo", Usage: "put back what the last import changed"},
		),
		OnUsageError: env.OnUsageError, Action: importUpstreams,
	}
}

// taking is a server in a client's file, and what import makes of it.
type taking struct {
	host     *hosts.Host
	path     string // of the client's file
	entry    hosts.Entry
	name     string // of the upstream; empty = it stays with the client
	upstream config.Upstream
	unread   []string // members of the entry that are not taken over
	why      string   // why it stays, or what is to be known of it
	listed   doctor.List
	answer   upstream.Answer // what the server listed
	cost     doctor.Cost     // of its tools as they are
	folded   doctor.Cost
	approve  []string // the folded tools all of whose actions the client lets pass without a question
	mixed    []string // the tools of the server that it lets pass, folded with others
}

func importUpstreams(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if c.Bool("undo") {
		if c.Bool("write") || c.NArg() > 0 {
			return env.UsageError("--undo goes alone")
		}
		return undoImport(c, o)
	}
	found, err := takings(c, o)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(c.App.Writer, "no client of yours names a server; toolfold upstream add names one")
		return err
	}
	if err := countTakings(c, o, found); err != nil {
		return err
	}
	if err := printTakings(c, found); err != nil || !c.Bool("write") {
		return err
	}
	return writeTakings(c, o, found)
}

// takings lists the servers in the files that the command names, in order, and
// decides what each becomes.
func takings(c *cli.Context, o *settings.Options) ([]taking, error) {
	type file struct {
		host *hosts.Host
		path string
	}
	var files []file
	for _, path := range c.Args().Slice() {
		text, err := clientfile.Read(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		h := hosts.Owner(path, text)
		if h == nil {
			return nil, fmt.Errorf("%s names no servers as any client does", path)
		}
		files = append(files, file{h, path})
	}
	clients := c.StringSlice("client")
	if len(files) == 0 && len(clients) == 0 {
		clients = hosts.Readable()
	}
	for _, name := range clients {
		h := hosts.Find(name)
		if h == nil || h.Path == nil {
			return nil, env.UsageError("unknown client %q: one of %s", name, strings.Join(hosts.Readable(), ", "))
		}
		path, err := h.Path()
		if err != nil {
			return nil, err
		}
		files = append(files, file{h, path})
	}
	var list []taking
	names := map[string]config.Upstream{}
	for name, u := range o.Upstreams {
		names[name] = u
	}
	for _, f := range files {
		text, err := clientfile.Read(f.path)
		if missing(err) {
			continue
		}
		var entries []hosts.Entry
		if err == nil {
			entries, err = f.host.Named(text, o.Files.Workspace)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.path, err)
		}
		for _, e := range entries {
			t := taking{host: f.host, path: f.path, entry: e, listed: doctor.List{Server: e.Name, Source: f.path, Host: f.host.Name}}
			t.decide(text, names)
			list = append(list, t)
		}
	}
	return list, nil
}

// decide says what becomes of a server of a client's file. Names are those of the
// upstreams so far; it adds its own.
func (t *taking) decide(text []byte, names map[string]config.Upstream) {
	e := t.entry
	has, err := t.host.Has(text, e.Name)
	filled := e.Filled(".").Problem
	switch {
	case servers.IsOwn(e):
		t.why = "it is toolfold itself"
	case e.Off:
		t.why = "the client has it switched off"
	case e.Problem != "":
		t.why = e.Problem
	case err != nil:
		t.why = err.Error()
	case !has:
		t.why = "the client has it for one folder only"
	case strings.HasPrefix(filled, "its client asks"):
		t.why = filled + "; add it with a variable of the environment"
	case filled != "": // it could not be tried
		t.why = filled
	default:
		if t.upstream, t.unread, err = servers.UpstreamOf(e); err != nil {
			t.why = err.Error()
			return
		}
		t.name = freeName(t.upstream, e.Name, t.host.Name, names)
		names[t.name] = t.upstream
	}
}

// note says why the server stays, or what of its entry is not taken over.
func (t taking) note() string {
	if t.name == "" || len(t.unread) == 0 {
		return t.why
	}
	return "not taken over: " + strings.Join(t.unread, ", ")
}

// unfit matches what the name of an upstream cannot have.
var unfit = regex.Lazy(`[^a-z0-9]+`)

// freeName returns the name of an upstream: that of its entry in small letters,
// with the client's where another server has it. The same server has the same name.
func freeName(u config.Upstream, entry, host string, names map[string]config.Upstream) string {
	base := strings.Trim(unfit().ReplaceAllString(strings.ToLower(entry), "-"), "-")
	if base == "" || base[0] < 'a' {
		base = "mcp-" + base
	}
	name := base
	for n := 1; ; n++ {
		if len(name) > 32 {
			name = strings.TrimRight(name[:32], "-")
		}
		known, taken := names[name]
		if !taken || reflect.DeepEqual(string(ordered.MustJSON(known)), string(ordered.MustJSON(u))) {
			return name
		}
		name = fmt.Sprintf("%s-%s", base, host)
		if n > 1 {
			name = fmt.Sprintf("%s%d", base[:min(len(base), 28)], n)
		}
	}
}

// countTakings asks the servers that are taken over for their tools.
func countTakings(c *cli.Context, o *settings.Options, found []taking) error {
	lists, reached := make([]doctor.List, len(found)), make([]upstream.Server, len(found))
	offers := make([][]string, len(found))
	for i, t := range found {
		lists[i] = t.listed
		filled := t.entry.Filled(o.Files.Workspace)
		u := servers.ForGateway(t.name, t.upstream, servers.OfEntry(filled))
		if reached[i] = u.Server; !servers.IsShared(u) { // what is kept has to be what serve is listed
			offers[i] = []string{upstream.Roots}
		}
		if t.name == "" || filled.Problem != "" {
			lists[i].Problem = "not asked"
		}
	}
	answers := servers.AskAll(c, lists, reached, func(i int) []string { return offers[i] })
	for i := range found {
		t := &found[i]
		if lists[i].Problem != "" && t.why == "" {
			t.name, t.why = "", lists[i].Problem // the client can say what is wrong with it
		}
		lists[i].Tools = slices.DeleteFunc(lists[i].Tools, func(tool doctor.Tool) bool { return !t.entry.Shows(tool.Name) })
		t.listed, t.answer = lists[i], answers[i]
		var err error
		if t.cost, err = doctor.CostOf(t.listed); err != nil {
			return err
		}
		if t.name == "" || lists[i].Problem != "" {
			continue
		}
		families, _, err := gateway.Fold(servers.ForGateway(t.name, t.upstream, upstream.Server{}), answers[i], app.Families())
		if err != nil {
			return fmt.Errorf("%s: %w", t.entry.Name, err)
		}
		if t.folded, err = doctor.Count(surface.List(families, o.SurfaceOptions())); err != nil {
			return err
		}
		t.approvals(surface.Tools(families, o.SurfaceOptions()))
	}
	return nil
}

// approvals says which of the tools that are listed hold nothing but what the client lets pass
// without a question.
func (t *taking) approvals(tools []entry.Tool) {
	for _, tool := range tools {
		var approved []string
		for _, e := range tool.Entries {
			if name := e.Action.Aliases[1]; t.entry.Approved(name) {
				approved = append(approved, name)
			}
		}
		if len(approved) == len(tool.Entries) {
			t.approve = append(t.approve, tool.Name)
		} else {
			t.mixed = append(t.mixed, approved...)
		}
	}
}

// printApprovals says what the clients let pass without a question, which is not taken over,
// and what to write in its place.
func printApprovals(w io.Writer, found []taking) {
	for _, t := range found {
		if t.name == "" || len(t.entry.Approvals) == 0 {
			continue
		}
		var said []string
		for _, member := range slices.Sorted(maps.Keys(t.entry.Approvals)) {
			said = append(said, fmt.Sprintf("%s (%s)", member, shown(t.entry.Approvals[member])))
		}
		fmt.Fprintf(w, "not taken over of %s: %s; the client asks anew for calls of toolfold\n", t.entry.Name, strings.Join(said, ", "))
		if len(t.approve) > 0 {
			fmt.Fprintf(w, "  to approve the same of the server %s there: the tools %s\n", hosts.Server, shown(t.approve))
		}
		if len(t.mixed) > 0 {
			fmt.Fprintf(w, "  folded with tools that ask: %s; \"fold\": \"none\" for the upstream %s lists each by itself\n", shown(t.mixed), t.name)
		}
		if t.host.Approve != "" {
			fmt.Fprintf(w, "  %s: %s %s\n", t.host.Title, t.host.Approve, t.host.Rules)
		}
	}
}

// shown lists the first of some names.
func shown(names []string) string {
	const most = 20
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func printTakings(c *cli.Context, found []taking) error {
	type row struct {
		Client   string `json:"client"`
		Server   string `json:"server"`
		Upstream string `json:"upstream,omitempty"`
		Tools    int    `json:"tools"`
		Tokens   int    `json:"tokens"`
		Folded   int    `json:"foldedTools"`
		After    int    `json:"foldedTokens"`
		Note     string `json:"note,omitempty"`

		Approvals map[string][]string `json:"approvals,omitempty"` // of the client, by its words; not taken over
		Approve   []string            `json:"approve,omitempty"`   // the folded tools that hold nothing else
	}
	rows := []row{}
	var before, after doctor.Cost
	for _, t := range found {
		rows = append(rows, row{t.host.Name, t.entry.Name, t.name, t.cost.Tools, t.cost.Tokens, t.folded.Tools, t.folded.Tokens, t.note(),
			t.entry.Approvals, t.approve})
		if t.name != "" {
			before, after = before.Add(t.cost), after.Add(t.folded)
		}
	}
	if c.Bool(env.JSONFlag.Name) {
		return env.PrintJSON(c, map[string]any{"servers": rows, "before": before, "after": after})
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "client\tserver\tupstream\ttools\ttokens\tfolded\ttokens\tnote")
	for _, r := range rows {
		if r.Upstream == "" {
			r.Upstream = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.Client, r.Server, r.Upstream, r.Tools, r.Tokens, r.Folded, r.After, r.Note)
	}
	fmt.Fprintf(w, "taken over\t\t\t%d\t%d\t%d\t%d\t\n", before.Tools, before.Tokens, after.Tools, after.Tokens)
	if err := w.Flush(); err != nil {
		return err
	}
	printApprovals(c.App.Writer, found)
	if !c.Bool("write") {
		_, err := fmt.Fprintln(c.App.Writer, "nothing is written; --write takes over those with an upstream")
		return err
	}
	return nil
}

// imported holds the changes of the last import, for undo.
type imported struct {
	Files     []importedFile             `json:"files"`
	Upstreams map[string]config.Upstream `json:"upstreams"` // that were not there before
}

type importedFile struct {
	Path   string `json:"path"`
	Backup string `json:"backup"`
	SHA256 string `json:"sha256"` // of the text that import wrote
}

// importRecord is the name of the file with what the last import changed, beside
// the user's settings.
const importRecord = "import.json"

// writeTakings makes upstreams of what is taken over and edits the files of the
// clients. What it has changed is recorded as it goes, so that undo finds it also
// after an error.
func writeTakings(c *cli.Context, o *settings.Options, found []taking) error {
	binary, err := clientfile.Binary()
	if err != nil {
		return err
	}
	record := imported{Upstreams: map[string]config.Upstream{}}
	byPath := map[string][]taking{}
	var paths []string
	for _, t := range found {
		if t.name == "" {
			continue
		}
		if _, known := o.Upstreams[t.name]; !known {
			record.Upstreams[t.name] = t.upstream
		}
		if byPath[t.path] == nil {
			paths = append(paths, t.path)
		}
		byPath[t.path] = append(byPath[t.path], t)
	}
	if len(paths) == 0 {
		return errors.New("there is nothing to take over")
	}
	if err := putUpstreams(c, o.Files, record.Upstreams); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "written  %s\n", o.Files.Global)
	if err := keepTakings(c, found); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "toolfold: %v; the first start asks the servers again\n", err)
	}
	keep := func() error {
		root, err := os.OpenRoot(filepath.Dir(o.Files.Global))
		if err != nil {
			return err
		}
		defer root.Close()
		return safefile.Replace(root, importRecord, append(ordered.MustJSON(record), '\n'))
	}
	if err := keep(); err != nil {
		return fmt.Errorf("recording what import changes: %w", err)
	}
	variables := needed(o.Upstreams, record.Upstreams)
	for _, path := range paths {
		taken := byPath[path]
		h := taken[0].host
		stays := false
		done, err := clientfile.Edit(path, "."+time.Now().UTC().Format("20060102T150405.000000")+".bak", func(text []byte) ([]byte, error) {
			for _, t := range taken {
				if text, err = h.Remove(text, t.entry.Name); err != nil {
					return nil, err
				}
			}
			if stays, err = h.Has(text, hosts.Server); stays || err != nil {
				return text, err
			}
			return h.Handing(variables).Put(text, binary, []string{"serve"})
		})
		if err != nil {
			return fmt.Errorf("%w; the servers are upstreams, and the client has them still", err)
		}
		sum := sha256.Sum256(done.After)
		record.Files = append(record.Files, importedFile{done.Path, done.Backup, hex.EncodeToString(sum[:])})
		if err := keep(); err != nil {
			return fmt.Errorf("recording what import changes: %w", err)
		}
		fmt.Fprintf(c.App.Writer, "backup   %s\nwritten  %s\n", done.Backup, done.Path)
		if stays && h.Keeps() && len(variables) > 0 {
			fmt.Fprintf(c.App.Writer, "%s keeps variables from servers, and its entry %s stays: put in it %s\n",
				h.Title, hosts.Server, strings.Join(variables, ", "))
		}
	}
	_, err = fmt.Fprintln(c.App.Writer, "restart the clients; toolfold upstream import --undo puts their files back")
	return err
}

// needed lists the variables of the environment that a server needs for upstreams: variables in their
// settings, and the ones that say where settings and data are.
func needed(lists ...map[string]config.Upstream) (names []string) {
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

// keepTakings keeps what the servers have listed, so that the first start does not wait for
// them.
func keepTakings(c *cli.Context, found []taking) error {
	_, g, err := servers.OpenGateway(c, "")
	if err != nil {
		return err
	}
	defer g.Close()
	for _, t := range found {
		if t.name != "" {
			err = errors.Join(err, g.Keep(t.name, t.answer))
		}
	}
	return err
}

// undoImport puts back the files that the last import wrote, and takes its
// upstreams out. A file that was changed since stays as it is.
func undoImport(c *cli.Context, o *settings.Options) error {
	dir := filepath.Dir(o.Files.Global)
	text, err := clientfile.Read(filepath.Join(dir, importRecord))
	if missing(err) {
		return errors.New("there is no import to undo")
	}
	var record imported
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return fmt.Errorf("reading what import changed: %w", err)
	}
	stays := false
	for _, f := range record.Files {
		now, err := clientfile.Read(f.Path)
		sum := sha256.Sum256(now)
		if err != nil || hex.EncodeToString(sum[:]) != f.SHA256 {
			stays = true
			fmt.Fprintf(c.App.ErrWriter, "toolfold: %s was changed since: put back by hand what you want of %s\n", f.Path, f.Backup)
			continue
		}
		before, err := clientfile.Read(f.Backup)
		if err != nil {
			return fmt.Errorf("reading the backup: %w", err)
		}
		root, err := os.OpenRoot(filepath.Dir(f.Path))
		if err != nil {
			return err
		}
		err = errors.Join(safefile.Replace(root, filepath.Base(f.Path), before), root.Remove(filepath.Base(f.Backup)), root.Close())
		if err != nil {
			return fmt.Errorf("putting back %s: %w", f.Path, err)
		}
		fmt.Fprintf(c.App.Writer, "put back %s\n", f.Path)
	}
	if stays { // a client may use them through toolfold
		return errors.New("the upstreams stay: toolfold upstream remove takes one out")
	}
	service := config.New(o.Files, nil)
	for name, u := range record.Upstreams {
		if now, known := o.Upstreams[name]; !known || string(ordered.MustJSON(now)) != string(ordered.MustJSON(u)) {
			continue // it is gone, or the user has made it another
		}
		if _, err := service.Unset(config.ByUser(c.Context), config.UnsetIn{Path: "upstreams." + name, Scope: config.Global}); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "removed  %s\n", name)
	}
	return os.Remove(filepath.Join(dir, importRecord))
}
