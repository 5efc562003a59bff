package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/system/clock"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// Codes of the agent tool.
const (
	NotFound         = "AGENT_NOT_FOUND"
	InvalidID        = "INVALID_AGENT_ID"
	AlreadyExists    = "AGENT_ALREADY_EXISTS"
	RemoveFailed     = "AGENT_REMOVE_FAILED"
	UpdateFailed     = "AGENT_UPDATE_FAILED"
	PermissionDenied = "AGENT_PERMISSION_DENIED" // the agent is disabled
	ValidationError  = "AGENT_VALIDATION_ERROR"  // the definition is invalid
	StageFailed      = "AGENT_STAGE_FAILED"      // a prompt or an expression failed
)

// maxWorkflow limits the steps of a registered agent, in bytes of JSON.
const maxWorkflow = maxFileSize

// Options configures a service.
type Options struct {
	// Folder is the workspace. Its folder [Folder] has agent files.
	Folder workspace.Folder

	// Runner runs the agents. Its caller also finds abilities and joins
	// sessions.
	Runner *engine.Runner

	// ParseRights reads a text of [toolfold.Rights].
	ParseRights func(text string) (*toolfold.Rights, error)

	// Rights are the rights of the server, an upper limit for its callers: an agent may also run in
	// a process with more rights. Nil means all rights.
	Rights *toolfold.Rights

	Tools engine.Actions // for the check of steps; nil = no check before a run
	Now   func() time.Time
}

// Service runs the agent actions. It is safe for concurrent use.
type Service struct {
	store Store
	files *workspace.Files[fileProfile]
	Options
}

// New returns a service on a store and the files of a workspace.
func New(store Store, o Options) *Service {
	files := workspace.NewFiles(o.Folder.Dir, Folder, []string{".yaml", ".yml", ".json"}, maxFileSize, parseFile)
	return &Service{store, files, o}
}

var idForm = regex.Lazy(`^[A-Za-z][A-Za-z0-9_-]{0,49}$`)

const idRule = "must be a letter, then letters, digits, dashes and underscores, at most 50"

func validID(id string) bool { return idForm().MatchString(id) }

// Register adds an agent.
func (s *Service) Register(ctx context.Context, in RegisterIn) (RegisterOut, error) {
	steps, err := parseSteps("agent.register", in.Workflow)
	if err != nil {
		return RegisterOut{}, err
	}
	p := Profile{
		AgentID: in.AgentID, Description: in.Description, DisplayName: in.DisplayName, Capabilities: in.Capabilities,
		Team: in.Team, Tags: in.Tags, SystemPrompt: in.SystemPrompt, Workflow: steps, Enabled: in.Enabled,
		Source: Registered, CreatedAt: clock.Micros(s.Now)(),
	}
	if p.Rights, err = s.rights(ctx).Narrow(""); err != nil {
		return RegisterOut{}, err
	}
	if !validID(p.AgentID) {
		return RegisterOut{}, toolfold.Errorf(InvalidID, "agentId %q %s", shorten.Quoted(p.AgentID), idRule).WithHint("such as code-reviewer")
	}
	absent, err := s.judge(ctx, "agent.register", p)
	if err != nil {
		return RegisterOut{}, err
	}
	warnings, err := s.check("agent.register", p)
	if err != nil {
		return RegisterOut{}, err
	}
	added, err := s.store.Add(ctx, p)
	if err != nil {
		return RegisterOut{}, fmt.Errorf("adding agent: %w", err)
	}
	if !added {
		return RegisterOut{}, toolfold.Errorf(AlreadyExists, "there is an agent %q", p.AgentID).
			WithHint("take another agentId, or agent.update that one")
	}
	out := RegisterOut{Registered: true, AgentID: p.AgentID, Message: fmt.Sprintf("agent %q is registered", p.AgentID), CreatedAt: p.CreatedAt}
	file, err := s.fileOf(ctx, p.AgentID)
	if err != nil {
		return RegisterOut{}, err
	}
	if file != "" {
		out.Message += ", and goes before the file " + file
	}
	out.Message += warnings + absent
	return out, nil
}

// check fails for a profile that cannot run. Warnings name the things that are missing at the
// moment, as the end of a message; they may be empty.
func (s *Service) check(action string, p Profile) (warnings string, err error) {
	program, faults := engine.Compile(p.steps(p.Workflow), s.Tools)
	if len(faults) > 0 {
		return "", faults.Problem(action)
	}
	faults, missing := s.Runner.Providers.Check(program)
	if len(faults) > 0 {
		return "", faults.Problem(action)
	}
	return but(missing), nil
}

