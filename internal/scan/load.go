package scan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/toolfold/toolfold/internal/child"
)

// environment keeps the go command from running or fetching what a workspace
// names: other toolchains, modules, C compilers, version control, workspaces
// above this one. What it compiles for export data is not run.
func environment(dir string) []string {
	work := "off"
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
		work = filepath.Join(dir, "go.work")
	}
	return append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "CGO_ENABLED=0",
		"GOFLAGS=-buildvcs=false", "GOPACKAGESDRIVER=off", "GOWORK="+work)
}

// goProgram is the packages of a batch and what they import. Those of the workspace are read from
// source, so that no compiler sees them; others, the standard library's and those of the module
// cache, as the export data that the go command compiles.
type goProgram struct {
	*goScan
	fset    *gotoken.FileSet
	roots   []*packages.Package // to be analysed
	own     map[*packages.Package]bool
	exports map[string]string         // files by path of the package
	foreign map[string]*types.Package // that were read, by path
	facts   *facts
	checks  []goCheck
}

// batch loads packages and runs the analysers over them.
func (g *goScan) batch(ctx context.Context) error {
	p := &goProgram{goScan: g, fset: gotoken.NewFileSet(), own: map[*packages.Package]bool{}, exports: map[string]string{},
		foreign: map[string]*types.Package{}, checks: goChecks(g.Request.Purpose),
		facts: &facts{objects: map[objectFact]analysis.Fact{}, packages: map[packageFact]analysis.Fact{}}}
	listed := g.begin(step{Name: "listing Go packages", Time: goTime})
	err := p.list(ctx)
	listed()
	if err == nil {
		compiled := g.begin(step{Name: "compiling what " + g.Module + " imports from elsewhere", Time: apartTime})
		err = p.compile(ctx)
		compiled()
	}
	if err != nil {
		if ctx.Err() == nil {
			g.skip(g.Module, "the go command failed, only the fast rules ran: "+g.cleanError(err.Error()))
		}
		return nil
	}
	if err := child.LimitMemory(apartMemory, apartMemory); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	packages.Visit(p.wanted(), nil, func(l *packages.Package) {
		if p.own[l] && ctx.Err() == nil {
			p.take(ctx, l)
		}
	})
	return nil
}

// list asks the go command for the packages of the batch and all that they import. It compiles
// nothing for that.
func (p *goProgram) list(ctx context.Context) error {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes |
			packages.NeedModule | packages.NeedForTest,
		Context: ctx, Dir: p.folder(), Env: environment(p.Dir), Tests: true, Fset: p.fset,
	}, p.patterns()...)
	if err != nil {
		return err
	}
	places, err := p.goCommand(ctx, "env", "GOROOT", "GOMODCACHE")
	if err != nil {
		return err
	}
	elsewhere := strings.Split(strings.TrimSpace(string(places)), "\n")
	withTests := map[string]bool{}
	for _, l := range loaded {
		withTests[l.PkgPath] = withTests[l.PkgPath] || l.PkgPath == l.ForTest
	}
	for _, l := range loaded {
		// Of a package and the same with its tests only the latter is analysed.
		if !strings.HasSuffix(l.ID, ".test") && len(l.GoFiles) > 0 && (l.ForTest != "" || !withTests[l.PkgPath]) {
			p.roots = append(p.roots, l)
		}
	}
	packages.Visit(loaded, nil, func(l *packages.Package) {
		isOwn := slices.Contains(p.roots, l) || l.ForTest != "" || within(p.Dir, l.Dir) ||
			!slices.ContainsFunc(elsewhere, func(place string) bool { return within(strings.TrimSpace(place), l.Dir) })
		for _, imported := range l.Imports {
			isOwn = isOwn || p.own[imported]
		}
		p.own[l] = isOwn && l.PkgPath != "unsafe"
	})
	return nil
}

// within reports whether a folder is another one or below it.
func within(folder, name string) bool {
	below, err := filepath.Rel(folder, name)
	return err == nil && folder != "" && filepath.IsLocal(below)
}

// folder returns the folder of the module.
func (g *goScan) folder() string { return filepath.Join(g.Dir, filepath.FromSlash(g.Module)) }

// patterns returns what the go command calls the folders of the batch.
func (g *goScan) patterns() (list []string) {
	for _, f := range g.Folders {
		if below, err := filepath.Rel(filepath.FromSlash(g.Module), filepath.FromSlash(f.Name)); err == nil { // goModules looked
			list = append(list, "./"+filepath.ToSlash(below))
		}
	}
	return list
}

