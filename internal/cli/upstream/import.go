package upstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

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
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shell"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take over the servers that your clients have", ArgsUsage: "[FILE…]",
		Description: "It reads the settings of the clients of this user, or a FILE as clients have it, starts the\n" +
			"servers as the client would, and shows the cost of each client before and after. With --write they\n" +
			"become upstreams, and the client's file gets toolfold in their place, which serves the client's\n" +
			"own servers alone, as a set; there is a backup beside the file. A client that would pay more is\n" +
			"left alone without --anyway. --undo puts the entries back, and leaves other changes of the\n" +
			"files. Servers that a client has for a folder become a set of that folder.",
		Flags: append(settings.Flags("listing"), servers.TimeoutFlag, env.JSONFlag,
			&cli.StringSliceFlag{Name: "client", Usage: "only of this client: " + strings.Join(hosts.Readable(), ", ") + "; may be repeated"},
			&cli.BoolFlag{Name: "write", Usage: "take them over"},
			&cli.BoolFlag{Name: "anyway", Usage: "take them over also from a client that would pay more tokens"},
			&cli.BoolFlag{Name: "undo", Usage: "put the clients' entries back"},
			keyringFlag,
		),
		OnUsageError: env.OnUsageError, Action: importUpstreams,
	}
}

// candidate is a server in a client's file, and the plan for it.
type candidate struct {
	host       *hosts.Host
	client     string // see [client.name]
	path       string // of the client's file, with links resolved
	folder     string // folder of the client's list; empty = all folders
	entry      hosts.Entry
	rules      []hosts.Rule    // rules of the client for tools of the server
	value      json.RawMessage // of the entry, see [hosts.Host.Value]
	name       string          // of the upstream; empty if the server stays with the client
	upstream   config.Upstream
	tools      []string // tools of the upstream to serve to the client; nil = all
	unread     []string // members of the entry that are not imported
	why        string   // why the server stays, or a note about it
	list       doctor.List
	answer     upstream.Answer // the server's lists
	cost       doctor.Cost     // of its tools without folding
	foldedCost doctor.Cost
	approve    []string // folded tools whose actions the client all runs without asking
	mixed      []string // tools of the server that the client runs without asking, folded with other tools
}

func importUpstreams(c *cli.Context) error {
	o, err := settings.Load(c)
	if err != nil {
		return err
	}
	if c.Bool("undo") {
		for _, flag := range c.LocalFlagNames() {
			if slices.Contains([]string{"client", "write", "anyway", keyringFlag.Name, servers.TimeoutFlag.Name, "listing"}, flag) {
				return env.UsageError("--undo goes alone: leave --%s out", flag)
			}
		}
		if c.NArg() > 0 {
			return env.UsageError("--undo goes alone: leave %s out", c.Args().First())
		}
		return undoImport(c, o)
	}
	if c.Bool(keyringFlag.Name) && !c.Bool("write") {
		return env.UsageError("--%s goes with --write: secrets move when servers are taken over", keyringFlag.Name)
	}
	files, err := clientsFiles(c)
	if err != nil {
		return err
	}
	found := survey{}
	found.read(files, o)
	found.printProblems(c.App.ErrWriter)
	if err := countCandidates(c, o, found.candidates); err != nil {
		return err
	}
	if err := found.plan(c, o); err != nil {
		return err
	}
	if err := found.print(c); err != nil {
		return err
	}
	switch {
	case !c.Bool("write"):
	case found.takesOver():
		stored, err := moveSecrets(c, o, found.candidates)
		if err != nil {
			return err
		}
		if err := writeCandidates(c, o, &found); err != nil {
			return errors.Join(err, moveBack(c, stored))
		}
	case found.fails():
		return errors.New("nothing is taken over: correct the servers as the notes explain, and import again")
	}
	if found.isIncomplete() {
		return cli.Exit("", env.ExitFailed)
	}
	return nil
}

// file is a file of a client that import reads.
type file struct {
	host  *hosts.Host // nil if the file's format determines it
	path  string
	named bool // named in the command, so it must be readable
}

