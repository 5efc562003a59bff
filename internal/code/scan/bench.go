package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// ScanMissing is the code for a scan that does not exist, or no longer.
const ScanMissing = "SCAN_NOT_FOUND"

// NoWorkspace is the code for a server without a workspace.
const NoWorkspace = "NO_WORKSPACE"

// Bench implements the actions of the families that scan: it scans one workspace and stores the
// findings. It is safe for concurrent use.
type Bench struct {
	Scanner
	Purpose   Purpose
	Family    string // the family's name, for errors
	NotFound  string // the code for a finding that does not exist
	Store     Store
	Workspace string // the name of the workspace
	Now       func() time.Time
	NewID     func() string // returns UUIDs

	// TestCommand returns the argument vector that tests the workspace, or nil if no command is set.
	TestCommand func() ([]string, error)
}

// ScanAndStore scans and stores the findings. It reports progress to the listener of the context.
func (b *Bench) ScanAndStore(ctx context.Context, r Request) (id string, report *Report, err error) {
	if b.Dir == "" {
		return "", nil, toolfold.Errorf(NoWorkspace, "this server has no workspace").WithHint("start it with --workspace")
	}
	r.Purpose = b.Purpose
	r.Progress = func(done, total int, message string) {
		toolfold.Report(ctx, toolfold.Progress{Done: float64(done), Total: float64(total), Message: message})
	}
	if report, err = b.Scan(ctx, r); err != nil {
		return "", nil, err
	}
	record := Record{ID: b.NewID(), Workspace: b.Workspace, Purpose: b.Purpose, CreatedAt: b.Now().UTC().Truncate(time.Microsecond)}
	if err := b.Store.Put(ctx, record, report.Findings); err != nil {
		return "", nil, fmt.Errorf("storing scan: %w", err)
	}
	return record.ID, report, nil
}

// Listing selects findings of a stored scan.
type Listing struct {
	ScanID      string // empty = the cursor's scan, else the newest
	Kind, Level string // empty = all
	toolfold.Page
}

// FindingsPage is a page of findings.
type FindingsPage struct {
	ScanID   string // empty = there is no scan
	Findings []Finding
	Total    int
	toolfold.Paged
}

// List returns a page of a scan's findings. A cursor continues in the same scan, even if there is a
// newer one.
func (b *Bench) List(ctx context.Context, l Listing) (FindingsPage, error) {
	action := b.Family + ".list"
	key, err := toolfold.Page{Cursor: l.Cursor}.After(action)
	if err != nil {
		return FindingsPage{}, err
	}
	q := Query{Workspace: b.Workspace, Purpose: b.Purpose, Scan: strings.ToLower(l.ScanID), Kind: l.Kind, Level: l.Level, Limit: l.Limit}
	if key != "" {
		var scanID string
		if _, err := fmt.Sscanf(key, "%d %s", &q.After, &scanID); err != nil || q.Scan != "" && q.Scan != scanID {
			return FindingsPage{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
				Path: "/cursor", Kind: toolfold.ProblemFormat, Want: "nextCursor of " + action + " for the same scan",
			}}}
		}
		q.Scan = scanID
	}
	if q.Scan == "" {
		if q.Scan, err = b.Store.Newest(ctx, b.Workspace, b.Purpose); err != nil {
			return FindingsPage{}, fmt.Errorf("finding the newest scan: %w", err)
		}
		if q.Scan == "" {
			return FindingsPage{}, nil
		}
	}
	page, found, err := b.Store.List(ctx, q)
	if err != nil {
		return FindingsPage{}, fmt.Errorf("listing findings: %w", err)
	}
	if n := fitting(page.Findings); found && n < len(page.Findings) {
		q.Limit = n
		if page, found, err = b.Store.List(ctx, q); err != nil {
			return FindingsPage{}, fmt.Errorf("listing findings: %w", err)
		}
	}
	if !found {
		return FindingsPage{}, toolfold.Errorf(ScanMissing, "there is no scan %s in this workspace; the %d newest are kept",
			shorten.Quoted(q.Scan), MaxScans).
			WithHint("leave scanId out for the newest, or scan again")
	}
	result := FindingsPage{ScanID: q.Scan, Findings: page.Findings, Total: page.Total}
	if page.More {
		result.Paged = toolfold.Paged{HasMore: true, NextCursor: toolfold.CursorOf(fmt.Sprint(page.Last, " ", q.Scan))}
	}
	return result, nil
}

// Choice selects the findings to fix: one, several, or those of the newest scan with a rule or a
// file. Exactly one of the three must be set.
type Choice struct {
	ID         string
	IDs        []string
	Rule, File string // Rule with or without its analyser
}

// Writes returns the files that the fixes of findings would change, without backups. It returns
// no files if the call does not write or the choice is refused.
func (b *Bench) Writes(ctx context.Context, c Choice, in FixIn) ([]string, error) {
	if !in.writes() {
		return nil, nil
	}
	findings, err := b.chosen(ctx, c)
	var refused *toolfold.Error
	if errors.As(err, &refused) { // the call itself returns this error
		return nil, nil
	}
	var files []string
	for _, f := range findings {
		if !slices.Contains(files, f.File) {
			files = append(files, f.File)
		}
	}
	return files, err
}

