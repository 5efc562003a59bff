package scan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/shorten"
)

// ScanMissing is the code of a scan that is not there, or not any more.
const ScanMissing = "SCAN_NOT_FOUND"

// NoWorkspace is the code of a server that has no files.
const NoWorkspace = "NO_WORKSPACE"

// Bench serves the families that scan: it scans one workspace and stores the
// findings. It is safe for concurrent use.
type Bench struct {
	Scanner
	Purpose   Purpose
	Family    string // names the family in errors
	NotFound  string // the code of a finding that does not exist
	Store     Store
	Workspace string // its name
	Now       func() time.Time
	NewID     func() string // UUIDs

	// TestCommand returns the argument vector that tests the workspace; nil
	// where none is set.
	TestCommand func() ([]string, error)
}

// Keep scans and stores what was found. Progress goes to the listener of the
// context.
func (b *Bench) Keep(ctx context.Context, r Request) (id string, report *Report, err error) {
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
	ScanID      string // empty = that of the cursor, else the newest
	Kind, Level string // empty = all
	toolfold.Page
}

// Listed is a page of findings.
type Listed struct {
	ScanID   string // empty = there is no scan
	Findings []Finding
	Total    int
	toolfold.Paged
}

// List returns a page of a scan's findings. A cursor stays with its scan.
func (b *Bench) List(ctx context.Context, l Listing) (Listed, error) {
	action := b.Family + ".list"
	key, err := toolfold.Page{Cursor: l.Cursor}.After(action)
	if err != nil {
		return Listed{}, err
	}
	q := Query{Workspace: b.Workspace, Purpose: b.Purpose, Scan: strings.ToLower(l.ScanID), Kind: l.Kind, Level: l.Level, Limit: l.Limit}
	if key != "" {
		var scanID string
		if _, err := fmt.Sscanf(key, "%d %s", &q.After, &scanID); err != nil || q.Scan != "" && q.Scan != scanID {
			return Listed{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
				Path: "/cursor", Kind: toolfold.ProblemFormat, Want: "nextCursor of " + action + " for the same scan",
			}}}
		}
		q.Scan = scanID
	}
	if q.Scan == "" {
		if q.Scan, err = b.Store.Newest(ctx, b.Workspace, b.Purpose); err != nil {
			return Listed{}, fmt.Errorf("finding the newest scan: %w", err)
		}
		if q.Scan == "" {
			return Listed{}, nil
		}
	}
	page, found, err := b.Store.List(ctx, q)
	if err != nil {
		return Listed{}, fmt.Errorf("listing findings: %w", err)
	}
	if n := fitting(page.Findings); found && n < len(page.Findings) {
		q.Limit = n
		if page, found, err = b.Store.List(ctx, q); err != nil {
			return Listed{}, fmt.Errorf("listing findings: %w", err)
		}
	}
	if !found {
		return Listed{}, toolfold.Errorf(ScanMissing, "there is no scan %s in this workspace; the %d newest are kept",
			shorten.Quoted(q.Scan), Kept).
			WithHint("leave scanId out for the newest, or scan again")
	}
	listed := Listed{ScanID: q.Scan, Findings: page.Findings, Total: page.Total}
	if page.More {
		listed.Paged = toolfold.Paged{HasMore: true, NextCursor: toolfold.CursorOf(fmt.Sprint(page.Last, " ", q.Scan))}
	}
	return listed, nil
}

// Writes returns the file that the fix of a finding would change, its backup
// aside; none where it is not written or there is no such finding.
func (b *Bench) Writes(ctx context.Context, id string, in FixIn) ([]string, error) {
	if !in.writes() {
		return nil, nil
	}
	f, found, err := b.find(ctx, id)
	if err != nil || !found {
		return nil, err
	}
	return []string{f.File}, nil
}

func (b *Bench) find(ctx context.Context, id string) (Finding, bool, error) {
	f, found, err := b.Store.Get(ctx, b.Workspace, b.Purpose, strings.ToLower(id))
	if err != nil {
		return f, found, fmt.Errorf("reading finding: %w", err)
	}
	return f, found, nil
}

// Fix shows or writes the fix of a finding. test returns the command that tests
// what is written; nil tests nothing.
func (b *Bench) Fix(ctx context.Context, id string, in FixIn, test func(write bool) ([]string, error)) (Finding, *Applied, error) {
	f, found, err := b.find(ctx, id)
	if err != nil {
		return f, nil, err
	}
	if !found {
		return f, nil, toolfold.Errorf(b.NotFound, "there is no finding %s in this workspace", id).
			WithHint("%[1]s.list shows those there are; %[1]s.scan looks for more", b.Family)
	}
	if !f.Fixable() {
		return f, &Applied{Outcome: Outcome{Note: "there is no safe fix; do as the advice says"}}, nil
	}
	change := Change{Write: in.writes(), Backup: in.CreateBackup}
	if test != nil {
		if change.Test, err = test(change.Write); err != nil {
			return f, nil, err
		}
	}
	applied, err := b.Apply(ctx, f, change)
	return f, applied, err
}

// maxPage bounds what the findings of a page take in an answer, in bytes.
const maxPage = 700_000

// fitting returns how many findings fit on a page, at least one.
func fitting(findings []Finding) int {
	size := 0
	for i, f := range findings {
		if size += len(ordered.MustJSON(f.Place())) + 200; size > maxPage {
			return max(i, 1)
		}
	}
	return len(findings)
}

// Tests returns the command that tests the workspace.
func (b *Bench) Tests() ([]string, error) {
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
