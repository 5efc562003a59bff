// Package files finds legacy tool names in the files of a repository, and rewrites them. It
// contains the readers of file formats, which rewriting calls in package migration does not need.
//
// It is not a stable API: see docs/stability.md.
package files

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/migration"
)

// Kind is the kind of a use of a legacy name.
type Kind string

// The kinds.
const (
	Calls    Kind = "call"    // a name with its arguments, or the tool of a step
	Text     Kind = "text"    // text for models and people
	Permits  Kind = "permits" // rules of hosts
	Asks     Kind = "asks"
	Forbids  Kind = "forbids"
	Compares Kind = "compares" // code acts on a certain name
	Mentions Kind = "mentions" // a name in code, or in a rule without a clear effect
)

// Use is the use of a legacy tool's name in a file.
type Use struct {
	Offset int    `json:"offset"` // in bytes
	Line   int    `json:"line"`
	Name   string `json:"name"` // as written, with a host's prefix
	Kind   Kind   `json:"kind"`
	Now    string `json:"now"`            // the replacement
	Note   string `json:"note,omitempty"` // further changes, or why the text stays unchanged
	ByHand bool   `json:"byHand"`         // the user has to change the text
	Rule   *Rule  `json:"rule,omitempty"` // for rules that permit, ask or forbid
}

// Search searches the files of a repository for legacy names.
type Search struct {
	*migration.Rewriter

	// Servers are the names under which hosts know the server; * stands for any characters. Names
	// that begin with toolfold always count.
	Servers []string

	// Own holds the names that the repository gives to its own tools, see [Search.Defines]. Without
	// a server prefix they are not ours. Definitions in the same file always count.
	Own map[string]bool

	// Foreign means that no name without a server prefix is ours.
	Foreign bool

	// Widen rewrites a rule that permits one action to the folded tool, which also permits its
	// other actions.
	Widen bool

	// Exact is for servers with --fold=none: rules that stay valid are not reported, and other
	// rules that permit or ask get the action's new name.
	Exact bool
}

// Result is the result of a search in a file.
type Result struct {
	Uses []Use
	Now  []byte // the text with rewritten uses; otherwise byte for byte the same

	// OtherServers maps servers that are not known to be ours to the names of our tools that have
	// their prefix, once for each use.
	OtherServers map[string][]string

	// Ignored counts the uses that were ignored because of Own and Foreign.
	Ignored int
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
	use        int // place of the name
}

// document is the state of the search in a file.
type document struct {
	Search
	path  string
	file  string
	uses  []Use
	edits []edit

	otherServers map[int][2]string // unknown servers and tool names, by offset
	own          map[string]bool   // names that this file gives to its own tools
	ignored      map[int]bool      // offsets of names that belong to other tools

	strong, weak *bool // whether the file is about tools; nil = unknown yet
}

// maxNested bounds nested texts, such as a script in a list in a page.
const maxNested = 8

// File searches a file. The path, with slashes, determines the format. In unknown formats, see
// [Reads], it only finds names with a server prefix. If the file would not parse after rewriting a
// use, that use is left to the user.
func (s Search) File(name string, text []byte) Result {
	d := s.read(name, string(text))
	now := d.rewrite(name)
	others := map[string][]string{}
	for _, place := range slices.Sorted(maps.Keys(d.otherServers)) {
		other := d.otherServers[place]
		others[other[0]] = append(others[other[0]], other[1])
	}
	return Result{d.uses, []byte(now), others, len(d.ignored)}
}

func (s Search) read(name, text string) *document {
	d := &document{
		Search: s, path: path.Clean(name), file: text,
		otherServers: map[int][2]string{}, own: s.Defines(name, text), ignored: map[int]bool{},
	}
	read := reader(name)
	if read == nil {
		read = func(p part) {
			p.report("files of this kind are not read", false)
			clear(p.ignored) // words that would not count in any case
		}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	read(part{document: d, text: text, base: len(d.file) - len(text)})
	slices.SortStableFunc(d.uses, func(a, b Use) int { return cmp.Compare(a.Offset, b.Offset) })
	d.uses = slices.CompactFunc(d.uses, func(a, b Use) bool { return a.Offset == b.Offset && a.Name == b.Name })
	slices.SortStableFunc(d.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	line, last := 1, 0
	for i, u := range d.uses {
		line += strings.Count(d.file[last:u.Offset], "\n")
		last = u.Offset
		d.uses[i].Line = line
	}
	return d
}

// maxTries bounds how often a file is read again to find uses that cannot be rewritten.
const maxTries = 64

// rewrite returns the file with as many uses rewritten as possible. The result must parse, and a
// second search must not find more to rewrite. It bisects the uses to find those that break this,
// and marks them ByHand.
func (d *document) rewrite(name string) string {
	all, done, untried, tries := d.places(), map[int]bool{}, map[int]bool{}, 0
	check := syntax(name)
	if check == nil || !check(d.file) {
		check = func(string) bool { return true }
	}
	sound := func() bool {
		now := d.edited(done)
		return check(now) && len(d.Search.read(name, now).places()) == len(all)-len(done)
	}
	var try func(places []int)
	try = func(places []int) {
		if tries++; tries > maxTries {
			for _, place := range places {
				untried[place] = true
			}
			return
		}
		for _, place := range places {
			done[place] = true
		}
		if sound() {
			return
		}
		for _, place := range places {
			delete(done, place)
		}
		if half := len(places) / 2; half > 0 {
			try(places[:half])
			try(places[half:])
		}
	}
	try(all)
	for i, u := range d.uses {
		switch {
		case u.ByHand || done[u.Offset]:
		case untried[u.Offset]:
			d.uses[i].ByHand = true
			d.uses[i].Note = "not tried, since many uses of this file cannot be rewritten: use --write for the rest, and run it again"
		default:
			d.uses[i].ByHand, d.uses[i].Note = true, "rewritten, the file could not be read any more: change it by hand"
		}
	}
	return d.edited(done)
}

// places lists the places of the names that have edits, sorted.
func (d *document) places() (list []int) {
	for _, e := range d.edits {
		list = append(list, e.use)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// edited returns the file with the edits of some uses. Edits only overlap if a text is read twice;
// then the first one counts.
func (d *document) edited(uses map[int]bool) string {
	var b strings.Builder
	last := 0
	for _, e := range d.edits {
		if e.start < last || !uses[e.use] {
			continue
		}
		b.WriteString(d.file[last:e.start])
		b.WriteString(e.text)
		last = e.end
	}
	return b.String() + d.file[last:]
}

// addUse adds a use.
func (p part) addUse(n name, u Use) {
	u.Offset, u.Name = n.place, p.text[n.start:n.end]
	p.document.uses = append(p.document.uses, u)
}

// call returns the call that replaces the legacy name.
func (n name) call() string {
	selected := entry.Select(n.action)
	if selected.Selector == "" {
		return n.as(selected.Tool)
	}
	return n.as(selected.Tool) + ` {"action": "` + selected.Selector + `"}`
}
