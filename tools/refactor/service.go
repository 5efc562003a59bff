package refactor

import (
	"context"
	"slices"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// NotFound is the code for an unknown finding.
const NotFound = "OPPORTUNITY_NOT_FOUND"

// Service runs the refactor actions. It is safe for concurrent use.
type Service struct{ bench *scan.Bench }

// New returns a service on a bench.
func New(bench scan.Bench) *Service {
	bench.Purpose, bench.Family, bench.NotFound = scan.Refactorings, "refactor", NotFound
	return &Service{&bench}
}

// ScanIn are the arguments of refactor.scan.
type ScanIn struct {
	scan.ScanIn
	Types         []string `json:"types"`
	MinConfidence float64  `json:"minConfidence"`
	MaxImpact     string   `json:"maxImpact"`
}

// ScanOut is the result of refactor.scan.
type ScanOut struct {
	ScanID string `json:"scanId" doc:"The scan." format:"uuid"`
	scan.Summary
	ByImpact map[string]int `json:"byImpact" doc:"Findings by impact."`
	TopItems []Brief        `json:"topItems" doc:"Highest impact first."`
}

// Brief is a finding in the result of a scan.
type Brief struct {
	OpportunityID string `json:"opportunityId" doc:"The finding." format:"uuid"`
	Impact        string `json:"impact" doc:"Impact of the change." enum:"breaking,major,minor,trivial"`
	Message       string `json:"message" doc:"The possible improvement."`
	File          string `json:"file" doc:"Where."`
	Line          int    `json:"line" doc:"From 1."`
	Fixable       bool   `json:"fixable" doc:"Whether refactor.apply can do it."`
}

// maxBrief is the maximum number of findings in the answer of a scan.
const maxBrief = 5

// Scan scans files and stores the findings.
func (s *Service) Scan(ctx context.Context, in ScanIn) (ScanOut, error) {
	request := in.Request()
	request.Kinds, request.Level, request.MinConfidence = in.Types, in.MaxImpact, in.MinConfidence
	id, report, err := s.bench.ScanAndStore(ctx, request)
	if err != nil {
		return ScanOut{}, err
	}
	out := ScanOut{ScanID: id, Summary: report.Shown(maxBrief), ByImpact: report.ByLevel(), TopItems: []Brief{}}
	for _, f := range report.Findings[:min(maxBrief, len(report.Findings))] {
		out.TopItems = append(out.TopItems, Brief{OpportunityID: f.ID, Impact: f.Level, Message: f.FullMessage(), File: f.File, Line: f.Line,
			Fixable: f.Fixable()})
	}
	return out, nil
}

// ApplyIn are the arguments of refactor.apply.
type ApplyIn struct {
	OpportunityID  string   `json:"opportunityId"`
	OpportunityIDs []string `json:"opportunityIds"`
	scan.FixIn
}

func (in ApplyIn) choice() scan.Choice {
	return scan.Choice{ID: in.OpportunityID, IDs: in.OpportunityIDs, Rule: in.Rule, File: in.File}
}

// ApplyOut is the result of refactor.apply.
type ApplyOut struct {
	*Item // of opportunityId
	scan.Outcome
}

// Writes returns the files that the improvements would change, without their backups.
func (s *Service) Writes(ctx context.Context, in ApplyIn) ([]string, error) {
	return s.bench.Writes(ctx, in.choice(), in.FixIn)
}

// Apply shows or writes the fixes of findings.
func (s *Service) Apply(ctx context.Context, in ApplyIn) (ApplyOut, error) {
	f, applied, err := s.bench.Fix(ctx, in.choice(), in.FixIn)
	if err != nil {
		return ApplyOut{}, err
	}
	out := ApplyOut{Outcome: applied.Outcome}
	if f != nil {
		out.Item = new(item(*f))
	}
	return out, nil
}

// ListIn are the arguments of refactor.list.
type ListIn struct {
	ScanID string `json:"scanId"`
	Type   string `json:"type"`
	Impact string `json:"impact"`
	toolfold.Page
}

// ListOut is the result of refactor.list.
type ListOut struct {
	ScanID string `json:"scanId,omitempty" doc:"The scan; absent without one." format:"uuid"`
	Items  []Item `json:"items" doc:"Highest impact first."`
	Total  int    `json:"total" doc:"Findings that match, on all pages."`
	toolfold.Paged
}

// Item is a finding.
type Item struct {
	OpportunityID string `json:"opportunityId" doc:"The finding." format:"uuid"`
	Impact        string `json:"impact" doc:"Impact of the change." enum:"breaking,major,minor,trivial"`
	Type          string `json:"type" doc:"Its kind." enum:"extract-function,extract-variable,inline-function,rename,move,simplify-conditional,remove-duplication,improve-types,modernize-syntax,optimize-imports,other"`
	scan.Place
}

func item(f scan.Finding) Item {
	return Item{OpportunityID: f.ID, Impact: f.Level, Type: f.Kind, Place: f.Place()}
}

// List lists the findings of a scan, a page at a time.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	if known := scan.Kinds[scan.Refactorings]; in.Type != "" && !slices.Contains(known, in.Type) {
		return ListOut{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: []toolfold.Problem{{
			Path: "/type", Kind: toolfold.ProblemEnum, Got: shorten.Quoted(in.Type), Allowed: known,
			Suggest: suggest.Nearest(shorten.Quoted(in.Type), known),
		}}}
	}
	page, err := s.bench.List(ctx, scan.Listing{ScanID: in.ScanID, Kind: in.Type, Level: in.Impact, Page: in.Page})
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{ScanID: page.ScanID, Items: []Item{}, Total: page.Total, Paged: page.Paged}
	for _, f := range page.Findings {
		out.Items = append(out.Items, item(f))
	}
	return out, nil
}
