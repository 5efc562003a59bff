package scan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Scan scans the workspace. It reports files that it cannot scan, instead of returning an error. It
// returns soon after the context ends.
func (s Scanner) Scan(ctx context.Context, r Request) (*Report, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	changed, err := s.changed(ctx, r.Since)
	if err != nil {
		return nil, err
	}
	w, err := s.walk(ctx, root, r, changed)
	if err != nil {
		return nil, err
	}
	c := newCollector(r, w, changed)
	goFiles := 0
	for _, name := range w.files {
		if l, _ := languageOf(name); l == golang {
			goFiles++
		}
	}
	c.total = len(w.files)
	if !r.Fast {
		c.total += goFiles
	}
	dir, err := s.place()
	if err != nil {
		return nil, err
	}
	if err := s.fastRules(ctx, dir, w.files, c); err != nil {
		return nil, err
	}
	var clean func()
	if s.goWork, clean, err = goWork(root, dir); err != nil {
		c.skip("go.work", "its modules were read one by one: "+err.Error())
	}
	defer clean()
	analysers := []string{"toolfold"}
	if !r.Fast && len(c.goFiles) > 0 {
		if err := s.goPackages(ctx, dir, c); err != nil {
			return nil, err
		}
		analysers = append(analysers, map[Purpose][]string{Bugs: {"go vet", "staticcheck", "sqlclosecheck"},
			Refactorings: {"modernize", "staticcheck"}}[r.Purpose]...)
	}
	var tools toolRuns
	if !r.Fast {
		if tools, err = s.runTools(ctx, root, dir, w, c); err != nil {
			return nil, err
		}
		analysers = append(analysers, tools.ran...)
	}
	report := c.finish(root)
	report.Files, report.Analysers, report.Missing = len(w.files)-c.unread+tools.more, analysers, tools.missing
	if len(report.Findings) == 0 {
		report.LookedFor = w.lookedFor(r, analysers, tools.more)
	}
	if report.Truncated == "" {
		report.Truncated = w.truncated
	}
	return report, ctx.Err()
}

// place returns the absolute path of the workspace, links resolved.
func (s Scanner) place() (string, error) {
	dir, err := filepath.Abs(s.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("finding workspace: %w", err)
	}
	return dir, nil
}

// NoChanges is the code for a scan of changes that git cannot determine.
const NoChanges = "NO_CHANGES"

// changed returns the files that changed since a reference, or nil if since is empty.
func (s Scanner) changed(ctx context.Context, since string) (map[string]git.Change, error) {
	if since == "" {
		return nil, nil
	}
	if since == git.Staged {
		return nil, toolfold.Errorf(NoChanges, "staged changes cannot be scanned: a scan reads the files themselves").
			WithHint("pass since: uncommitted; guard.check judges staged changes")
	}
	list, err := git.Since(ctx, s.Dir, since)
	var none *git.NoChanges
	if errors.As(err, &none) {
		return nil, toolfold.Errorf(NoChanges, "the changes cannot be found: %s; nothing was scanned", none.Reason).WithHint("%s", none.Hint)
	}
	if err != nil {
		return nil, err
	}
	changed := map[string]git.Change{}
	for _, c := range list {
		changed[c.Path] = c
	}
	return changed, nil
}

func read(root *os.Root, name string) (string, error) {
	content, err := safefile.Read(root, filepath.FromSlash(name), maxFile)
	return string(content), err
}

// collector collects the results of a scan's analysers. It is safe for concurrent use.
type collector struct {
	request Request

	mu         sync.Mutex
	requested  map[string]bool              // paths in the request
	vendored   int                          // vendored and generated files that the request did not name
	byFile     map[string]map[int][]Finding // by line
	read       map[string]readFile          // the files as first read
	changed    map[string]git.Change        // the lines to report on; nil = all
	older      int
	suppressed int
	count      int
	light      int // findings below the requested level
	full       bool
	texts      map[string]string // why a file was skipped, by path
	skipped    []SkippedFile
	unnamed    int
	unread     int
	imports    int             // of all files
	goFiles    map[string]bool // the ones that parse
	total      int
	done       int
}

