package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/storage"
)

// Scan tests the store of the families that scan code.
func Scan() Suite {
	return Suite{
		Name: "scan",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":           keepScan,
			"list pages":     pageFindings,
			"newest finding": newestFinding,
			"carried":        carriedFindings,
			"apart":          scansApart,
			"forget":         forgetScans,
			"at once":        scansAtOnce,
		},
		Durabilities: map[string]func(*testing.T, string){"reopen": reopened(func(t *testing.T, db *storage.DB) {
			noError(t, db.Scan().Put(t.Context(), newScan(1), newFindings(3)))
		}, func(t *testing.T, db *storage.DB) {
			equal(t, fmt.Sprint(listFindings(t, db, queryOf(newScan(1), 5))), fmt.Sprint(scan.Page{Findings: newFindings(3), Last: 3, Total: 3}))
		})},
	}
}

// newScan returns a scan made n seconds after noon.
func newScan(n int) scan.Record {
	return scan.Record{ID: sessionID(n), Workspace: "müssen\x00任务", Purpose: scan.Bugs, CreatedAt: noon.Add(time.Duration(n) * time.Second)}
}

// newFindings returns n findings, alternating between two kinds and levels.
func newFindings(n int) []scan.Finding {
	list := make([]scan.Finding, n)
	for i := range list {
		list[i] = scan.Finding{
			ID: sessionID(1000 + i), Rule: "js/eval", Kind: "security", Level: "high", Confidence: 0.75, File: "a b/字.ts", Line: i + 1, Column: 3,
			Message: "a\x00b '?", Advice: "do", Snippet: "\tx", Hash: "ab",
			Edits: []scan.Edit{{Start: 1, End: 2, Text: "\x00字"}, {Start: 4, End: 4}},
			Again: []int{7, i + 9},
		}
		if i%2 == 1 {
			list[i].Kind, list[i].Level, list[i].Edits, list[i].Advice = "other", "low", nil, ""
		}
	}
	return list
}

func listFindings(t *testing.T, db *storage.DB, q scan.Query) scan.Page {
	t.Helper()
	page, found, err := db.Scan().List(t.Context(), q)
	noError(t, err)
	if !found {
		t.Fatalf("there is no scan %s", q.Scan)
	}
	return page
}

func queryOf(r scan.Record, limit int) scan.Query {
	return scan.Query{Workspace: r.Workspace, Purpose: r.Purpose, Scan: r.ID, Limit: limit}
}

func keepScan(t *testing.T, db *storage.DB) {
	empty, full := newScan(1), newScan(2)
	noError(t, db.Scan().Put(t.Context(), empty, nil))
	noError(t, db.Scan().Put(t.Context(), full, newFindings(450)))
	equal(t, listFindings(t, db, queryOf(empty, 10)), scan.Page{})
	equal(t, listFindings(t, db, queryOf(full, 1000)), scan.Page{Findings: newFindings(450), Last: 450, Total: 450})
	if _, found, err := db.Scan().List(t.Context(), queryOf(newScan(3), 10)); found || err != nil {
		t.Fatalf("a scan that is not there: %v, %v", found, err)
	}
}

func pageFindings(t *testing.T, db *storage.DB) {
	r := newScan(1)
	noError(t, db.Scan().Put(t.Context(), r, newFindings(9)))
	for _, q := range []scan.Query{{}, {Kind: "other"}, {Level: "high"}, {Kind: "other", Level: "high"}} {
		var got []scan.Finding
		q.Workspace, q.Purpose, q.Scan, q.Limit = r.Workspace, r.Purpose, r.ID, 2
		total := 0
		for {
			page := listFindings(t, db, q)
			total = page.Total
			got, q.After = append(got, page.Findings...), page.Last
			if !page.More {
				break
			}
		}
		var want []scan.Finding
		for _, f := range newFindings(9) {
			if (q.Kind == "" || f.Kind == q.Kind) && (q.Level == "" || f.Level == q.Level) {
				want = append(want, f)
			}
		}
		equal(t, got, want)
		equal(t, total, len(want))
	}
}