// chosen returns the findings of a choice; for a rule or a file only those with a fix.
func (b *Bench) chosen(ctx context.Context, c Choice) (findings []Finding, err error) {
	name := map[Purpose]string{Bugs: "bugId", Refactorings: "opportunityId"}[b.Purpose]
	ways := 0
	for _, is := range []bool{c.ID != "", len(c.IDs) > 0, c.Rule+c.File != ""} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		kind, about := toolfold.ProblemRefused, []string{name, name + "s", "rule", "file"}
		if ways == 0 {
			kind, about = toolfold.ProblemMissing, about[:1]
		}
		return nil, toolfold.Errorf(toolfold.InvalidInput, "it is not clear which findings to fix").About(kind, about...).
			WithHint("pass %[1]s, or %[1]ss, or rule or file or both, which choose from the newest scan", name)
	}
	if c.Rule+c.File != "" {
		return b.ofRule(ctx, c)
	}
	ids := c.IDs
	if c.ID != "" {
		ids = []string{c.ID}
	}
	for _, id := range ids {
		f, found, err := b.Store.Get(ctx, b.Workspace, b.Purpose, strings.ToLower(id))
		if err != nil {
			return nil, fmt.Errorf("reading finding: %w", err)
		}
		if !found {
			return nil, toolfold.Errorf(b.NotFound, "there is no finding %s in this workspace", id).
				WithHint("%[1]s.list shows those there are; %[1]s.scan looks for more", b.Family)
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// ofRule returns the fixable findings of the newest scan with a rule or a file.
func (b *Bench) ofRule(ctx context.Context, c Choice) ([]Finding, error) {
	file, inside := c.File, true
	if file != "" {
		file, inside = b.inside(file)
	}
	newest, err := b.Store.Newest(ctx, b.Workspace, b.Purpose)
	var page Page
	if err == nil && newest != "" && inside {
		page, _, err = b.Store.List(ctx, Query{Workspace: b.Workspace, Purpose: b.Purpose, Scan: newest, Limit: MaxFindings})
	}
	if err != nil {
		return nil, fmt.Errorf("listing findings: %w", err)
	}
	findings := slices.DeleteFunc(page.Findings, func(f Finding) bool {
		_, short, _ := strings.Cut(f.Rule, "/")
		return !f.Fixable() || file != "" && f.File != file || c.Rule != "" && c.Rule != f.Rule && c.Rule != short
	})
	if len(findings) == 0 {
		return nil, toolfold.Errorf(b.NotFound, "the newest scan has no finding of that rule and file with a safe fix").
			WithHint("%[1]s.list shows rules, files and the fixable findings; %[1]s.scan looks again", b.Family)
	}
	return findings, nil
}

// Fix shows or writes the fixes of findings. For a choice by id it returns the finding too. If that
// has no safe fix, the outcome has a note instead.
func (b *Bench) Fix(ctx context.Context, c Choice, in FixIn) (*Finding, *FixResult, error) {
	findings, err := b.chosen(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	var one *Finding
	if c.ID != "" {
		if one = &findings[0]; !one.Fixable() {
			return one, &FixResult{Outcome: Outcome{Note: "there is no safe fix; follow the advice"}}, nil
		}
	}
	change := Change{Write: in.writes(), Backup: in.CreateBackup}
	if in.RunTests {
		if change.Test, err = b.tests(change.Write); err != nil {
			return nil, nil, err
		}
	}
	applied, err := b.Apply(ctx, findings, change)
	if err != nil {
		return nil, nil, err
	}
	if one == nil {
		applied.count(len(findings))
	} else if len(applied.refusals) > 0 {
		return nil, nil, applied.refusals[0].err
	}
	for _, m := range applied.files {
		if err := b.Store.Carry(ctx, b.Workspace, m.hash, m.carry()); err != nil {
			return nil, nil, fmt.Errorf("keeping the other findings of %s, which is fixed: %w", m.name, err)
		}
	}
	return one, applied, nil
}

// maxPage bounds the bytes of a page's findings in an answer.
const maxPage = 700_000

// fitting returns how many of the findings fit on a page, at least one.
func fitting(findings []Finding) int {
	size := 0
	for i, f := range findings {
		if size += len(ordered.MustJSON(f.Place())) + 200; size > maxPage {
			return max(i, 1)
		}
	}
	return len(findings)
}

// tests returns the command that tests a written change.
func (b *Bench) tests(write bool) ([]string, error) {
	if !write {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%s: runTests tests a change that is written, and this call does not write", b.Family).
			About(toolfold.ProblemRefused, "runTests").
			WithHint("leave runTests out, or pass autoApply: true and dryRun: false")
	}
	var argv []string
	if b.TestCommand != nil {
		var err error
		if argv, err = b.TestCommand(); err != nil {
			return nil, fmt.Errorf("reading testCommand: %w", err)
		}
	}
	if len(argv) == 0 {
		return nil, toolfold.Errorf(NoTests, "no test command is set; nothing was written").
			WithHint(`leave runTests out, or ask the user to run: toolfold call config.set '{"path":"testCommand","value":["go","test","./..."]}'`)
	}
	return argv, nil
}
