// Package scan finds faults and refactorings in the files of a workspace, and
// applies their fixes where these are safe.
//
// Two kinds of rules run over a file. The fast ones, about thirty, look at its tokens, so that
// comments and strings do not count: Go, JavaScript, TypeScript and Python. They need no types. For
// Go the analysers of go vet and staticcheck run too, over the type-checked packages, and the modernizers
// of the user's go fix. The linters and type checkers that the workspace uses run if they are installed,
// see package runner: in a workspace that the user has not trusted, those that run no code of it.
// The go command runs in any workspace, with cgo, downloads, other toolchains and
// version control switched off, so that it runs nothing of the workspace's.
//
// All of that runs in processes of their own, with limits of time and memory,
// which end with the scan. What a process is ended at is left out, with the
// reason, and the rest goes on in another.
//
// Go packages are read from source, in batches: those of the workspace in full, imported ones in outline.
// Only go fix compiles them. A table names the imported functions that do not return, as analysers would
// learn from their bodies; deprecated API (SA1019) is not reported.
//
// A finding's id follows from its rule and its line, so that a new scan finds it
// again; a fix is written only to a file with the hash of the one scanned.
package scan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Purpose is the reason for a scan. A rule belongs to one.
type Purpose string

// The purposes.
const (
	Bugs         Purpose = "bugfix"
	Refactorings Purpose = "refactor"
)

// Kinds lists what a finding can be, by purpose.
var Kinds = map[Purpose][]string{
	Bugs: {"resource-leak", "memory-leak", "timer-leak", "null-reference", "type-error", "logic-error", "concurrency", "security",
		"performance", "other"},
	Refactorings: {"extract-function", "extract-variable", "inline-function", "rename", "move", "simplify-conditional", "remove-duplication",
		"improve-types", "modernize-syntax", "optimize-imports", "other"},
}

// Levels lists how much a finding weighs, the most first: the severity of a
// bug, the impact of a refactoring.
var Levels = map[Purpose][]string{
	Bugs:         {"critical", "high", "medium", "low", "info"},
	Refactorings: {"breaking", "major", "minor", "trivial"},
}

// Limits of one scan.
const (
	MaxFindings = 10_000
	maxFile     = 1 << 20 // bytes of a file
	maxSkipped  = 50      // that are named
	maxSnippet  = 200     // bytes
)

// Finding is one place in a file, and what a rule says of it.
type Finding struct {
	ID         string
	Rule       string // "staticcheck/SA4006", "js/nan-comparison"
	Kind       string // of Kinds
	Level      string // of Levels
	Confidence float64
	File       string // below the workspace, with slashes
	Line       int    // from 1
	Column     int    // from 1, in bytes
	Message    string
	Advice     string // what to do; may be empty where Message says it
	Snippet    string // the line, shortened
	Hash       string // SHA-256 of the file as it was scanned, in hex
	Edits      []Edit // the fix; empty = there is no safe one
	Again      []int  // lines of more places in the same function of which the rule says the same; Edits mends them too
}

// Fixable reports whether the finding has a safe fix.
func (f Finding) Fixable() bool { return len(f.Edits) > 0 }

// Edit replaces the bytes from Start to End of a file.
type Edit struct {
	Start, End int
	Text       string
}

// Request says what to scan for.
type Request struct {
	Purpose Purpose
	Paths   []string // files and folders of the workspace
	Exclude []string // globs with **, over paths and names
	Since   string   // only findings on lines that changed since then, as git.Since has it; empty = all
	Kinds   []string // empty = all
	Level   string   // bugs: at least this severity; refactorings: at most this impact; empty = all

	MinConfidence float64
	MaxFiles      int
	Fast          bool // only the rules of this package

	// Progress is called as files are done, one call at a time; nil reports
	// nothing.
	Progress func(done, total int, message string) `json:"-"`
}

// Report is the result of a scan.
type Report struct {
	Findings  []Finding // the heaviest first, then by confidence and place
	Files     int       // that were scanned
	Weaker    int       // more findings, of less than the level that was asked for
	Older     int       // more findings, on lines that did not change
	Quiet     int       // more findings, which comments suppress
	Theirs    int       // files that others or programs wrote, which are left out: vendored, minified and generated ones
	Analysers []string  // that ran
	Missing   []string  // tools that would find more, as NAME: the command that installs it
	Skipped   []Skipped // at most maxSkipped
	Unnamed   int       // more that were skipped, or only scanned in part
	Truncated string    // why there may be more findings; empty = there are none
	LookedFor string    // what was looked for, and what not; of a scan that found nothing
}

