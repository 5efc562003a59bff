package offer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/serve"
)

// Skills returns the enabled abilities and the stored scripts as skills, for callers who may read them. It logs unusable
// ones.
func (o Offer) Skills(ctx context.Context) ([]serve.Skill, error) {
	skills, err := o.abilitySkills(ctx)
	if err != nil {
		return nil, err
	}
	scripts, err := o.scriptSkills(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		if slices.ContainsFunc(skills, func(other serve.Skill) bool { return other.Name == s.Name }) {
			serve.Log(ctx).Warn("a script is no skill: another skill has its name", "name", s.Name)
			continue
		}
		skills = append(skills, s)
	}
	slices.SortFunc(skills, func(a, b serve.Skill) int { return strings.Compare(a.Name, b.Name) })
	return skills, nil
}

// abilitySkills returns the enabled abilities as skills.
func (o Offer) abilitySkills(ctx context.Context) ([]serve.Skill, error) {
	if !o.may(ctx, "ability.get") || !o.may(ctx, "ability.list") {
		return nil, nil
	}
	abilities, err := o.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	found, broken, err := abilities.Skills(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range broken {
		serve.Log(ctx).Warn("a skill is left out", "file", b.File, "reason", b.Reason)
	}
	skills := make([]serve.Skill, len(found))
	for i, s := range found {
		skills[i] = serve.Skill{Name: s.Name, Front: s.Front}
		for _, f := range s.Files {
			skills[i].Files = append(skills[i].Files, serve.SkillFile(f))
		}
	}
	return skills, nil
}

// scriptSkills returns the stored scripts that have a description as skills: its file, and how to run it.
func (o Offer) scriptSkills(ctx context.Context) ([]serve.Skill, error) {
	if o.Scripts == nil || !o.may(ctx, "script.show") || !o.may(ctx, "script.list") {
		return nil, nil
	}
	list, err := o.Scripts(ctx)
	if err != nil {
		return nil, err
	}
	var skills []serve.Skill
	for _, s := range list {
		usage := o.Discovery.StoredAnswer(ctx, "script.run", map[string]string{"name": s.Name})
		if s.Description == "" || usage == "" {
			continue
		}
		words := strings.FieldsFunc(s.Name, func(r rune) bool { return r == '_' || r == '-' })
		front := map[string]string{"name": strings.Join(words, "-"), "description": s.Description}
		text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n", front["name"], ordered.MustJSON(s.Description)) +
			fmt.Sprintf("The script %s.js does this in one call, with its input beside name:\n\n    %s\n", s.Name, usage)
		if s.InputSchema != nil {
			text += fmt.Sprintf("\nThe JSON Schema of its input:\n\n    %s\n", s.InputSchema)
		}
		skills = append(skills, serve.Skill{Name: front["name"], Front: ordered.MustJSON(front), Files: []serve.SkillFile{
			{Path: "SKILL.md", Data: []byte(text)}, {Path: s.Name + ".js", Data: []byte(s.Code)},
		}})
	}
	return skills, nil
}
