// Package secrets finds credentials in texts, by the rules of gitleaks.
//
// The rules are the unchanged file gitleaks.toml of gitleaks v8.30.1; a newer version may replace
// it. Gitleaks' own packages are not used: they would add 170 packages, among them a WebAssembly
// runtime, archive formats and a configuration system.
package secrets

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed gitleaks.toml
var source string

// Finding is a text that looks like a credential. It does not contain the text.
type Finding struct {
	Rule string // such as aws-access-token
	Line int    // from 1; 0 if the file's name is the finding
}

// rules is a parsed rules file.
type rules struct {
	Allow allowlist `toml:"allowlist"`
	Rules []*rule   `toml:"rules"`
}

type rule struct {
	ID       string       `toml:"id"`
	Regex    pattern      `toml:"regex"` // empty = only the path decides
	Path     pattern      `toml:"path"`
	Group    int          `toml:"secretGroup"` // 0 = the first non-empty group
	Entropy  float64      `toml:"entropy"`     // minimum, in bits per byte, not included
	Keywords []string     `toml:"keywords"`    // in lower case; a text without any of them is not searched
	Allow    []*allowlist `toml:"allowlists"`
}

// allowlist matches texts that only look like credentials.
type allowlist struct {
	Paths     []pattern `toml:"paths"`
	Regexes   []pattern `toml:"regexes"`
	Stopwords []string  `toml:"stopwords"`
	Target    string    `toml:"regexTarget"` // match, line or, if empty, the credential
	Condition string    `toml:"condition"`   // AND = all must match; else one is enough
}

// pattern is a regular expression that is compiled at first use: for most texts, most rules are
// never compiled.
type pattern struct {
	text    string
	compile func() *regexp.Regexp
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *pattern) UnmarshalText(text []byte) error {
	p.text = string(text)
	p.compile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p.text) })
	return nil
}

func (p *pattern) matches(text string) bool {
	return p.text != "" && p.compile().MatchString(text)
}

// load parses the rules once. They are embedded, and a test compiles all expressions.
var load = sync.OnceValue(func() *rules {
	var r rules
	if err := toml.Unmarshal([]byte(source), &r); err != nil {
		panic(fmt.Sprintf("secrets: %v", err))
	}
	return &r
})

// everyKey is the rule for keys of an unknown kind.
const everyKey = "generic-api-key"

// maxLine bounds the bytes before and after a credential that count as its line. Without it, a file
// without line ends would cost its length for each credential.
const maxLine = 2000

// lineAround returns the line around a part of a text.
func lineAround(text string, start, end int) string {
	begin := max(0, start-maxLine)
	begin += strings.LastIndexByte(text[begin:start], '\n') + 1
	rest := text[end:min(len(text), end+maxLine)]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	return text[begin : end+len(rest)]
}

// allowMark in a line accepts its credential.
const allowMark = "gitleaks:allow"

// Find returns the texts in a file that look like credentials, at most one per line. The path has
// slashes. A text of one megabyte with the keywords of all rules takes seconds. Between rules, Find
// checks ctx and returns its error.
func Find(ctx context.Context, path, text string) ([]Finding, error) {
	byLine := map[int]Finding{}
	number, counted, of := 1, 0, ""
	err := search(ctx, path, text, func(rule string, start, _ int) {
		if start < 0 {
			byLine[0] = Finding{Rule: rule}
			return
		}
		if of != rule {
			number, counted, of = 1, 0, rule
		}
		number, counted = number+strings.Count(text[counted:start], "\n"), start
		// A specific rule replaces the generic one.
		if before, found := byLine[number]; !found || before.Rule == everyKey && rule != everyKey {
			byLine[number] = Finding{rule, number}
		}
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(byLine), func(a, b Finding) int { return a.Line - b.Line }), nil
}

// Hide replaces everything in a text that looks like a credential with instead.
func Hide(text, instead string) string {
	type span struct{ start, end int }
	var found []span
	_ = search(context.Background(), "", text, func(_ string, start, end int) { // only the context's error, so none
		if start >= 0 {
			found = append(found, span{start, end})
		}
	})
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	var hidden strings.Builder
	done := 0
	for _, s := range found {
		if s.start >= done {
			hidden.WriteString(text[done:s.start])
			hidden.WriteString(instead)
		}
		done = max(done, s.end)
	}
	hidden.WriteString(text[done:])
	return hidden.String()
}

// search calls found with the rule and the range of everything that looks like a credential. The
// range is -1 if the path alone matches.
func search(ctx context.Context, path, text string, found func(rule string, start, end int)) error {
	all := load()
	if all.Allow.path(path) {
		return nil
	}
	lower := strings.ToLower(text)
	for _, r := range all.Rules {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.Path.text != "" && !r.Path.matches(path) || slices.ContainsFunc(r.Allow, func(a *allowlist) bool {
			return a.Condition != "AND" && a.path(path)
		}) {
			continue
		}
		if r.Regex.text == "" {
			found(r.ID, -1, -1)
			continue
		}
		if len(r.Keywords) > 0 && !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(lower, strings.ToLower(k)) }) {
			continue
		}
		for _, at := range r.Regex.compile().FindAllStringIndex(text, -1) {
			match := strings.Trim(text[at[0]:at[1]], "\n")
			start := at[0] + strings.Index(text[at[0]:at[1]], match)
			secret := r.secret(match)
			line := lineAround(text, start, start+len(match))
			if r.Entropy > 0 && entropy(secret) <= r.Entropy || strings.Contains(line, allowMark) || all.Allow.finding(path, secret, match, line) ||
				slices.ContainsFunc(r.Allow, func(a *allowlist) bool { return a.finding(path, secret, match, line) }) {
				continue
			}
			found(r.ID, start, start+len(match))
		}
	}
	return nil
}

// secret returns the part of a match that is the credential.
func (r *rule) secret(match string) string {
	groups := r.Regex.compile().FindStringSubmatch(match)
	if r.Group > 0 && r.Group < len(groups) {
		return groups[r.Group]
	}
	for _, group := range groups[min(1, len(groups)):] {
		if group != "" {
			return group
		}
	}
	return match
}

func (a *allowlist) path(path string) bool {
	return slices.ContainsFunc(a.Paths, func(p pattern) bool { return p.matches(path) })
}

// finding reports whether a match is allowed.
func (a *allowlist) finding(path, secret, match, line string) bool {
	target := map[string]string{"match": match, "line": line}[a.Target]
	if a.Target == "" {
		target = secret
	}
	var checks []bool
	if len(a.Paths) > 0 && a.Condition == "AND" {
		checks = append(checks, a.path(path))
	}
	if len(a.Regexes) > 0 {
		checks = append(checks, slices.ContainsFunc(a.Regexes, func(p pattern) bool { return p.matches(target) }))
	}
	if len(a.Stopwords) > 0 {
		lower := strings.ToLower(secret)
		checks = append(checks, slices.ContainsFunc(a.Stopwords, func(word string) bool {
			return strings.Contains(lower, strings.ToLower(word))
		}))
	}
	if a.Condition == "AND" {
		return len(checks) > 0 && !slices.Contains(checks, false)
	}
	return slices.Contains(checks, true)
}

// entropy returns the entropy of a text's characters, in bits per byte.
func entropy(text string) (bits float64) {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	for _, n := range counts {
		share := float64(n) / float64(len(text))
		bits -= share * math.Log2(share)
	}
	return bits
}
