package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/engine"
	"github.com/toolfold/toolfold/tools"
)

// Folder is where agent files lie in the workspace.
const Folder = ".toolfold/agents"

// fileFields are what a file may have beside a description. The id is the
// file's name unless it says otherwise.
var fileFields = slices.Concat(
	tools.Fields{agentID, version, role, expertise, orchestration},
	slices.DeleteFunc(slices.Clone(details), func(f tools.Field) bool { return f.Param().Name == workflow.Name }),
).Params()

// steps is how a file may write the workflow: each step is checked by the
// engine, which knows names that a declaration would refuse.
var steps = tools.Any{Name: workflow.Name, Doc: workflow.Doc}.Param()

// readFiles returns the profiles in files, by id, and the files that cannot
// be used. The first file of an id counts.
func (s *Service) readFiles() ([]Profile, []engine.Broken, error) {
	files, broken, err := engine.ReadFiles(s.Workspace, Folder)
	if err != nil {
		return nil, nil, fmt.Errorf("reading agent files: %w", err)
	}
	var profiles []Profile
	from := map[string]string{}
	for _, f := range files {
		p, wrong := s.read(f)
		if wrong == nil && from[p.AgentID] != "" {
			wrong = new(f.Fault("/agentId", "agentId %q is that of %s", p.AgentID, from[p.AgentID]))
		}
		if wrong != nil {
			broken = append(broken, *wrong)
			continue
		}
		from[p.AgentID] = f.Path
		profiles = append(profiles, p)
	}
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(a.AgentID, b.AgentID) })
	return profiles, broken, nil
}

func (s *Service) read(f engine.File) (Profile, *engine.Broken) {
	if faults := f.Check([]tools.Param{description.Param()}, append(slices.Clone(fileFields), steps)); len(faults) > 0 {
		return Profile{}, new(f.Faults(faults))
	}
	p := Profile{AgentID: f.Stem(), Enabled: true, Source: f.Path}
	if raw, given := f.Value[workflow.Name]; given {
		list, faults := engine.ParseSteps(encode(raw), "/"+workflow.Name)
		if len(faults) > 0 {
			return Profile{}, new(f.Faults(faults))
		}
		p.Workflow = list
		delete(f.Value, workflow.Name)
	}
	if err := f.Decode(&p); err != nil {
		return Profile{}, new(f.Fault("", "%v", err))
	}
	if !validID(p.AgentID) {
		return Profile{}, new(f.Fault("/agentId", "agentId %q %s", tools.Shorten(p.AgentID), idRule))
	}
	for _, problem := range tooMany(p) {
		return Profile{}, new(f.Fault(problem.Path, "%s", problem.Text()))
	}
	if _, faults := s.compile(p); len(faults) > 0 {
		return Profile{}, new(f.Faults(faults))
	}
	return p, nil
}

// find returns a profile, registered or in a file.
func (s *Service) find(ctx context.Context, id string) (Profile, error) {
	p, found, err := s.store.Get(ctx, id)
	if err != nil {
		return Profile{}, fmt.Errorf("reading agent: %w", err)
	}
	if found {
		return p, nil
	}
	profiles, broken, err := s.readFiles()
	if err != nil {
		return Profile{}, err
	}
	for _, p := range profiles {
		if p.AgentID == id {
			return p, nil
		}
	}
	for _, b := range broken {
		if b.Stem() == id {
			return Profile{}, tools.Errorf(ValidationError, "the file of agent %q cannot be used: %s", id, b.Text()).
				WithHint("mend the file")
		}
	}
	return Profile{}, s.unknown(ctx, id, profiles)
}
