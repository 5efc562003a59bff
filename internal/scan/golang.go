package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	gotoken "go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// batchFiles is the most Go files that are loaded at a time: what a load holds in
// memory grows with them.
const batchFiles = 300

// goScan analyses Go packages in the workspace.
type goScan struct {
	dir       string // absolute, of the workspace
	request   Request
	selected  map[string]bool // files to report on, below the workspace
	report    func(Finding)
	skip      func(name, why string)
	fileHolds func(name string) (string, bool)
}

// goPackages analyses the packages of the wanted files, in batches.
func (s Scanner) goPackages(ctx context.Context, dir string, c *collector) error {
	if _, err := exec.LookPath("go"); err != nil {
		c.skip(".", "Go is not installed: of Go files only the fast rules ran")
		return nil
	}
	modules, err := goModules(dir, c)
	if err != nil {
		return err
	}
	for _, module := range modules {
		for len(module.folders) > 0 {
			n, files := 0, 0
			for n < len(module.folders) && (n == 0 || files+module.folders[n].Files <= batchFiles) {
				files += module.folders[n].Files
				n++
			}
			batch := job{Dir: dir, Request: c.request, Module: module.dir, Folders: module.folders[:n], Wanted: c.goFiles}
			module.folders = module.folders[n:]
			done := c.repeat("compiling what Go packages import, and analysing them")
			err := s.apart(ctx, batch, c.merge)
			done()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				for _, folder := range batch.Folders {
					c.skip(folder.Name, fmt.Sprintf("analysing its Go packages was given up, only the fast rules ran for sure: %v", err))
				}
			}
			c.advance(files, "analysing Go packages")
		}
	}
	return nil
}

// module is a Go module and the folders to analyse in it.
type module struct {
	dir     string // below the workspace
	folders []goFolder
}

type goFolder struct {
	Name  string // below the workspace
	Files int
}

// goModules sorts the folders of the Go files by their module.
func goModules(workspace string, c *collector) ([]module, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	files := map[string]int{}
	for name := range c.goFiles {
		files[path.Dir(name)]++
	}
	byModule := map[string]*module{}
	for folder, n := range files {
		dir := folder
		for dir != "." {
			if _, err := root.Stat(filepath.FromSlash(path.Join(dir, "go.mod"))); err == nil {
				break
			}
			dir = path.Dir(dir)
		}
		if _, err := root.Stat(filepath.FromSlash(path.Join(dir, "go.mod"))); err != nil {
			c.skip(folder, "no go.mod in the workspace is above it: only the fast rules ran")
			continue
		}
		if byModule[dir] == nil {
			byModule[dir] = &module{dir: dir}
		}
		byModule[dir].folders = append(byModule[dir].folders, goFolder{folder, n})
	}
	var list []module
	for _, m := range byModule {
		slices.SortFunc(m.folders, func(a, b goFolder) int { return cmp.Compare(a.Name, b.Name) })
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.dir, b.dir) })
	return list, nil
}

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

// batch loads packages and runs the analysers over them.
func (g *goScan) batch(ctx context.Context, dir string, folders []goFolder) {
	abs := filepath.Join(g.dir, filepath.FromSlash(dir))
	var patterns []string
	for _, f := range folders {
		below, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(f.Name))
		if err != nil {
			continue // it is below: modules() looked
		}
		patterns = append(patterns, "./"+filepath.ToSlash(below))
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule | packages.NeedForTest,
		Context: ctx, Dir: abs, Env: environment(g.dir), Tests: true, Fset: gotoken.NewFileSet(),
	}, patterns...)
	if err != nil {
		if ctx.Err() == nil {
			g.skip(dir, "the go command failed, only the fast rules ran: "+g.cleanError(err.Error()))
		}
		return
	}
	checks := goChecks(g.request.Purpose)
	facts := &facts{objects: map[objectFact]analysis.Fact{}, packages: map[packageFact]analysis.Fact{}}
	for _, p := range inOrder(loaded) {
		if ctx.Err() != nil {
			return
		}
		if why := g.faults(p); why != "" {
			g.skip(g.below(p), "it does not type-check, so only what needs no types was analysed: "+why)
		}
		pass := &goPass{goScan: g, ctx: ctx, p: p, facts: facts, results: map[*analysis.Analyzer]any{}, failed: map[*analysis.Analyzer]bool{}}
		for _, c := range checks {
			if ctx.Err() != nil {
				return
			}
			pass.check = &c
			pass.run(c.analyzer)
		}
		p.Syntax, p.TypesInfo = nil, nil // the memory of what is done
		for _, f := range once(pass.found) {
			g.report(f)
		}
		for _, broken := range pass.broken {
			g.skip(g.below(p), broken)
		}
	}
	if g.request.Purpose == Refactorings {
		g.modernize(ctx, dir, patterns)
	}
}