// compile asks the go command for export data of what packages of the workspace import from
// elsewhere. Nothing that is compiled for that imports a package of the workspace.
func (p *goProgram) compile(ctx context.Context) error {
	var foreign []string
	for l, isOwn := range p.own {
		for _, imported := range l.Imports {
			if isOwn && !p.own[imported] && imported.PkgPath != "unsafe" && len(imported.GoFiles) > 0 {
				foreign = append(foreign, imported.PkgPath)
			}
		}
	}
	if foreign == nil {
		return nil
	}
	if err := child.LimitMemory(foreignMemory, foreignMemory); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	slices.Sort(foreign)
	arguments := []string{"list", "-e", "-export", "-pgo=off", "-json=ImportPath,Export", "--"}
	out, err := p.goCommand(ctx, append(arguments, slices.Compact(foreign)...)...)
	for decoder := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var compiled struct{ ImportPath, Export string }
		if err = decoder.Decode(&compiled); err == nil {
			p.exports[compiled.ImportPath] = compiled.Export
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// What the steps of a package are called.
const (
	analysingStep = "analysing "
	importingStep = "importing "
)

// wanted returns the packages to work on.
func (p *goProgram) wanted() (list []*packages.Package) {
	for l := range p.own {
		if p.analysed(l) || p.Only == importingStep+l.ID {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *packages.Package) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// analysed reports whether the analysers run over a package.
func (p *goProgram) analysed(l *packages.Package) bool {
	_, done := p.Left[analysingStep+l.ID]
	return slices.Contains(p.roots, l) && !done && !p.Gone[p.below(l)] && (p.Only == "" || p.Only == analysingStep+l.ID)
}

// take imports or analyses a package of the workspace.
func (p *goProgram) take(ctx context.Context, l *packages.Package) {
	s := step{Name: importingStep + l.ID, Place: p.below(l), Time: packageTime}
	whole := p.analysed(l)
	switch {
	case whole:
		s.Name = analysingStep + l.ID
	case p.Left[s.Name] != "":
		l.IllTyped = true
		return
	case p.Gone[s.Place]:
		s.Time = importTime
	}
	ended := p.begin(s)
	p.read(l, whole)
	if whole {
		p.analyse(ctx, l)
	}
	l.Syntax, l.TypesInfo = nil, nil // the memory of what is done
	ended()
}

// read parses and type-checks a package of the workspace, without the bodies of functions where it
// is only imported. All that it imports is there.
func (p *goProgram) read(l *packages.Package, whole bool) {
	l.Fset, l.Types = p.fset, types.NewPackage(l.PkgPath, l.Name)
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(p.fset, name, nil, parser.AllErrors|parser.ParseComments)
		if file != nil {
			l.Syntax = append(l.Syntax, file)
		}
		p.blame(l, err)
	}
	config := &types.Config{
		Importer: importFunc(func(path string) (*types.Package, error) { return p.imported(l, path) }),
		Error:    func(err error) { p.blame(l, err) }, Sizes: l.TypesSizes, IgnoreFuncBodies: !whole,
	}
	if l.Module != nil && l.Module.GoVersion != "" {
		config.GoVersion = "go" + l.Module.GoVersion
	}
	if whole {
		l.TypesInfo = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
		}
	}
	if err := types.NewChecker(config, p.fset, l.Types, l.TypesInfo).Files(l.Syntax); err != nil && len(l.Errors) == 0 {
		p.blame(l, err)
	}
	l.IllTyped = len(l.Errors) > 0
	for _, imported := range l.Imports {
		l.IllTyped = l.IllTyped || imported.IllTyped
	}
}

type importFunc func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// imported returns what a package imports by a path.
func (p *goProgram) imported(l *packages.Package, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	imported := l.Imports[path]
	switch {
	case imported == nil:
		return nil, errors.New("it is not there")
	case p.own[imported] && imported.Types != nil && imported.Types.Complete():
		return imported.Types, nil
	case p.own[imported]:
		return nil, fmt.Errorf("it was given up: %s", p.Left[importingStep+imported.ID])
	}
	if have := p.foreign[imported.PkgPath]; have != nil && have.Complete() {
		return have, nil
	}
	file, err := os.Open(p.exports[imported.PkgPath])
	if err != nil {
		return nil, errors.New("it is not there, or does not compile")
	}
	defer file.Close()
	//lint:ignore SA1019 before Go 1.28 what is exported lies in an archive
	reader, err := gcexportdata.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading what it exports: %w", err)
	}
	return gcexportdata.Read(reader, p.fset, p.foreign, imported.PkgPath)
}

// blame adds an error to those of a package.
func (p *goProgram) blame(l *packages.Package, err error) {
	var parsing scanner.ErrorList
	var typing types.Error
	var reading *fs.PathError
	switch {
	case err == nil:
	case errors.As(err, &parsing):
		for _, e := range parsing {
			l.Errors = append(l.Errors, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
	case errors.As(err, &typing):
		l.TypeErrors = append(l.TypeErrors, typing)
		l.Errors = append(l.Errors, packages.Error{Pos: p.fset.Position(typing.Pos).String(), Msg: typing.Msg, Kind: packages.TypeError})
	case errors.As(err, &reading):
		l.Errors = append(l.Errors, packages.Error{Pos: reading.Path + ":1", Msg: reading.Err.Error(), Kind: packages.ParseError})
	default:
		l.Errors = append(l.Errors, packages.Error{Pos: "-", Msg: err.Error()})
	}
}

// analyse runs the analysers over a package.
func (p *goProgram) analyse(ctx context.Context, l *packages.Package) {
	if why := p.faults(l); why != "" {
		p.skip(p.below(l), "it does not type-check, so only what needs no types was analysed: "+why)
	}
	pass := &goPass{goProgram: p, ctx: ctx, p: l, results: map[*analysis.Analyzer]any{}, failed: map[*analysis.Analyzer]bool{}}
	for _, c := range p.checks {
		if ctx.Err() != nil {
			return
		}
		pass.check = &c
		pass.run(c.analyzer)
	}
	for _, f := range once(pass.found) {
		p.report(f)
	}
	for _, broken := range pass.broken {
		p.skip(p.below(l), broken)
	}
}