// clientsFiles lists the files that the command names, or the files of all clients.
func clientsFiles(c *cli.Context) (files []file, err error) {
	for _, path := range c.Args().Slice() {
		files = append(files, file{path: path, named: true})
	}
	clients, named := c.StringSlice("client"), true
	if len(files) == 0 && len(clients) == 0 {
		clients, named = hosts.Readable(), false
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
		files = append(files, file{h, path, named})
	}
	return files, nil
}

// survey is the result of reading the clients' files.
type survey struct {
	candidates []candidate
	clients    []*client
	sets       map[string]clientfile.ImportedSet // sets to make or extend, by name
	skipped    []skippedFile
}

// skippedFile is a file that is not read.
type skippedFile struct {
	Path    string `json:"path"`
	Problem string `json:"problem"` // starts with the path
	named   bool
}

// isIncomplete reports whether a file named in the command was skipped.
func (s *survey) isIncomplete() bool {
	return slices.ContainsFunc(s.skipped, func(f skippedFile) bool { return f.named })
}

// takesOver reports whether a server is taken over.
func (s *survey) takesOver() bool {
	return slices.ContainsFunc(s.candidates, func(t candidate) bool { return t.name != "" })
}

// fails reports whether no server is taken over, at least one of them because of a fault. It is not a
// fault that a client would pay more, that it has the server switched off, or that the server is
// toolfold.
func (s *survey) fails() bool {
	return !s.takesOver() && len(s.leftAlone()) == 0 &&
		slices.ContainsFunc(s.candidates, func(t candidate) bool { return !t.entry.Off && !servers.IsOwn(t.entry) })
}

// leftAlone lists the clients that are left alone, because they would pay more, with both costs.
func (s *survey) leftAlone() (list []string) {
	for _, cl := range s.clients {
		if cl.leftAlone {
			list = append(list, cl.wouldPayMore())
		}
	}
	return list
}

// read lists the servers in files, in order, and decides about each. Unreadable files are skipped.
func (s *survey) read(files []file, o *settings.Options) {
	names := maps.Clone(o.Upstreams)
	if names == nil {
		names = map[string]config.Upstream{}
	}
	owners := map[string]string{} // of the files read so far, by path
	for _, f := range files {
		path, err := filepath.Abs(f.path) // absolute, because undo may run in another folder
		if err == nil {
			path, err = clientfile.FollowLinks(path)
		}
		if err == nil && owners[path] != "" {
			err = fmt.Errorf("it is the file %s of %s, which is read already", path, owners[path])
			f.named = false
		}
		var text []byte
		if err == nil {
			text, err = clientfile.Read(path)
		}
		if missing(err) && !f.named {
			continue
		}
		if err == nil {
			err = s.readFile(&f, path, text, names)
		}
		if err != nil {
			s.skipped = append(s.skipped, skippedFile{f.path, clientfile.At(f.path, err).Error(), f.named})
			continue
		}
		owners[path] = f.host.Title
	}
}

func (s *survey) readFile(f *file, path string, text []byte, names map[string]config.Upstream) error {
	if f.host == nil {
		if err := hosts.Check(f.path, text); err != nil {
			return err
		}
		if f.host = hosts.Owner(f.path, text); f.host == nil {
			return errors.New("it names no servers as any client does")
		}
	} else if err := f.host.Check(text); err != nil { // behind a link the file's name may not match
		return err
	}
	all := &client{host: f.host, path: path, folder: folderOf(f.host, f.path, path), model: f.host.Model(text)}
	clients := []*client{all}
	if all.folder == "" && !isOwn(f.host, path) {
		all.beside = filepath.Dir(path)
	}
	known, folders := f.host.Folders(text)
	all.known = known
	for _, folder := range folders {
		clients = append(clients, &client{host: f.host.Within(folder), path: path, folder: folder, beside: all.beside, base: all})
	}
	var candidates []candidate
	for _, cl := range clients {
		list, err := cl.read(text, names)
		if err != nil {
			return err
		}
		candidates = append(candidates, list...)
	}
	s.clients, s.candidates = append(s.clients, clients...), append(s.candidates, candidates...)
	return nil
}

