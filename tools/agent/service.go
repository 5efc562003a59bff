package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/internal/suggest"
	"github.com/toolfold/toolfold/tools"
)

// Codes of what agents refuse.
const (
	NotFound         = "AGENT_NOT_FOUND"
	InvalidID        = "INVALID_AGENT_ID"
	AlreadyExists    = "AGENT_ALREADY_EXISTS"
	RemoveFailed     = "AGENT_REMOVE_FAILED"
	PermissionDenied = "AGENT_PERMISSION_DENIED" // it is disabled
	ValidationError  = "AGENT_VALIDATION_ERROR"  // its definition cannot run
	StageFailed      = "AGENT_STAGE_FAILED"      // a prompt or an expression of it
)

// The most that a profile may have.
const (
	maxCapabilities = 50
	maxTags         = 20
)

// Options are what the service works with.
type Options struct {
	Workspace string // whose folder [Folder] has agent files; empty = none

	// Runner runs the agents. Its caller also finds abilities and joins
	// sessions.
	Runner *engine.Runner

	Tools tools.Names // that steps may call; nil = not checked before they run
	Now   func() time.Time
}

// Service runs the agent actions. It is safe for concurrent use.
type Service struct {
	store Store
	Options
}

// New returns a service on a store.
func New(store Store, o Options) *Service { return &Service{store, o} }

var idForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,49}$`)

const idRule = "must be a letter, then letters, digits, dashes and underscores, at most 50"

func validID(id string) bool { return idForm.MatchString(id) }

// Register adds an agent.
func (s *Service) Register(ctx context.Context, in RegisterIn) (RegisterOut, error) {
	steps, err := parseSteps(in.Workflow)
	if err != nil {
		return RegisterOut{}, err
	}
	p := Profile{
		AgentID: in.AgentID, Description: in.Description, DisplayName: in.DisplayName, Capabilities: in.Capabilities,
		Team: in.Team, Tags: in.Tags, SystemPrompt: in.SystemPrompt, Workflow: steps, Enabled: in.Enabled,
		Source: Registered, CreatedAt: s.Now().UTC().Truncate(time.Microsecond),
	}
	if err := s.check(p); err != nil {
		return RegisterOut{}, err
	}
	profiles, _, err := s.readFiles()
	if err != nil {
		return RegisterOut{}, err
	}
	exists := slices.ContainsFunc(profiles, func(other Profile) bool { return other.AgentID == p.AgentID })
	if !exists {
		added, err := s.store.Add(ctx, p)
		if err != nil {
			return RegisterOut{}, fmt.Errorf("adding agent: %w", err)
		}
		exists = !added
	}
	if exists {
		return RegisterOut{}, tools.Errorf(AlreadyExists, "there is an agent %q", p.AgentID).
			WithHint("take another agentId, or agent.remove that one first")
	}
	return RegisterOut{Registered: true, AgentID: p.AgentID, Message: fmt.Sprintf("agent %q is registered", p.AgentID), CreatedAt: p.CreatedAt}, nil
}

// check refuses a profile that could not be kept or run.
func (s *Service) check(p Profile) error {
	if !validID(p.AgentID) {
		return tools.Errorf(InvalidID, "agentId %q %s", tools.Shorten(p.AgentID), idRule).WithHint("such as code-reviewer")
	}
	if problems := tooMany(p); len(problems) > 0 {
		return &tools.Error{Code: tools.InvalidInput, Problems: problems}
	}
	if _, faults := s.compile(p); len(faults) > 0 {
		return faults.Problem("agent.register")
	}
	return nil
}

// parseSteps reads steps, of which the declaration leaves the shape open.
func parseSteps(raw []json.RawMessage) ([]engine.Step, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	steps, faults := engine.ParseSteps(encode(raw), "/workflow")
	if len(faults) > 0 {
		return nil, faults.Problem("agent.register")
	}
	return steps, nil
}

func tooMany(p Profile) []tools.Problem {
	var list []tools.Problem
	for _, c := range []struct {
		name      string
		got, most int
	}{{"capabilities", len(p.Capabilities), maxCapabilities}, {"tags", len(p.Tags), maxTags}} {
		if c.got > c.most {
			list = append(list, tools.Problem{Path: "/" + c.name, Kind: tools.ProblemLength, Max: new(float64(c.most)), Got: c.got})
		}
	}
	return list
}

// List lists agents, a page at a time: registered ones and files together.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	page, err := s.store.List(ctx, Query{Team: in.Team, Enabled: in.Enabled, After: in.Cursor, Limit: in.Limit + 1})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing agents: %w", err)
	}
	files, broken, err := s.readFiles()
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Agents: []Item{}, Total: page.Total, Broken: broken}
	all := page.Profiles
	for _, p := range files {
		_, hidden, err := s.store.Get(ctx, p.AgentID)
		if err != nil {
			return ListOut{}, fmt.Errorf("reading agent: %w", err)
		}
		switch {
		case hidden:
			out.Broken = append(out.Broken, engine.Broken{File: p.Source, Reason: "an agent of this id is registered and counts; agent.remove it to use the file"})
		case in.Team != "" && in.Team != p.Team || in.Enabled != nil && *in.Enabled != p.Enabled:
		default:
			out.Total++
			if p.AgentID > in.Cursor {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.AgentID, b.AgentID) })
	if len(all) > in.Limit {
		all, out.HasMore = all[:in.Limit], true
		out.NextCursor = all[in.Limit-1].AgentID
	}
	for _, p := range all {
		out.Agents = append(out.Agents, p.item())
	}
	return out, nil
}

func (p Profile) item() Item {
	return Item{
		AgentID: p.AgentID, DisplayName: p.DisplayName, Description: p.Description,
		Team: p.Team, Enabled: p.Enabled, Capabilities: p.Capabilities,
	}
}

// Get reads one profile.
func (s *Service) Get(ctx context.Context, in GetIn) (GetOut, error) {
	p, err := s.find(ctx, in.AgentID)
	if err != nil {
		return GetOut{}, err
	}
	out := GetOut{
		AgentID: p.AgentID, DisplayName: p.DisplayName, Version: p.Version, Description: p.Description, Role: p.Role,
		Expertise: p.Expertise, Capabilities: p.Capabilities, Team: p.Team, Tags: p.Tags, Enabled: p.Enabled,
		SystemPrompt: p.SystemPrompt, Workflow: p.Workflow, Orchestration: p.Orchestration, Source: p.Source,
	}
	if !p.CreatedAt.IsZero() {
		out.CreatedAt = &p.CreatedAt
	}
	return out, nil
}

// Remove removes a registered agent.
func (s *Service) Remove(ctx context.Context, in RemoveIn) (RemoveOut, error) {
	removed, err := s.store.Remove(ctx, in.AgentID)
	if err != nil {
		return RemoveOut{}, fmt.Errorf("removing agent: %w", err)
	}
	if removed {
		return RemoveOut{Removed: true, AgentID: in.AgentID, Message: fmt.Sprintf("agent %q is removed", in.AgentID)}, nil
	}
	profiles, _, err := s.readFiles()
	if err != nil {
		return RemoveOut{}, err
	}
	if slices.ContainsFunc(profiles, func(p Profile) bool { return p.AgentID == in.AgentID }) {
		return RemoveOut{}, tools.Errorf(RemoveFailed, "agent %q is a file, which is not removed", in.AgentID).
			WithHint("delete its file in %s", Folder)
	}
	return RemoveOut{AgentID: in.AgentID, Message: fmt.Sprintf("there is no agent %q", tools.Shorten(in.AgentID))}, nil
}

// nearby is how many registered agents an error looks at for a near name.
const nearby = 1000

func (s *Service) unknown(ctx context.Context, id string, files []Profile) error {
	page, err := s.store.List(ctx, Query{Limit: nearby})
	if err != nil {
		return fmt.Errorf("listing agents: %w", err)
	}
	var ids []string
	for _, p := range append(page.Profiles, files...) {
		ids = append(ids, p.AgentID)
	}
	e := tools.Errorf(NotFound, "there is no agent %q", tools.Shorten(id)).WithHint("agent.list shows those there are")
	if near := suggest.Nearest(id, ids); near != "" {
		return e.WithHint("did you mean %q? agent.list shows those there are", near)
	}
	return e
}

func encode(v any) json.RawMessage { return ordered.MustJSON(v) }
