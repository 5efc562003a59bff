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
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/toolfold/toolfold/internal/system/outside"
)

// batchFiles bounds the Go files of a batch, because the memory of a load grows with them.
const batchFiles = 300

// goScan analyses Go packages of the workspace, in a scanner process.
type goScan struct {
	job
	emit      func(part)
	fileHolds func(name string) (string, bool)
}

func (g *goScan) report(f Finding)      { g.emit(part{Findings: []Finding{f}}) }
func (g *goScan) skip(name, why string) { g.emit(part{Skipped: []SkippedFile{{name, why}}}) }

// hinder reports a package that is not analysed, for a reason that others of its module may share.
func (g *goScan) hinder(name, why string) { g.emit(part{Hindered: []SkippedFile{{name, why}}}) }

// begin reports that a step begins; call ended when it is done.
func (g *goScan) begin(s step) (ended func()) {
	g.emit(part{Begun: &s})
	return func() { g.emit(part{Ended: s.Name}) }
}

// goPackages analyses the packages of the wanted files, in batches.
func (s Scanner) goPackages(ctx context.Context, dir string, c *collector) error {
	if !s.hasGo(ctx, dir) {
		c.skip(".", "Go is not installed: of Go files only the fast rules ran")
		return nil
	}
	modules, err := goModules(dir, c)
	if err != nil {
		return err
	}
	run := goRun{Scanner: s, c: c, left: map[string]string{}, gone: map[string]bool{}, retried: map[string]bool{}}
	for _, module := range modules {
		run.hindered = map[string]map[string]bool{}
		for len(module.folders) > 0 {
			n, files := 0, 0
			for n < len(module.folders) && (n == 0 || files+module.folders[n].Files <= batchFiles) {
				files += module.folders[n].Files
				n++
			}
			batch := job{Dir: dir, Request: c.request, GoWork: s.goWork, Module: module.dir, Folders: module.folders[:n], Targets: c.goFiles}
			module.folders = module.folders[n:]
			done := c.repeat("loading and analysing Go packages")
			err := run.batch(ctx, batch)
			done()
			if err != nil {
				return err
			}
			c.advance(files, "analysing Go packages")
		}
		run.skipHindered()
	}
	return nil
}

// hasGo reports whether a go command is installed; for an untrusted workspace, outside of it.
func (s Scanner) hasGo(ctx context.Context, dir string) bool {
	if s.distrusts(ctx) != "" {
		return outside.Program(dir, "go") != ""
	}
	_, err := exec.LookPath("go")
	return err == nil
}

// goRun is the analysis of the Go packages in one scan.
type goRun struct {
	Scanner
	c        *collector
	left     map[string]string // see job
	gone     map[string]bool   // see job
	retried  map[string]bool   // steps of a whole batch that were tried twice
	suspects int
	hindered map[string]map[string]bool // packages of the module, by the reason why they were not analysed
}

// hinder records why a package was not analysed.
func (r *goRun) hinder(name, why string) {
	if r.hindered[why] == nil {
		r.hindered[why] = map[string]bool{}
	}
	r.hindered[why][name] = true
}

// skipHindered reports each reason once, with the first package and the number of the other ones. A
// reason of the modernizers is left out if it kept the other analysers from running, too.
func (r *goRun) skipHindered() {
	for why, packages := range r.hindered {
		if means, ok := strings.CutPrefix(why, notModern); ok && (r.hindered[noTypes+means] != nil || r.hindered[noPackage+means] != nil) {
			continue
		}
		first := slices.Min(slices.Collect(maps.Keys(packages)))
		switch n := len(packages) - 1; n {
		case 0:
		case 1:
			why += " (and 1 more package)"
		default:
			why += fmt.Sprintf(" (and %d more packages)", n)
		}
		r.c.skip(first, why)
	}
}

// batch analyses the packages of some folders of a module. A step that ends its process is left
// out, and the rest continues in another process.
func (r *goRun) batch(ctx context.Context, j job) error {
	for {
		end := r.attempt(ctx, j)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if end.err == nil {
			break
		}
		if !r.suspect(ctx, j, end) {
			r.giveUp(j, "analysing its Go packages was given up, only the fast rules ran for sure", end.err)
			return ctx.Err()
		}
	}
	if !j.Request.wantsModern() {
		return nil
	}
	j.Modernize = true
	end := r.attempt(ctx, j)
	if end.late != nil { // the go command caches compiled packages, so a second run has less to do
		end = r.attempt(ctx, j)
	}
	switch {
	case end.late != nil:
		r.giveUp(j, "modernize did not look at it", fmt.Errorf("compiling its imports was cut, as %w: %s", end.err, compileOnce))
	case end.err != nil:
		r.giveUp(j, "modernize did not look at it", end.err)
	}
	return ctx.Err()
}

// attempt works on a batch in a scanner process.
func (r *goRun) attempt(ctx context.Context, j job) ending {
	j.SkippedSteps, j.SkippedFolders = r.left, r.gone
	return r.runScanner(ctx, j, func(p part) {
		if p.Ended != "" {
			r.left[p.Ended] = ""
		}
		for _, s := range p.Hindered {
			r.hinder(s.Path, s.Reason)
		}
		r.c.merge(p)
	})
}

func (r *goRun) giveUp(j job, what string, err error) {
	for _, folder := range j.Folders {
		r.hinder(folder.Name, fmt.Sprintf("%s: %v", what, err))
	}
}

