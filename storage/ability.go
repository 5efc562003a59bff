package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/tools/ability"
)

// Ability returns the store of the ability family.
func (db *DB) Ability() ability.Store {
	return abilityStore{db}
}

// abilityStore implements [ability.Store].
type abilityStore struct {
	db *DB
}

const (
	putAbility = `INSERT INTO abilities (id, details, content) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET details = excluded.details, content = excluded.content, revision = abilities.revision + 1
		RETURNING revision`
	selectAbilities = `SELECT id, details, content FROM abilities`
)

func (s abilityStore) Put(ctx context.Context, a ability.Ability) (replaced bool, err error) {
	content := a.Content
	a.Content, a.Source = "", ""
	details, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("encoding ability: %w", err)
	}
	revision, err := one[int64](ctx, s.db.writer(), sqlf(putAbility, a.ID, details, []byte(content)))
	return revision > 1, err
}

func (s abilityStore) Get(ctx context.Context, id string) (a ability.Ability, found bool, err error) {
	list, err := all(ctx, s.db.reader(), sqlf(selectAbilities+` WHERE id = ?`, id), scanAbility)
	if err != nil || len(list) == 0 {
		return ability.Ability{}, false, err
	}
	return list[0], true, nil
}

func (s abilityStore) All(ctx context.Context) ([]ability.Ability, error) {
	return all(ctx, s.db.reader(), sqlf(selectAbilities), scanAbility)
}

func (s abilityStore) Remove(ctx context.Context, id string) (removed bool, err error) {
	n, err := s.db.writer().exec(ctx, `DELETE FROM abilities WHERE id = ?`, id)
	return n > 0, err
}

func scanAbility(rows *sql.Rows) (a ability.Ability, err error) {
	var id string
	var details, content []byte
	if err := rows.Scan(&id, &details, &content); err != nil {
		return ability.Ability{}, err
	}
	if err := json.Unmarshal(details, &a); err != nil {
		return ability.Ability{}, fmt.Errorf("decoding ability %s: %w", id, err)
	}
	a.Content = string(content)
	return a, nil
}
