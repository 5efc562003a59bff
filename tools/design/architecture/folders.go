package architecture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/imports"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/text/english"
)

// maxDrawn is the maximum number of components drawn from folders.
const maxDrawn = 50

// maxBreaks is the maximum number of reported breaks of a pattern.
const maxBreaks = 50

// Layer is a type of component recognized by the names of folders.
type Layer struct {
	Type  string
	Names []string // names of its folders, in lower case, without hyphens, underscores and "layer"

	// Shared is true if, in the layered pattern, lower layers may use it too, such as the records
	// that they store.
	Shared bool
}

// Layers lists the layers, the most specific first. A folder belongs to the first layer whose name
// it or one of its parents has. A folder with a more specific name below it is only a container.
func Layers() []Layer { return layers }

var layers = []Layer{
	{Type: "domain", Names: []string{"domain"}},
	{Type: "application", Names: []string{"application"}},
	{Type: "infrastructure", Names: []string{"infrastructure", "infra"}},
	{Type: "presentation", Names: []string{"presentation"}},
	{Type: "adapter", Names: []string{"adapter"}},
	{Type: "port", Names: []string{"port"}},
	{Type: "application", Names: []string{"usecase", "interactor"}},
	{Type: "presentation", Names: []string{"controller", "handler", "view", "route", "router", "resolver", "endpoint",
		"entrypoint", "delivery", "page", "component"}},
	{Type: "infrastructure", Names: []string{"repository", "repo", "persistence", "dao", "db", "database", "storage",
		"store", "migration"}},
	{Type: "domain", Names: []string{"entity", "model"}, Shared: true},
	{Type: "application", Names: []string{"service"}},
	{Type: "presentation", Names: []string{"web", "ui", "rest"}},
	{Type: "application", Names: []string{"app"}},
	{Type: "domain", Names: []string{"core"}},
}

// Names specific to a layer, and names that mean a layer only beside one of these.
const (
	ownNames = 6
	vague    = 2
)

// rankOf returns the index of a folder's name among the layers, or their number for other names.
func rankOf(name string) int {
	name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
	if short := strings.TrimSuffix(name, "layer"); short != "" {
		name = short
	}
	rank := slices.IndexFunc(layers, func(l Layer) bool { return slices.Contains(l.Names, english.Singular(name)) })
	if rank < 0 {
		return len(layers)
	}
	return rank
}

// unit is a folder with sources, or the files of a folder that are named after a layer.
type unit struct {
	id      string // the path below the folder that is read, or a pattern of files there
	folder  string
	kind    string // empty = no known layer
	isNamed bool   // named by the caller
	files   int
	main    bool // main package of a Go program, which connects the other packages
	shared  bool // data that lower layers may use too, in the layered pattern
}

// isOf assigns a unit to the layer of a rank.
func (u *unit) isOf(rank int) {
	if rank < len(layers) {
		u.kind, u.shared = layers[rank].Type, layers[rank].Shared
	}
}

// ErrEmpty is the error of a folder without readable sources.
var ErrEmpty = errors.New("the folder has no sources")

// Read returns a model of the folders below folder in the workspace dir, with their imports as
// dependencies. The components of m set the types of folders; their ids are paths of folders.
func Read(ctx context.Context, m Model, dir, folder string) (Model, []toolfold.Problem, error) {
	graph, err := imports.Read(ctx, dir, folder)
	if err != nil {
		return Model{}, nil, err
	}
	if len(graph.Files) == 0 {
		return Model{}, nil, ErrEmpty
	}
	m, problems := fromImports(m, graph)
	return m, problems, nil
}

func fromImports(m Model, g *imports.Graph) (Model, []toolfold.Problem) {
	r := &folders{graph: g, components: map[string]Component{}, units: map[string]*unit{}, byFile: map[string]*unit{}}
	for _, f := range g.Files {
		r.all = append(r.all, path.Dir(r.local(f.Name)))
	}
	var problems []toolfold.Problem
	for i, c := range m.Components {
		refuse := func(member, want string) {
			path := fmt.Sprintf("/components/%d/%s", i, member)
			problems = append(problems, toolfold.Problem{Path: path, Kind: toolfold.ProblemFormat, Want: want})
		}
		id := path.Clean(c.ID)
		if _, twice := r.components[id]; twice || !slices.ContainsFunc(r.all, func(folder string) bool { return within(folder, id) }) {
			refuse("id", "folder below path that has sources, each once")
		}
		if len(c.Dependencies) > 0 {
			refuse("dependencies", "empty beside path, which has them")
		}
		r.components[id] = c
	}
	if len(problems) > 0 {
		return Model{}, problems
	}
	r.rank()
	r.sort()
	r.arrows()
	drawn := r.draw()
	m.Components = drawn.components()
	m.read = &reading{drawn: drawn, breaks: r.breaks(m.Pattern)}
	if _, m.read.checked = ranks[m.Pattern]; m.read.checked {
		m.read.breaks = append(m.read.breaks, r.group(inFolder).cycles(m.read.breaks)...)
	}
	if m.Pattern == "microservices" {
		m.read.checked = slices.ContainsFunc(m.Components, func(c Component) bool { return c.Type == "database" })
	}
	m.read.notes = r.notes(m)
	if more := len(m.read.breaks) - maxBreaks; more > 0 {
		m.read.breaks = m.read.breaks[:maxBreaks]
		m.read.notes = append(m.read.notes, fmt.Sprintf("%d more arrows break the pattern", more))
	}
	return m, nil
}

