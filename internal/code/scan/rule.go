package scan

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// rule is a fast rule: it looks at the tokens of one file. docs/code-measured.md has the share of its findings
// that are true in code of others.
type rule struct {
	name       string // with its language in front it is the finding's rule
	kind       string // of Kinds
	level      string // of Levels
	confidence float64
	languages  []language
	message    string
	advice     string
	tests      bool // tests are looked at too
	python3    bool // files that Python 2 runs too are left alone
	asked      bool // only where the request names its kind: it counts what is a matter of taste
	find       search
}

// search finds the places where a rule holds.
type search func(s *source) []hit

// hit is one place where a rule holds.
type hit struct {
	at      int    // offset
	message string // empty = the rule's
	level   string // empty = the rule's
	edits   []Edit // the fix; nil = none is safe
}

var (
	scripts    = []language{javascript, typescript}
	onlyPython = []language{python}
	every      = []language{golang, javascript, typescript, python}
)

// prefixes are the names of languages in rules.
var prefixes = map[language]string{golang: "go", javascript: "js", typescript: "js", python: "python"}

// rules returns the fast rules by purpose.
var rules = sync.OnceValue(func() map[Purpose][]rule {
	return map[Purpose][]rule{
		Bugs:         slices.Concat(bugRules, inputRules, scriptRules, pythonRules),
		Refactorings: slices.Concat(refactorRules, pythonRefactorRules),
	}
})

// Covers returns what a scan for a purpose looks for, as its findings say it and as
// go vet describes its checks. It leaves out the tables of staticcheck, which take
// long to build.
func Covers(purpose Purpose) (list []string) {
	for _, r := range rules()[purpose] {
		list = append(list, strings.ReplaceAll(r.name, "-", " ")+": "+r.message)
	}
	if purpose == Bugs {
		for _, c := range vetChecks {
			title, _, _ := strings.Cut(c.analyzer.Doc, "\n")
			list = append(list, title)
		}
	}
	return list
}

// onlyAsked reports whether a rule counts what is a matter of taste, so that only a request which names
// its kind gets it.
func onlyAsked(purpose Purpose, name string) bool {
	return slices.ContainsFunc(rules()[purpose], func(r rule) bool { return r.asked && strings.HasSuffix(name, "/"+r.name) })
}

// fast runs the fast rules of a purpose over a file. Of a file that cannot be parsed no fix
// is offered.
func fast(s *source, purpose Purpose) []Finding {
	var findings []Finding
	test, old := isTest(s.name), s.isForPython2()
	for _, r := range rules()[purpose] {
		if !slices.Contains(r.languages, s.lang) || test && !r.tests || old && r.python3 {
			continue
		}
		for _, h := range r.find(s) {
			f := Finding{
				Rule: prefixes[s.lang] + "/" + r.name, Kind: r.kind, Level: cmp.Or(h.level, r.level), Confidence: r.confidence,
				File: s.name, Line: s.line(h.at), Message: r.message, Advice: r.advice, Edits: h.edits,
			}
			f.Column = 1 + h.at - s.lines[f.Line-1]
			if len(s.textOfLine(f.Line)) > 1000 {
				continue // the line is generated
			}
			if h.message != "" {
				f.Message = h.message
			}
			if s.fault != "" {
				f.Edits = nil
			}
			if findings = append(findings, f); len(findings) == MaxFindings {
				return findings
			}
		}
	}
	return findings
}

// each returns a rule's search that asks a question of every token.
func each(ask func(s *source, i int) *hit) search {
	return func(s *source) []hit {
		var hits []hit
		for i := range s.tokens {
			if h := ask(s, i); h != nil {
				if h.at == 0 {
					h.at = s.tokens[i].start
				}
				hits = append(hits, *h)
			}
		}
		return hits
	}
}

// where returns a rule's search for the tokens that satisfy a condition.
func where(holds func(s *source, i int) bool) search {
	return each(func(s *source, i int) *hit {
		if !holds(s, i) {
			return nil
		}
		return &hit{}
	})
}
