package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"github.com/toolfold/toolfold/internal/system/child"
)

// fixerSince is the first Go version whose fix command has the modernizers.
const fixerSince = "go1.26"

// fixers are the options of the user's go fix, whose modernizers run. Linking them here would slow
// down every start of the server. The options switch off fixers that other analysers replace, and
// fmtappendf, which makes code less clear.
var fixers = []string{"-buildtag=false", "-hostport=false", "-inline=false", "-fmtappendf=false"}

// fixerNames maps names of go fix to the names of rules that differ.
var fixerNames = map[string]string{"waitgroup": "waitgroupgo"}

// compileOnce is the advice for packages that take long to compile: this command compiles them in
// the form that go fix needs.
const compileOnce = "run go vet ./... with CGO_ENABLED=0 once, then scan again"

// diagnostic is a finding of go fix -json.
type diagnostic struct {
	Posn           string // file:line:column
	Message        string
	SuggestedFixes []struct {
		Message string
		Edits   []struct {
			Filename   string
			Start, End int // bytes
			New        string
		}
	} `json:"suggested_fixes"`
}

// wantsModern reports whether a request includes findings of the modernizers.
func (r Request) wantsModern() bool {
	return r.Purpose == Refactorings &&
		(len(r.Kinds) == 0 || slices.Contains(r.Kinds, "modernize-syntax") || slices.Contains(r.Kinds, "improve-types"))
}

// modernize runs the modernizers of the user's Go and reports code that newer Go can shorten. It
// changes no files. Compilers of imported packages, and the analysers, have the limits of a package.
func (g *goScan) modernize(ctx context.Context) error {
	if err := child.LimitCPU(goTime); err != nil {
		return fmt.Errorf("limiting time: %w", err)
	}
	defer g.begin(step{Name: "modernizing", Time: apartTime})()
	goVersion, err := g.goCommand(ctx, "env", "GOVERSION")
	if have := strings.TrimSpace(string(goVersion)); err == nil && version.Compare(version.Lang(have), fixerSince) < 0 {
		g.skip(g.Module, fmt.Sprintf("modernize did not run: it needs %s or later, this is %s", fixerSince, have))
		return nil
	}
	var patterns []string
	var out []byte
	if err == nil {
		patterns, err = g.modern(ctx)
	}
	if err == nil && len(patterns) > 0 {
		out, err = g.goCommand(ctx, slices.Concat([]string{"fix", "-json"}, fixers, patterns)...)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var byPackage map[string]map[string]json.RawMessage
		if err = decoder.Decode(&byPackage); err == nil {
			g.takeFixes(byPackage)
		}
	}
	if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		why := cmp.Or(meaning(err.Error()), g.cleanError(err.Error()))
		if strings.Contains(err.Error(), "signal: ") {
			why = fmt.Sprintf("compiling their imports was cut after %v of processor time: %s", goTime, compileOnce)
		}
		g.hinder(g.Module, notModern+why)
	}
	return nil
}

// modern returns the patterns of the folders to modernize. It leaves out folders that depend on a
// package whose analysis was given up.
func (g *goScan) modern(ctx context.Context) ([]string, error) {
	if len(g.SkippedFolders) == 0 {
		return g.patterns(), nil
	}
	p := &goProgram{goScan: g}
	if _, err := p.list(ctx); err != nil {
		return nil, err
	}
	without := map[string]bool{}
	for _, root := range p.roots {
		packages.Visit([]*packages.Package{root}, nil, func(l *packages.Package) {
			if g.SkippedFolders[g.below(l)] {
				without[g.below(root)] = true
			}
		})
	}
	g.Folders = slices.DeleteFunc(g.Folders, func(f goFolder) bool { return without[f.Name] })
	return g.patterns(), nil
}

