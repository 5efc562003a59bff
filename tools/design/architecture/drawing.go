package architecture

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/design/text"
)

// drawing has the units of folders as drawn components.
type drawing struct {
	folders *folders
	nodes   map[string]*node
	place   map[*unit]*node
	arrows  map[[2]*node]*use
	folded  string // the merged folders in words; empty = nothing merged
}

// node is a drawn component of one or several units.
type node struct {
	id    string
	units []*unit
}

// draw merges folders into their parents until at most maxDrawn are left.
func (r *folders) draw() *drawing {
	if len(r.units) <= maxDrawn {
		return r.group(func(u *unit) string { return u.id })
	}
	open := r.open()
	d := r.group(func(u *unit) string {
		if u.isNamed {
			return u.id
		}
		name := "."
		for folder := range downwards(u.folder) {
			if f, known := open[folder]; known {
				name = folder
				if !f {
					break
				}
			}
		}
		return name
	})
	d.folded = fmt.Sprintf("%d of %d folders are drawn, which hold the rest; breaks name each as it is", len(d.nodes), len(r.units))
	return d
}

// branch is a folder with the units in and below it, except those that the caller has named.
type branch struct {
	files int
	own   bool            // whether it has files of its own
	kinds map[string]bool // types
	below []string
}

// open returns the drawn folders, and whether the folders below each are drawn separately. It
// begins with the outermost folders and opens folders while there is room: folders with several
// types first, then the largest.
func (r *folders) open() map[string]bool {
	branches, room := map[string]*branch{}, maxDrawn
	for _, id := range slices.Sorted(maps.Keys(r.units)) {
		u := r.units[id]
		if u.isNamed {
			room--
			continue
		}
		last := ""
		for folder := u.folder; ; folder = path.Dir(folder) {
			b := branches[folder]
			if b == nil {
				b = &branch{kinds: map[string]bool{}}
				branches[folder] = b
				if last != "" {
					b.below = append(b.below, last)
				}
				last = folder
			} else if last != "" {
				b.below = append(b.below, last)
				last = ""
			}
			b.files += u.files
			b.own = b.own || folder == u.folder
			b.kinds[u.kind] = true
			if folder == "." {
				break
			}
		}
	}
	top := branches["."]
	if top == nil {
		return map[string]bool{}
	}
	order := func(a, b string) int {
		x, y := branches[a], branches[b]
		if (len(x.kinds) > 1) != (len(y.kinds) > 1) {
			return cmp.Compare(min(len(y.kinds), 2), min(len(x.kinds), 2))
		}
		return cmp.Or(cmp.Compare(y.files, x.files), strings.Compare(a, b))
	}
	slices.SortFunc(top.below, order)
	if top.own || len(top.below) > room {
		room-- // for the top
	}
	open := map[string]bool{".": true}
	for _, folder := range top.below[:min(len(top.below), max(room, 0))] {
		open[folder] = false
		room--
	}
	for {
		best, cost := "", 0
		for folder, opened := range open {
			b := branches[folder]
			more := len(b.below) - 1
			if b.own {
				more++
			}
			if !opened && len(b.below) > 0 && more <= room && (best == "" || order(folder, best) < 0) {
				best, cost = folder, more
			}
		}
		if best == "" {
			return open
		}
		room -= cost
		open[best] = true
		for _, folder := range branches[best].below {
			open[folder] = false
		}
	}
}

// downwards yields the parents of a folder, the outermost first, and the folder itself.
func downwards(folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, c := range folder {
			if c == '/' && !yield(folder[:i]) {
				return
			}
		}
		yield(folder)
	}
}

func inFolder(u *unit) string { return u.folder }

// group merges the units with the same name.
func (r *folders) group(name func(*unit) string) *drawing {
	d := &drawing{folders: r, nodes: map[string]*node{}, place: map[*unit]*node{}, arrows: map[[2]*node]*use{}}
	for _, id := range slices.Sorted(maps.Keys(r.units)) {
		u := r.units[id]
		n := d.nodes[name(u)]
		if n == nil {
			n = &node{id: name(u)}
			d.nodes[n.id] = n
		}
		n.units = append(n.units, u)
		d.place[u] = n
	}
	for _, u := range r.uses {
		from, to := d.place[u.from], d.place[u.to]
		if from == to {
			continue
		}
		between := d.arrows[[2]*node{from, to}]
		if between == nil {
			between = &use{at: u.at}
			d.arrows[[2]*node{from, to}] = between
		}
		between.imports += u.imports
	}
	return d
}

func (n *node) files() (total int) {
	for _, u := range n.units {
		total += u.files
	}
	return total
}

// kind returns the common type of a node's units; empty if they differ.
func (n *node) kind() string {
	for _, u := range n.units[1:] {
		if u.kind != n.units[0].kind {
			return ""
		}
	}
	return n.units[0].kind
}

