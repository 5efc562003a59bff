package design

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/design/contract"
)

// NotReadable is the code for a document that cannot be checked, or a folder without sources.
const NotReadable = "DOCUMENT_NOT_READABLE"

// Limits of a check.
const (
	maxFindings = 50 // per list in a result
	checkTime   = 30 * time.Second
)

// CheckIn are the arguments of design.check.
type CheckIn struct {
	Path    string `json:"path"`
	Against string `json:"against"`
	Offset  int    `json:"offset"` // entries of each list on earlier pages
}

// CheckOut is the result of design.check.
type CheckOut struct {
	Format        string             `json:"format" doc:"Of the document, with its version."`
	Findings      []contract.Finding `json:"findings" doc:"In the order of lines; 50 at most."`
	FindingsTotal int                `json:"findingsTotal" doc:"All of them."`
	Breaks        []contract.Break   `json:"breaks,omitempty" doc:"Changes that break users of against; 50 at most. A shared schema counts once."`
	BreaksTotal   int                `json:"breaksTotal,omitempty" doc:"All of them."`
	NextOffset    int                `json:"nextOffset,omitempty" doc:"Pass as offset to read on; absent at the end."`
	Notes         []string           `json:"notes,omitempty" doc:"Parts not checked."`
	Summary       string             `json:"summary" doc:"The same in a line."`
}

// Check finds faults in a document of the workspace, and breaks in comparison with an older one.
func (s *Service) Check(ctx context.Context, in CheckIn) (CheckOut, error) {
	text, err := s.document("path", in.Path)
	if err != nil {
		return CheckOut{}, err
	}
	var older []byte
	if in.Against != "" {
		if older, err = s.older(ctx, in); err != nil {
			return CheckOut{}, err
		}
	}
	bounded, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	out, err := workspace.Await(bounded, func() (CheckOut, error) { return check(in, text, older) })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return CheckOut{}, toolfold.Errorf(NotReadable, "checking took longer than %v", checkTime).WithHint("split the document")
	}
	return out, err
}

func check(in CheckIn, text, older []byte) (CheckOut, error) {
	document, err := contract.Read(text)
	if err != nil {
		return CheckOut{}, unreadable("path", in.Path, err)
	}
	found, outside, err := contract.Lint(document)
	if err != nil {
		return CheckOut{}, err
	}
	out := CheckOut{Format: document.Spec + " " + document.Version, FindingsTotal: len(found)}
	out.Findings, out.NextOffset = from(found, in.Offset)
	problems := 0
	for _, f := range found {
		if f.Severity == contract.Error {
			problems++
		}
	}
	out.Summary = fmt.Sprintf("%d errors, %d warnings", problems, len(found)-problems)
	if outside > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d references lead out of the document and were not followed", outside))
	}
	if in.Against == "" {
		return out, nil
	}
	before, err := contract.Read(older)
	if err != nil {
		return CheckOut{}, unreadable("against", in.Against, err)
	}
	breaks, partly, err := contract.Compare(before, document)
	if err != nil {
		return CheckOut{}, unreadable("against", in.Against, err)
	}
	if partly {
		out.Notes = append(out.Notes, "the documents have too many schemas for all of them to be compared")
	}
	var next int
	out.Breaks, next = from(breaks, in.Offset)
	out.BreaksTotal, out.NextOffset = len(breaks), max(out.NextOffset, next)
	out.Summary += fmt.Sprintf("; %d breaking changes against %s", len(breaks), shorten.To(in.Against, 100))
	return out, nil
}

// from returns a page of a list, and the offset of the next page; zero after the last.
func from[T any](list []T, offset int) (part []T, next int) {
	start := min(offset, len(list))
	end := min(start+maxFindings, len(list))
	if end < len(list) {
		next = end
	}
	return append([]T{}, list[start:end]...), next
}

func unreadable(parameter, name string, reason error) error {
	return toolfold.Errorf(NotReadable, "%s cannot be checked: %v", shorten.Quoted(name), shorten.To(reason.Error(), 200)).
		About(toolfold.ProblemRefused, parameter).WithHint("name an OpenAPI or AsyncAPI document in JSON or YAML")
}

// document reads a file of the workspace.
func (s *Service) document(parameter, name string) ([]byte, error) {
	text, err := s.path(parameter, name).Read(contract.MaxBytes)
	if refused := new(toolfold.Error); err != nil && !errors.As(err, &refused) {
		return nil, unreadable(parameter, name, err)
	}
	return text, err
}

// older reads the older document: a file, or a file of a commit in git's form, main:docs/api.yaml.
// main: means the same path in that commit.
func (s *Service) older(ctx context.Context, in CheckIn) ([]byte, error) {
	ref, name, ofGit := strings.Cut(in.Against, ":")
	if !ofGit || len(ref) < 2 || filepath.IsAbs(filepath.FromSlash(in.Against)) { // C: is a drive
		return s.document("against", in.Against)
	}
	if name == "" {
		name = in.Path
	}
	local, err := s.path("against", name).Local()
	if err != nil {
		return nil, err
	}
	text, err := git.File(ctx, s.workspace, ref, filepath.ToSlash(local), contract.MaxBytes)
	var none *git.NoChanges
	if errors.As(err, &none) {
		return nil, toolfold.Errorf(NotReadable, "%s cannot be read: %s", shorten.Quoted(in.Against), none.Reason).
			About(toolfold.ProblemRefused, "against").WithHint("%s", none.Hint)
	}
	return text, err
}
