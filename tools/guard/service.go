package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/policy"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Codes of what guard refuses.
const (
	NotFound    = "POLICY_NOT_FOUND"
	CheckFailed = "GUARD_CHECK_FAILED"
	ApplyFailed = "POLICY_APPLY_FAILED"
	Violation   = "POLICY_VIOLATION" // a policy of the session forbids a write of the call
)

// maxPolicies is the maximum number of policies of a session.
const maxPolicies = 10

// everything is the entry of changedPaths for all changes.
const everything = "git"

// Service runs the guard actions. It is safe for concurrent use.
type Service struct {
	store    Store
	policies *policy.Set
	checker  policy.Checker
	now      func() time.Time
}

// New returns a service for the policies of a workspace. TestCommand returns the argument vector of
// the user's test command, or nil.
func New(store Store, folder workspace.Folder, testCommand func() ([]string, error), now func() time.Time) *Service {
	return &Service{
		store: store, policies: policy.NewSet(folder), now: clock.Micros(now),
		checker: policy.Checker{Dir: folder.Dir, Trusted: folder.IsTrusted, TestCommand: testCommand},
	}
}

// CheckIn are the arguments of guard.check.
type CheckIn struct {
	PolicyID     string   `json:"policyId"`
	ChangedPaths []string `json:"changedPaths"`
	Since        string   `json:"since"`
	Target       string   `json:"target"`
}

// CheckOut is the result of guard.check.
type CheckOut struct {
	Status    string          `json:"status" doc:"The worst of the gates." enum:"PASS,WARN,FAIL"`
	PolicyID  string          `json:"policyId" doc:"The policy."`
	Target    string          `json:"target,omitempty" doc:"Value of {{target}}."`
	Gates     []policy.Result `json:"gates" doc:"An answer each."`
	Summary   string          `json:"summary" doc:"The same in a line."`
	Timestamp time.Time       `json:"timestamp" doc:"When it was checked."`
}

// Check checks changes by a policy.
func (s *Service) Check(ctx context.Context, in CheckIn) (CheckOut, error) {
	if s.checker.Dir == "" {
		return CheckOut{}, toolfold.Errorf(CheckFailed, "this server has no workspace").WithHint("start it with --workspace")
	}
	p, err := s.find(ctx, in.PolicyID, in.Target, CheckFailed)
	if err != nil {
		return CheckOut{}, err
	}
	changes, err := s.changes(ctx, in)
	if err != nil {
		return CheckOut{}, err
	}
	out := CheckOut{PolicyID: p.ID, Target: in.Target}
	if out.Gates, err = s.checker.Check(ctx, p, changes); err != nil {
		return CheckOut{}, err
	}
	out.Status, out.Timestamp = policy.Worst(out.Gates), s.now()
	out.Summary = out.Status + ": " + summary(out.Gates)
	if len(changes) == 0 {
		out.Summary += "; nothing has changed, so there was nothing to judge"
	}
	return out, nil
}

// summary lists the failed gates, or the checks of each gate if all pass.
func summary(gates []policy.Result) string {
	var passed, not []string
	for _, g := range gates {
		if g.Status == policy.Pass {
			passed = append(passed, g.Message)
		} else {
			not = append(not, g.Gate+" "+g.Status)
		}
	}
	if len(not) == 0 {
		return strings.Join(passed, "; ")
	}
	return fmt.Sprintf("%s; %d of %d gates pass", strings.Join(not, ", "), len(passed), len(gates))
}

// changes returns the changes to check: the paths in the call, or all differences that git reports.
// With a commit to compare with, only added lines are judged.
func (s *Service) changes(ctx context.Context, in CheckIn) ([]policy.Change, error) {
	all := len(in.ChangedPaths) == 0 || slices.Contains(in.ChangedPaths, everything)
	if !all && in.Since == "" {
		return s.checker.Named(ctx, in.ChangedPaths)
	}
	named := slices.DeleteFunc(slices.Clone(in.ChangedPaths), func(name string) bool { return name == everything })
	changes, err := s.checker.Since(ctx, cmp.Or(in.Since, git.Uncommitted), all, named)
	var none *git.NoChanges
	if errors.As(err, &none) {
		return nil, toolfold.Errorf(CheckFailed, "the changes cannot be determined: %s", none.Reason).WithHint("%s", none.Hint)
	}
	return changes, err
}

// find returns the policy with an id, with its target filled in. Code is the error code for a
// target that does not fit the policy.
func (s *Service) find(ctx context.Context, id, target, code string) (policy.Policy, error) {
	list, broken, err := s.policies.Read(ctx)
	if err != nil {
		return policy.Policy{}, err
	}
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID)
		if p.ID != id {
			continue
		}
		switch {
		case p.NeedsTarget() && target == "":
			return p, toolfold.Errorf(code, "policy %s has %s in its patterns, and target is missing", id, policy.Target).
				WithHint("pass target, such as the name of a provider's folder")
		case !p.NeedsTarget() && target != "":
			return p, toolfold.Errorf(code, "policy %s has no %s for target to stand for", id, policy.Target).WithHint("leave target out")
		case target != "" && !policy.ValidTarget(target):
			return p, toolfold.Errorf(code, "target %q is not a plain name or path", shorten.Quoted(target)).
				WithHint("use letters, digits and any of _ @ . + - with slashes between them")
		}
		return p.For(target), nil
	}
	for _, b := range broken {
		if b.Stem() == id {
			return policy.Policy{}, toolfold.Errorf(workspace.FileBroken, "policy %q cannot be used: %s", shorten.Quoted(id),
				shorten.To(b.Text(), 300)).WithHint("mend the file")
		}
	}
	e := toolfold.Errorf(NotFound, "there is no policy %q", shorten.Quoted(id))
	if near := suggest.Nearest(id, ids); near != "" {
		return policy.Policy{}, e.WithHint("did you mean %q?", near)
	}
	return policy.Policy{}, e.WithHint("there are %s; guard.list has all; more are files in %s", strings.Join(ids[:min(len(ids), 6)], ", "),
		policy.Folder)
}

