package scan

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/ryanrolds/sqlclosecheck/pkg/analyzer"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpmux"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/inline"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/reflectvaluecompare"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/sortslice"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/quickfix"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// goCheck is a Go analyser, and the properties of its findings.
type goCheck struct {
	source     string // "vet", "staticcheck", or "go" for other analysers
	analyzer   *analysis.Analyzer
	kind       string
	level      string
	confidence float64
	title      string // the purpose or the advice; empty if the message suffices
	brief      bool   // severity low in main packages and in packages that use httptest, which end soon
	silent     string // messages with this prefix are dropped, as a matter of taste
}

// goChecks returns the linked analysers for a purpose.
func goChecks(purpose Purpose) []goCheck {
	if purpose == Bugs {
		return slices.Concat(vetChecks, closeChecks, goRules(), staticChecks())
	}
	return append(simpleChecks(), inlineCheck)
}

func vet(a *analysis.Analyzer, kind, level string, confidence float64) goCheck {
	return goCheck{source: "vet", analyzer: a, kind: kind, level: level, confidence: confidence}
}

// vetChecks are the analysers of go vet and gopls that find faults.
var vetChecks = []goCheck{
	vet(appends.Analyzer, "logic-error", "medium", 0.95), vet(assign.Analyzer, "logic-error", "medium", 0.95),
	vet(atomic.Analyzer, "concurrency", "high", 0.95), vet(bools.Analyzer, "logic-error", "medium", 0.95),
	vet(copylock.Analyzer, "concurrency", "high", 0.95),
	vet(defers.Analyzer, "logic-error", "medium", 0.95), vet(directive.Analyzer, "other", "low", 0.95),
	vet(errorsas.Analyzer, "type-error", "high", 0.95), vet(hostport.Analyzer, "logic-error", "low", 0.9),
	vet(httpmux.Analyzer, "logic-error", "high", 0.9), vet(httpresponse.Analyzer, "null-reference", "high", 0.95),
	vet(ifaceassert.Analyzer, "type-error", "high", 0.95), vet(loopclosure.Analyzer, "concurrency", "high", 0.9),
	vet(lostcancel.Analyzer, "resource-leak", "medium", 0.9), vet(nilfunc.Analyzer, "logic-error", "medium", 0.95),
	vet(nilness.Analyzer, "null-reference", "high", 0.9), vet(printf.Analyzer, "type-error", "medium", 0.95),
	vet(reflectvaluecompare.Analyzer, "logic-error", "medium", 0.9), vet(shift.Analyzer, "logic-error", "medium", 0.95),
	vet(sigchanyzer.Analyzer, "concurrency", "medium", 0.95), vet(slog.Analyzer, "type-error", "medium", 0.95),
	vet(sortslice.Analyzer, "type-error", "high", 0.95), vet(stdmethods.Analyzer, "type-error", "low", 0.9),
	vet(stringintconv.Analyzer, "type-error", "medium", 0.95), vet(structtag.Analyzer, "logic-error", "medium", 0.95),
	vet(testinggoroutine.Analyzer, "concurrency", "medium", 0.95),
	vet(tests.Analyzer, "logic-error", "medium", 0.95),
	vet(timeformat.Analyzer, "logic-error", "medium", 0.95), vet(unmarshal.Analyzer, "type-error", "high", 0.95),
	vet(unreachable.Analyzer, "logic-error", "low", 0.95), vet(unsafeptr.Analyzer, "security", "low", 0.8),
	vet(unusedresult.Analyzer, "logic-error", "medium", 0.95), vet(unusedwrite.Analyzer, "logic-error", "low", 0.8),
	vet(waitgroup.Analyzer, "concurrency", "high", 0.95),
}

// closeChecks find database statements and rows that are never closed.
var closeChecks = []goCheck{{
	source: "go", analyzer: analyzer.NewAnalyzer(), kind: "resource-leak", brief: true, level: "high", confidence: 0.85,
	title: "Defer Close once the error is checked: else a connection of the pool is gone.", silent: "Close should use defer",
}}

// sameFault lists pairs of rules that find the same fault: the second is dropped on a line where
// the first reports.
var sameFault = [][2]string{
	{"vet/assign", "staticcheck/SA4018"}, {"vet/bools", "staticcheck/SA4000"}, {"vet/nilfunc", "vet/nilness"},
	{"vet/httpresponse", "staticcheck/SA5001"}, {"staticcheck/SA5000", "vet/nilness"}, {"vet/nilness", "staticcheck/SA5011"},
	{"vet/structtag", "staticcheck/SA5008"}, {"go/changed-copy", "vet/unusedwrite"}, {"go/changed-copy", "staticcheck/SA4005"},
	{"staticcheck/SA9001", "go/defer-in-loop"}, {"vet/unmarshal", "go/dropped-error"}, {"staticcheck/SA4017", "go/dropped-result"},
	{"ineffassign", "staticcheck/SA4006"}, {"intrange", "modernize/rangeint"},
}