// read reads a client's list from the text of its file, and decides about each server.
func (cl *client) read(text []byte, names map[string]config.Upstream) (list []candidate, err error) {
	entries, err := cl.host.List(text)
	if err != nil {
		return nil, err
	}
	if cl.has, err = cl.host.Has(text, hosts.Server); err != nil {
		return nil, err
	}
	rules, unknown, err := cl.rules()
	if err != nil {
		return nil, err
	}
	var cannotPut error
	if _, err := cl.host.Put(text, hosts.Server, nil); err != nil && !cl.has { // an existing entry stays
		cannotPut = fmt.Errorf("toolfold cannot be put into the file: %w", err)
	}
	for _, e := range entries {
		if servers.IsOwn(e) && !e.Off {
			cl.own = append(cl.own, e)
		}
		cl.off = cl.off || e.Name == hosts.Server && e.Off
		if len(e.Command) > 0 && cl.folder != "" && !filepath.IsAbs(e.Dir) { // the upstream starts there in every workspace
			e.Dir = filepath.Join(cl.folder, e.Dir)
		}
		e.Restrict(rules)
		if unknown != nil { // one of them may deny a tool that would be served
			e.Problem = cmp.Or(e.Problem, unknown.Error())
		}
		t := candidate{host: cl.host, client: cl.name(), path: cl.path, folder: cl.folder, entry: e,
			list: doctor.List{Server: e.Name, Source: cl.path, Host: cl.host.Name}}
		t.rules = slices.DeleteFunc(slices.Clone(rules), func(r hosts.Rule) bool { return !r.Names(e.Name) })
		t.decide(text, cannotPut, names)
		list = append(list, t)
	}
	return list, nil
}

// rules returns the client's permission rules for the list: for all folders, beside the file of another user, and of its
// folder. Unknown is the error for which rules of the folder cannot be read, or nil.
func (cl *client) rules() (rules []hosts.Rule, unknown, err error) {
	if rules, err = cl.host.ToolRules(""); err != nil {
		return nil, nil, err
	}
	if cl.beside != "" {
		more, err := cl.host.ToolRules(cl.beside)
		if err != nil {
			return nil, nil, err
		}
		rules = append(rules, more...)
	}
	if cl.folder != "" {
		var more []hosts.Rule
		more, unknown = cl.host.ToolRules(cl.folder)
		rules = append(rules, more...)
	}
	return rules, unknown, nil
}

// decide decides about a server of a client's file. cannotPut is the reason why the file cannot get
// toolfold's entry, or nil. names holds the upstreams so far; decide adds a new one.
func (t *candidate) decide(text []byte, cannotPut error, names map[string]config.Upstream) {
	e := t.entry
	has, err := t.host.Has(text, e.Name)
	if err == nil && has {
		t.value, err = t.host.Value(text, e.Name)
	}
	if err == nil && has {
		if _, _, err = t.host.Take(text, e.Name); err == nil {
			err = cannotPut
		}
	}
	filled := e.Fill(".")
	switch {
	case servers.IsOwn(e):
		t.why = "it is toolfold itself"
	case e.Off:
		t.why = "the client has it switched off"
	case e.Problem != "":
		t.why = e.Problem
	case err != nil:
		t.why = err.Error()
	case filled.Problem != "": // the server could not be tried
		t.why = t.unfilled(filled.Problem, names)
	default:
		if t.upstream, t.unread, err = servers.UpstreamOf(e); err != nil {
			t.why = err.Error()
			return
		}
		t.name = freeName(t.upstream, e.Name, t.client, names)
		names[t.name] = t.upstream
	}
}

