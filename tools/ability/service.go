package ability

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/toolfold/toolfold/tools"
)

// The codes of the family.
const (
	NotFound       = "ABILITY_NOT_FOUND"
	InvalidID      = "INVALID_ABILITY_ID"
	RegisterFailed = "ABILITY_REGISTER_FAILED" // a file has the id
	RemoveFailed   = "ABILITY_REMOVE_FAILED"   // it is a file
)

// Service runs the ability actions. It is safe for concurrent use, and several
// may share a store and a workspace.
type Service struct {
	store  Store
	folder *folder
	shelf  *shelf
}

// New returns a service on a store and the files of a workspace. An empty
// workspace has no files.
func New(store Store, workspace string) *Service {
	return &Service{store: store, folder: &folder{workspace: workspace}, shelf: newShelf()}
}

// Register keeps an ability in the store.
func (s *Service) Register(ctx context.Context, in RegisterIn) (RegisterOut, error) {
	if why := misnamed(in.AbilityID); why != "" {
		return RegisterOut{}, tools.Errorf(InvalidID, "abilityId %q %s", tools.Shorten(in.AbilityID), why).
			WithHint("use an id such as go-errors")
	}
	a := Ability{
		ID: in.AbilityID, Content: in.Content, DisplayName: in.DisplayName, Description: in.Description,
		Category: in.Category, Tags: in.Tags, ApplicableTo: in.ApplicableTo, ExcludeFrom: in.ExcludeFrom,
		Priority: in.Priority, Enabled: in.Enabled, Requires: in.Requires, Conflicts: in.Conflicts,
	}
	if problems := checkReferences(a); len(problems) > 0 {
		return RegisterOut{}, &tools.Error{Code: tools.InvalidInput, Problems: problems}
	}
	if file, ok := s.folder.read().abilities[a.ID]; ok {
		return RegisterOut{}, tools.Errorf(RegisterFailed, "%s is the file %s of the workspace, which goes first", a.ID, file.Source).
			WithHint("edit that file, or use another abilityId")
	}
	replaced, err := s.store.Put(ctx, a)
	if err != nil {
		return RegisterOut{}, fmt.Errorf("keeping ability: %w", err)
	}
	done := "registered "
	if replaced {
		done = "replaced "
	}
	return RegisterOut{Registered: true, AbilityID: a.ID, Replaced: replaced, Message: done + a.ID}, nil
}

// Get shows an ability.
func (s *Service) Get(ctx context.Context, in GetIn) (Ability, error) {
	files := s.folder.read()
	if a, ok := files.abilities[in.AbilityID]; ok {
		return a, nil
	}
	a, found, err := s.stored(ctx, in.AbilityID)
	if err != nil || found {
		return a, err
	}
	missing := tools.Errorf(NotFound, "there is no ability %q", tools.Shorten(in.AbilityID)).
		WithHint("ability.list shows those there are")
	if fault, ok := files.faultOf(in.AbilityID); ok {
		missing.Message += fmt.Sprintf("; %s line %d: %s", fault.File, fault.Line, tools.Shorten(fault.Reason))
		missing.Hint = "mend the file; ability.list has the whole reason"
	}
	return Ability{}, missing
}

// Remove removes an ability from the store.
func (s *Service) Remove(ctx context.Context, in RemoveIn) (RemoveOut, error) {
	id := in.AbilityID
	if file, ok := s.folder.read().abilities[id]; ok {
		return RemoveOut{}, tools.Errorf(RemoveFailed, "%s is the file %s of the workspace", id, file.Source).
			WithHint("delete that file, or put enabled: false in its front matter")
	}
	out := RemoveOut{AbilityID: id, Message: "there is no ability " + strconv.Quote(tools.Shorten(id))}
	if misnamed(id) != "" {
		return out, nil
	}
	removed, err := s.store.Remove(ctx, id)
	if err != nil {
		return RemoveOut{}, fmt.Errorf("removing ability: %w", err)
	}
	if removed {
		out.Removed, out.Message = true, "removed "+id
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
	a.Source = Stored
	return a, found, nil
}

// library reads everything there is now.
func (s *Service) library(ctx context.Context) (library, error) {
	l := s.folder.read()
	stored, err := s.store.All(ctx)
	if err != nil {
		return library{}, fmt.Errorf("reading abilities: %w", err)
	}
	for _, a := range stored {
		if _, file := l.abilities[a.ID]; !file {
			a.Source = Stored
			l.abilities[a.ID] = a
		}
	}
	return l, nil
}

var wellNamed = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// misnamed says what is wrong with an id, empty when nothing is.
func misnamed(id string) string {
	if len(id) > maxID {
		return fmt.Sprintf("is longer than %d", maxID)
	}
	if !wellNamed.MatchString(id) {
		return "is not lower-case letters, digits and dashes with a letter first"
	}
	return ""
}

// checkReferences refuses ids that no ability can have, and the ability's own.
func checkReferences(a Ability) []tools.Problem {
	var problems []tools.Problem
	check := func(field string, ids []string) {
		for i, id := range ids {
			if id == a.ID || misnamed(id) != "" {
				problems = append(problems, tools.Problem{
					Path: fmt.Sprintf("/%s/%d", field, i), Kind: tools.ProblemFormat,
					Want: "valid id of another ability", Got: tools.Shorten(id),
				})
			}
		}
	}
	check(requires.Name, a.Requires)
	check(conflicts.Name, a.Conflicts)
	return problems
}