// inOrder returns packages with source, each after the packages that it imports. Of a
// package and the same with its tests only the latter is there.
func inOrder(loaded []*packages.Package) []*packages.Package {
	withTests := map[string]bool{}
	for _, p := range loaded {
		if p.ForTest != "" && p.PkgPath == p.ForTest {
			withTests[p.PkgPath] = true
		}
	}
	var list []*packages.Package
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if slices.Contains(loaded, p) && !strings.HasSuffix(p.ID, ".test") && len(p.Syntax) > 0 && (p.ForTest != "" || !withTests[p.PkgPath]) {
			list = append(list, p)
		}
	})
	return list
}

// below returns the folder of a package, below the workspace.
func (g *goScan) below(p *packages.Package) string {
	if len(p.GoFiles) > 0 {
		if name, ok := g.name(p.GoFiles[0]); ok {
			return path.Dir(name)
		}
	}
	return p.PkgPath
}

// name returns the path below the workspace of a file; ok is false for a file
// that is not wanted.
func (g *goScan) name(file string) (name string, ok bool) {
	below, err := filepath.Rel(g.dir, file)
	if err != nil {
		return "", false
	}
	name = filepath.ToSlash(below)
	return name, g.selected[name]
}

// faults returns the first fault of a package in a wanted file, in words;
// empty where there is none.
func (g *goScan) faults(p *packages.Package) string {
	if len(p.Errors) == 0 {
		return ""
	}
	for _, e := range p.Errors {
		file, place, _ := strings.Cut(e.Pos, ":")
		if name, ok := g.name(file); ok {
			return fmt.Sprintf("%s:%s: %s", name, place, g.cleanError(e.Msg))
		}
	}
	return g.cleanError(p.Errors[0].Msg)
}

// cleanError is the first line of what the go command said, without the paths
// of this machine.
func (g *goScan) cleanError(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	message = strings.ReplaceAll(message, g.dir+string(filepath.Separator), "")
	fields := strings.Fields(message)
	for i, f := range fields {
		if filepath.IsAbs(strings.Trim(f, `"'():,`)) {
			fields[i] = "…"
		}
	}
	return cut(strings.Join(fields, " "), 200)
}

// facts hold what analysers know of the packages of a batch.
type facts struct {
	objects  map[objectFact]analysis.Fact
	packages map[packageFact]analysis.Fact
}

type objectFact struct {
	of   types.Object
	kind reflect.Type
}

type packageFact struct {
	of   *types.Package
	kind reflect.Type
}

// goPass runs analysers over one package.
type goPass struct {
	*goScan
	ctx     context.Context
	p       *packages.Package
	facts   *facts
	results map[*analysis.Analyzer]any
	failed  map[*analysis.Analyzer]bool
	check   *goCheck // whose findings are reported at the moment
	found   []Finding
	broken  []string
}

// run runs an analyser, after the analysers that it needs, and reports whether its
// result is there.
func (g *goPass) run(a *analysis.Analyzer) bool {
	if _, done := g.results[a]; done || g.failed[a] {
		return done
	}
	g.failed[a] = true
	if (g.p.IllTyped || len(g.p.TypeErrors) > 0) && !a.RunDespiteErrors {
		return false
	}
	inputs := map[*analysis.Analyzer]any{}
	for _, needed := range a.Requires {
		if !g.run(needed) {
			return false
		}
		inputs[needed] = g.results[needed]
	}
	result, err := g.invoke(a, inputs)
	if err != nil {
		g.broken = append(g.broken, fmt.Sprintf("analyser %s broke down: %s", a.Name, g.cleanError(err.Error())))
		return false
	}
	delete(g.failed, a)
	g.results[a] = result
	return true
}

