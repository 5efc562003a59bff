package scan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/engine"
	"github.com/toolfold/toolfold/internal/ordered"
)

// ScanMissing is the code of a scan that is not there, or not any more.
const ScanMissing = "SCAN_NOT_FOUND"

// NoWorkspace is the code of a server that has no files.
const NoWorkspace = "NO_WORKSPACE"

// Bench serves the families that scan: it scans one workspace and keeps
// what is found. It is safe for concurrent use.
type Bench struct {
	Scanner
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
	r.Progress = func(done, total int, message string) {
		engine.Report(ctx, engine.Progress{Done: float64(done), Total: float64(total), Message: message})
	}
	if report, err = b.Scan(ctx, r); err != nil {
		return "", nil, err
	}
	record := Record{ID: b.NewID(), Workspace: b.Workspace, Purpose: r.Purpose, CreatedAt: b.Now().UTC().Truncate(time.Microsecond)}
	if err := b.Store.Put(ctx, record, report.Findings); err != nil {
		return "", nil, fmt.Errorf("storing scan: %w", err)
	}
	return record.ID, report, nil
}

// Listing picks findings of a stored scan.
type Listing struct {
	ScanID      string // empty = that of the cursor, else the newest
	Kind, Level string // empty = all
	Limit       int
	Cursor      string // of a Listed before
	Action      string // full name, for errors
}

// Listed is a page of findings.
type Listed struct {
	ScanID   string // empty = there is no scan
	Findings []Finding
	Total    int
	Cursor   string // empty = no more follow
}

// List returns a page of a scan's findings. A cursor stays with its scan.
func (b *Bench) List(ctx context.Context, purpose Purpose, l Listing) (Listed, error) {
	key, err := toolfold.DecodeCursor(l.Cursor, l.Action)
	if err != nil {
		return Listed{}, err
	}
	q := Query{Workspace: b.Workspace, Purpose: purpose, Scan: l.ScanID, Kind: l.Kind, Level: l.Level, Limit: l.Limit}
	if key != "" {
		var scanID string
		if _, err := fmt.Sscanf(key, "%d %s", &q.After, &scanID); err != nil || q.Scan != "" && q.Scan != scanID {
			return Listed{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
				Path: "/cursor", Kind: toolfold.ProblemFormat, Want: "nextCursor of " + l.Action + " for the same scan",
			}}}
		}
		q.Scan = scanID
	}
	if q.Scan == "" {
		if q.Scan, err = b.Store.Newest(ctx, b.Workspace, purpose); err != nil {
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
		return Listed{}, toolfold.Errorf(ScanMissing, "there is no scan %s in this workspace; the %d newest are kept", toolfold.Shorten(q.Scan), Kept).
			WithHint("leave scanId out for the newest, or scan again")
	}
	listed := Listed{ScanID: q.Scan, Findings: page.Findings, Total: page.Total}
	if page.More {
		listed.Cursor = toolfold.EncodeCursor(fmt.Sprint(page.Last, " ", q.Scan))
	}
	return listed, nil
}

// Writes returns the file that the fix of a finding is for; none where it is
// not written or there is no such finding.
func (b *Bench) Writes(ctx context.Context, purpose Purpose, id string, write bool) ([]string, error) {
	if !write {
		return nil, nil
	}
	f, found, err := b.Store.Get(ctx, b.Workspace, purpose, strings.ToLower(id))
	if err != nil {
		return nil, fmt.Errorf("reading finding: %w", err)
	}
	if !found {
		return nil, nil
	}
	return []string{f.File}, nil
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