// reading has the findings in files of the workspace.
type reading struct {
	drawn   *drawing
	breaks  []Break // breaks of patterns that rank types
	checked bool    // whether types are enough to check the pattern
	notes   []string
}

// at returns the first import of an arrow; empty if it is not from files.
func (s system) at(from, to string) string {
	if s.read == nil {
		return ""
	}
	return s.read.drawn.arrows[[2]*node{s.read.drawn.nodes[from], s.read.drawn.nodes[to]}].at
}

// folders are the units of a graph.
type folders struct {
	graph      *imports.Graph
	components map[string]Component // by folder
	all        []string             // folders of the files
	ranks      map[string]int       // by folder, from its own name, if it contains no other layers
	units      map[string]*unit
	byFile     map[string]*unit
	uses       []*use // by the names of their units
}

// use counts the imports from one unit to another.
type use struct {
	from, to *unit
	imports  int
	at       string // the first import, file:line
}

// local returns a path of the workspace relative to the folder that is read.
func (r *folders) local(name string) string {
	if name == r.graph.Folder {
		return "."
	}
	if r.graph.Folder == "." {
		return name
	}
	return strings.TrimPrefix(name, r.graph.Folder+"/")
}

// within reports whether folder is other or below it.
func within(folder, other string) bool {
	return other == "." || folder == other || strings.HasPrefix(folder, other+"/")
}

// above yields a folder and its parents, without the folder that is read.
func above(folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for ; folder != "." && yield(folder); folder = path.Dir(folder) {
		}
	}
}

// rank finds the folders with names of layers.
func (r *folders) rank() {
	r.ranks = map[string]int{}
	none := len(layers)
	siblings := map[string]bool{} // folders whose subfolders have specific names
	for i, folder := range r.all {
		for folder := range above(folder) {
			name := path.Base(folder)
			rank := rankOf(name)
			if isScript(r.graph.Files[i].Name) && slices.Contains([]string{"store", "stores"}, strings.ToLower(name)) {
				rank = none // views of a user interface, not of a database
			}
			if r.ranks[folder] = rank; rank < ownNames {
				siblings[path.Dir(folder)] = true
			}
		}
	}
	for folder, rank := range r.ranks {
		if rank >= none-vague && !siblings[path.Dir(folder)] {
			r.ranks[folder] = none
		}
	}
	foremost := map[string]int{} // of all folders below
	for _, folder := range slices.SortedFunc(maps.Keys(r.ranks), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		rank, below := r.ranks[folder], none
		if lowest, some := foremost[folder]; some {
			below = lowest
		}
		if below < rank {
			r.ranks[folder] = none
		}
		above, some := foremost[path.Dir(folder)]
		if best := min(rank, below); !some || best < above {
			foremost[path.Dir(folder)] = best
		}
	}
}

// layer returns the rank of a folder's layer, or the number of layers if it has no layer.
func (r *folders) layer(folder string) int {
	rank := len(layers)
	for folder := range above(folder) {
		rank = min(rank, r.ranks[folder])
	}
	return rank
}

func isScript(name string) bool {
	return !slices.Contains([]string{".go", ".py", ".pyi"}, path.Ext(name))
}

// named returns the folder named by the caller that is or contains the given folder. The folder
// that is read stands only for the files directly in it.
func (r *folders) named(folder string) (name string, isNamed bool) {
	if folder == "." {
		_, isNamed = r.components[folder]
		return folder, isNamed
	}
	for above := range above(folder) {
		if _, isNamed := r.components[above]; isNamed {
			return above, true
		}
	}
	return folder, false
}

