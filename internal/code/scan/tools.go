package scan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/scan/runner"
)

// toolRuns holds the results of the project's tools.
type toolRuns struct {
	ran     []string
	missing []string
	more    int // number of files that only tools read
}

// Reasons for running no code of a workspace.
const (
	notTrusted = "the user has not trusted this workspace"
	onlyReads  = "this server, or the caller, only reads (readOnly)"
)

// distrusts returns why no code of the workspace may run, or "" if it may.
func (s Scanner) distrusts(ctx context.Context) string {
	switch {
	case toolfold.OriginOf(ctx).OnlyReads:
		return onlyReads
	case s.Trusted == nil || !s.Trusted():
		return notTrusted
	}
	return ""
}

// runTools runs the tools that the project uses. In an untrusted workspace, or if the server or the
// caller is read-only, it only runs programs from outside of the workspace that load nothing from
// it.
func (s Scanner) runTools(ctx context.Context, root *os.Root, dir string, w *walker, c *collector) (runs toolRuns, err error) {
	project := runner.Project{Dir: dir, Root: root, GoEnv: environment(dir, s.goWork), Apart: s.distrusts(ctx), IsData: isTestData}
	plan := project.Plan(slices.Concat(
		slices.DeleteFunc(slices.Clone(w.files), func(name string) bool { return c.read[name].Unread }),
		slices.DeleteFunc(slices.Clone(w.toolFiles), func(name string) bool { return !c.open(root, name) })))
	c.refuse(plan.Refusals)
	for name, folders := range plan.SkippedFolders {
		c.skip(".", fmt.Sprintf("%s did not run in %d more folders with its configuration, scan them by paths: %s", name, len(folders),
			cut(strings.Join(folders, ", "), 500)))
	}
	runs.missing = plan.Missing
	for _, name := range w.toolFiles {
		_, opened := c.read[name]
		if opened && slices.ContainsFunc(plan.Runs, func(r runner.Run) bool { return r.Reads(name) }) {
			runs.more++
		}
	}
	texts := map[string]*runner.Text{}
	for _, r := range plan.Runs {
		worked := false
		done := c.repeat("running " + r.Name)
		for result := range project.Run(ctx, r) {
			for _, report := range result.Reports {
				if ctx.Err() != nil {
					break
				}
				c.takeReport(root, r, report, texts)
			}
			switch {
			case ctx.Err() != nil:
			case result.Err != nil:
				c.skip(result.Folder, fmt.Sprintf("%s did not work: %s", r.Name, cut(result.Err.Error(), 300)))
			default:
				worked = true
			}
		}
		done()
		if ctx.Err() != nil {
			return runs, ctx.Err()
		}
		if worked {
			runs.ran = append(runs.ran, r.Name)
		}
	}
	return runs, nil
}

// refuse reports the tools that did not run, grouped by reason.
func (c *collector) refuse(refused []runner.Refusal) {
	names := map[string][]string{}
	for _, r := range refused {
		names[r.Reason] = append(names[r.Reason], r.Name)
	}
	for reason, list := range names {
		are := " is"
		if len(list) > 1 {
			are = " are"
		}
		c.skip(".", strings.Join(list, ", ")+are+" installed but did not run: "+reason)
	}
}

// open records the current content of a file that only tools read. It reports whether the file can
// be scanned.
func (c *collector) open(root *os.Root, name string) bool {
	content, why := readSource(root, name)
	if why != "" {
		c.skip(name, why)
		return false
	}
	c.read[name] = readFile{Name: name, Sum: sha256.Sum256([]byte(content))}
	return true
}