// newestFinding checks that a finding is returned as in the newest scan that has it.
func newestFinding(t *testing.T, db *storage.DB) {
	for n := 1; n <= 3; n++ {
		findings := newFindings(1)
		if n == 3 {
			findings[0].ID = sessionID(7)
		}
		findings[0].Line = n
		noError(t, db.Scan().Put(t.Context(), newScan(n), findings))
	}
	r := newScan(1)
	for id, line := range map[string]int{sessionID(1000): 2, sessionID(7): 3} {
		f, found, err := db.Scan().Get(t.Context(), r.Workspace, r.Purpose, id)
		noError(t, err)
		if !found || f.Line != line {
			t.Errorf("finding %s: %v at line %d, want %d", id, found, f.Line, line)
		}
	}
	newest, err := db.Scan().Newest(t.Context(), r.Workspace, r.Purpose)
	noError(t, err)
	equal(t, newest, sessionID(3))
	if _, found, err := db.Scan().Get(t.Context(), r.Workspace, r.Purpose, sessionID(8)); found || err != nil {
		t.Errorf("a finding that is not there: %v, %v", found, err)
	}
}

// carriedFindings replaces the findings of a file's hash in all scans of the workspace, and no
// other findings.
func carriedFindings(t *testing.T, db *storage.DB) {
	for n := 1; n <= 3; n++ {
		findings := newFindings(3)
		findings[0].Hash, findings[1].Hash, findings[2].Hash = "aa11", "aa11", "bb22"
		r := newScan(n)
		if n == 3 {
			r.Workspace = "other"
		}
		noError(t, db.Scan().Put(t.Context(), r, findings))
	}
	seen := 0
	noError(t, db.Scan().Carry(t.Context(), newScan(1).Workspace, "aa11", func(f scan.Finding) (scan.Finding, bool) {
		seen++
		f.Line, f.Hash = 77, "cc33"
		return f, f.ID == sessionID(1001)
	}))
	equal(t, seen, 4)
	for n := 1; n <= 3; n++ {
		r := newScan(n)
		if n == 3 {
			r.Workspace = "other"
		}
		page, found, err := db.Scan().List(t.Context(), queryOf(r, 3))
		noError(t, err)
		if !found || len(page.Findings) != 3 {
			t.Fatalf("scan %d: %v, %d findings", n, found, len(page.Findings))
		}
		for _, f := range page.Findings {
			if carried := f.Line == 77 && f.Hash == "cc33"; carried != (n < 3 && f.ID == sessionID(1001)) {
				t.Errorf("scan %d: finding %s is carried: %t", n, f.ID, carried)
			}
		}
	}
}

// scansApart checks that workspaces and purposes are separate.
func scansApart(t *testing.T, db *storage.DB) {
	r := newScan(1)
	noError(t, db.Scan().Put(t.Context(), r, newFindings(1)))
	for _, other := range []scan.Record{{Workspace: "x", Purpose: r.Purpose}, {Workspace: r.Workspace, Purpose: scan.Refactorings}} {
		other.ID = r.ID
		_, found, err := db.Scan().List(t.Context(), queryOf(other, 1))
		noError(t, err)
		_, got, err := db.Scan().Get(t.Context(), other.Workspace, other.Purpose, sessionID(1000))
		noError(t, err)
		newest, err := db.Scan().Newest(t.Context(), other.Workspace, other.Purpose)
		noError(t, err)
		if found || got || newest != "" {
			t.Errorf("%s %s: list %v, get %v, newest %q", other.Workspace, other.Purpose, found, got, newest)
		}
	}
}

// forgetScans checks that the oldest scans of a workspace and purpose are removed with their
// findings.
func forgetScans(t *testing.T, db *storage.DB) {
	other := newScan(1000)
	other.Purpose = scan.Refactorings
	other.CreatedAt = noon.Add(-time.Hour)
	noError(t, db.Scan().Put(t.Context(), other, newFindings(1)))
	for n := range scan.MaxScans + 2 {
		findings := newFindings(1)
		findings[0].ID = sessionID(2000 + n)
		noError(t, db.Scan().Put(t.Context(), newScan(n), findings))
	}
	for n := range scan.MaxScans + 2 {
		_, found, err := db.Scan().List(t.Context(), queryOf(newScan(n), 1))
		noError(t, err)
		_, got, err := db.Scan().Get(t.Context(), newScan(n).Workspace, scan.Bugs, sessionID(2000+n))
		noError(t, err)
		if want := n >= 2; found != want || got != want {
			t.Errorf("scan %d: %v, its finding: %v", n, found, got)
		}
	}
	equal(t, listFindings(t, db, queryOf(other, 5)).Total, 1)
}

func scansAtOnce(t *testing.T, db *storage.DB) {
	noError(t, each(8, func(i int) error { return db.Scan().Put(t.Context(), newScan(i), newFindings(50)) }))
	for n := range 8 {
		equal(t, listFindings(t, db, queryOf(newScan(n), 1)).Total, 50)
	}
}
