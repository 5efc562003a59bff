package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/child"
	"github.com/toolfold/toolfold/internal/redact"
	"github.com/toolfold/toolfold/internal/regex"
)

// Limits of an external analyser.
const (
	externalFiles  = 200 // on one command line
	externalTime   = 5 * time.Minute
	externalOutput = 32 << 20 // bytes
)

// external runs the analysers that are installed over their files, and returns
// the ones that ran. They run code that the workspace names, so that they need
// the user's trust.
func (s Scanner) external(ctx context.Context, root *os.Root, files []string, c *collector) (ran []string, err error) {
	for _, tool := range []struct {
		name      string
		languages []language
		needs     []string // files of which one is at the root of the workspace, else it does not run; empty for none
		anywhere  bool     // in $PATH too, not only in the workspace
		whole     bool     // it looks at the whole project, whatever files are scanned
		arguments []string
		read      func(s Scanner, root *os.Root, out []byte, c *collector) error
	}{
		{"eslint", scripts, nil, true, false,
			[]string{"--format", "json", "--no-error-on-unmatched-pattern", "--no-warn-ignored", "--"}, readESLint},
		{"tsc", scripts, []string{"tsconfig.json"}, false, true, []string{"--noEmit", "--pretty", "false", "--project", "."}, readTSC},
		{"biome", scripts, nil, false, false,
			[]string{"lint", "--reporter=github", "--max-diagnostics=none", "--no-errors-on-unmatched", "--"}, readBiome},
		{"oxlint", scripts, nil, false, false, []string{"--format", "json", "--no-error-on-unmatched-pattern", "--"}, readOxlint},
		{"ruff", onlyPython, nil, true, false,
			[]string{"check", "--output-format", "json", "--no-cache", "--exit-zero", "--quiet", "--"}, readRuff},
		{"pyright", onlyPython, []string{"pyrightconfig.json"}, true, true, []string{"--outputjson"}, readPyright},
		{"golangci-lint", onlyGo, golangciFiles, true, true, golangciArguments, readGolangci},
	} {
		own := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
			l, _ := languageOf(name)
			return !slices.Contains(tool.languages, l)
		})
		program := s.program(root, tool.name, tool.anywhere)
		if len(own) > 0 && program == "" && s.leadsOut(tool.name) {
			c.skip(".", tool.name+" is installed but did not run: node_modules leads out of the workspace to it")
		}
		if len(own) == 0 || program == "" {
			continue
		}
		if len(tool.needs) > 0 && !slices.ContainsFunc(tool.needs, func(name string) bool { _, err := root.Stat(name); return err == nil }) {
			c.skip(".", tool.name+" is installed but did not run: there is no "+tool.needs[0])
			continue
		}
		if tool.whole {
			own = own[:1]
		}
		if toolfold.OriginOf(ctx).OnlyReads {
			c.skip(".", tool.name+" is installed but did not run: this server, or the caller, only reads (readOnly)")
			continue
		}
		if s.Trusted == nil || !s.Trusted() {
			c.skip(".", tool.name+" is installed but did not run: the user has not trusted this workspace")
			continue
		}
		did := false
		for chunk := range slices.Chunk(own, externalFiles) {
			if tool.whole {
				chunk = nil
			}
			out, err := s.runExternal(ctx, append(append([]string{program}, tool.arguments...), chunk...))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil {
				err = tool.read(s, root, out, c)
			}
			if err != nil {
				c.skip(".", fmt.Sprintf("%s did not work: %s", tool.name, cut(strings.ReplaceAll(err.Error(), s.Dir, "."), 300)))
				break
			}
			did = true
		}
		if did {
			ran = append(ran, tool.name)
		}
	}
	return ran, nil
}

// inModules returns where npm puts a program, below the workspace.
func inModules(name string) string { return filepath.FromSlash("node_modules/.bin/" + name) }