// unfilled explains how to add a server with a variable that cannot be filled in.
func (t *candidate) unfilled(problem string, names map[string]config.Upstream) string {
	var inputs []string
	e := t.entry
	name := nameFrom(e.Name)
	words := []string{"toolfold", "upstream", "add", name}
	for _, in := range e.Inputs() {
		if !slices.Contains(inputs, in.ID) {
			inputs = append(inputs, in.ID)
		}
		switch {
		case in.Env != "":
			i := slices.IndexFunc(e.Env, func(variable string) bool { return strings.HasPrefix(variable, in.Env+"=") })
			_, value, _ := strings.Cut(e.Env[i], "=")
			words = append(words, "--env", shell.Word(in.Env)+"="+shell.Word(hosts.WithInputs(value, variableOf)))
		case in.Header != "":
			words = append(words, "--header", shell.Word(in.Header+": "+hosts.WithInputs(e.Header[in.Header], variableOf)))
		}
	}
	if len(inputs) == 0 {
		return problem
	}
	if _, known := names[name]; known {
		words[2] = "set"
	} else if e.URL != "" {
		words = append(words, "--url", shell.Word(hosts.WithInputs(redact.Text(e.URL), variableOf)))
	} else {
		words = append(words, "--")
		for _, word := range redact.Value(texts(e.Command)).([]any) {
			words = append(words, shell.Word(hosts.WithInputs(word.(string), variableOf)))
		}
	}
	return fmt.Sprintf("%s prompts for %s: %s", t.host.Title, strings.Join(inputs, ", "), strings.Join(words, " "))
}

// texts converts strings to JSON values.
func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}

// variableOf returns the environment variable for a value that a client prompts for.
func variableOf(id string) string {
	return "${" + strings.ToUpper(strings.Trim(unfitVariable().ReplaceAllString(id, "_"), "_")) + "}"
}

// unfitVariable matches characters that are invalid in names of variables.
var unfitVariable = regex.Lazy(`[^A-Za-z0-9]+`)

// note explains why the server stays, or which settings of its entry have no counterpart.
func (t candidate) note() string {
	switch {
	case t.name == "" || len(t.unread) == 0:
		return t.why
	case len(t.unread) == 1:
		return "setting " + t.unread[0] + " has no counterpart"
	}
	return "settings " + strings.Join(t.unread, ", ") + " have no counterpart"
}

// unfit matches characters that are invalid in names of upstreams.
var unfit = regex.Lazy(`[^a-z0-9]+`)

// nameFrom makes a valid upstream name of any text.
func nameFrom(text string) string {
	name := strings.Trim(unfit().ReplaceAllString(strings.ToLower(text), "-"), "-")
	if name == "" || name[0] < 'a' {
		name = strings.TrimRight("mcp-"+name, "-")
	}
	return cut(name, 32)
}

// cut cuts a name to at most that many bytes.
func cut(name string, most int) string { return strings.TrimRight(name[:min(len(name), most)], "-") }

// freeName returns the name of an upstream: its entry's name in lower case, with the client's name
// appended if another server has that. The same server gets the same name.
func freeName(u config.Upstream, entry, host string, names map[string]config.Upstream) string {
	base := nameFrom(entry)
	for n := 0; ; n++ {
		name := base
		if suffix := "-" + nameFrom(host); n == 1 {
			name = cut(base, 32-len(suffix)) + suffix
		} else if n > 1 {
			name = fmt.Sprintf("%s%d", cut(base, 28), n)
		}
		known, taken := names[name]
		if name != hosts.Server && (!taken || string(ordered.MustJSON(known)) == string(ordered.MustJSON(u))) {
			return name
		}
	}
}