// sorted returns the nodes by their names.
func (d *drawing) sorted() []*node {
	return slices.SortedFunc(maps.Values(d.nodes), byID)
}

// components returns the nodes as components of a model.
func (d *drawing) components() (list []Component) {
	nodes := d.sorted()
	for _, n := range nodes {
		c := Component{ID: n.id, Name: n.id, Type: n.kind(), Description: english.Count(n.files(), "file", "files")}
		if len(n.units) > 1 {
			c.Description += " in " + english.Count(len(n.units), "folder", "folders")
		}
		if n.id == "." {
			c.Name = "top"
		}
		if component, ok := d.folders.components[n.id]; ok {
			c.Name, c.Type, c.Description = component.Name, component.Type, cmp.Or(component.Description, c.Description)
		}
		if text.Line(c.Name) == "" {
			c.Name = fmt.Sprintf("%q", c.Name)
		}
		for _, to := range nodes {
			if d.arrows[[2]*node{n, to}] != nil {
				c.Dependencies = append(c.Dependencies, to.id)
			}
		}
		list = append(list, c)
	}
	return list
}

// maxWay limits the shown part of a cycle, in characters.
const maxWay = 400

// cycles returns one arrow of each group of folders that depend on each other: the arrow with the
// fewest imports, with the shortest way back. It ignores arrows in named, and arrows between a
// folder and its own subfolders.
func (d *drawing) cycles(named []Break) (found []Break) {
	skip := map[[2]*node]bool{}
	for _, b := range named {
		skip[[2]*node{d.place[d.folders.units[b.From]], d.place[d.folders.units[b.To]]}] = true
	}
	next := map[*node][]*node{}
	for _, u := range d.folders.uses {
		arrow := [2]*node{d.place[u.from], d.place[u.to]}
		if !skip[arrow] && !within(arrow[0].id, arrow[1].id) && !within(arrow[1].id, arrow[0].id) {
			skip[arrow] = true // once is enough
			next[arrow[0]] = append(next[arrow[0]], arrow[1])
		}
	}
	for _, ring := range rings(d.sorted(), next) {
		var from, to *node
		member := map[*node]bool{}
		for _, n := range ring {
			member[n] = true
		}
		for _, a := range ring {
			for _, b := range next[a] {
				if member[b] && (from == nil || d.arrows[[2]*node{a, b}].imports < d.arrows[[2]*node{from, to}].imports) {
					from, to = a, b
				}
			}
		}
		arrow := d.arrows[[2]*node{from, to}]
		ids := []string{from.id}
		for _, n := range way(next, to, from) {
			ids = append(ids, n.id)
		}
		way := shorten.To(strings.Join(ids, " → "), maxWay)
		why := fmt.Sprintf("cycle: %s; %s here", way, english.Count(arrow.imports, "import", "imports"))
		if len(ring) > len(ids)-1 {
			why += fmt.Sprintf(", and %d folders all lead to each other", len(ring))
		}
		found = append(found, Break{From: from.id, To: to.id, Why: why, At: arrow.at})
	}
	return found
}

// rings returns the strongly connected groups of at least two nodes (Tarjan's algorithm), in the
// order of their first nodes.
func rings(nodes []*node, next map[*node][]*node) (found [][]*node) {
	number, low, open := map[*node]int{}, map[*node]int{}, map[*node]bool{}
	var stack []*node
	var visit func(n *node)
	visit = func(n *node) {
		number[n] = len(number) + 1
		low[n], open[n] = number[n], true
		stack = append(stack, n)
		for _, to := range next[n] {
			if number[to] == 0 {
				visit(to)
				low[n] = min(low[n], low[to])
			} else if open[to] {
				low[n] = min(low[n], number[to])
			}
		}
		if low[n] < number[n] {
			return
		}
		at := slices.Index(stack, n)
		ring := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, member := range ring {
			open[member] = false
		}
		if len(ring) > 1 {
			slices.SortFunc(ring, byID)
			found = append(found, ring)
		}
	}
	for _, n := range nodes {
		if number[n] == 0 {
			visit(n)
		}
	}
	slices.SortFunc(found, func(a, b []*node) int { return byID(a[0], b[0]) })
	return found
}

func byID(a, b *node) int { return strings.Compare(a.id, b.id) }

// way returns the shortest way from one node to another, both included.
func way(next map[*node][]*node, from, to *node) (nodes []*node) {
	before := map[*node]*node{from: from}
	for queue := []*node{from}; len(queue) > 0 && before[to] == nil; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if before[n] == nil {
				before[n] = queue[0]
				queue = append(queue, n)
			}
		}
	}
	for at := to; at != from; at = before[at] {
		nodes = append(nodes, at)
	}
	nodes = append(nodes, from)
	slices.Reverse(nodes)
	return nodes
}