// leadsOut reports whether npm's folder of programs links a program to another place.
func (s Scanner) leadsOut(name string) bool {
	_, err := os.Stat(filepath.Join(s.Dir, inModules(name)))
	return err == nil
}

// program returns the program that is in the workspace, else the one installed where that
// counts; empty where there is none.
func (s Scanner) program(root *os.Root, name string, anywhere bool) string {
	local := inModules(name)
	if _, err := root.Stat(local); err == nil {
		if abs, err := filepath.Abs(filepath.Join(s.Dir, local)); err == nil {
			return abs
		}
	}
	if !anywhere {
		return ""
	}
	found, _ := exec.LookPath(name)
	return found
}

// runExternal runs an analyser and returns its standard output. Most end with
// status 1 where they found something, tsc with 2.
func (s Scanner) runExternal(ctx context.Context, argv []string) ([]byte, error) {
	running, stop := context.WithTimeout(ctx, externalTime)
	defer stop()
	out, errs := &bounded{}, &child.Tail{Keep: 4 * testOutput}
	err := child.Run(running, child.Command{Argv: argv, Dir: s.Dir, Stdout: out, Stderr: errs})
	var exit *child.ExitError
	if errors.As(err, &exit) && (exit.State == "exit status 1" || exit.State == "exit status 2") && out.Len() > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, cut(withoutDownloads(errs.Quote(2*testOutput, redact.Text)), 200))
	}
	return out.Bytes(), nil
}

// bounded keeps what is written, and fails when it is too much.
type bounded struct{ bytes.Buffer }

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > externalOutput {
		return 0, errors.New("the output is too long")
	}
	return b.Buffer.Write(p)
}

// below returns the path below the workspace that an analyser named.
func (s Scanner) below(name string) (string, bool) {
	if dir, err := filepath.Abs(s.Dir); err == nil && filepath.IsAbs(name) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && strings.HasPrefix(name, real) {
			dir = real
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", false
		}
	}
	return filepath.ToSlash(filepath.Clean(name)), filepath.IsLocal(name)
}

// readESLint reads the report of eslint. A message of severity 2 is an error.
func readESLint(s Scanner, root *os.Root, out []byte, c *collector) error {
	var files []struct {
		FilePath string
		Messages []struct {
			RuleID       *string `json:"ruleId"`
			Severity     int
			Message      string
			Line, Column int
			Fix          *struct {
				Range [2]int // in UTF-16 units
				Text  string
			}
		}
	}
	if err := json.Unmarshal(out, &files); err != nil {
		return fmt.Errorf("reading its report: %w", err)
	}
	for _, file := range files {
		name, ok := s.below(file.FilePath)
		content, err := read(root, name)
		if !ok || err != nil {
			continue
		}
		for _, m := range file.Messages {
			if m.RuleID == nil { // it does not parse, or is ignored
				c.skip(name, "eslint: "+cut(m.Message, 200))
				continue
			}
			f := c.foreign("eslint/"+*m.RuleID, name, m.Line, m.Column, m.Message)
			if f.Level = "low"; m.Severity == 2 {
				f.Level = "medium"
			}
			if m.Fix != nil {
				start, end := offset16(content, m.Fix.Range[0]), offset16(content, m.Fix.Range[1])
				f.Edits = []Edit{{start, end, m.Fix.Text}}
			}
			c.takeForeign(f)
		}
	}
	return nil
}

// readTSC reads what the compiler of TypeScript says: file(line,column): error TS1: message.
func readTSC(s Scanner, _ *os.Root, out []byte, c *collector) error {
	return readLines(s, out, c, tscLine(), func(m []string) Finding {
		f := c.foreign("tsc/"+m[4], m[1], atoi(m[2]), atoi(m[3]), m[5])
		f.Level = "high"
		return f
	})
}

