package upstream

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold/internal/cli/clientfile"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
)

// client is a client's list of servers in a file, and the plan for it.
type client struct {
	host      *hosts.Host
	path      string        // of the file, with links resolved
	folder    string        // folder of the list; empty = all folders
	beside    string        // folder of another user's file, whose settings are beside it; empty = the file is the user's own
	known     []string      // folders that the file names; only in a list for all folders
	base      *client       // list for all folders in the same file, which also applies to this folder; may be nil
	model     string        // named in the file; empty = the client's default
	own       []hosts.Entry // entries that start toolfold
	has       bool          // it has an entry with the name that import uses, which stays
	off       bool          // that entry is switched off
	set       string        // served to the client; empty = all upstreams
	options   []string      // of serve, in the entry that import writes; nil without such an entry
	leftAlone bool          // left alone, because it would pay more

	servers       int // enabled entries, without those of toolfold
	before, after listCost
	wouldPay      int      // in tokens, if it is left alone
	uncounted     []string // servers that are not counted, because their tools are unknown
}

// isOwn reports whether a path is that of the user's own file of a client.
func isOwn(h *hosts.Host, path string) bool {
	if h.Path == nil {
		return false
	}
	own, err := h.Path()
	if err == nil {
		own, err = clientfile.FollowLinks(own)
	}
	return err == nil && own == path
}

// folderOf returns the folder that a client's file belongs to. It is empty for the user's own file and
// for files at other places.
func folderOf(h *hosts.Host, named, path string) string {
	if isOwn(h, path) {
		return ""
	}
	absolute, err := filepath.Abs(named)
	if err != nil {
		return ""
	}
	for _, project := range h.Project {
		if folder, is := strings.CutSuffix(absolute, string(filepath.Separator)+filepath.FromSlash(project)); is {
			return folder
		}
	}
	return ""
}

// title returns the client's name for messages.
func (cl *client) title() string {
	if cl.folder == "" {
		return cl.host.Title
	}
	return fmt.Sprintf("%s in %s", cl.host.Title, filepath.Base(cl.folder))
}

// name returns the client's name for tables and for its set.
func (cl *client) name() string {
	if cl.folder == "" {
		return cl.host.Name
	}
	return cl.host.Name + "-" + filepath.Base(cl.folder)
}

// user returns the client's name as a user of sets.
func (cl *client) user() string { return userOf(cl.path, cl.folder, cl.base != nil) }

// userOf returns the name of a user of sets: a file, or the list of a folder within it.
func userOf(path, folder string, within bool) string {
	if within {
		return fmt.Sprintf("%s for the folder %s", path, folder)
	}
	return path
}

// of returns the servers in a client's list.
func (s *survey) of(cl *client) (list []*candidate) {
	for i := range s.candidates {
		if s.candidates[i].path == cl.path && s.candidates[i].folder == cl.folder {
			list = append(list, &s.candidates[i])
		}
	}
	return list
}

// hide reports whether a client's list for a folder has an entry of that name, which overrides the
// one for all folders.
func (s *survey) hide(cl *client, name string) bool {
	return slices.ContainsFunc(s.of(cl), func(t *candidate) bool { return t.entry.Name == name })
}

// inForce returns the servers that apply to a client: its own list, and in a folder also the list for
// all folders.
func (s *survey) inForce(cl *client) []*candidate {
	list := s.of(cl)
	if cl.base != nil {
		for _, t := range s.of(cl.base) {
			if !s.hide(cl, t.entry.Name) {
				list = append(list, t)
			}
		}
	}
	return list
}

// shared returns the options and set members of toolfold's entry for all folders, which an entry in the
// folder would hide. Servers that the folder overrides are left out. options is nil if it hides no
// entry.
func (s *survey) shared(cl *client, o *settings.Options) (options, members []string, err error) {
	base := cl.base
	switch {
	case base == nil || base.off || !base.has && base.options == nil:
		return nil, nil, nil
	case base.set == "":
		return nil, nil, fmt.Errorf("its client's entry %s for all folders serves all upstreams, and one for the folder would hide it: "+
			"put --set=NAME in it and import again", hosts.Server)
	}
	options = base.options
	for _, own := range base.own {
		if own.Name == hosts.Server {
			options = optionsOf(own)
		}
	}
	_, options = setOption(options)
	var hidden []string
	for _, t := range s.of(base) {
		if t.name != "" && s.hide(cl, t.entry.Name) {
			hidden = append(hidden, t.members()...)
		}
	}
	members = slices.Clone(s.plannedSets(o)[base.set])
	members = slices.DeleteFunc(members, func(m string) bool { return slices.Contains(hidden, m) })
	return slices.Concat([]string{"--set=" + cl.set}, options), members, nil
}