// takeReport adds a tool's report about a scanned file.
func (c *collector) takeReport(root *os.Root, r runner.Run, report runner.Report, texts map[string]*runner.Text) {
	kind := r.Kind(report, c.request.Purpose == Bugs)
	if _, scanned := c.read[report.File]; !scanned || report.Rule != "" && kind == "" {
		return
	}
	if report.Rule == "" {
		c.skip(report.File, r.Name+": "+report.Message)
		return
	}
	text := texts[report.File]
	if text == nil {
		content, err := read(root, report.File)
		if err != nil {
			return // finish reports it
		}
		text = runner.NewText(content)
		texts[report.File] = text
	}
	f := Finding{Rule: r.Name + "/" + report.Rule, Kind: kind, Level: runner.Level(report.Word, kind), File: report.File,
		Confidence: cmp.Or(report.Confidence, 0.9), Message: report.Message, Advice: report.Advice}
	switch {
	case c.request.Purpose == Refactorings:
		f.Level = "minor"
	case !r.Heavy(report), !r.InUse && isApart(f.File):
		f.Level = c.atMost("low", f.Level)
	}
	f.Line, f.Column = text.Position(text.Offset(r.Count, report.At))
	for _, e := range report.Fix {
		f.Edits = append(f.Edits, Edit{text.Offset(r.Count, e.From), text.Offset(r.Count, e.To), e.Text})
	}
	if c.replaces(&f) {
		c.take(f)
	}
}

// atMost returns the lower of two severities.
func (c *collector) atMost(level, have string) string {
	levels := Levels[c.request.Purpose]
	return levels[max(slices.Index(levels, level), slices.Index(levels, have))]
}

// replaces removes findings of linked rules that the tool's finding f duplicates, and reports
// whether f counts. It does not count if only the other finding has a fix, or if another tool
// reported the fault before. f gets the higher severity of both.
func (c *collector) replaces(f *Finding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := c.byFile[f.File][f.Line]
	for _, have := range line {
		own := isOwn(have.Rule)
		if have.Rule == f.Rule && own && have.Column == f.Column {
			return false // a linked analyser reported it
		}
		if isSameFault(have.Rule, f.Rule) && (!own || have.Fixable() && !f.Fixable()) {
			return false
		}
	}
	if len(line) == 0 {
		return true
	}
	levels := Levels[c.request.Purpose]
	c.byFile[f.File][f.Line] = slices.DeleteFunc(line, func(have Finding) bool {
		if !isSameFault(have.Rule, f.Rule) {
			return false
		}
		if c.request.meetsLevel(have) {
			c.count--
		} else {
			c.light--
		}
		f.Level = levels[min(slices.Index(levels, have.Level), slices.Index(levels, f.Level))]
		return true
	})
	return true
}

// isSameFault reports whether two different rules find the same fault.
func isSameFault(a, b string) bool {
	if a == b {
		return false
	}
	first, second := fault(a), fault(b)
	return first == second || sameFaults()[[2]string{first, second}]
}

// sameFaults holds the pairs of sameFault in both orders, by fault names.
var sameFaults = sync.OnceValue(func() map[[2]string]bool {
	pairs := map[[2]string]bool{}
	for _, pair := range sameFault {
		first, second := fault(pair[0]), fault(pair[1])
		pairs[[2]string{first, second}], pairs[[2]string{second, first}] = true, true
	}
	return pairs
})

// isOwn reports whether a rule is a fast rule or belongs to a linked analyser.
func isOwn(rule string) bool {
	prefix, _, _ := strings.Cut(rule, "/")
	for _, own := range prefixes {
		if prefix == own {
			return true
		}
	}
	return prefix == "staticcheck" || prefix == "vet" || prefix == "modernize"
}

// fault returns our name for the fault that a rule finds, or else the rule's last part without
// dashes.
func fault(rule string) string {
	last := strings.ToLower(rule[strings.LastIndexByte(rule, '/')+1:])
	if name, known := faults()[last]; known {
		return name
	}
	return strings.ReplaceAll(last, "-", "")
}

// faults maps the names in others to our names.
var faults = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for name, aliases := range otherNames {
		names[name] = name
		for _, alias := range aliases {
			names[alias] = name
		}
	}
	return names
})
