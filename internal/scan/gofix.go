package scan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// fixerSince is the first Go whose fix command has the modernizers.
const fixerSince = "go1.26"

// fixers are the modernizers of the user's Go, which has them linked: here they
// would cost every start of the server. Left out are those of go fix that other
// analysers stand for, and fmtappendf, which makes code less clear.
var fixers = []string{"-buildtag=false", "-hostport=false", "-inline=false", "-fmtappendf=false"}

// fixerNames are the rules that are called otherwise than by go fix.
var fixerNames = map[string]string{"waitgroup": "waitgroupgo"}

// diagnostic is a finding of go fix -json at one place.
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

// modernize asks the user's Go what a later Go made shorter. It changes nothing.
func (g *goScan) modernize(ctx context.Context, module string, patterns []string) {
	if kinds := g.request.Kinds; len(kinds) > 0 && !slices.Contains(kinds, "modernize-syntax") && !slices.Contains(kinds, "improve-types") {
		return
	}
	dir := filepath.Join(g.dir, filepath.FromSlash(module))
	out, err := g.goCommand(ctx, dir, "env", "GOVERSION")
	if have := strings.TrimSpace(string(out)); err == nil && version.Compare(version.Lang(have), fixerSince) < 0 {
		g.skip(module, fmt.Sprintf("modernize did not run: it needs %s or later, this is %s", fixerSince, have))
		return
	}
	if err == nil {
		out, err = g.goCommand(ctx, dir, slices.Concat([]string{"fix", "-json"}, fixers, patterns)...)
	}
	var byPackage map[string]map[string]json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		byPackage = nil
		if err = decoder.Decode(&byPackage); err == nil {
			g.takeFixes(byPackage)
		}
	}
	if !errors.Is(err, io.EOF) && ctx.Err() == nil {
		g.skip(module, "modernize did not look at all packages: "+g.cleanError(err.Error()))
	}
}

// goCommand runs the go command in a folder and returns its standard output. A
// package that does not compile is no error: it is reported anyway.
func (g *goScan) goCommand(ctx context.Context, dir string, arguments ...string) ([]byte, error) {
	var out, errs bounded
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env, command.Stdout, command.Stderr = dir, environment(g.dir), &out, &errs
	err := command.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if err = fmt.Errorf("%s", errs.String()); strings.HasPrefix(errs.String(), "# ") {
			err = nil // it names packages and what is wrong with them
		}
	}
	return out.Bytes(), err
}

// takeFixes reports what was found in packages, by analyser. An analyser that
// broke down has an object with its error instead of a list.
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

// fixFinding makes a finding of a diagnostic in a wanted file. Generated files are
// left alone.
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
			return f, true // the fix is in several files
		}
		edits = append(edits, Edit{e.Start, e.End, e.New})
	}
	if _, err := applyEdits(content, edits); err == nil {
		f.Edits, f.Advice = edits, cut(d.SuggestedFixes[0].Message, 200)
	}
	return f, true
}

// cutLast cuts the number behind the last colon off a place.
func cutLast(place string) (rest string, n int, ok bool) {
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 {
		return place, 0, false
	}
	n, err := strconv.Atoi(place[colon+1:])
	return place[:colon], n, err == nil
}