func (g *goPass) invoke(a *analysis.Analyzer, inputs map[*analysis.Analyzer]any) (result any, err error) {
	defer func() {
		if broke := recover(); broke != nil {
			err = fmt.Errorf("%v", broke)
		}
	}()
	module := &analysis.Module{}
	if m := g.p.Module; m != nil {
		*module = analysis.Module{Path: m.Path, Version: m.Version, GoVersion: m.GoVersion}
	}
	reporting := g.check != nil && g.check.analyzer == a
	return a.Run(&analysis.Pass{
		Analyzer: a, Fset: g.p.Fset, Files: g.p.Syntax, OtherFiles: g.p.OtherFiles, IgnoredFiles: g.p.IgnoredFiles,
		Pkg: g.p.Types, TypesInfo: g.p.TypesInfo, TypesSizes: g.p.TypesSizes, TypeErrors: g.p.TypeErrors, Module: module,
		ResultOf: inputs, ReadFile: os.ReadFile,
		Report: func(d analysis.Diagnostic) {
			if reporting {
				g.take(d)
			}
		},
		ImportObjectFact: g.importObjectFact,
		ExportObjectFact: func(o types.Object, f analysis.Fact) { g.facts.objects[objectFact{o, reflect.TypeOf(f)}] = f },
		ImportPackageFact: func(p *types.Package, f analysis.Fact) bool {
			return copyFact(g.facts.packages[packageFact{p, reflect.TypeOf(f)}], f)
		},
		ExportPackageFact: func(f analysis.Fact) { g.facts.packages[packageFact{g.p.Types, reflect.TypeOf(f)}] = f },
		AllObjectFacts: func() (list []analysis.ObjectFact) {
			for key, f := range g.facts.objects {
				if takes(a, key.kind) {
					list = append(list, analysis.ObjectFact{Object: key.of, Fact: f})
				}
			}
			return list
		},
		AllPackageFacts: func() (list []analysis.PackageFact) {
			for key, f := range g.facts.packages {
				if takes(a, key.kind) {
					list = append(list, analysis.PackageFact{Package: key.of, Fact: f})
				}
			}
			return list
		},
	})
}

func takes(a *analysis.Analyzer, kind reflect.Type) bool {
	return slices.ContainsFunc(a.FactTypes, func(f analysis.Fact) bool { return reflect.TypeOf(f) == kind })
}

func copyFact(from, to analysis.Fact) bool {
	if from == nil {
		return false
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
	return true
}

// endless are functions of the standard library that do not return. The
// analysers would learn that from their source, which is not loaded: a package
// that is only imported comes as export data.
var endless = map[string]bool{
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true, "log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true,
	"(*log.Logger).Panic": true, "(*log.Logger).Panicf": true, "(*log.Logger).Panicln": true,
	"(*testing.common).FailNow": true, "(*testing.common).Fatal": true, "(*testing.common).Fatalf": true,
	"(*testing.common).Skip": true, "(*testing.common).Skipf": true, "(*testing.common).SkipNow": true,
	"os.Exit": true, "syscall.Exit": true, "runtime.Goexit": true,
}

func (g *goPass) importObjectFact(o types.Object, f analysis.Fact) bool {
	if copyFact(g.facts.objects[objectFact{o, reflect.TypeOf(f)}], f) {
		return true
	}
	fn, ok := o.(*types.Func)
	return ok && reflect.TypeOf(f).String() == "*ctrlflow.noReturn" && endless[fn.FullName()]
}

// take makes a finding of a diagnostic. Generated files are left alone.
func (g *goPass) take(d analysis.Diagnostic) {
	at := g.p.Fset.PositionFor(d.Pos, false)
	name, isSelected := g.name(at.Filename)
	if !isSelected || at.Line < 1 || g.generated(d.Pos) {
		return
	}
	c := g.check
	message, _, _ := strings.Cut(d.Message, "\n")
	if c.silent != "" && strings.HasPrefix(message, c.silent) || c.source == "go" && strings.HasSuffix(name, "_test.go") {
		return // a test ends before what it leaves open counts
	}
	f := Finding{
		Rule: c.source + "/" + c.analyzer.Name, Kind: c.kind, Level: c.level, Confidence: c.confidence,
		File: name, Line: at.Line, Column: at.Column, Message: cut(message, 300), Advice: c.title,
	}
	if len(d.SuggestedFixes) > 0 {
		if edits, err := g.edits(name, d.SuggestedFixes[0]); err == nil {
			f.Edits = edits
			if f.Advice == "" {
				f.Advice = cut(d.SuggestedFixes[0].Message, 200)
			}
		}
	}
	g.found = append(g.found, f)
}

func (g *goPass) generated(at gotoken.Pos) bool {
	for _, file := range g.p.Syntax {
		if file.FileStart <= at && at <= file.FileEnd {
			return ast.IsGenerated(file)
		}
	}
	return false
}

// edits returns a fix as edits of one file.
func (g *goPass) edits(name string, fix analysis.SuggestedFix) ([]Edit, error) {
	var edits []Edit
	for _, e := range fix.TextEdits {
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		start, stop := g.p.Fset.PositionFor(e.Pos, false), g.p.Fset.PositionFor(end, false)
		if file, _ := g.name(start.Filename); file != name || stop.Filename != start.Filename {
			return nil, errors.New("the fix is in several files")
		}
		edits = append(edits, Edit{start.Offset, stop.Offset, string(e.NewText)})
	}
	content, ok := g.fileHolds(name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	if _, err := applyEdits(content, edits); err != nil {
		return nil, err
	}
	return edits, nil
}