// newCollector returns a collector with the files that the walk skipped.
func newCollector(r Request, w *walker, changed map[string]git.Change) *collector {
	c := &collector{request: r, texts: map[string]string{}, goFiles: map[string]bool{}, byFile: map[string]map[int][]Finding{},
		read: map[string]readFile{}, changed: changed, requested: w.requested, vendored: w.vendored}
	for _, skipped := range w.skipped {
		c.skip(skipped.Path, skipped.Reason)
	}
	return c
}

func (c *collector) take(f Finding) {
	if c.request.Purpose == Bugs && isOwn(f.Rule) && f.Kind != "logic-error" && isApart(f.File) {
		f.Level = c.atMost("low", f.Level)
	}
	if !c.request.wants(f) {
		return
	}
	if isTestData(f.File) {
		f.Edits = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	meetsLevel := c.request.meetsLevel(f)
	if meetsLevel && c.count >= MaxFindings || !meetsLevel && c.light >= MaxFindings {
		c.full = c.full || meetsLevel
		return
	}
	// Several analysers may report the same fault, and a package and its tests are analysed
	// separately.
	if slices.ContainsFunc(c.byFile[f.File][f.Line], func(have Finding) bool {
		return have.Column == f.Column && have.Rule == f.Rule && have.Message == f.Message
	}) {
		return
	}
	if meetsLevel {
		c.count++
	} else {
		c.light++
	}
	if c.byFile[f.File] == nil {
		c.byFile[f.File] = map[int][]Finding{}
	}
	c.byFile[f.File][f.Line] = append(c.byFile[f.File][f.Line], f)
}

func (c *collector) skip(name, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts[name] == why {
		return
	}
	c.texts[name] = why
	if len(c.skipped) == maxSkipped {
		c.unnamed++
		return
	}
	c.skipped = append(c.skipped, SkippedFile{Path: cut(name, maxSnippet), Reason: why})
}

// advance reports progress.
func (c *collector) advance(files int, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += files
	if c.request.Progress != nil {
		c.request.Progress(min(c.done, c.total), c.total, message)
	}
}

// progressEvery is the number of files between two progress reports.
const progressEvery = 50

// repeatEvery is the interval of progress reports during long work without a count.
const repeatEvery = 5 * time.Second

// repeat reports progress now, and periodically until done is called.
func (c *collector) repeat(message string) (done func()) {
	c.advance(0, message)
	ticker, ended := time.NewTicker(repeatEvery), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ticker.C:
				c.advance(0, message)
			case <-ended:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(ended)
		wg.Wait()
	}
}

// maxSuspects bounds the files of a scan that are retried alone after their process failed.
const maxSuspects = 20