// leaveServers leaves the servers of a client in its file.
func (s *survey) leaveServers(cl *client, why string) {
	for _, t := range s.of(cl) {
		if t.name != "" {
			t.name, t.why = "", why
		}
	}
}

// planSets plans a set of upstreams for each client, and the entry that serves it. An existing entry
// keeps its options: the set that it names gets the upstreams, unless the set has other users.
func (s *survey) planSets(c *cli.Context, o *settings.Options) error {
	users, err := s.usersOfSets(o)
	if err != nil {
		return err
	}
	s.sets = map[string]clientfile.ImportedSet{}
	for _, cl := range s.clients {
		cl.set, cl.options = "", nil
		if cl.has {
			cl.set = s.setOfEntry(cl, o)
		}
		if cl.off {
			s.leaveServers(cl, fmt.Sprintf("the client has its entry %s switched off", hosts.Server))
		}
		others := slices.DeleteFunc(slices.Clone(users[cl.set]), func(user string) bool { return user == cl.user() })
		if cl.has && cl.set != "" && len(others) > 0 {
			s.leaveServers(cl, fmt.Sprintf("its client is served the set %s, and so is %s: toolfold upstream sets changes it for all",
				cl.set, others[0]))
		}
		var members []string
		for _, t := range s.of(cl) {
			if t.name != "" {
				members = append(members, t.members()...)
			}
		}
		if len(members) > 0 && !cl.has {
			_, more, err := s.shared(cl, o)
			if err != nil {
				s.leaveServers(cl, err.Error())
				continue
			}
			members = append(members, more...)
		}
		slices.Sort(members)
		members = slices.Compact(members)
		switch {
		case len(members) == 0:
		case !cl.has:
			cl.set = s.freeSet(cl, members, o)
			s.addToSet(cl.set, members, o)
			cl.options = s.optionsFor(c, cl)
		case cl.set != "":
			s.addToSet(cl.set, members, o)
		}
	}
	return nil
}

// setOfEntry returns the set that the client's toolfold entry serves; empty for all upstreams.
func (s *survey) setOfEntry(cl *client, o *settings.Options) string {
	for _, e := range cl.own {
		if e.Name == hosts.Server {
			if set := setOf(e); set != "" {
				return set
			}
		}
	}
	return o.Set
}

// optionsFor returns the options of a new entry. countAfter adds --for if [client.savesRounds].
func (s *survey) optionsFor(c *cli.Context, cl *client) []string {
	options := []string{"--set=" + cl.set, "--tier=none"}
	if c.IsSet("listing") {
		options = append(options, "--listing="+c.String("listing"))
	}
	return options
}

// addToSet plans to add members at the end of a set.
func (s *survey) addToSet(name string, members []string, o *settings.Options) {
	set, planned := s.sets[name]
	if !planned {
		set.Before = slices.Clone(o.Sets[name])
		set.After = slices.Clone(set.Before)
	}
	for _, m := range members {
		if !slices.Contains(set.After, m) {
			set.After = append(set.After, m)
		}
	}
	if len(set.After) > len(set.Before) {
		s.sets[name] = set
	}
}

// freeSet returns a name for a new set: the client's name, with a number if another set has it. A set
// with the same members is reused.
func (s *survey) freeSet(cl *client, members []string, o *settings.Options) string {
	base := nameFrom(cl.name())
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			suffix := fmt.Sprintf("-%d", n)
			name = cut(base, 32-len(suffix)) + suffix
		}
		_, planned := s.sets[name]
		known, taken := o.Sets[name]
		if !planned && (!taken || slices.Equal(slices.Sorted(slices.Values(known)), members)) {
			return name
		}
	}
}

// plannedSets returns the sets of the settings after the import.
func (s *survey) plannedSets(o *settings.Options) map[string][]string {
	sets := maps.Clone(o.Sets)
	if sets == nil {
		sets = map[string][]string{}
	}
	for name, set := range s.sets {
		sets[name] = set.After
	}
	return sets
}