// goCommand runs the go command in the module's folder and returns its standard output. A package
// that does not compile is not an error, because it is reported anyway. A package that exceeds a
// compiler's limits is skipped.
func (g *goScan) goCommand(ctx context.Context, arguments ...string) ([]byte, error) {
	out, errs := &child.BoundedBuffer{Limit: maxGoOutput}, &child.BoundedBuffer{Limit: maxGoOutput}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env, command.Stdout, command.Stderr = g.folder(), environment(g.Dir, g.GoWork), out, errs
	err := command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if err = fmt.Errorf("%s", errs.String()); strings.HasPrefix(errs.String(), "# ") {
			err = nil // the message names packages and their faults
		}
	}
	for about := range strings.SplitSeq("\n"+errs.String(), "\n# ") {
		name, message, _ := strings.Cut(about, "\n")
		why := brokeDown
		switch {
		case name == "": // err has this part
			continue
		case strings.Contains(message, "out of memory"):
			why = tooMuchMemory
		case strings.Contains(message, "SIGXCPU"), strings.Contains(message, "signal: "):
			why = fmt.Sprintf("compiling it was cut after %v of processor time: %s", goTime, compileOnce)
		case !strings.Contains(message, "\ngoroutine "):
			continue
		}
		g.skip(name, "modernize looked neither at it nor at packages that import it: "+why)
	}
	return out.Bytes(), err
}

// takeFixes reports the findings by package and analyser. An analyser that crashed has an object
// with its error instead of a list.
func (g *goScan) takeFixes(byPackage map[string]map[string]json.RawMessage) {
	for _, byAnalyser := range byPackage {
		for name, raw := range byAnalyser {
			var found []diagnostic
			if json.Unmarshal(raw, &found) != nil {
				continue
			}
			if own := fixerNames[name]; own != "" {
				name = own
			}
			if name == "plusbuild" && !g.readsBuildLines() {
				continue
			}
			kind := "modernize-syntax"
			if name == "any" {
				kind = "improve-types"
			}
			for _, d := range found {
				if f, ok := g.fixFinding(d); ok {
					f.Rule, f.Kind, f.Level, f.Confidence = "modernize/"+name, kind, "trivial", 0.9
					g.report(f)
				}
			}
		}
	}
}

// buildLinesSince is the first Go version that reads //go:build. Earlier ones read // +build, which
// plusbuild removes from files with constraints regardless of go.mod.
const buildLinesSince = "go1.17"

// readsBuildLines reports whether every Go version that the module supports reads //go:build.
func (g *goScan) readsBuildLines() bool {
	content, ok := g.fileHolds(path.Join(g.Module, "go.mod"))
	if !ok {
		return false
	}
	module, err := modfile.ParseLax("go.mod", []byte(content), nil)
	return err == nil && module.Go != nil && version.Compare("go"+module.Go.Version, buildLinesSince) >= 0
}

// fixFinding converts a diagnostic in a wanted file to a Finding. It ignores generated files.
func (g *goScan) fixFinding(d diagnostic) (Finding, bool) {
	file, column, _ := cutLast(d.Posn)
	file, line, ok := cutLast(file)
	name, isSelected := g.name(file)
	content, readable := g.fileHolds(name)
	if !ok || !isSelected || !readable || isGenerated(content) {
		return Finding{}, false
	}
	message, _, _ := strings.Cut(d.Message, "\n")
	f := Finding{File: name, Line: line, Column: column, Message: cut(message, 300)}
	if len(d.SuggestedFixes) == 0 {
		return f, true
	}
	var edits []Edit
	for _, e := range d.SuggestedFixes[0].Edits {
		if other, _ := g.name(e.Filename); other != name {
			return f, true // the fix changes several files
		}
		edits = append(edits, Edit{e.Start, e.End, e.New})
	}
	if _, err := applyEdits(content, edits); err == nil {
		f.Edits, f.Advice = edits, cut(d.SuggestedFixes[0].Message, 200)
	}
	return f, true
}

// cutLast splits a place at its last colon, and returns the number after it.
func cutLast(place string) (rest string, n int, ok bool) {
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 {
		return place, 0, false
	}
	n, err := strconv.Atoi(place[colon+1:])
	return place[:colon], n, err == nil
}

// maxGoOutput bounds the output of the go command, in bytes.
const maxGoOutput = 32 << 20