// judge fails for steps that would fail in every run. Unknown agents and other unknown names are
// warnings only: two agents may name each other, and an import registers one of them first.
func (s *Service) judge(ctx context.Context, action string, p Profile) (warnings string, err error) {
	verdict := engine.Judge(ctx, p.steps(p.Workflow), s.Tools, s.Runner.Caller, work.Reference{Kind: work.Agent, ID: p.AgentID})
	if len(verdict.Faults) > 0 {
		return "", verdict.Faults.Problem(action)
	}
	var missing []string
	for _, f := range verdict.Absent[:min(len(verdict.Absent), mostWarnings)] {
		missing = append(missing, f.Text())
	}
	if more := len(verdict.Absent) - mostWarnings; more > 0 {
		missing = append(missing, fmt.Sprintf("%d more names lead nowhere", more))
	}
	if n := len(verdict.Unjudged); n > 0 {
		missing = append(missing, "not checked are "+verdict.Unjudged[0])
		if n > 1 {
			missing = append(missing, fmt.Sprintf("nor those of %d more tools", n-1))
		}
	}
	return but(missing), nil
}

// mostWarnings limits the unknown names in a message.
const mostWarnings = 5

func but(warnings []string) (text string) {
	for _, warning := range warnings {
		text += "; but " + warning
	}
	return text
}

// Update changes the given fields of a registered agent.
func (s *Service) Update(ctx context.Context, in UpdateIn) (UpdateOut, error) {
	if in == (UpdateIn{AgentID: in.AgentID}) {
		return UpdateOut{}, toolfold.Errorf(toolfold.InvalidInput, "agent.update: nothing is to be changed").
			About(toolfold.ProblemMissing, "enabled").
			WithHint("send the fields to change, such as enabled or workflow; agent.get has the current ones")
	}
	present, found, err := s.store.Get(ctx, in.AgentID)
	if err != nil {
		return UpdateOut{}, fmt.Errorf("reading agent: %w", err)
	}
	if !found {
		return UpdateOut{}, s.notRegistered(ctx, in.AgentID)
	}
	var steps []engine.Step
	warnings, absent := "", ""
	if in.Workflow != nil { // steps that were registered before are not refused for other changes
		if steps, err = parseSteps("agent.update", *in.Workflow); err != nil {
			return UpdateOut{}, err
		}
		p := present
		p.Workflow = steps
		set(&p.SystemPrompt, in.SystemPrompt)
		if absent, err = s.judge(ctx, "agent.update", p); err != nil {
			return UpdateOut{}, err
		}
	}
	found, err = s.store.Change(ctx, in.AgentID, func(p Profile) (Profile, error) {
		set(&p.Description, in.Description)
		set(&p.DisplayName, in.DisplayName)
		set(&p.Capabilities, in.Capabilities)
		set(&p.Team, in.Team)
		set(&p.Tags, in.Tags)
		set(&p.SystemPrompt, in.SystemPrompt)
		set(&p.Enabled, in.Enabled)
		if in.Workflow != nil {
			p.Workflow = steps
		}
		if p.Rights, err = s.rights(ctx).Narrow(p.Rights); err != nil {
			return p, err
		}
		warnings, err = s.check("agent.update", p)
		return p, err
	})
	if err != nil {
		return UpdateOut{}, fmt.Errorf("changing agent: %w", err)
	}
	if !found {
		return UpdateOut{}, s.notRegistered(ctx, in.AgentID)
	}
	return UpdateOut{Updated: true, AgentID: in.AgentID, Message: fmt.Sprintf("agent %q is changed%s%s", in.AgentID, warnings, absent)}, nil
}

// rights returns the caller's rights on this server.
func (s *Service) rights(ctx context.Context) *toolfold.Rights {
	return toolfold.OriginOf(ctx).Rights.And(s.Rights)
}

// set sets the field if value is not nil.
func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// notRegistered returns the error for a change of an agent that is a file or unknown.
func (s *Service) notRegistered(ctx context.Context, id string) error {
	files, _, err := s.readFiles(ctx)
	if err != nil {
		return err
	}
	for _, p := range files {
		if p.AgentID == id {
			return toolfold.Errorf(UpdateFailed, "agent %q is the file %s, which agent.update does not change", id, p.File).
				WithHint("change the file, or agent.register an agent of this id, which goes before it")
		}
	}
	return s.unknown(ctx, id, files)
}

