package bugfix

import (
	"context"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/scan"
)

// NotFound is the code for an unknown finding.
const NotFound = "BUG_NOT_FOUND"

// Service runs the bugfix actions. It is safe for concurrent use.
type Service struct{ bench *scan.Bench }

// New returns a service on a bench.
func New(bench scan.Bench) *Service {
	bench.Purpose, bench.Family, bench.NotFound = scan.Bugs, "bugfix", NotFound
	return &Service{&bench}
}

// ScanIn are the arguments of bugfix.scan.
type ScanIn struct {
	scan.ScanIn
	Categories  []string `json:"categories"`
	MinSeverity string   `json:"minSeverity"`
	UseAST      bool     `json:"useAst"`
}

// ScanOut is the result of bugfix.scan.
type ScanOut struct {
	ScanID string `json:"scanId" doc:"The scan." format:"uuid"`
	scan.Summary
	Weaker     int            `json:"weaker,omitempty" doc:"More below minSeverity, which are not kept; minSeverity: info shows all."`
	BySeverity map[string]int `json:"bySeverity" doc:"Findings by severity."`
	TopItems   []Brief        `json:"topItems" doc:"The worst."`
}

// Brief is a finding in the result of a scan.
type Brief struct {
	BugID    string `json:"bugId" doc:"The finding." format:"uuid"`
	Severity string `json:"severity" doc:"Its severity." enum:"critical,high,medium,low,info"`
	Message  string `json:"message" doc:"The fault."`
	File     string `json:"file" doc:"Where."`
	Line     int    `json:"line" doc:"From 1."`
	Fixable  bool   `json:"fixable" doc:"Whether bugfix.run can fix it."`
}

// maxBrief is the maximum number of findings in the answer of a scan.
const maxBrief = 5

// Scan scans files and stores the findings.
func (s *Service) Scan(ctx context.Context, in ScanIn) (ScanOut, error) {
	request := in.Request()
	request.Kinds, request.Level, request.Fast = in.Categories, in.MinSeverity, !in.UseAST
	id, report, err := s.bench.ScanAndStore(ctx, request)
	if err != nil {
		return ScanOut{}, err
	}
	out := ScanOut{ScanID: id, Summary: report.Shown(maxBrief), Weaker: report.Weaker, BySeverity: report.ByLevel(), TopItems: []Brief{}}
	for _, f := range report.Findings[:min(maxBrief, len(report.Findings))] {
		out.TopItems = append(out.TopItems, Brief{BugID: f.ID, Severity: f.Level, Message: f.FullMessage(), File: f.File, Line: f.Line,
			Fixable: f.Fixable()})
	}
	return out, nil
}

// RunIn are the arguments of bugfix.run.
type RunIn struct {
	BugID  string   `json:"bugId"`
	BugIDs []string `json:"bugIds"`
	scan.FixIn
}

func (in RunIn) choice() scan.Choice {
	return scan.Choice{ID: in.BugID, IDs: in.BugIDs, Rule: in.Rule, File: in.File}
}

// RunOut is the result of bugfix.run.
type RunOut struct {
	*Item // of bugId
	scan.Outcome
}

// Writes returns the files that a run would write, without their backups.
func (s *Service) Writes(ctx context.Context, in RunIn) ([]string, error) {
	return s.bench.Writes(ctx, in.choice(), in.FixIn)
}

// Run shows or writes the fixes of findings.
func (s *Service) Run(ctx context.Context, in RunIn) (RunOut, error) {
	f, applied, err := s.bench.Fix(ctx, in.choice(), in.FixIn)
	if err != nil {
		return RunOut{}, err
	}
	out := RunOut{Outcome: applied.Outcome}
	if f != nil {
		out.Item = new(item(*f))
	}
	return out, nil
}

// ListIn are the arguments of bugfix.list.
type ListIn struct {
	ScanID   string `json:"scanId"`
	Severity string `json:"severity"`
	Category string `json:"category"`
	toolfold.Page
}

// ListOut is the result of bugfix.list.
type ListOut struct {
	ScanID string `json:"scanId,omitempty" doc:"The scan; absent without one." format:"uuid"`
	Items  []Item `json:"items" doc:"The worst first."`
	Total  int    `json:"total" doc:"Findings that match, on all pages."`
	toolfold.Paged
}

// Item is a finding.
type Item struct {
	BugID    string `json:"bugId" doc:"The finding." format:"uuid"`
	Severity string `json:"severity" doc:"Its severity." enum:"critical,high,medium,low,info"`
	Category string `json:"category" doc:"Its kind." enum:"resource-leak,memory-leak,timer-leak,null-reference,type-error,logic-error,concurrency,security,performance,other"`
	scan.Place
}

func item(f scan.Finding) Item {
	return Item{BugID: f.ID, Severity: f.Level, Category: f.Kind, Place: f.Place()}
}

// List lists the findings of a scan, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	page, err := s.bench.List(ctx, scan.Listing{ScanID: in.ScanID, Kind: in.Category, Level: in.Severity, Page: in.Page})
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{ScanID: page.ScanID, Items: []Item{}, Total: page.Total, Paged: page.Paged}
	for _, f := range page.Findings {
		out.Items = append(out.Items, item(f))
	}
	return out, nil
}