// fastRules runs the fast rules over files, in batches.
func (s Scanner) fastRules(ctx context.Context, dir string, names []string, c *collector) error {
	suspects := 0
	for batch := range slices.Chunk(names, apartFiles) {
		for len(batch) > 0 {
			end := s.fastBatch(ctx, dir, batch, c)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			left := slices.DeleteFunc(slices.Clone(batch), func(name string) bool { _, done := c.read[name]; return done })
			if len(left) == len(batch) && len(end.begun) == 0 {
				c.giveUp(left, end.err)
				break
			}
			for _, suspect := range end.begun { // one of them ended the process
				name, alone := suspect.Name, end
				left = slices.DeleteFunc(left, func(other string) bool { return other == name })
				if suspects++; suspects <= maxSuspects && (end.late == nil || end.late.Name != name) {
					alone = s.fastBatch(ctx, dir, []string{name}, c)
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if _, done := c.read[name]; !done {
					c.giveUp([]string{name}, alone.err)
				}
			}
			batch = left
		}
	}
	return nil
}

// fastBatch runs the fast rules over files in one process, and returns how the process ended.
func (s Scanner) fastBatch(ctx context.Context, dir string, batch []string, c *collector) ending {
	reported := 0
	end := s.runScanner(ctx, job{Dir: dir, Request: c.request, Files: batch}, func(p part) {
		c.merge(p)
		if p.Read == nil {
			return
		}
		if reported++; reported%progressEvery == 0 {
			c.advance(progressEvery, "scanning files")
		}
	})
	c.advance(reported%progressEvery, "scanning files")
	return end
}

// giveUp reports files that could not be scanned.
func (c *collector) giveUp(names []string, err error) {
	for _, name := range names {
		c.skip(name, fmt.Sprintf("its scan was given up: %v", err))
		c.unread++
	}
	c.advance(len(names), "scanning files")
}

// merge adds the findings of a scanner process.
func (c *collector) merge(p part) {
	for _, f := range p.Findings {
		c.take(f)
	}
	if p.Read != nil && p.Read.Theirs && !c.requested[p.Read.Name] {
		c.vendored++
		p.Read.Unread = true
		p.Skipped = nil
	}
	for _, s := range p.Skipped {
		c.skip(s.Path, s.Reason)
	}
	if p.Read == nil {
		return
	}
	if c.imports += len(p.Read.Imports); c.imports > maxAllImports {
		c.skip(p.Read.Name, "its imports were not read: the files before it have too many")
		p.Read.Imports = nil
	}
	c.read[p.Read.Name] = *p.Read
	if p.Read.Go {
		c.goFiles[p.Read.Name] = true
	}
	if p.Read.Unread {
		c.unread++
	}
}

// fastRules runs the fast rules over files concurrently.
func fastRules(root *os.Root, names []string, purpose Purpose, emit func(part)) {
	next, parts := make(chan string), make(chan part)
	in := &projects{root: root, python2: map[string]bool{}}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for name := range next {
				parts <- part{Begun: &step{name, name, fileTime}}
				p := fastRulesOf(in, name, purpose)
				p.Ended = name
				parts <- p
			}
		})
	}
	go func() {
		for _, name := range names {
			next <- name
		}
		close(next)
		wg.Wait()
		close(parts)
	}()
	for p := range parts {
		emit(p)
	}
}

// fastRulesOf runs the fast rules over a file.
func fastRulesOf(in *projects, name string, purpose Purpose) part {
	if purpose == importing {
		return importsOf(in.root, name)
	}
	p := part{Read: &readFile{Name: name}}
	skip := func(why string) { p.Skipped = append(p.Skipped, SkippedFile{name, why}) }
	content, why := readSource(in.root, name)
	if why != "" {
		p.Read.Theirs = why == minified
		skip(why)
		p.Read.Unread = true
		return p
	}
	p.Read.Sum = sha256.Sum256([]byte(content))
	source := newSource(name, content)
	if source.lang == golang {
		source.fault = goFault(name, content)
		p.Read.Go = true
	}
	source.python2 = source.lang == python && in.isForPython2(path.Dir(name))
	if source.fault != "" {
		skip("it does not parse, so only its tokens were looked at: " + source.fault)
	}
	p.Read.Theirs = source.isWritten()
	p.Read.Quiet, p.Read.Spans = source.suppressions(), source.spans()
	p.Findings = fast(source, purpose)
	return p
}

// readSource returns the text of a file, or why it is not scanned.
func readSource(root *os.Root, name string) (content, why string) {
	content, err := read(root, name)
	if err != nil {
		return "", reason(err)
	}
	return content, unusable(content)
}

// isGenerated reports whether a Go file has the header of generated code.
func isGenerated(content string) bool {
	head, _, _ := strings.Cut(content, "\npackage ")
	return strings.Contains(head, "// Code generated ") && strings.Contains(head, " DO NOT EDIT.")
}