// Skipped is a file or folder that was not analysed, or not by all analysers.
type Skipped struct {
	Path   string `json:"path" doc:"File or folder."`
	Reason string `json:"reason" doc:"Why."`
}

// Scanner scans one workspace.
type Scanner struct {
	Dir string // of the workspace; empty = there is none

	// Trusted reports whether analysers that run code of the workspace may
	// run, such as eslint and its plugins. Nil is false.
	Trusted func() bool

	goWork string // for the go command in a scan, as of the function goWork

	limit time.Duration // of each step that is about one file or folder, where it is shorter; 0 = there is none
}

// wants reports whether a finding is asked for, whatever its level.
func (r Request) wants(f Finding) bool {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, f.Kind) || f.Confidence < r.MinConfidence {
		return false
	}
	return len(r.Kinds) > 0 || !onlyAsked(r.Purpose, f.Rule)
}

// weighs reports whether a finding has a level that is asked for.
func (r Request) weighs(f Finding) bool {
	if r.Level == "" {
		return true
	}
	levels := Levels[r.Purpose]
	weight, limit := slices.Index(levels, f.Level), slices.Index(levels, r.Level)
	if r.Purpose == Refactorings {
		return weight >= limit
	}
	return weight <= limit
}

// finish identifies the findings of one file, whose text is given. An id
// follows from the rule, the text of the line and how many such lines there
// are before it, so that it stays when other lines change.
func finish(purpose Purpose, text string, findings []Finding) {
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message))
	})
	lines := strings.Split(text, "\n")
	seen := map[string]int{}
	for i := range findings {
		f := &findings[i]
		line := ""
		if f.Line <= len(lines) {
			line = strings.TrimSpace(lines[f.Line-1])
		}
		key, _ := json.Marshal([]string{string(purpose), f.File, f.Rule, line}) // strings can be encoded
		seen[string(key)]++
		f.ID = uuid.NewHash(sha256.New(), namespace, append(key, byte(seen[string(key)]), byte(seen[string(key)]>>8)), 8).String()
		f.Snippet, f.Hash = cut(line, maxSnippet), hash
	}
}

// namespace goes into the ids of findings. It must stay the same.
var namespace = uuid.MustParse("2f1f1f0e-5a53-4f9c-8a5c-0b8f6d2f7a11")

// cut shortens a text to at most n bytes.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// rank orders findings: the heaviest first, then the surest, then by place.
func rank(purpose Purpose, findings []Finding) {
	levels := Levels[purpose]
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)), cmp.Compare(b.Confidence, a.Confidence),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.ID, b.ID))
	})
}

// Store keeps the findings of scans. Methods are safe for concurrent use, also
// by several processes.
type Store interface {
	// Put keeps a scan, and forgets all but the Kept newest of its workspace
	// and purpose.
	Put(ctx context.Context, s Record, findings []Finding) error

	// Newest returns the id of the newest scan; empty where there is none.
	Newest(ctx context.Context, workspace string, purpose Purpose) (string, error)

	// List returns findings of a scan in order. Found is false where the
	// workspace has no such scan.
	List(ctx context.Context, q Query) (page Page, found bool, err error)

	// Get returns a finding of the newest scan that has it. Found is false
	// where none has.
	Get(ctx context.Context, workspace string, purpose Purpose, id string) (f Finding, found bool, err error)

	// Carry replaces findings in files of a hash, in all scans of a workspace, by what
	// carry makes of them; those for which it is false stay.
	Carry(ctx context.Context, workspace, hash string, carry func(Finding) (Finding, bool)) error
}

// Kept is the number of scans of a workspace and purpose that are kept.
const Kept = 20

// Record is a scan as it is stored. CreatedAt is UTC in whole microseconds.
type Record struct {
	ID        string
	Workspace string
	Purpose   Purpose
	CreatedAt time.Time
}

// Query picks findings of a scan. An empty Kind or Level does not filter.
type Query struct {
	Workspace   string
	Purpose     Purpose
	Scan        string
	Kind, Level string
	Limit       int
	After       int // Last of the page before; 0 = from the first
}

// Page is a part of a list.
type Page struct {
	Findings []Finding
	Last     int  // position of the last of them; 0 where there are none
	More     bool // whether more follow
	Total    int  // of all findings that the query picks, After and Limit aside
}