// usersOfSets lists the users of each set: files with an entry that names it, tokens limited to it, and
// the settings. The last two are described in words.
func (s *survey) usersOfSets(o *settings.Options) (map[string][]string, error) {
	users, err := usersOfSets(o)
	if err != nil {
		return nil, err
	}
	if o.Set != "" {
		users[o.Set] = append(users[o.Set], "every entry of toolfold without --set")
	}
	for _, cl := range s.clients {
		for _, e := range cl.own {
			if set := setOf(e); set != "" && !slices.Contains(users[set], cl.user()) {
				users[set] = append(users[set], cl.user())
			}
		}
	}
	return users, nil
}

// usersOfSets lists the users of each set: clients' files that can be read, and tokens, described in
// words.
func usersOfSets(o *settings.Options) (map[string][]string, error) {
	users := map[string][]string{}
	for _, name := range hosts.Readable() {
		h := hosts.Find(name)
		path, err := h.Path()
		if err == nil {
			path, err = clientfile.FollowLinks(path)
		}
		if err != nil {
			continue
		}
		text, err := clientfile.Read(path)
		if err != nil {
			continue
		}
		add := func(h *hosts.Host, user string) {
			entries, _ := h.List(text) // a file that clients cannot read either has no entries
			for _, e := range entries {
				if set := setOf(e); servers.IsOwn(e) && set != "" && !slices.Contains(users[set], user) {
					users[set] = append(users[set], user)
				}
			}
		}
		add(h, path)
		_, folders := h.Folders(text)
		for _, folder := range folders {
			add(h.Within(folder), userOf(path, folder, true))
		}
	}
	if o.HTTPTokenFile == "" {
		return users, nil
	}
	tokens, err := settings.ReadTokens(o.HTTPTokenFile)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		for _, set := range t.Sets {
			users[set] = append(users[set], "the token "+t.Name)
		}
	}
	return users, nil
}

// optionsOf returns the options of serve in a toolfold entry.
func optionsOf(e hosts.Entry) []string {
	at := slices.Index(e.Command, "serve")
	if at < 0 {
		return nil
	}
	return e.Command[at+1:]
}

// setOf returns the set that a toolfold entry names by an option or its address; empty for all
// upstreams.
func setOf(e hosts.Entry) string {
	if at, err := url.Parse(e.URL); err == nil {
		if _, set, is := strings.Cut(at.Path, "/mcp/"); is {
			return set
		}
	}
	set, _ := setOption(optionsOf(e))
	return set
}

// setOption returns the set that options of serve name, and the other options.
func setOption(options []string) (set string, rest []string) {
	for i := 0; i < len(options); i++ {
		name, value, has := strings.Cut(options[i], "=")
		if name != "--set" && name != "-set" {
			rest = append(rest, options[i])
			continue
		}
		if !has && i+1 < len(options) {
			i++
			value = options[i]
		}
		set = value
	}
	return set, rest
}

// removeSets restores the sets that import changed. Sets that the user has changed since, or that a
// client or token still uses, stay.
func (u *undoRun) removeSets(c *cli.Context, record *clientfile.Imports) error {
	if len(record.Sets) == 0 {
		return nil
	}
	o, err := settings.Load(c) // the current ones
	if err != nil {
		return err
	}
	users, err := usersOfSets(o)
	if err != nil {
		return err
	}
	for _, f := range record.Files { // files in folders
		if h := f.Client(); h != nil {
			if text, err := clientfile.Read(f.Path); err == nil {
				if set := setOf(h.Entry(text)); set != "" {
					users[set] = append(users[set], f.Path)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(record.Sets)) {
		set, now := record.Sets[name], o.Sets[name]
		switch {
		case len(users[name]) > 0 && set.Before == nil && now != nil:
			fmt.Fprintf(u.problems, "toolfold: the set %s stays, as %s is served it\n", name, users[name][0])
			if len(record.Files) > 0 { // they may release the set later
				continue
			}
		case now == nil || !slices.Equal(now, set.After): // deleted or changed by the user
		case set.Before == nil:
			if err := deleteSet(c, o, name); err != nil {
				return err
			}
		default:
			if err := writeSet(c, o, name, set.Before); err != nil {
				return err
			}
			fmt.Fprintf(u.out, "put back the set %s\n", name)
		}
		delete(record.Sets, name)
	}
	return nil
}