// goFault returns why a Go file does not parse, or "".
func goFault(name, content string) string {
	_, err := parser.ParseFile(gotoken.NewFileSet(), name, content, parser.SkipObjectResolution)
	if err == nil {
		return ""
	}
	if list, ok := err.(scanner.ErrorList); ok && len(list) > 0 {
		return fmt.Sprintf("line %d: %s", list[0].Pos.Line, cut(list[0].Msg, 200))
	}
	return cut(err.Error(), 200)
}

// reportable returns the findings of a file that are on lines to report and not suppressed by a
// comment. It counts the others.
func (c *collector) reportable(name string, findings []Finding) []Finding {
	change, changed := c.changed[name]
	return slices.DeleteFunc(findings, func(f Finding) bool {
		switch {
		case slices.ContainsFunc(c.read[name].Quiet, func(q suppression) bool { return q.suppresses(f) }):
			c.suppressed++
		case changed && !change.Has(f.Line):
			c.older++
		default:
			return false
		}
		return true
	})
}

// maxPlaces bounds in how many functions of a project a rule counts as a fault. If there are more,
// it is a custom of the project: for example, its own library may read the options in its tags.
const maxPlaces = 20

// lowerCustoms gives findings of own rules severity low if the rule holds in more than maxPlaces
// functions. It reports these rules as skipped if the request leaves out low findings. It does not
// lower security findings, or findings in a scan of changes.
func (c *collector) lowerCustoms(findings []Finding) {
	if c.request.Purpose != Bugs || c.changed != nil {
		return
	}
	places := map[string]int{}
	for _, f := range findings {
		if isOwn(f.Rule) && f.Kind != "security" && c.atMost("low", f.Level) != f.Level {
			places[f.Rule]++
		}
	}
	for i, f := range findings {
		if places[f.Rule] > maxPlaces {
			findings[i].Level = c.atMost("low", f.Level)
		}
	}
	for rule, n := range places {
		if n > maxPlaces && !c.request.meetsLevel(Finding{Rule: rule, Level: "low"}) {
			c.skip(".", fmt.Sprintf("%s counts as low, as a custom of the project: it holds in %d functions; minSeverity low names them", rule, n))
		}
	}
}

// finish sets ids, sorts the findings and returns the report. It drops the findings of files that
// changed during the scan.
func (c *collector) finish(root *os.Root) *Report {
	report := &Report{}
	var all []Finding
	for name, byLine := range c.byFile {
		if c.read[name].Theirs && !c.requested[name] {
			continue
		}
		content, err := read(root, name)
		if err != nil || sha256.Sum256([]byte(content)) != c.read[name].Sum {
			c.skip(name, "it changed during the scan: scan it again")
			continue
		}
		var findings []Finding
		for _, line := range slices.Sorted(maps.Keys(byLine)) {
			findings = append(findings, c.reportable(name, byLine[line])...)
		}
		finish(c.request.Purpose, content, findings)
		spans := c.read[name].Spans
		if !Knows(name) {
			spans = []span{{1, math.MaxInt}} // a script or a workflow, for which only its tool knows functions
		}
		all = append(all, together(findings, spans)...)
	}
	c.lowerCustoms(all)
	for _, f := range all {
		if c.request.meetsLevel(f) {
			report.Findings = append(report.Findings, f)
		} else {
			report.Weaker++
		}
	}
	rank(c.request.Purpose, report.Findings)
	slices.SortFunc(c.skipped, func(a, b SkippedFile) int { return strings.Compare(a.Path, b.Path) })
	report.Skipped, report.Unnamed = c.skipped, c.unnamed
	report.Older, report.Suppressed, report.Vendored = c.older, c.suppressed, c.vendored
	if c.full {
		report.Truncated = fmt.Sprintf("only %d findings are kept: scan fewer files, or ask for less", MaxFindings)
	}
	return report
}