// unit returns the unit of a folder, or of its files that match a pattern.
func (r *folders) unit(folder, files string) *unit {
	folder, isNamed := r.named(folder)
	id := path.Join(folder, files)
	u := r.units[id]
	if u == nil {
		u = &unit{id: id, folder: folder, isNamed: isNamed}
		r.units[id] = u
		if u.kind = r.components[folder].Type; !isNamed {
			u.isOf(r.layer(folder))
		}
	}
	return u
}

// sort assigns the files to units.
func (r *folders) sort() {
	for _, f := range r.graph.Files {
		folder := path.Dir(r.local(f.Name))
		u := r.unit(folder, "")
		if !u.isNamed && u.kind == "" && path.Ext(f.Name) != ".go" {
			if pattern, rank := layerOfFile(path.Base(f.Name)); rank < len(layers)-vague {
				u = r.unit(folder, pattern)
				u.isOf(rank)
			}
		}
		if u.files++; f.Main {
			u.main = true
		}
		r.byFile[f.Name] = u
	}
	for id, u := range r.units {
		if u.main && !u.isNamed {
			u.kind = ""
		}
		if u.files == 0 {
			delete(r.units, id)
		}
	}
}

// fileNames are the layer names that count as file names; other names are too common.
var fileNames = []string{"model", "view", "controller", "route", "router", "handler", "service", "repository", "entity", "usecase",
	"database", "db"}

// layerOfFile returns the pattern of files with the same layer name, such as models.py or
// *.controller.ts, and the rank of the name.
func layerOfFile(file string) (pattern string, rank int) {
	ending := path.Ext(file)
	stem := strings.TrimSuffix(file, ending)
	if at := strings.LastIndexByte(stem, '.'); at >= 0 {
		return "*" + stem[at:] + ending, rankOf(stem[at+1:])
	}
	if !slices.Contains(fileNames, english.Singular(stem)) {
		return "", len(layers)
	}
	return file, rankOf(stem)
}

// arrows counts the imports between units.
func (r *folders) arrows() {
	uses := map[[2]*unit]*use{}
	for _, a := range r.graph.Arrows {
		from, to := r.byFile[a.From], r.byFile[a.To]
		if to == nil {
			to = r.unit(r.local(a.To), "")
		}
		if from == to {
			continue
		}
		between := uses[[2]*unit{from, to}]
		if between == nil {
			between = &use{from: from, to: to, at: fmt.Sprintf("%s:%d", a.From, a.Line)}
			uses[[2]*unit{from, to}] = between
		}
		between.imports++
	}
	r.uses = slices.SortedFunc(maps.Values(uses), func(a, b *use) int {
		return cmp.Or(strings.Compare(a.from.id, b.from.id), strings.Compare(a.to.id, b.to.id))
	})
}

// breaks returns the uses that the pattern forbids.
func (r *folders) breaks(pattern string) (found []Break) {
	for _, u := range r.uses {
		if why := forbids(pattern, u.from.kind, u.to.kind); why != "" && !(pattern == "layered" && u.to.shared) {
			found = append(found, Break{From: u.from.id, To: u.to.id, Why: why, At: u.at})
		}
	}
	return found
}

// notes returns notes on files that were read, left out, or read in part.
func (r *folders) notes(m Model) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	untyped := 0
	for _, u := range r.units {
		if u.kind == "" {
			untyped++
		}
	}
	read := english.Count(len(r.graph.Files), "file", "files") + " read"
	if r.graph.Tests > 0 {
		read += fmt.Sprintf("; tests were left out, %s", english.Count(r.graph.Tests, "file", "files"))
	}
	note("%s", read)
	switch {
	case !m.read.checked && m.Pattern == "microservices":
		note("microservices is not checked: components can name the folders that are databases")
	case !m.read.checked:
		note("%s is not checked: types of folders are not enough for its rules", m.Pattern)
	case untyped > 0:
		note("%d of %d folders are of no known layer and were not checked: components can give their types", untyped, len(r.units))
	}
	if folded := m.read.drawn.folded; folded != "" {
		note("%s", folded)
	}
	if r.graph.Truncated {
		note("only the first %d files were read: name a smaller folder", scan.MaxSources)
	}
	if n := r.graph.Outside; n > 0 {
		note("%d imports lead to other folders of the workspace", n)
	}
	if n := r.graph.Computed; n > 0 {
		note("%d imports are known only when the code runs", n)
	}
	if n := r.graph.Lost; n > 0 {
		note("%d imports lead to nothing that was read", n)
	}
	const named = 3
	for i, s := range r.graph.Skipped {
		if i == named {
			note("%d more were not read, or only in part", len(r.graph.Skipped)-named+r.graph.Unnamed)
			break
		}
		note("%s: %s", s.Path, s.Reason)
	}
	return notes
}