// suspect gives up the step that ended a process, if it took too long or also fails alone. It
// returns false if the batch cannot continue.
func (r *goRun) suspect(ctx context.Context, j job, end ending) bool {
	if r.suspects++; len(end.begun) != 1 || r.suspects > maxSuspects {
		return false
	}
	at := end.begun[0]
	if at.Place == "" {
		again := at.Time > goTime && !r.retried[at.Name] // the go command caches compiled packages, so a second run has less to do
		r.retried[at.Name] = true
		return again
	}
	if end.late == nil { // other steps used some of the memory
		j.Only = at.Name
		if end = r.attempt(ctx, j); end.err == nil {
			return true
		}
		if len(end.begun) != 1 || end.begun[0].Place == "" || ctx.Err() != nil {
			return false
		}
		at = end.begun[0]
	}
	r.left[at.Name], r.gone[at.Place] = end.err.Error(), true
	r.c.skip(at.Place, fmt.Sprintf("%s: %v, only the fast rules ran", at.Name, end.err))
	return true
}

// module is a Go module with the folders to analyse.
type module struct {
	dir     string // below the workspace
	folders []goFolder
}

type goFolder struct {
	Name  string // below the workspace
	Files int
}

// goModules groups the folders of the Go files by module.
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

// below returns the folder of a package below the workspace, or its import path if it is elsewhere.
func (g *goScan) below(p *packages.Package) string {
	if len(p.GoFiles) > 0 {
		if name, _ := g.name(p.GoFiles[0]); filepath.IsLocal(filepath.FromSlash(name)) {
			return path.Dir(name)
		}
	}
	return p.PkgPath
}

// name returns the path of a file below the workspace; ok reports whether the file is wanted.
func (g *goScan) name(file string) (name string, ok bool) {
	below, err := filepath.Rel(g.Dir, file)
	if err != nil {
		return "", false
	}
	name = filepath.ToSlash(below)
	return name, g.Targets[name]
}

// cleanError returns the first line of a message of the go command, without paths of this machine.
func (g *goScan) cleanError(message string) string {
	message, _, _ = strings.Cut(withoutDownloads(message), "\n")
	message = strings.ReplaceAll(message, g.Dir+string(filepath.Separator), "")
	fields := strings.Fields(message)
	for i, f := range fields {
		if filepath.IsAbs(strings.Trim(f, `"'():,`)) {
			fields[i] = "…"
		}
	}
	return cut(strings.Join(fields, " "), 200)
}

// withoutDownloads removes lines about downloads from a message of a Go program, because they do
// not explain the failure.
func withoutDownloads(message string) string {
	text := strings.TrimSpace(message)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, "go: downloading ") })
	if len(lines) == 0 {
		return text
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// facts holds the facts that analysers exported about the packages of a batch.
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
	*goProgram
	ctx      context.Context
	p        *packages.Package
	results  map[*analysis.Analyzer]any
	failed   map[*analysis.Analyzer]bool
	check    *goCheck // the check whose findings are reported at the moment
	findings []Finding
	broken   []string
}

// run runs an analyser after its requirements, and reports whether its result is available.
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

// endless lists functions of the standard library that do not return. Analysers would find that in
// their source, which is not loaded.
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

// take converts a diagnostic to a Finding. It ignores generated files.
func (g *goPass) take(d analysis.Diagnostic) {
	at := g.p.Fset.PositionFor(d.Pos, false)
	name, isSelected := g.name(at.Filename)
	if !isSelected || at.Line < 1 || g.generated(d.Pos) {
		return
	}
	c := g.check
	message, _, _ := strings.Cut(d.Message, "\n")
	if c.silent != "" && strings.HasPrefix(message, c.silent) || c.source == "go" && strings.HasSuffix(name, "_test.go") {
		return // tests end before leaks matter
	}
	f := Finding{
		Rule: c.source + "/" + c.analyzer.Name, Kind: c.kind, Level: c.level, Confidence: c.confidence,
		File: name, Line: at.Line, Column: at.Column, Message: cut(message, 300), Advice: c.title,
	}
	inTest := c.level == "medium" && strings.HasSuffix(name, "_test.go")
	if isLow(f.Rule, message) || inTest || c.brief && g.endsSoon() {
		f.Level = "low"
	}
	if len(d.SuggestedFixes) > 0 && !slices.Contains(unsafeFixes, c.analyzer.Name) {
		if edits, err := g.edits(name, d.SuggestedFixes[0]); err == nil {
			f.Edits = edits
			if f.Advice == "" {
				f.Advice = cut(d.SuggestedFixes[0].Message, 200)
			}
		}
	}
	g.findings = append(g.findings, f)
}

// endsSoon reports whether leaks of the package are mostly harmless: a program ends and closes
// everything, and answers of httptest have no connection.
func (g *goPass) endsSoon() bool {
	return g.p.Types.Name() == "main" ||
		slices.ContainsFunc(g.p.Types.Imports(), func(p *types.Package) bool { return p.Path() == "net/http/httptest" })
}

func (g *goPass) generated(at gotoken.Pos) bool {
	for _, file := range g.p.Syntax {
		if file.FileStart <= at && at <= file.FileEnd {
			return ast.IsGenerated(file)
		}
	}
	return false
}

// edits converts a fix to edits. It is an error if the fix changes other files.
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