// ListIn are the arguments of guard.list.
type ListIn struct {
	Limit int `json:"limit"`
}

// ListOut is the result of guard.list.
type ListOut struct {
	Policies []Item                 `json:"policies" doc:"Built-in ones first."`
	Broken   []workspace.BrokenFile `json:"broken,omitempty" doc:"Files that cannot be used."`
	Total    int                    `json:"total" doc:"All policies; 100 at most."`
}

// Item is a policy in guard.list.
type Item struct {
	PolicyID          string   `json:"policyId" doc:"The policy."`
	Description       string   `json:"description,omitempty" doc:"Its purpose."`
	Source            string   `json:"source" doc:"Its origin." enum:"built-in,file"`
	AllowedPaths      []string `json:"allowedPaths" doc:"Files that may change; empty = all."`
	ForbiddenPaths    []string `json:"forbiddenPaths" doc:"Files that may not; goes first."`
	Gates             []string `json:"gates" doc:"Its checks."`
	ChangeRadiusLimit int      `json:"changeRadiusLimit,omitempty" doc:"Most folders or packages; absent without that gate."`
	NeedsTarget       bool     `json:"needsTarget,omitempty" doc:"Whether target must be given."`
	Trusted           *bool    `json:"trusted,omitempty" doc:"False if its command does not run: the user has not trusted the workspace."`
}

// List lists policies. All of them fit into one page.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	list, broken, err := s.policies.Read(ctx)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Policies: []Item{}, Broken: workspace.Brief(policy.Folder, broken), Total: len(list)}
	for _, p := range list[:min(len(list), in.Limit)] {
		item := Item{
			PolicyID: p.ID, Description: p.Description, Source: p.Source(), Gates: p.Gates, NeedsTarget: p.NeedsTarget(),
			AllowedPaths: append([]string{}, p.Allowed...), ForbiddenPaths: append([]string{}, p.Forbidden...),
			Trusted: s.policies.Mark(p.Source()),
		}
		if p.Has(policy.ChangeRadius) {
			item.ChangeRadiusLimit = p.Radius
		}
		out.Policies = append(out.Policies, item)
	}
	return out, nil
}

// ApplyIn are the arguments of guard.apply.
type ApplyIn struct {
	SessionID string `json:"sessionId"`
	PolicyID  string `json:"policyId"`
	Target    string `json:"target"`
}

// ApplyOut is the result of guard.apply.
type ApplyOut struct {
	Applied         bool     `json:"applied" doc:"Always true; failures are errors."`
	SessionID       string   `json:"sessionId" doc:"The session." format:"uuid"`
	PolicyID        string   `json:"policyId" doc:"The policy."`
	AppliedPolicies []string `json:"appliedPolicies" doc:"All policies of the session."`
	Message         string   `json:"message" doc:"The outcome in words."`
}

// Apply applies a policy to a session.
func (s *Service) Apply(ctx context.Context, in ApplyIn) (ApplyOut, error) {
	p, err := s.find(ctx, in.PolicyID, in.Target, ApplyFailed)
	if err != nil {
		return ApplyOut{}, err
	}
	b := Binding{SessionID: strings.ToLower(in.SessionID), PolicyID: p.ID, AppliedAt: s.now()}
	for _, gate := range []string{policy.PathViolation, policy.ChangeRadius} {
		if p.Has(gate) {
			b.Gates = append(b.Gates, gate)
		}
	}
	if len(b.Gates) == 0 {
		return ApplyOut{}, toolfold.Errorf(ApplyFailed, "policy %s has neither of the gates %s and %s, which alone hold for a session", p.ID,
			policy.PathViolation, policy.ChangeRadius).
			WithHint("guard.check checks changes against the policy's gates")
	}
	if p.Has(policy.PathViolation) {
		b.Allowed, b.Forbidden = p.Allowed, p.Forbidden
	}
	if p.Has(policy.ChangeRadius) {
		b.Radius, b.By = p.Radius, p.By
	}
	ids, status, err := s.store.Bind(ctx, b, maxPolicies)
	switch {
	case err != nil:
		return ApplyOut{}, fmt.Errorf("applying policy: %w", err)
	case status == "":
		return ApplyOut{}, work.MissingSession(in.SessionID)
	case status != work.SessionActive:
		return ApplyOut{}, work.EndedSession(status)
	case !slices.Contains(ids, p.ID):
		return ApplyOut{}, toolfold.Errorf(ApplyFailed, "the session has %d policies, the maximum", maxPolicies).
			WithHint("put rules together in one policy")
	}
	return ApplyOut{
		Applied: true, SessionID: b.SessionID, PolicyID: p.ID, AppliedPolicies: ids,
		Message: "calls of the session that would break " + strings.Join(b.Gates, " and ") + " are refused",
	}, nil
}
