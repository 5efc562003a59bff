// Package scan finds faults and refactorings in the files of a workspace, and applies their fixes
// if these are safe.
//
// Two kinds of rules run over a file. About thirty fast rules look at the tokens of Go, JavaScript,
// TypeScript and Python, so that comments and strings do not count. They need no types. For Go, the
// analysers of go vet and staticcheck run over the type-checked packages, and the modernizers of
// the user's go fix. The linters and type checkers that the workspace uses also run if they are
// installed, see package runner: in an untrusted workspace only those that run no code of it. The
// go command runs in any workspace, without cgo, downloads, other toolchains and version control,
// so that it runs no code of it.
//
// All of these run in separate processes with limits of time and memory, which end with the scan. A
// file or step that ends its process is left out with the reason, and the rest continues in another
// process.
//
// Go packages are read from source, in batches: those of the workspace in full, imported ones in
// outline. Only go fix compiles them. A table lists imported functions that do not return, because
// analysers would need their bodies to find out. Deprecated API (SA1019) is not reported.
//
// A finding's id is derived from its rule and its line, so that a new scan finds it again. A fix is
// only written to a file that still has the hash of the scanned one.
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

// Purpose is the purpose of a scan. Each rule belongs to one.
type Purpose string

// The purposes.
const (
	Bugs         Purpose = "bugfix"
	Refactorings Purpose = "refactor"
)

// Kinds lists the kinds of findings, by purpose.
var Kinds = map[Purpose][]string{
	Bugs: {"resource-leak", "memory-leak", "timer-leak", "null-reference", "type-error", "logic-error", "concurrency", "security",
		"performance", "other"},
	Refactorings: {"extract-function", "extract-variable", "inline-function", "rename", "move", "simplify-conditional", "remove-duplication",
		"improve-types", "modernize-syntax", "optimize-imports", "other"},
}

// Levels lists the levels of findings, highest first: the severity of a bug, the impact of a
// refactoring.
var Levels = map[Purpose][]string{
	Bugs:         {"critical", "high", "medium", "low", "info"},
	Refactorings: {"breaking", "major", "minor", "trivial"},
}

// Limits of one scan.
const (
	MaxFindings = 10_000
	maxFile     = 1 << 20 // bytes of a file
	maxSkipped  = 50      // listed in a report
	maxSnippet  = 200     // bytes
)

// Finding is a place in a file that breaks a rule.
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
	Advice     string // the next step; empty if Message suffices
	Snippet    string // the line, shortened
	Hash       string // SHA-256 of the scanned file, in hex
	Edits      []Edit // the fix; empty = no safe fix
	Again      []int  // lines of the same finding in the same function; Edits fixes them, too
}

// Fixable reports whether the finding has a safe fix.
func (f Finding) Fixable() bool { return len(f.Edits) > 0 }

// Edit replaces the bytes from Start to End of a file.
type Edit struct {
	Start, End int
	Text       string
}

// Request holds the options of a scan.
type Request struct {
	Purpose Purpose
	Paths   []string // files and folders of the workspace
	Exclude []string // globs with **, over paths and names
	Since   string   // only findings on lines that changed since this reference, see git.Since; empty = all
	Kinds   []string // empty = all
	Level   string   // bugs: at least this severity; refactorings: at most this impact; empty = all

	MinConfidence float64
	MaxFiles      int
	Fast          bool // run only the rules of this package

	// Progress is called as files are done, one call at a time; nil disables it.
	Progress func(done, total int, message string) `json:"-"`
}

// Report is the result of a scan. The count of its summary is 0, see [Report.Shown]. Skipped has at most
// maxSkipped files, and Missing tools as NAME: install command.
type Report struct {
	Findings []Finding // sorted by level, confidence and place
	Weaker   int       // number of findings below the requested level
	Summary
}

// SkippedFile is a file or folder that was not analysed, or not by all analysers.
type SkippedFile struct {
	Path   string `json:"path" doc:"File or folder."`
	Reason string `json:"reason" doc:"Why."`
}

// Scanner scans one workspace.
type Scanner struct {
	Dir string // of the workspace; empty = no workspace

	// Trusted reports whether analysers that run code of the workspace may run, such as eslint and
	// its plugins. Nil means false.
	Trusted func() bool

	goWork string // for the go command, see the function goWork

	limit time.Duration // lower limit for steps about one file or folder, for tests; 0 = no limit
}

// wants reports whether the request includes a finding, regardless of its level.
func (r Request) wants(f Finding) bool {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, f.Kind) || f.Confidence < r.MinConfidence {
		return false
	}
	return len(r.Kinds) > 0 || !onRequest(r.Purpose, f.Rule)
}

// meetsLevel reports whether the request includes the level of a finding.
func (r Request) meetsLevel(f Finding) bool {
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

// finish sets the ids, snippets and hashes of the findings of one file. An id is derived from the
// rule, the text of the line and the number of equal lines with the rule before it, so it survives
// changes of other lines.
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
		key, _ := json.Marshal([]string{string(purpose), f.File, f.Rule, line}) // encoding strings cannot fail
		seen[string(key)]++
		f.ID = uuid.NewHash(sha256.New(), namespace, append(key, byte(seen[string(key)]), byte(seen[string(key)]>>8)), 8).String()
		f.Snippet, f.Hash = cut(line, maxSnippet), hash
	}
}

// namespace is part of the ids of findings. It must not change.
var namespace = uuid.MustParse("2f1f1f0e-5a53-4f9c-8a5c-0b8f6d2f7a11")

// cut shortens a text to at most n bytes, plus an ellipsis.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// rank sorts findings by level, confidence and place.
func rank(purpose Purpose, findings []Finding) {
	levels := Levels[purpose]
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)), cmp.Compare(b.Confidence, a.Confidence),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.ID, b.ID))
	})
}

// Store stores the findings of scans. It is safe for concurrent use, also by several processes.
type Store interface {
	// Put stores a scan, and deletes all but the Kept newest ones of its workspace and purpose.
	Put(ctx context.Context, s Record, findings []Finding) error

	// Newest returns the id of the newest scan, or "".
	Newest(ctx context.Context, workspace string, purpose Purpose) (string, error)

	// List returns findings of a scan in order. Found is false if the workspace has no such scan.
	List(ctx context.Context, q Query) (page Page, found bool, err error)

	// Get returns a finding from the newest scan that has it. Found is false if no scan does.
	Get(ctx context.Context, workspace string, purpose Purpose, id string) (f Finding, found bool, err error)

	// Carry calls carry for the findings in files with this hash, in all scans of a workspace. It
	// replaces those for which carry returns true; the others stay.
	Carry(ctx context.Context, workspace, hash string, carry func(Finding) (Finding, bool)) error
}

// MaxScans is how many scans of a workspace and purpose are stored.
const MaxScans = 20

// Record is a stored scan. CreatedAt is UTC in whole microseconds.
type Record struct {
	ID        string
	Workspace string
	Purpose   Purpose
	CreatedAt time.Time
}

// Query selects findings of a scan. An empty Kind or Level matches all.
type Query struct {
	Workspace   string
	Purpose     Purpose
	Scan        string
	Kind, Level string
	Limit       int
	After       int // Page.Last of the page before; 0 = from the start
}

// Page is a part of a list.
type Page struct {
	Findings []Finding
	Last     int  // position of the last one; 0 if Findings is empty
	More     bool // whether more findings follow
	Total    int  // number of matching findings, ignoring After and Limit
}
