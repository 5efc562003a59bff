package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/toolfold/toolfold/tools/agent"
)

// Agent returns the store of the agent family.
func (db *DB) Agent() agent.Store {
	return agentStore{db}
}

// agentStore implements [agent.Store].
type agentStore struct {
	db *DB
}

const (
	insertAgent = `INSERT INTO agents (agent_id, team, enabled, created_at, profile) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (agent_id) DO NOTHING`
	selectAgents = `SELECT profile, created_at FROM agents`
)

func (s agentStore) Add(ctx context.Context, p agent.Profile) (added bool, err error) {
	profile, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("encoding agent: %w", err)
	}
	n, err := s.db.writer().exec(ctx, insertAgent,
		[]byte(p.AgentID), []byte(p.Team), number(p.Enabled), p.CreatedAt.UnixMicro(), profile)
	return n > 0, err
}

func (s agentStore) Get(ctx context.Context, id string) (p agent.Profile, found bool, err error) {
	list, err := all(ctx, s.db.reader(), sqlf(selectAgents+` WHERE agent_id = ?`, []byte(id)), scanAgent)
	if err != nil || len(list) == 0 {
		return agent.Profile{}, false, err
	}
	return list[0], true, nil
}

func (s agentStore) Remove(ctx context.Context, id string) (removed bool, err error) {
	n, err := s.db.writer().exec(ctx, `DELETE FROM agents WHERE agent_id = ?`, []byte(id))
	return n > 0, err
}

func (s agentStore) List(ctx context.Context, q agent.Query) (page agent.Page, err error) {
	page.Total, err = one[int](ctx, s.db.reader(), agentsOf(`SELECT count(*) FROM agents`, q))
	if err != nil {
		return agent.Page{}, err
	}
	list := agentsOf(selectAgents, q)
	if q.After != "" {
		list = list.and(`AND agent_id > ?`, []byte(q.After))
	}
	list = list.and(`ORDER BY agent_id LIMIT ?`, q.Limit)
	page.Profiles, err = all(ctx, s.db.reader(), list, scanAgent)
	return page, err
}

// agentsOf adds the WHERE clause of a query.
func agentsOf(selection string, q agent.Query) query {
	picked := sqlf(selection + ` WHERE true`)
	if q.Team != "" {
		picked = picked.and(`AND team = ?`, []byte(q.Team))
	}
	if q.Enabled != nil {
		picked = picked.and(`AND enabled = ?`, number(*q.Enabled))
	}
	return picked
}

func scanAgent(rows *sql.Rows) (p agent.Profile, err error) {
	var profile []byte
	var created int64
	if err := rows.Scan(&profile, &created); err != nil {
		return p, err
	}
	if err := json.Unmarshal(profile, &p); err != nil {
		return p, fmt.Errorf("decoding agent: %w", err)
	}
	p.Source, p.CreatedAt = agent.Registered, fromMicros(created)
	return p, nil
}

// number is a yes or no as both databases keep it.
func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