// dropDuplicates removes findings of a fault that another finding covers, see sameFault.
func dropDuplicates(findings []Finding) []Finding {
	type place struct {
		rule, file string
		line       int
	}
	places := map[place]bool{}
	for _, f := range findings {
		places[place{f.Rule, f.File, f.Line}] = true
	}
	return slices.DeleteFunc(findings, func(f Finding) bool {
		return slices.ContainsFunc(sameFault, func(pair [2]string) bool {
			return pair[1] == f.Rule && places[place{pair[0], f.File, f.Line}]
		})
	})
}

// staticKinds maps prefixes of staticcheck's checks to kinds; the longest prefix wins.
var staticKinds = map[string]string{
	"SA1": "logic-error", "SA1012": "null-reference", "SA1015": "timer-leak", "SA1017": "concurrency", "SA1026": "type-error",
	"SA1027": "concurrency", "SA1028": "type-error", "SA2": "concurrency", "SA3": "logic-error", "SA4": "logic-error",
	"SA5": "logic-error", "SA5000": "null-reference", "SA5001": "resource-leak", "SA5003": "resource-leak", "SA5008": "type-error",
	"SA5010": "type-error",
	"SA5011": "null-reference", "SA6": "performance", "SA6002": "memory-leak", "SA9": "logic-error", "SA9001": "resource-leak",
}

// staticLevels maps staticcheck's severities to levels.
var staticLevels = map[lint.Severity]string{
	lint.SeverityError: "high", lint.SeverityDeprecated: "info", lint.SeverityWarning: "medium", lint.SeverityInfo: "low",
	lint.SeverityHint: "info",
}

// low maps Go checks to the messages that report with severity low. They find code that is
// needless, slow or unusual, or that the public repositories of docs/code-measured.md mostly have
// on purpose, such as:
//   - copies of a value before its lock is used;
//   - an append of nothing;
//   - equal operands in unrolled lines of a formula;
//   - a tag option of another library;
//   - naming conventions broken in tests.
var low = map[string]func() *regexp.Regexp{
	"staticcheck/SA1006": anyMessage, "staticcheck/SA1008": anyMessage, "staticcheck/SA1012": anyMessage,
	"staticcheck/SA1015": anyMessage, "staticcheck/SA1016": anyMessage, "staticcheck/SA1021": anyMessage,
	"staticcheck/SA1024": anyMessage, "staticcheck/SA1025": anyMessage, "staticcheck/SA1029": anyMessage,
	"staticcheck/SA2001": anyMessage, "staticcheck/SA3000": anyMessage, "staticcheck/SA4000": anyMessage,
	"staticcheck/SA4001": anyMessage,
	"staticcheck/SA4003": anyMessage, "staticcheck/SA4004": anyMessage, "staticcheck/SA4006": anyMessage,
	"staticcheck/SA4009": anyMessage, "staticcheck/SA4010": anyMessage, "staticcheck/SA4011": anyMessage,
	"staticcheck/SA4013": anyMessage, "staticcheck/SA4015": anyMessage, "staticcheck/SA4016": anyMessage,
	"staticcheck/SA4019": anyMessage, "staticcheck/SA4020": anyMessage, "staticcheck/SA4022": anyMessage,
	"staticcheck/SA4023": anyMessage, "staticcheck/SA4024": anyMessage, "staticcheck/SA4026": anyMessage,
	"staticcheck/SA4032": anyMessage, "staticcheck/SA5001": anyMessage, "staticcheck/SA6000": anyMessage,
	"staticcheck/SA6001": anyMessage, "staticcheck/SA6002": anyMessage, "staticcheck/SA6003": anyMessage,
	"staticcheck/SA6005": anyMessage, "staticcheck/SA9001": anyMessage, "staticcheck/SA9004": anyMessage,
	"staticcheck/SA9009": anyMessage,
	"staticcheck/SA5008": regex.Lazy(`\boption\b|name it "-"`),
	"vet/appends":        anyMessage, "vet/copylocks": anyMessage, "vet/sigchanyzer": anyMessage, "vet/tests": anyMessage,
	"vet/nilness": regex.Lazy("^(tautological|impossible) condition"),
	"vet/printf":  regex.Lazy("non-constant format string|possible formatting directive|redundant newline"),
	// A program can read its own output, and a missing folder makes the next step fail.
	"go/dropped-error": regex.Lazy(`(Unmarshal|Decode|Mkdir|MkdirAll|Chdir|Symlink|Sync|of a setting)$`),
}

