package scan

import (
	"cmp"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"go/types"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// environment returns the environment of the go command. It keeps it from running or fetching what
// a workspace names: toolchains, modules, C compilers, version control, workspaces above this one.
// Code that go fix compiles is not run. For work, see goWork.
func environment(dir, work string) []string {
	flags := "-buildvcs=false"
	if work == filepath.Join(dir, "go.work") { // without vendoring, sums would be written beside it
		flags += " -mod=vendor"
	}
	return append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "CGO_ENABLED=0",
		"GOFLAGS="+flags, "GOPACKAGESDRIVER=off", "GOWORK="+work)
}

// goProgram holds the packages of a batch and their imports. All are read from source without a
// compiler, so the first scan of a workspace costs as much as later ones. Imported packages are
// read in outline only.
type goProgram struct {
	*goScan
	fset   *gotoken.FileSet
	roots  []*packages.Package          // the packages to analyse
	causes map[*packages.Package]string // why importers of a package cannot be analysed
	facts  *facts
	checks []goCheck
}

// batch loads packages and runs the analysers over them.
func (g *goScan) batch(ctx context.Context) error {
	p := &goProgram{goScan: g, fset: gotoken.NewFileSet(), causes: map[*packages.Package]string{}, checks: goChecks(g.Request.Purpose),
		facts: &facts{objects: map[objectFact]analysis.Fact{}, packages: map[packageFact]analysis.Fact{}}}
	end := g.begin(step{Name: "listing Go packages", Time: listTime})
	all, err := p.list(ctx)
	end()
	if err != nil {
		if ctx.Err() == nil {
			g.hinder(g.Module, noPackage+g.goFault(err.Error()))
		}
		return nil
	}
	for _, l := range all {
		if below, _ := g.name(filepath.Join(l.Dir, "go.mod")); len(l.GoFiles) == 0 && filepath.IsLocal(below) && usesC(l) {
			g.hinder(path.Dir(below), noPackage+"it "+needsC)
		}
		if (p.analysed(l) || p.Only != "" && strings.HasSuffix(p.Only, " "+l.ID)) && ctx.Err() == nil {
			p.take(ctx, l)
		}
	}
	return nil
}

// list asks the go command for the packages of the batch and their dependencies, without compiling
// them. It returns them in dependency order.
func (p *goProgram) list(ctx context.Context) (all []*packages.Package, err error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes |
			packages.NeedModule | packages.NeedForTest,
		Context: ctx, Dir: p.folder(), Env: environment(p.Dir, p.GoWork), Tests: true, Fset: p.fset,
	}, p.patterns()...)
	if err != nil {
		return nil, err
	}
	withTests := map[string]bool{}
	for _, l := range loaded {
		withTests[l.PkgPath] = withTests[l.PkgPath] || l.PkgPath == l.ForTest
	}
	for _, l := range loaded {
		// If a package has a variant with its tests, only that one is analysed.
		if !strings.HasSuffix(l.ID, ".test") && len(l.GoFiles) > 0 && (l.ForTest != "" || !withTests[l.PkgPath]) {
			p.roots = append(p.roots, l)
		}
	}
	packages.Visit(loaded, nil, func(l *packages.Package) { all = append(all, l) })
	return all, nil
}

// folder returns the folder of the module.
func (g *goScan) folder() string { return filepath.Join(g.Dir, filepath.FromSlash(g.Module)) }

// patterns returns the folders of the batch as arguments of the go command.
func (g *goScan) patterns() (list []string) {
	for _, f := range g.Folders {
		if below, err := filepath.Rel(filepath.FromSlash(g.Module), filepath.FromSlash(f.Name)); err == nil { // goModules has checked it
			list = append(list, "./"+filepath.ToSlash(below))
		}
	}
	return list
}

// Prefixes of the names of a package's steps.
const (
	analysingStep = "analysing "
	importingStep = "importing "
	parsingStep   = "parsing "
)

// analysed reports whether the analysers run over a package.
func (p *goProgram) analysed(l *packages.Package) bool {
	_, done := p.SkippedSteps[analysingStep+l.ID]
	return slices.Contains(p.roots, l) && !done && !p.SkippedFolders[p.below(l)] && (p.Only == "" || p.Only == analysingStep+l.ID)
}

