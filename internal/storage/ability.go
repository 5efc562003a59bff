package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/tools/ability"
)

// Ability returns the store of the ability family.
func (db *DB) Ability() ability.Store { return abilityStore{db} }

// abilityStore implements [ability.Store].
type abilityStore struct{ db *DB }

// abilityRow is the JSON of an ability without its content.
type abilityRow struct {
	ID           string   `json:"abilityId"`
	DisplayName  string   `json:"displayName,omitempty"`
	Version      string   `json:"version,omitempty"`
	Description  string   `json:"description,omitempty"`
	Category     string   `json:"category,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Content      string   `json:"-"`
	Author       string   `json:"author,omitempty"`
	Source       string   `json:"-"`
	File         string   `json:"-"`
	Trusted      *bool    `json:"-"`
	Requires     []string `json:"requires,omitempty"`
	Conflicts    []string `json:"conflicts,omitempty"`
	ApplicableTo []string `json:"applicableTo,omitempty"`
	ExcludeFrom  []string `json:"excludeFrom,omitempty"`
	Priority     int      `json:"priority"`
	Enabled      bool     `json:"enabled"`
}

func (s abilityStore) Put(ctx context.Context, a ability.Ability) (replaced bool, err error) {
	details, err := json.Marshal(abilityRow(a))
	if err != nil {
		return false, fmt.Errorf("encoding ability: %w", err)
	}
	revision, err := scalar[int64](ctx, s.db.writer(), sqlf(`INSERT INTO abilities (id, details, content) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET details = excluded.details, content = excluded.content, revision = abilities.revision + 1
		RETURNING revision`, a.ID, details, []byte(a.Content)))
	return revision > 1, err
}

const selectAbilities = `SELECT details, content FROM abilities`

func scanAbility(rows *sql.Rows) (ability.Ability, error) {
	var row abilityRow
	err := rows.Scan(fromJSON{&row}, &row.Content)
	return ability.Ability(row), err
}

func (s abilityStore) Get(ctx context.Context, id string) (a ability.Ability, found bool, err error) {
	return byKey(ctx, s.db, sqlf(selectAbilities+` WHERE id = ?`, id), scanAbility)
}

func (s abilityStore) All(ctx context.Context) ([]ability.Ability, error) {
	return all(ctx, s.db.reader(), sqlf(selectAbilities), scanAbility)
}

func (s abilityStore) Remove(ctx context.Context, id string) (removed bool, err error) {
	n, err := s.db.writer().exec(ctx, `DELETE FROM abilities WHERE id = ?`, id)
	return n > 0, err
}
