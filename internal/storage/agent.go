package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/tools/agent"
)

// Agent returns the store of the agent family.
func (db *DB) Agent() agent.Store { return agentStore{db} }

// agentStore implements [agent.Store].
type agentStore struct{ db *DB }

// profileRow is the JSON of a profile.
type profileRow struct {
	AgentID       string            `json:"agentId"`
	Description   string            `json:"description"`
	DisplayName   string            `json:"displayName,omitempty"`
	Capabilities  []string          `json:"capabilities,omitempty"`
	Team          string            `json:"team,omitempty"`
	Tags          []string          `json:"tags,omitempty"`
	SystemPrompt  string            `json:"systemPrompt,omitempty"`
	Workflow      []stepRow         `json:"workflow,omitempty"`
	Enabled       bool              `json:"enabled"`
	Version       string            `json:"version,omitempty"`
	Role          string            `json:"role,omitempty"`
	Expertise     []string          `json:"expertise,omitempty"`
	Orchestration *orchestrationRow `json:"orchestration,omitempty"`
}

type orchestrationRow struct {
	MaxDelegationDepth *int `json:"maxDelegationDepth,omitempty"`
}

type stepRow struct {
	StepID      string          `json:"stepId"`
	Name        string          `json:"name,omitempty"`
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"`
	Config      json.RawMessage `json:"config,omitempty"`
	DependsOn   []string        `json:"dependsOn,omitempty"`
	TimeoutMs   int             `json:"timeoutMs,omitempty"`
	Retry       *retryRow       `json:"retry,omitempty"`
	GoOn        bool            `json:"continueOnError,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
}

type retryRow struct {
	MaxAttempts int `json:"maxAttempts,omitempty"`
	BackoffMs   int `json:"backoffMs,omitempty"`
}

func newProfileRow(p agent.Profile) profileRow {
	row := profileRow{
		AgentID: p.AgentID, Description: p.Description, DisplayName: p.DisplayName, Capabilities: p.Capabilities,
		Team: p.Team, Tags: p.Tags, SystemPrompt: p.SystemPrompt, Enabled: p.Enabled,
		Version: p.Version, Role: p.Role, Expertise: p.Expertise, Orchestration: (*orchestrationRow)(p.Orchestration),
	}
	for _, s := range p.Workflow {
		row.Workflow = append(row.Workflow, stepRow{
			StepID: s.StepID, Name: s.Name, Type: s.Type, Description: s.Description, Config: s.Config,
			DependsOn: s.DependsOn, TimeoutMs: s.TimeoutMs, Retry: (*retryRow)(s.Retry), GoOn: s.ContinueOnError, Idempotent: s.Idempotent,
		})
	}
	return row
}

func (row profileRow) profile() agent.Profile {
	p := agent.Profile{
		AgentID: row.AgentID, Description: row.Description, DisplayName: row.DisplayName, Capabilities: row.Capabilities,
		Team: row.Team, Tags: row.Tags, SystemPrompt: row.SystemPrompt, Enabled: row.Enabled,
		Version: row.Version, Role: row.Role, Expertise: row.Expertise, Orchestration: (*agent.Orchestration)(row.Orchestration),
		Source: agent.Registered,
	}
	for _, s := range row.Workflow {
		p.Workflow = append(p.Workflow, engine.Step{
			StepID: s.StepID, Name: s.Name, Type: s.Type, Description: s.Description, Config: s.Config,
			DependsOn: s.DependsOn, TimeoutMs: s.TimeoutMs, Retry: (*engine.Retry)(s.Retry), ContinueOnError: s.GoOn, Idempotent: s.Idempotent,
		})
	}
	return p
}

func (s agentStore) Add(ctx context.Context, p agent.Profile) (added bool, err error) {
	profile, err := json.Marshal(newProfileRow(p))
	if err != nil {
		return false, fmt.Errorf("encoding agent: %w", err)
	}
	n, err := s.db.writer().exec(ctx, `INSERT INTO agents (agent_id, team, enabled, created_at, profile, rights) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent_id) DO NOTHING`,
		[]byte(p.AgentID), []byte(p.Team), number(p.Enabled), p.CreatedAt.UnixMicro(), profile, p.Rights)
	return n > 0, err
}

func (s agentStore) Change(ctx context.Context, id string, change func(agent.Profile) (agent.Profile, error)) (found bool, err error) {
	err = s.db.transact(ctx, func(t executor) error {
		var before agent.Profile
		var err error
		before, found, err = first(ctx, t, sqlf(selectAgents+` WHERE agent_id = ?`+t.dialect.lock, []byte(id)), scanAgent)
		if err != nil || !found {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		profile, err := json.Marshal(newProfileRow(after))
		if err != nil {
			return fmt.Errorf("encoding agent: %w", err)
		}
		_, err = t.exec(ctx, `UPDATE agents SET team = ?, enabled = ?, profile = ?, rights = ? WHERE agent_id = ?`,
			[]byte(after.Team), number(after.Enabled), profile, after.Rights, []byte(id))
		return err
	})
	return found, err
}

const selectAgents = `SELECT profile, created_at, rights FROM agents`

func scanAgent(rows *sql.Rows) (agent.Profile, error) {
	var row profileRow
	var created time.Time
	var rights string
	err := rows.Scan(fromJSON{&row}, micros{&created}, &rights)
	p := row.profile()
	p.CreatedAt, p.Rights = created, rights
	return p, err
}

func (s agentStore) Get(ctx context.Context, id string) (p agent.Profile, found bool, err error) {
	return byKey(ctx, s.db, sqlf(selectAgents+` WHERE agent_id = ?`, []byte(id)), scanAgent)
}

func (s agentStore) Remove(ctx context.Context, id string) (removed bool, err error) {
	n, err := s.db.writer().exec(ctx, `DELETE FROM agents WHERE agent_id = ?`, []byte(id))
	return n > 0, err
}

func (s agentStore) List(ctx context.Context, q agent.Query) (page agent.Page, err error) {
	picked := sqlf(`WHERE true`)
	if q.Team != "" {
		picked = picked.and(`AND team = ?`, []byte(q.Team))
	}
	if q.Enabled != nil {
		picked = picked.and(`AND enabled = ?`, number(*q.Enabled))
	}
	page.Total, err = scalar[int](ctx, s.db.reader(), sqlf(`SELECT count(*) FROM agents`).with(picked))
	if err != nil {
		return agent.Page{}, err
	}
	if q.After != "" {
		picked = picked.and(`AND agent_id > ?`, []byte(q.After))
	}
	page.Profiles, err = all(ctx, s.db.reader(), sqlf(selectAgents).with(picked).and(`ORDER BY agent_id LIMIT ?`, q.Limit), scanAgent)
	return page, err
}
