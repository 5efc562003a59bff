package scan

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// rule is a fast rule, which looks at the tokens of one file. docs/code-measured.md lists the share
// of its findings that are true in public repositories.
type rule struct {
	name        string // findings have it with the language in front
	kind        string // of Kinds
	level       string // of Levels
	confidence  float64
	languages   []language
	message     string
	advice      string
	tests       bool // applies to tests, too
	python3     bool // skips files that support Python 2
	onlyIfNamed bool // only runs if the request names its kind, because it is a matter of taste
	find        search
}

// search finds the places that break a rule.
type search func(s *source) []hit

// hit is a place that breaks a rule.
type hit struct {
	at      int    // offset
	message string // empty = the rule's
	level   string // empty = the rule's
	edits   []Edit // the fix; nil = no safe fix
}

var (
	scripts    = []language{javascript, typescript}
	onlyPython = []language{python}
	every      = []language{golang, javascript, typescript, python}
)

// prefixes are the prefixes of rule names.
var prefixes = map[language]string{golang: "go", javascript: "js", typescript: "js", python: "python"}

// rules returns the fast rules by purpose.
var rules = sync.OnceValue(func() map[Purpose][]rule {
	return map[Purpose][]rule{
		Bugs:         slices.Concat(bugRules, inputRules, scriptRules, pythonRules),
		Refactorings: slices.Concat(refactorRules, pythonRefactorRules),
	}
})

// Covers returns what a scan looks for: the names and messages of the fast rules, and the titles of
// go vet's checks. It leaves out staticcheck's tables, which take long to build.
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

// onRequest reports whether a rule is a matter of taste, and only runs if the request names its
// kind.
func onRequest(purpose Purpose, name string) bool {
	return slices.ContainsFunc(rules()[purpose], func(r rule) bool { return r.onlyIfNamed && strings.HasSuffix(name, "/"+r.name) })
}

// fast runs the fast rules of a purpose over a file. If the file does not parse, findings have no
// fix.
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
				continue // a generated line
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

// each returns a search that calls ask for every token.
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

// where returns a search for the tokens for which holds is true.
func where(holds func(s *source, i int) bool) search {
	return each(func(s *source, i int) *hit {
		if !holds(s, i) {
			return nil
		}
		return &hit{}
	})
}