// countCandidates asks the servers for their tools. It also asks those that stay, because the client pays
// for them before and after.
func countCandidates(c *cli.Context, o *settings.Options, found []candidate) error {
	lists, reached := make([]doctor.List, len(found)), make([]upstream.Server, len(found))
	offers := make([][]string, len(found))
	for i, t := range found {
		lists[i] = t.list
		filled := t.entry.Fill(o.Files.Workspace)
		u := servers.ForGateway(t.name, t.upstream, servers.OfEntry(filled))
		if reached[i] = u.Server; !servers.IsShared(u) { // the stored list must be the one that serve gets
			offers[i] = []string{upstream.Roots}
		}
		if servers.IsOwn(t.entry) || t.entry.Off || filled.Problem != "" {
			lists[i].Problem = "not asked"
		}
	}
	answers := servers.AskAll(c, lists, reached, func(i int) []string { return offers[i] })
	for i := range found {
		t := &found[i]
		if lists[i].Problem != "" && t.why == "" {
			t.name, t.why = "", lists[i].Problem // the client can show what is wrong with it
		}
		if t.name != "" {
			if why := t.spellingConflict(lists[i].Tools); why != "" {
				t.name, t.why = "", why
			}
		}
		lists[i].Tools = slices.DeleteFunc(lists[i].Tools, func(tool doctor.Tool) bool { return !t.entry.Shows(tool.Name) })
		t.list, t.answer = lists[i], answers[i]
		var err error
		if t.cost, err = doctor.CostOf(t.list); err != nil {
			return err
		}
		if t.name == "" || lists[i].Problem != "" {
			continue
		}
		families, _, err := gateway.Fold(servers.ForGateway(t.name, t.upstream, upstream.Server{}), answers[i], app.Families())
		if err != nil {
			return fmt.Errorf("%s: %w", t.entry.Name, err)
		}
		if t.foldedCost, err = doctor.Count(surface.List(families, o.SurfaceOptions())); err != nil {
			return err
		}
		t.approvals(surface.Tools(families, o.SurfaceOptions()))
	}
	return nil
}

// spellingConflict returns a reason to leave the server with the client: one of its rules denies a tool that
// the server spells differently. toolfold would allow that tool. It is empty if there is no such tool.
func (t *candidate) spellingConflict(tools []doctor.Tool) string {
	for _, tool := range tools {
		for _, r := range t.rules {
			if r.Denies(t.entry.Name, tool.Name) && t.entry.Shows(tool.Name) {
				return fmt.Sprintf("the rule %s denies its tool %s, which the server spells differently: "+
					"toolfold upstream add --exclude adds it without", r.Text, tool.Name)
			}
		}
	}
	return ""
}

