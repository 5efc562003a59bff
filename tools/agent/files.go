package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Folder of the workspace holds agent files.
const Folder = ".toolfold/agents"

// maxFileSize is the maximum size of an agent file, in bytes.
const maxFileSize = 128 << 10

// fileFields declares the fields of a file except description. agentId defaults to the file's name.
var fileFields = slices.Concat(
	toolfold.Fields{agentID, version, role, expertise, orchestration},
	slices.DeleteFunc(slices.Clone(details), func(f toolfold.Field) bool { return f.Param().Name == workflow.Name }),
	// The engine checks the steps: it accepts names that a declaration would reject.
	toolfold.Fields{toolfold.Any{Name: workflow.Name, Doc: workflow.Doc}},
).Params()

// fileProfile is a profile of a file with the data that each use checks: its tools, and the ids of the
// other files.
type fileProfile struct {
	Profile
	uses   engine.ToolUses
	places workspace.Document
}

// parseFile parses the text of a file.
func parseFile(file string, text []byte) (fileProfile, *workspace.BrokenFile) {
	doc, broken := workspace.Parse(file, text)
	if broken != nil {
		return fileProfile{}, broken
	}
	doc.Unquoted(version.Name)
	if faults := engine.CheckDocument(doc, []toolfold.Param{description.Param()}, fileFields); len(faults) > 0 {
		return fileProfile{}, faults.AsBroken(doc)
	}
	var steps []engine.Step
	if raw, present := doc.Value[workflow.Name]; present {
		var faults engine.Faults
		if steps, faults = engine.ParseSteps(ordered.MustJSON(raw), "/"+workflow.Name); len(faults) > 0 {
			return fileProfile{}, faults.AsBroken(doc)
		}
	}
	delete(doc.Value, workflow.Name)
	p := Profile{AgentID: workspace.Stem(file), Enabled: true, Source: workspace.InFile, File: file}
	if err := doc.Decode(&p); err != nil {
		return fileProfile{}, doc.AsBroken("", "%v", err)
	}
	if !validID(p.AgentID) {
		return fileProfile{}, doc.AsBroken("/agentId", "agentId %q %s", shorten.Quoted(p.AgentID), idRule)
	}
	p.Workflow = steps
	uses, faults := engine.Check(p.steps(p.Workflow))
	if len(faults) > 0 {
		return fileProfile{}, faults.AsBroken(doc)
	}
	return fileProfile{p, uses, doc.Places(append(uses.Pointers(), "/agentId")...)}, nil
}

// readFiles returns the profiles in files, sorted by id, and the broken files. The first file with
// an id wins.
func (s *Service) readFiles(ctx context.Context) ([]Profile, []workspace.BrokenFile, error) {
	files, broken, err := s.files.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading agent files: %w", err)
	}
	var profiles []Profile
	from := map[string]string{}
	for _, f := range files {
		p := f.Value
		if other := from[p.AgentID]; other != "" {
			broken = append(broken, *p.places.AsBroken("/agentId", "agentId %q is taken by %s", p.AgentID, other))
			continue
		}
		if faults := p.uses.Check(s.Tools); len(faults) > 0 {
			broken = append(broken, *faults.AsBroken(p.places))
			continue
		}
		from[p.AgentID] = p.File
		profiles = append(profiles, p.Profile)
	}
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(a.AgentID, b.AgentID) })
	return profiles, broken, nil
}

// find returns the registered profile with an id, or else the profile in a file.
func (s *Service) find(ctx context.Context, id string) (Profile, error) {
	p, found, err := s.store.Get(ctx, id)
	if err != nil {
		return Profile{}, fmt.Errorf("reading agent: %w", err)
	}
	if found {
		return p, nil
	}
	profiles, broken, err := s.readFiles(ctx)
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
			return Profile{}, toolfold.Errorf(ValidationError, "the file of agent %q cannot be used: %s", id, b.Text()).
				WithHint("mend the file")
		}
	}
	return Profile{}, s.unknown(ctx, id, profiles)
}
