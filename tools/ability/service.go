package ability

import (
	"context"
	"fmt"
	"strconv"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// The error codes of the family.
const (
	NotFound     = "ABILITY_NOT_FOUND"
	InvalidID    = "INVALID_ABILITY_ID"
	RemoveFailed = "ABILITY_REMOVE_FAILED" // it is a file
)

// Service runs the ability actions. It is safe for concurrent use, and several services may share a
// store and a workspace.
type Service struct {
	store     Store
	workspace workspace.Folder
	files     *workspace.Files[Ability]
	index     *index
}

// New returns a service for a store and the files of a workspace.
func New(store Store, folder workspace.Folder) *Service {
	return &Service{
		store: store, workspace: folder, files: newFiles(folder.Dir),
		index: &index{entries: map[string]entry{}},
	}
}

// Register stores an ability.
func (s *Service) Register(ctx context.Context, in RegisterIn) (RegisterOut, error) {
	if why := misnamed(in.AbilityID); why != "" {
		return RegisterOut{}, toolfold.Errorf(InvalidID, "abilityId %q %s", shorten.Quoted(in.AbilityID), why).
			WithHint("use an id such as go-errors")
	}
	a := Ability{
		ID: in.AbilityID, Content: in.Content, DisplayName: in.DisplayName, Description: in.Description,
		Category: in.Category, Tags: in.Tags, ApplicableTo: in.ApplicableTo, ExcludeFrom: in.ExcludeFrom,
		Priority: in.Priority, Enabled: in.Enabled, Requires: in.Requires, Conflicts: in.Conflicts,
	}
	if problems := checkReferences(a); len(problems) > 0 {
		return RegisterOut{}, &toolfold.Error{Code: toolfold.InvalidInput, Problems: problems}
	}
	replaced, err := s.store.Put(ctx, a)
	if err != nil {
		return RegisterOut{}, fmt.Errorf("keeping ability: %w", err)
	}
	done := "registered "
	if replaced {
		done = "replaced "
	}
	out := RegisterOut{Registered: true, AbilityID: a.ID, Replaced: replaced, Message: done + a.ID}
	files, err := s.inFiles(ctx)
	if err != nil {
		return RegisterOut{}, err
	}
	if file, there := files.abilities[a.ID]; there {
		out.Message += ", which goes before the file " + file.File
	}
	return out, nil
}

// Get returns an ability.
func (s *Service) Get(ctx context.Context, in GetIn) (Ability, error) {
	a, found, err := s.stored(ctx, in.AbilityID)
	if err != nil {
		return Ability{}, err
	}
	if !found {
		files, err := s.inFiles(ctx)
		if err != nil {
			return Ability{}, err
		}
		if a, found = files.abilities[in.AbilityID]; !found {
			missing := toolfold.Errorf(NotFound, "there is no ability %q", shorten.Quoted(in.AbilityID)).
				WithHint("ability.list shows those there are")
			if fault, ok := files.faultOf(in.AbilityID); ok {
				fault.Reason = shorten.Quoted(fault.Reason)
				missing.Message += "; " + fault.Text()
				missing.Hint = "mend the file; ability.list has the whole reason"
			}
			return Ability{}, missing
		}
	}
	a.Trusted = s.workspace.Mark(a.Source)
	return a, nil
}

// Remove removes an ability from the store.
func (s *Service) Remove(ctx context.Context, in RemoveIn) (RemoveOut, error) {
	id := in.AbilityID
	out := RemoveOut{AbilityID: id, Message: "there is no ability " + strconv.Quote(shorten.Quoted(id))}
	if misnamed(id) != "" {
		return out, nil
	}
	removed, err := s.store.Remove(ctx, id)
	if err != nil {
		return RemoveOut{}, fmt.Errorf("removing ability: %w", err)
	}
	files, err := s.inFiles(ctx)
	if err != nil {
		return RemoveOut{}, err
	}
	file, there := files.abilities[id]
	switch {
	case removed && there:
		out.Removed, out.Message = true, "removed "+id+"; from now on its id names the file "+file.File
	case removed:
		out.Removed, out.Message = true, "removed "+id
	case there:
		return RemoveOut{}, toolfold.Errorf(RemoveFailed, "%s is the file %s of the workspace", id, file.File).
			WithHint("delete that file, or put enabled: false in its front matter")
	}
	return out, nil
}

// stored returns an ability of the store.
func (s *Service) stored(ctx context.Context, id string) (a Ability, found bool, err error) {
	if misnamed(id) != "" {
		return Ability{}, false, nil
	}
	a, found, err = s.store.Get(ctx, id)
	if err != nil {
		return Ability{}, false, fmt.Errorf("reading ability: %w", err)
	}
	a.Source = Registered
	return a, found, nil
}

var wellNamed = regex.Lazy(`^[a-z][a-z0-9-]*$`)

// misnamed returns why an id is invalid, or "".
func misnamed(id string) string {
	if len(id) > maxID {
		return fmt.Sprintf("is longer than %d", maxID)
	}
	if !wellNamed().MatchString(id) {
		return "is not lower-case letters, digits and dashes with a letter first"
	}
	return ""
}

// checkReferences returns problems for invalid ids, and references to the ability itself.
func checkReferences(a Ability) []toolfold.Problem {
	var problems []toolfold.Problem
	check := func(field string, ids []string) {
		for i, id := range ids {
			if id == a.ID || misnamed(id) != "" {
				problems = append(problems, toolfold.Problem{
					Path: fmt.Sprintf("/%s/%d", field, i), Kind: toolfold.ProblemFormat,
					Want: "valid id of another ability", Got: shorten.Quoted(id),
				})
			}
		}
	}
	check(requires.Name, a.Requires)
	check(conflicts.Name, a.Conflicts)
	return problems
}