// approvals sorts the tools that the client runs without asking into approve and mixed.
func (t *candidate) approvals(tools []entry.Tool) {
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

// printApprovals prints the approvals of the clients, which are not taken over, and how to give them to
// toolfold's tools.
func printApprovals(w io.Writer, found []candidate) {
	for _, t := range found {
		if t.name == "" || len(t.entry.Approvals)+len(t.entry.Asks) == 0 {
			continue
		}
		var parts []string
		if len(t.entry.Asks) > 0 {
			parts = append(parts, fmt.Sprintf("permissions.ask (%s)", firstNames(t.entry.Asks)))
		}
		for _, member := range slices.Sorted(maps.Keys(t.entry.Approvals)) {
			parts = append(parts, fmt.Sprintf("%s (%s)", member, firstNames(t.entry.Approvals[member])))
		}
		fmt.Fprintf(w, "not taken over of %s: %s; the client asks again for calls of toolfold\n", t.entry.Name, strings.Join(parts, ", "))
		if len(t.approve) > 0 {
			fmt.Fprintf(w, "  to approve the same of the server %s there: the tools %s\n", hosts.Server, firstNames(t.approve))
		}
		if len(t.mixed) > 0 {
			fmt.Fprintf(w, "  folded with tools that ask: %s; \"fold\": \"none\" for the upstream %s lists each by itself\n",
				firstNames(t.mixed), t.name)
		}
		if t.host.Approve != "" {
			fmt.Fprintf(w, "  %s: %s %s\n", t.host.Title, t.host.Approve, t.host.Rules)
		}
	}
}

// printRules names the clients' rules that deny tools of the servers. toolfold leaves out the denied
// tools. Rules of a folder are the exception: the entry for all folders cannot apply them, and they no
// longer match.
func (s *survey) printRules(w io.Writer) {
	for _, cl := range s.clients {
		for _, t := range s.of(cl) {
			for _, r := range t.rules {
				switch {
				case t.name == "":
				case r.Narrow():
					fmt.Fprintf(w, "not taken over: the rule %s in %s is for some arguments only; toolfold upstream set %s --exclude leaves a tool out\n",
						r.Text, r.File, t.name)
				case r.Kind == "deny":
					fmt.Fprintf(w, "upstream %s leaves out what the rule %s in %s denies\n", t.name, r.Text, r.File)
				}
			}
		}
		for _, folder := range cl.known {
			rules, err := cl.host.ToolRules(folder)
			if err != nil && len(s.of(cl)) > 0 {
				fmt.Fprintf(w, "it is not known which tools are denied in %s: %v\n", folder, err)
			}
			for _, t := range s.of(cl) {
				for _, r := range rules {
					if t.name != "" && r.Kind == "deny" && r.Names(t.entry.Name) && !s.hide(&client{path: cl.path, folder: folder}, t.entry.Name) {
						fmt.Fprintf(w, "the rule %s in %s will not match any more: toolfold upstream set %s --exclude leaves a tool out for all\n",
							r.Text, r.File, t.name)
					}
				}
			}
		}
	}
}

// firstNames lists the first names, and counts the rest.
func firstNames(names []string) string {
	const most = 20
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// printProblems names the skipped files.
func (s *survey) printProblems(w io.Writer) {
	for _, f := range s.skipped {
		fmt.Fprintf(w, "toolfold: skipped %s\n", f.Problem)
	}
}

// print prints the plan for each server, and its costs before and after.
func (s *survey) print(c *cli.Context) error {
	if c.Bool(env.JSONFlag.Name) || len(s.candidates) > 0 {
		if err := s.printCandidates(c); err != nil || c.Bool(env.JSONFlag.Name) {
			return err
		}
	} else if len(s.skipped) == 0 {
		fmt.Fprintln(c.App.Writer, "no client of yours names a server; toolfold upstream add names one")
	}
	switch leftAlone := s.leftAlone(); {
	case len(s.candidates) == 0, s.takesOver() && c.Bool("write"):
	case s.takesOver():
		fmt.Fprintln(c.App.Writer, "nothing is written; --write takes over those with an upstream")
	case len(leftAlone) > 0:
		fmt.Fprintf(c.App.Writer, "nothing is taken over: %s; --anyway takes the servers over nevertheless\n", strings.Join(leftAlone, ", "))
	case !s.fails():
		fmt.Fprintln(c.App.Writer, "there is nothing to take over")
	case !c.Bool("write"):
		fmt.Fprintln(c.App.Writer, "there is nothing to take over: the notes have the reasons")
	}
	return nil
}

func (s *survey) printCandidates(c *cli.Context) error {
	found := s.candidates
	type row struct {
		Client   string `json:"client"`
		Server   string `json:"server"`
		Upstream string `json:"upstream,omitempty"`
		Tools    int    `json:"tools"`
		Tokens   int    `json:"tokens"`
		Folded   int    `json:"foldedTools"`
		After    int    `json:"foldedTokens"`
		Note     string `json:"note,omitempty"`

		Approvals map[string][]string `json:"approvals,omitempty"` // of the client, in its own words; not taken over
		Approve   []string            `json:"approve,omitempty"`   // folded tools with only such approvals
		Asks      []string            `json:"asks,omitempty"`      // tools for which the client always asks; not taken over
	}
	rows := []row{}
	for _, t := range found {
		rows = append(rows, row{t.client, t.entry.Name, t.name, t.cost.Tools, t.cost.Tokens, t.foldedCost.Tools, t.foldedCost.Tokens, t.note(),
			t.entry.Approvals, t.approve, t.entry.Asks})
	}
	if c.Bool(env.JSONFlag.Name) {
		values := map[string]any{"servers": rows, "clients": s.clientRows()}
		if len(s.skipped) > 0 {
			values["skipped"] = s.skipped
		}
		return env.PrintJSON(c, values)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "client\tserver\tupstream\ttools\ttokens\tfolded\ttokens\tnote")
	for _, r := range rows {
		if r.Upstream == "" {
			r.Upstream = "-"
		}
		counts := "-\t-\t-\t-" // not asked, or no answer
		if r.Tools > 0 || r.Upstream != "-" {
			counts = fmt.Sprintf("%d\t%d\t%d\t%d", r.Tools, r.Tokens, r.Folded, r.After)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Client, r.Server, r.Upstream, counts, r.Note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := s.printClients(c.App.Writer); err != nil {
		return err
	}
	printApprovals(c.App.Writer, found)
	s.printRules(c.App.Writer)
	return nil
}