// anyMessage matches any message.
var anyMessage = regex.Lazy("")

// isLow reports whether a rule's message has severity low.
func isLow(rule, message string) bool {
	messages := low[rule]
	return messages != nil && messages().MatchString(message)
}

// leftOut are staticcheck's checks that duplicate one of go vet, and SA1019, which needs the source
// of imported packages to find deprecated API.
var leftOut = []string{"SA1014", "SA1017", "SA1019", "SA1028", "SA2000", "SA4021", "SA4031", "SA5009", "SA5010", "SA9006"}

// staticChecks returns staticcheck's checks for faults, except those off by default.
func staticChecks() []goCheck {
	var list []goCheck
	for _, a := range staticcheck.Analyzers {
		name := a.Analyzer.Name
		if a.Doc.NonDefault || slices.Contains(leftOut, name) {
			continue
		}
		confidence := 0.95
		if name == "SA5011" || strings.HasPrefix(name, "SA9") || strings.HasPrefix(name, "SA6") {
			confidence = 0.8
		}
		list = append(list, goCheck{
			source: "staticcheck", analyzer: a.Analyzer, kind: longest(staticKinds, name),
			level: cmp.Or(staticLevels[a.Doc.Severity], "low"), confidence: confidence, title: a.Doc.Compile().Title,
		})
	}
	return list
}

// longest returns the value of the longest key that is a prefix of name, or "other".
func longest(values map[string]string, name string) string {
	if key := match(values, name); key != "" {
		return values[key]
	}
	return "other"
}

// inlineCheck inlines functions marked //go:fix inline.
var inlineCheck = vet(inline.Analyzer, "inline-function", "minor", 0.95)

// simpleKinds maps prefixes of checks to kinds of refactorings; the longest prefix wins.
var simpleKinds = map[string]string{
	"S1": "modernize-syntax", "S1002": "simplify-conditional", "S1008": "simplify-conditional", "S1009": "simplify-conditional",
	"S1020": "simplify-conditional", "S1023": "simplify-conditional", "S1031": "simplify-conditional", "S1033": "simplify-conditional",
	"S1036": "simplify-conditional", "S1034": "improve-types", "S1040": "improve-types", "S1016": "improve-types", "S1021": "extract-variable",
	"QF": "modernize-syntax", "QF1001": "simplify-conditional", "QF1002": "simplify-conditional", "QF1003": "simplify-conditional",
	"QF1006": "simplify-conditional", "QF1007": "simplify-conditional", "QF1009": "other", "QF1011": "improve-types",
	"ST1003": "rename", "ST1006": "rename", "ST1012": "rename", "ST1019": "optimize-imports", "ST1001": "optimize-imports",
	"ST1017": "simplify-conditional",
}

// simpleChecks returns staticcheck's simplifications and quick fixes, and its style checks that
// have a kind.
func simpleChecks() []goCheck {
	var list []goCheck
	for _, group := range []struct {
		analyzers  []*lint.Analyzer
		confidence float64
	}{{simple.Analyzers, 0.9}, {quickfix.Analyzers, 0.7}, {stylecheck.Analyzers, 0.7}} {
		for _, a := range group.analyzers {
			name := a.Analyzer.Name
			kind := longest(simpleKinds, name)
			if kind == "other" && strings.HasPrefix(name, "ST") || name == "QF1010" || name == "QF1005" || name == "QF1008" {
				continue
			}
			level := "trivial"
			if kind == "rename" {
				level = "breaking" // the name may be exported
			}
			list = append(list, goCheck{
				source: "staticcheck", analyzer: a.Analyzer, kind: kind, level: level, confidence: group.confidence, title: a.Doc.Compile().Title,
			})
		}
	}
	return list
}

// match returns the longest key that is a prefix of name, or "".
func match(values map[string]string, name string) string {
	for n := len(name); n > 0; n-- {
		if _, ok := values[name[:n]]; ok {
			return name[:n]
		}
	}
	return ""
}

// unsafeFixes are analysers whose fixes may change behaviour: QF1003 makes a switch of conditions,
// in which a break of the last else no longer ends the loop.
var unsafeFixes = []string{"QF1003"}