// readBiome reads what biome says to GitHub: ::error title=rule,file=…,line=1,endLine=1,col=1,endColumn=1::message.
func readBiome(s Scanner, _ *os.Root, out []byte, c *collector) error {
	return readLines(s, out, c, biomeLine(), func(m []string) Finding {
		f := c.foreign("biome/"+strings.TrimPrefix(m[2], "lint/"), m[3], atoi(m[4]), atoi(m[5]), m[6])
		if f.Level = "low"; m[1] == "error" {
			f.Level = "medium"
		}
		return f
	})
}

var (
	tscLine   = regex.Lazy(`^(.+)\((\d+),(\d+)\): error (TS\d+): (.*)$`)
	biomeLine = regex.Lazy(`^::(error|warning|notice) title=([^,]+),file=(.+),line=(\d+),endLine=\d+,col=(\d+),endColumn=\d+::(.*)$`)
)

// readLines reads a report that has a finding on each line of a form. Output without any is
// no report.
func readLines(s Scanner, out []byte, c *collector, form *regexp.Regexp, finding func(m []string) Finding) error {
	matched := false
	for line := range strings.Lines(string(out)) {
		m := form.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		matched = true
		f := finding(m)
		if name, ok := s.below(f.File); ok {
			f.File = name
			c.takeForeign(f)
		}
	}
	if text := strings.TrimSpace(string(out)); !matched && text != "" {
		return fmt.Errorf("it said: %s", cut(text, 200))
	}
	return nil
}

// atoi returns a number that a pattern has matched.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// readOxlint reads the report of oxlint.
func readOxlint(s Scanner, _ *os.Root, out []byte, c *collector) error {
	var report struct {
		Diagnostics []struct {
			Message, Code, Severity, Help, Filename string
			Labels                                  []struct{ Span struct{ Line, Column int } }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return fmt.Errorf("reading its report: %w", err)
	}
	for _, d := range report.Diagnostics {
		name, ok := s.below(d.Filename)
		if !ok || len(d.Labels) == 0 {
			continue
		}
		plugin, rule, _ := strings.Cut(strings.TrimSuffix(d.Code, ")"), "(")
		if plugin != "eslint" {
			rule = plugin + "/" + rule
		}
		f := c.foreign("oxlint/"+rule, name, d.Labels[0].Span.Line, d.Labels[0].Span.Column, d.Message)
		f.Advice = cut(d.Help, 300)
		if f.Level = "low"; d.Severity == "error" {
			f.Level = "medium"
		}
		c.takeForeign(f)
	}
	return nil
}

// readPyright reads the report of pyright, whose lines and columns count from 0.
func readPyright(s Scanner, _ *os.Root, out []byte, c *collector) error {
	var report struct {
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line, Character int } }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return fmt.Errorf("reading its report: %w", err)
	}
	for _, d := range report.GeneralDiagnostics {
		name, ok := s.below(d.File)
		if !ok {
			continue
		}
		f := c.foreign("pyright/"+cmp.Or(d.Rule, "error"), name, d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message)
		if f.Level = "low"; d.Severity == "error" {
			f.Level = "high"
		}
		c.takeForeign(f)
	}
	return nil
}

// golangciFiles are the names of the configuration of golangci-lint.
var golangciFiles = []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"}

// golangciArguments have golangci-lint report all that it finds, and change nothing.
var golangciArguments = []string{"run", "--output.json.path=stdout", "--output.text.path=stderr", "--path-mode=abs", "--show-stats=false",
	"--issues-exit-code=0", "--max-issues-per-linter=0", "--max-same-issues=0", "--allow-parallel-runners", "--fix=false"}

// golangciLevels are the severities that linters and configurations give; without one a finding is of medium.
var golangciLevels = map[string]string{
	"critical": "critical", "blocker": "critical", "high": "high", "major": "high", "error": "medium", "medium": "medium", "": "medium",
	"warning": "low", "low": "low", "minor": "low", "info": "info", "note": "info", "hint": "info",
}