// fileOf returns the file of an agent; empty if no file has it.
func (s *Service) fileOf(ctx context.Context, id string) (string, error) {
	profiles, _, err := s.readFiles(ctx)
	for _, p := range profiles {
		if p.AgentID == id {
			return p.File, nil
		}
	}
	return "", err
}

// parseSteps parses steps, whose shape the declaration leaves open.
func parseSteps(action string, raw []json.RawMessage) ([]engine.Step, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	text := ordered.MustJSON(raw)
	if len(text) > maxWorkflow {
		return nil, &toolfold.Error{
			Code: toolfold.InvalidInput, Message: fmt.Sprintf("%s: workflow has %d bytes, more than %d", action, len(text), maxWorkflow),
			Problems: []toolfold.Problem{{Path: "/workflow", Kind: toolfold.ProblemLength, Max: new(float64(maxWorkflow)), Got: len(text)}},
		}
	}
	steps, faults := engine.ParseSteps(text, "/workflow")
	if len(faults) > 0 {
		return nil, faults.Problem(action)
	}
	return steps, nil
}

// List lists agents, a page at a time: registered ones and files together.
func (s *Service) List(ctx context.Context, in ListIn) (ListOut, error) {
	after, err := in.After("agent.list")
	if err != nil {
		return ListOut{}, err
	}
	page, err := s.store.List(ctx, Query{Team: in.Team, Enabled: in.Enabled, After: after, Limit: in.Limit + 1})
	if err != nil {
		return ListOut{}, fmt.Errorf("listing agents: %w", err)
	}
	files, broken, err := s.readFiles(ctx)
	if err != nil {
		return ListOut{}, err
	}
	out := ListOut{Agents: []Item{}, Total: page.Total}
	all := page.Profiles
	for _, p := range files {
		_, hidden, err := s.store.Get(ctx, p.AgentID)
		if err != nil {
			return ListOut{}, fmt.Errorf("reading agent: %w", err)
		}
		switch {
		case hidden:
			broken = append(broken, workspace.BrokenFile{File: p.File,
				Reason: "an agent of this id is registered and counts; agent.remove it to use the file"})
		case in.Team != "" && in.Team != p.Team || in.Enabled != nil && *in.Enabled != p.Enabled:
		default:
			out.Total++
			if p.AgentID > after {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.AgentID, b.AgentID) })
	all, out.Paged = toolfold.CutPage(all, in.Limit, func(last Profile) string { return toolfold.CursorOf(last.AgentID) })
	for _, p := range all {
		out.Agents = append(out.Agents, Item{
			AgentID: p.AgentID, DisplayName: p.DisplayName, Description: callctx.Brief(ctx, "agents.description", p.Description),
			Team: p.Team, Enabled: p.Enabled, Capabilities: p.Capabilities, Trusted: s.Folder.Mark(p.Source),
		})
	}
	if after == "" { // once, not on every page
		out.Broken = workspace.Brief(Folder, broken)
	}
	return out, nil
}

// Get reads one profile.
func (s *Service) Get(ctx context.Context, in GetIn) (Profile, error) {
	p, err := s.find(ctx, in.AgentID)
	p.Trusted = s.Folder.Mark(p.Source)
	return p, err
}

// Remove removes a registered agent.
func (s *Service) Remove(ctx context.Context, in RemoveIn) (RemoveOut, error) {
	removed, err := s.store.Remove(ctx, in.AgentID)
	if err != nil {
		return RemoveOut{}, fmt.Errorf("removing agent: %w", err)
	}
	file, err := s.fileOf(ctx, in.AgentID)
	if err != nil {
		return RemoveOut{}, err
	}
	if removed {
		out := RemoveOut{Removed: true, AgentID: in.AgentID, Message: fmt.Sprintf("agent %q is removed", in.AgentID)}
		if file != "" {
			out.Message += "; from now on its id names the file " + file
		}
		return out, nil
	}
	if file != "" {
		return RemoveOut{}, toolfold.Errorf(RemoveFailed, "agent %q is the file %s, which is not removed", in.AgentID, file).
			WithHint("delete the file")
	}
	return RemoveOut{AgentID: in.AgentID, Message: fmt.Sprintf("there is no agent %q", shorten.Quoted(in.AgentID))}, nil
}

// nearby limits the registered agents that an error compares with an unknown name.
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
	e := toolfold.Errorf(NotFound, "there is no agent %q", shorten.Quoted(id)).WithHint("agent.list shows those there are")
	if near := suggest.Nearest(id, ids); near != "" {
		return e.WithHint("did you mean %q? agent.list shows those there are", near)
	}
	return e
}
