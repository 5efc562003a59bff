package offer

import (
	"context"

	"github.com/toolfold/toolfold/serve"
)

// Skills returns the enabled abilities as skills, for callers who may read them. It logs unusable
// abilities to the client.
func (o Offer) Skills(ctx context.Context) ([]serve.Skill, error) {
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