// readGolangci reads the report of golangci-lint. Its linters of many checks begin a message with
// the name of the check, as in "SA4006: …" and "printf: …".
func readGolangci(s Scanner, _ *os.Root, out []byte, c *collector) error {
	var report struct {
		Issues []struct {
			FromLinter, Text, Severity string
			Pos                        struct {
				Filename     string
				Line, Column int
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&report); err != nil {
		return fmt.Errorf("reading its report: %w", err)
	}
	for _, issue := range report.Issues {
		name, ok := s.below(issue.Pos.Filename)
		if !ok {
			continue
		}
		rule := "golangci-lint/" + issue.FromLinter
		check, message, named := strings.Cut(issue.Text, ": ")
		if named && slices.Contains(golangciMany, issue.FromLinter) && !strings.Contains(check, " ") {
			rule, issue.Text = rule+"/"+check, message
		}
		f := c.foreign(rule, name, issue.Pos.Line, issue.Pos.Column, issue.Text)
		f.Level = cmp.Or(golangciLevels[strings.ToLower(issue.Severity)], "medium")
		c.takeForeign(f)
	}
	return nil
}

// golangciMany are the linters of golangci-lint that have many checks.
var golangciMany = []string{"gocritic", "gosec", "gosimple", "govet", "modernize", "revive", "staticcheck", "stylecheck"}

// readRuff reads the report of ruff. Of its fixes only the safe ones count.
func readRuff(s Scanner, root *os.Root, out []byte, c *collector) error {
	type place struct{ Row, Column int }
	var messages []struct {
		Code     *string
		Filename string
		Message  string
		Location place
		Fix      *struct {
			Applicability string
			Message       string
			Edits         []struct {
				Content     string
				Location    place
				EndLocation place `json:"end_location"`
			}
		}
	}
	if err := json.Unmarshal(out, &messages); err != nil {
		return fmt.Errorf("reading its report: %w", err)
	}
	for _, m := range messages {
		name, ok := s.below(m.Filename)
		content, err := read(root, name)
		if !ok || err != nil {
			continue
		}
		if m.Code == nil || *m.Code == "invalid-syntax" {
			c.skip(name, "ruff: "+cut(m.Message, 200))
			continue
		}
		f := c.foreign("ruff/"+*m.Code, name, m.Location.Row, m.Location.Column, m.Message)
		if f.Level = "medium"; f.Kind == "security" { // it has no severities
			f.Level = "high"
		}
		if m.Fix != nil && m.Fix.Applicability == "safe" {
			f.Advice = m.Fix.Message
			for _, e := range m.Fix.Edits {
				f.Edits = append(f.Edits, Edit{offsetOf(content, e.Location.Row, e.Location.Column),
					offsetOf(content, e.EndLocation.Row, e.EndLocation.Column), e.Content})
			}
		}
		c.takeForeign(f)
	}
	return nil
}

// foreignKinds are the kinds of the rules of others, by the longest beginning
// of a name. Rules that are not named are faults of kind other, but for those
// of refactorings.
var foreignKinds = map[Purpose]map[string]string{
	Bugs: {
		"ruff/F": "logic-error", "ruff/E7": "logic-error", "ruff/E9": "logic-error", "ruff/B": "logic-error", "ruff/S": "security",
		"ruff/ASYNC": "concurrency", "ruff/PERF": "performance", "ruff/SIM115": "resource-leak", "eslint/no-": "logic-error",
		"eslint/eqeqeq": "logic-error", "eslint/no-eval": "security", "eslint/no-implied-eval": "security",
		"eslint/require-atomic-updates": "concurrency",
		"eslint/no-await-in-loop":       "performance", "eslint/@typescript-eslint/no-unsafe": "type-error",
		"eslint/@typescript-eslint/no-floating-promises": "concurrency",
		"eslint/": "other", "ruff/": "other", "oxlint/": "other", "oxlint/no-": "logic-error",
		"tsc/": "type-error", "pyright/": "type-error", "biome/correctness": "logic-error", "biome/suspicious": "logic-error",
		"biome/security": "security", "biome/performance": "performance",
		"golangci-lint/": "other", "golangci-lint/gosec": "security", "golangci-lint/govet": "logic-error",
		"golangci-lint/govet/printf": "type-error", "golangci-lint/govet/copylocks": "concurrency",
		"golangci-lint/govet/lostcancel": "resource-leak", "golangci-lint/govet/nilness": "null-reference",
		"golangci-lint/staticcheck": "logic-error", "golangci-lint/staticcheck/SA2": "concurrency",
		"golangci-lint/staticcheck/SA5011": "null-reference", "golangci-lint/staticcheck/SA6": "performance",
		"golangci-lint/typecheck": "type-error", "golangci-lint/errcheck": "logic-error", "golangci-lint/ineffassign": "logic-error",
		"golangci-lint/errorlint": "logic-error", "golangci-lint/nilerr": "logic-error", "golangci-lint/exhaustive": "logic-error",
		"golangci-lint/rowserrcheck": "logic-error", "golangci-lint/bodyclose": "resource-leak",
		"golangci-lint/sqlclosecheck": "resource-leak", "golangci-lint/contextcheck": "concurrency",
		"golangci-lint/forcetypeassert": "type-error", "golangci-lint/prealloc": "performance",
	},
	Refactorings: {
		"ruff/UP": "modernize-syntax", "ruff/SIM": "simplify-conditional", "ruff/I": "optimize-imports", "ruff/F401": "optimize-imports",
		"ruff/N": "rename", "ruff/C4": "modernize-syntax", "ruff/PLR": "extract-function", "ruff/ERA": "other",
		"eslint/prefer-": "modernize-syntax", "oxlint/prefer-": "modernize-syntax", "oxlint/no-var": "modernize-syntax",
		"biome/style": "other", "biome/complexity": "simplify-conditional",
		"golangci-lint/staticcheck/S1": "modernize-syntax", "golangci-lint/staticcheck/QF": "modernize-syntax",
		"golangci-lint/staticcheck/ST": "other", "golangci-lint/gosimple": "modernize-syntax", "golangci-lint/stylecheck": "other",
		"golangci-lint/modernize": "modernize-syntax", "golangci-lint/intrange": "modernize-syntax",
		"golangci-lint/usestdlibvars": "modernize-syntax", "golangci-lint/unconvert": "modernize-syntax",
		"golangci-lint/revive": "other", "golangci-lint/gocritic": "other", "golangci-lint/unused": "other",
		"golangci-lint/unparam": "other", "golangci-lint/misspell": "other", "golangci-lint/lll": "other",
		"golangci-lint/gofmt": "other", "golangci-lint/gofumpt": "other", "golangci-lint/goimports": "optimize-imports",
		"golangci-lint/gci": "optimize-imports", "golangci-lint/godot": "other", "golangci-lint/wsl": "other",
		"golangci-lint/whitespace": "other", "golangci-lint/nlreturn": "other", "golangci-lint/goconst": "extract-variable",
		"golangci-lint/mnd": "extract-variable", "golangci-lint/dupl": "remove-duplication", "golangci-lint/funlen": "extract-function",
		"golangci-lint/gocyclo": "extract-function", "golangci-lint/gocognit": "extract-function",
		"golangci-lint/cyclop": "extract-function", "golangci-lint/nestif": "simplify-conditional", "golangci-lint/godox": "other",
		"eslint/no-var": "modernize-syntax", "eslint/no-nested-ternary": "simplify-conditional",
		"eslint/no-unneeded-ternary": "simplify-conditional",
		"eslint/no-else-return":      "simplify-conditional", "eslint/no-magic-numbers": "extract-variable",
		"eslint/complexity": "extract-function",
		"eslint/max-":       "extract-function", "eslint/camelcase": "rename", "eslint/import": "optimize-imports",
		"eslint/sort-imports": "optimize-imports",
		"eslint/no-console":   "other", "eslint/no-unused-vars": "other", "eslint/object-shorthand": "modernize-syntax",
		"eslint/@typescript-eslint/no-explicit-any": "improve-types",
		"eslint/@typescript-eslint/prefer-":         "modernize-syntax", "eslint/@typescript-eslint/consistent-type": "improve-types",
	},
}

// foreign begins a finding of another's rule. Its kind is empty where the rule
// is for the other purpose.
func (c *collector) foreign(rule, file string, line, column int, message string) Finding {
	f := Finding{Rule: rule, File: file, Line: max(line, 1), Column: max(column, 1), Message: cut(message, 300), Confidence: 0.9}
	other := Bugs
	if c.request.Purpose == Bugs {
		other = Refactorings
	}
	mine, theirs := match(foreignKinds[c.request.Purpose], rule), match(foreignKinds[other], rule)
	if len(mine) > len(theirs) {
		f.Kind = foreignKinds[c.request.Purpose][mine]
	}
	return f
}

// match returns the longest key that a name begins with.
func match(values map[string]string, name string) string {
	for n := len(name); n > 0; n-- {
		if _, ok := values[name[:n]]; ok {
			return name[:n]
		}
	}
	return ""
}

func (c *collector) takeForeign(f Finding) {
	if _, scanned := c.read[f.File]; f.Kind == "" || !scanned {
		return
	}
	if c.request.Purpose == Refactorings {
		f.Level = "minor"
	}
	if c.replaces(f) {
		c.take(f)
	}
}

// replaces takes back what toolfold itself found of a fault that a tool of the project names too, and
// reports whether the tool's finding counts: not where only ours has a fix, or another tool named it before.
func (c *collector) replaces(f Finding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fault(f.Rule)
	var kept []Finding
	for _, have := range c.byFile[f.File] {
		same := have.Line == f.Line && have.Rule != f.Rule && isSameFault(fault(have.Rule), name)
		own := isOwn(have.Rule)
		if same && (!own || have.Fixable() && !f.Fixable()) {
			return false
		}
		if !same {
			kept = append(kept, have)
		}
	}
	c.count -= len(c.byFile[f.File]) - len(kept)
	c.byFile[f.File] = kept
	return true
}

// isSameFault reports whether two names of faults stand for one.
func isSameFault(a, b string) bool {
	return a == b || slices.ContainsFunc(sameFault, func(pair [2]string) bool {
		first, second := fault(pair[0]), fault(pair[1])
		return a == first && b == second || a == second && b == first
	})
}

// isOwn reports whether a rule is one of toolfold itself or of an analyser that is linked.
func isOwn(rule string) bool {
	prefix, _, _ := strings.Cut(rule, "/")
	for _, own := range prefixes {
		if prefix == own {
			return true
		}
	}
	return prefix == "staticcheck" || prefix == "vet" || prefix == "modernize"
}

// fault returns the name that toolfold has for what a rule finds, else the rule's own without
// what the tools write it with.
func fault(rule string) string {
	last := strings.ToLower(rule[strings.LastIndexByte(rule, '/')+1:])
	for name, aliases := range others {
		if name == last || slices.Contains(aliases, last) {
			return name
		}
	}
	return strings.ReplaceAll(last, "-", "")
}

// offset16 returns the offset in bytes of one in UTF-16 units.
func offset16(content string, units int) int {
	for at, r := range content {
		if units <= 0 {
			return at
		}
		units -= max(utf16.RuneLen(r), 1)
	}
	return len(content)
}

// offsetOf returns the offset of a line and a column in characters, both from 1.
func offsetOf(content string, line, column int) int {
	at := 0
	for range line - 1 {
		next := strings.IndexByte(content[at:], '\n')
		if next < 0 {
			return len(content)
		}
		at += next + 1
	}
	for i := range content[at:] {
		if column--; column == 0 {
			return at + i
		}
	}
	return len(content)
}