// take imports or analyses a package, after the imports that it needs.
func (p *goProgram) take(ctx context.Context, l *packages.Package) {
	if l.Types != nil || l.PkgPath == "unsafe" || ctx.Err() != nil {
		return
	}
	l.Fset, l.Types = p.fset, types.NewPackage(l.PkgPath, l.Name)
	if why := p.missing(l); why != "" {
		l.IllTyped, p.causes[l] = true, why
		return
	}
	whole := p.analysed(l)
	s := step{Name: parsingStep + l.ID, Place: p.below(l), Time: packageTime}
	if p.SkippedFolders[s.Place] {
		s.Time = importTime
	}
	parsed := p.begin(s)
	needed := p.parse(l, whole)
	parsed()
	for _, path := range needed {
		if imported := l.Imports[path]; imported != nil {
			p.take(ctx, imported)
			p.causes[l] = cmp.Or(p.causes[l], p.causes[imported])
		}
	}
	if s.Name = importingStep + l.ID; whole {
		s.Name = analysingStep + l.ID
	}
	ended := p.begin(s)
	p.check(l, whole)
	if whole {
		p.analyse(ctx, l)
	}
	l.Syntax, l.TypesInfo = nil, nil // free their memory
	ended()
}

// parse parses a package, in outline unless whole, and returns the import paths that it needs.
func (p *goProgram) parse(l *packages.Package, whole bool) (needed []string) {
	mode := parser.AllErrors | parser.SkipObjectResolution
	if whole {
		mode = parser.AllErrors | parser.ParseComments
	}
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(p.fset, name, nil, mode)
		p.blame(l, err)
		if file == nil {
			continue
		}
		l.Syntax = append(l.Syntax, file)
		if !whole {
			outline(file, l.Imports)
		}
		for spec := range importSpecs(file) {
			needed = append(needed, pathOf(spec))
		}
	}
	slices.Sort(needed)
	return slices.Compact(needed)
}

// outline removes everything from a file that does not affect the types it declares: function
// bodies, elements of literals, and imports that only these need.
func outline(file *ast.File, imports map[string]*packages.Package) {
	names := map[string]bool{".": true}
	for _, decl := range file.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					n.Body = &ast.BlockStmt{}
				}
			case *ast.FuncLit:
				n.Body = &ast.BlockStmt{}
			case *ast.CompositeLit:
				if array, ok := n.Type.(*ast.ArrayType); !ok || !isCounted(array) {
					n.Elts = nil
				}
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok {
					names[of.Name] = true
				}
			}
			return true
		})
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(decl ast.Decl) bool {
		list, ok := decl.(*ast.GenDecl)
		if !ok || list.Tok != gotoken.IMPORT {
			return false
		}
		list.Specs = slices.DeleteFunc(list.Specs, func(s ast.Spec) bool {
			spec := s.(*ast.ImportSpec)
			if spec.Name != nil {
				return !names[spec.Name.Name]
			}
			imported := imports[pathOf(spec)]
			return imported != nil && imported.Name != "" && !names[imported.Name]
		})
		return len(list.Specs) == 0
	})
}

// isCounted reports whether the elements of a literal determine the length of its array type.
func isCounted(array *ast.ArrayType) bool {
	_, ok := array.Len.(*ast.Ellipsis)
	return ok
}

// importSpecs returns the imports of a file.
func importSpecs(file *ast.File) iter.Seq[*ast.ImportSpec] {
	return func(yield func(*ast.ImportSpec) bool) {
		for _, decl := range file.Decls {
			list, ok := decl.(*ast.GenDecl)
			if !ok || list.Tok != gotoken.IMPORT {
				continue
			}
			for _, spec := range list.Specs {
				if !yield(spec.(*ast.ImportSpec)) {
					return
				}
			}
		}
	}
}

// pathOf returns the path of an import, or "" if it is invalid.
func pathOf(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}

// check type-checks a parsed package, whose dependencies have been taken.
func (p *goProgram) check(l *packages.Package, whole bool) {
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
	l.IllTyped = len(l.Errors) > 0 || p.causes[l] != ""
	if l.IllTyped && p.causes[l] == "" && !whole {
		p.causes[l] = l.PkgPath + " " + p.fault(l)
	}
}

type importFunc func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// imported returns the package that l imports by a path.
func (p *goProgram) imported(l *packages.Package, path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	imported := l.Imports[path]
	if imported == nil || imported.Types == nil || !imported.Types.Complete() {
		return nil, errors.New("it is not there")
	}
	return imported.Types, nil
}

// blame adds an error to a package's errors.
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
	switch {
	case p.causes[l] != "":
		p.hinder(p.below(l), noTypes+p.causes[l])
	case l.IllTyped:
		fault := p.fault(l)
		p.skip(p.below(l), noTypes+"it "+fault)
		p.causes[l] = l.PkgPath + " " + fault
	}
	pass := &goPass{goProgram: p, ctx: ctx, p: l, results: map[*analysis.Analyzer]any{}, failed: map[*analysis.Analyzer]bool{}}
	for _, c := range p.checks {
		if ctx.Err() != nil {
			return
		}
		pass.check = &c
		pass.run(c.analyzer)
	}
	for _, f := range dropDuplicates(pass.findings) {
		p.report(f)
	}
	for _, broken := range pass.broken {
		p.skip(p.below(l), broken)
	}
}
