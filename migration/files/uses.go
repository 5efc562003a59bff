// Package files finds where the files of a repository name legacy tools, and
// rewrites them. It has the readers of formats, which the rewriting of calls in
// package migration does without.
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

// Kind says what a use of a legacy name is.
type Kind string

// The kinds.
const (
	Calls    Kind = "call"    // a name with its arguments, or the tool of a step
	Text     Kind = "text"    // words for models and people
	Permits  Kind = "permits" // rules of hosts
	Asks     Kind = "asks"
	Forbids  Kind = "forbids"
	Compares Kind = "compares" // something is done where a name is this one
	Mentions Kind = "mentions" // a name in code, or a rule that says neither yes nor no
)

// Use is a place in a file that names a legacy tool.
type Use struct {
	Offset int    `json:"offset"` // in bytes
	Line   int    `json:"line"`
	Name   string `json:"name"` // as it stands there, with what a host puts in front
	Kind   Kind   `json:"kind"`
	Now    string `json:"now"`            // what stands for it now
	Note   string `json:"note,omitempty"` // what else changes, or why it is left
	ByHand bool   `json:"byHand"`         // the text is left as it is
	Rule   *Rule  `json:"rule,omitempty"` // of what permits, asks or forbids
}

// Search looks for legacy names in the files of a repository.
type Search struct {
	*migration.Rewriter

	// Servers are the names under which hosts know the server, as patterns in which *
	// stands for any characters. Names that begin with toolfold always count.
	Servers []string

	// Own are the names that the repository gives to tools of its own, from
	// [Search.Defines]: without a server's name in front they are not ours. Those that
	// a file defines itself always count.
	Own map[string]bool

	// Foreign leaves all names without a server's in front to other servers.
	Foreign bool

	// Widen writes rules that permit one action as the tool that has it now, which
	// permits its other actions too.
	Widen bool

	// Exact is for servers with --fold=none: rules that hold there as they are count for
	// nothing, others that permit or ask are written under the name of the action.
	Exact bool
}

// Found holds the finds of a search in a file.
type Found struct {
	Uses []Use
	Now  []byte // the text with those rewritten that can be; the rest of it stays byte by byte

	// Others has the servers that are not known to be ours although their tools have
	// names of ours, each with these names, once for each place.
	Others map[string][]string

	// Left counts the places of names that are left to others by Own and Foreign.
	Left int
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
	use        int // place of the name that it belongs to
}

// document is a file on its way through a search.
type document struct {
	Search
	path  string
	file  string
	uses  []Use
	edits []edit

	others map[int][2]string // servers that are not known to be ours, and the names, by place
	own    map[string]bool   // names that this file gives to tools of its own
	left   map[int]bool      // places of names that are left to tools of others

	strong, weak *bool // whether the file is about tools; nil = not asked yet
}

// maxNested bounds how deep texts in texts are read: a script in a list in a page.
const maxNested = 8

// File looks through a file. Its path, with slashes, says how it is read; in a file
// that [Reads] does not know only names with a server's in front are found. A use after
// whose edits the file could not be read any more is left to be changed by hand.
func (s Search) File(name string, text []byte) Found {
	d := s.read(name, string(text))
	now := d.rewritten(name)
	others := map[string][]string{}
	for _, place := range slices.Sorted(maps.Keys(d.others)) {
		other := d.others[place]
		others[other[0]] = append(others[other[0]], other[1])
	}
	return Found{d.uses, []byte(now), others, len(d.left)}
}

func (s Search) read(name, text string) *document {
	d := &document{
		Search: s, path: path.Clean(name), file: text,
		others: map[int][2]string{}, own: s.Defines(name, text), left: map[int]bool{},
	}
	read := reader(name)
	if read == nil {
		read = func(p part) {
			p.unread("files of this kind are not read", false)
			clear(p.left) // words that would be no uses anyway
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

// maxTries bounds how often a file is read again to find the uses that cannot be rewritten.
const maxTries = 64

// rewritten returns the file with the edits of all uses after which it can be read as
// before, and is one that another search leaves as it is. It halves the uses until
// those remain that cannot be rewritten.
func (d *document) rewritten(name string) string {
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

// places lists the names that have edits, by their places.
func (d *document) places() (list []int) {
	for _, e := range d.edits {
		list = append(list, e.use)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// edited returns the file with the edits of some uses. Edits never overlap but where
// one file is read twice; the first counts then.
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

// found adds a use. The kind decides whether it needs to say more.
func (p part) found(n name, u Use) {
	u.Offset, u.Name = n.place, p.text[n.start:n.end]
	p.document.uses = append(p.document.uses, u)
}

// call returns how the action of a name is called now.
func (n name) call() string {
	selected := entry.Select(n.action)
	if selected.Selector == "" {
		return n.as(selected.Tool)
	}
	return n.as(selected.Tool) + ` {"action": "` + selected.Selector + `"}`
}
