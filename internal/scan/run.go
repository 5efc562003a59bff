package scan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"go/parser"
	"go/scanner"
	gotoken "go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold/internal/safefile"
)

// Scan looks for what is asked for. What cannot be looked at is reported, not
// an error. It ends soon after the context does.
func (s Scanner) Scan(ctx context.Context, r Request) (*Report, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	w, err := s.walk(ctx, root, r)
	if err != nil {
		return nil, err
	}
	c := &collector{request: r, texts: map[string]string{}, byFile: map[string][]Finding{}, sums: map[string][sha256.Size]byte{}}
	for _, skipped := range w.skipped {
		c.skip(skipped.Path, skipped.Reason)
	}
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
	if err := c.fastRules(ctx, root, w.files); err != nil {
		return nil, err
	}
	analysers := []string{"toolfold"}
	if !r.Fast && len(c.goFiles) > 0 {
		dir, err := filepath.Abs(s.Dir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("finding workspace: %w", err)
		}
		g := &goScan{dir: dir, request: r, wanted: c.goFiles, report: c.take, skip: c.skip,
			advance:   func(n int) { c.advance(n, "analysing Go packages") },
			fileHolds: func(name string) (string, bool) { text, err := read(root, name); return text, err == nil }}
		if err := g.run(ctx); err != nil {
			return nil, err
		}
		analysers = append(analysers, map[Purpose][]string{Bugs: {"go vet", "staticcheck"}, Refactorings: {"modernize", "staticcheck"}}[r.Purpose]...)
	}
	if !r.Fast {
		ran, err := s.external(ctx, root, w.files, c)
		if err != nil {
			return nil, err
		}
		analysers = append(analysers, ran...)
	}
	report := c.finish(root)
	report.Files, report.Analysers = len(w.files)-c.unread, analysers
	if report.Truncated == "" {
		report.Truncated = w.truncated
	}
	return report, ctx.Err()
}

func read(root *os.Root, name string) (string, error) {
	content, err := safefile.Read(root, filepath.FromSlash(name), maxFile)
	return string(content), err
}

// collector gathers what the analysers of a scan say. Its methods may be
// called at once.
type collector struct {
	request Request

	mu      sync.Mutex
	byFile  map[string][]Finding
	sums    map[string][sha256.Size]byte // of the files as they were read first
	count   int
	full    bool
	texts   map[string]string // why a file was skipped, by path
	skipped []Skipped
	unnamed int
	unread  int
	goFiles map[string]bool // that parse
	total   int
	done    int
}

func (c *collector) take(f Finding) {
	if !c.request.wants(f) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= MaxFindings {
		c.full = true
		return
	}
	// Several analysers may say the same of one place, and a package and its
	// tests are looked at separately.
	if slices.ContainsFunc(c.byFile[f.File], func(have Finding) bool {
		return have.Line == f.Line && have.Column == f.Column && have.Rule == f.Rule && have.Message == f.Message
	}) {
		return
	}
	c.count++
	c.byFile[f.File] = append(c.byFile[f.File], f)
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
	c.skipped = append(c.skipped, Skipped{Path: cut(name, maxSnippet), Reason: why})
}

// advance reports progress, in order.
func (c *collector) advance(files int, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += files
	if c.request.Progress != nil {
		c.request.Progress(min(c.done, c.total), c.total, message)
	}
}

// progressEvery is the number of files between two reports of progress.
const progressEvery = 50

// fastRules runs the fast rules over all files, several at a time.
func (c *collector) fastRules(ctx context.Context, root *os.Root, names []string) error {
	c.goFiles = map[string]bool{}
	next := make(chan string)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			done := 0
			for name := range next {
				if ctx.Err() == nil {
					c.fastRulesOf(root, name)
				}
				if done++; done == progressEvery {
					c.advance(done, "scanning files")
					done = 0
				}
			}
			if done > 0 {
				c.advance(done, "scanning files")
			}
		})
	}
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		next <- name
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}

func (c *collector) fastRulesOf(root *os.Root, name string) {
	content, err := read(root, name)
	why := ""
	if err != nil {
		why = reason(err)
	} else {
		why = unusable(content)
	}
	if why != "" {
		c.skip(name, why)
		c.mu.Lock()
		c.unread++
		c.mu.Unlock()
		return
	}
	sum := sha256.Sum256([]byte(content))
	c.mu.Lock()
	c.sums[name] = sum
	c.mu.Unlock()
	source := newSource(name, content)
	if source.lang == golang {
		source.fault = goFault(name, content)
		c.mu.Lock()
		c.goFiles[name] = true
		c.mu.Unlock()
	}
	if source.fault != "" {
		c.skip(name, "it does not parse, so only its tokens were looked at: "+source.fault)
	}
	if source.lang == golang && isGenerated(content) {
		return
	}
	for _, f := range fast(source, c.request.Purpose) {
		c.take(f)
	}
}

// isGenerated reports whether a Go file says that a program wrote it.
func isGenerated(content string) bool {
	head, _, _ := strings.Cut(content, "\npackage ")
	return strings.Contains(head, "// Code generated ") && strings.Contains(head, " DO NOT EDIT.")
}

// goFault returns why a Go file does not parse; empty for one that does.
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

// finish identifies the findings and puts them in order. A file that changed
// or went away meanwhile loses its own.
func (c *collector) finish(root *os.Root) *Report {
	report := &Report{}
	for name, findings := range c.byFile {
		content, err := read(root, name)
		if err != nil || sha256.Sum256([]byte(content)) != c.sums[name] {
			c.skip(name, "it changed during the scan: scan it again")
			continue
		}
		finish(c.request.Purpose, content, findings)
		report.Findings = append(report.Findings, findings...)
	}
	rank(c.request.Purpose, report.Findings)
	slices.SortFunc(c.skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	report.Skipped, report.Unnamed = c.skipped, c.unnamed
	if c.full {
		report.Truncated = fmt.Sprintf("only %d findings are kept: scan fewer files, or ask for less", MaxFindings)
	}
	return report
}
