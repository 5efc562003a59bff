package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/agent"
)

// Agent returns the tests of the store of the agent family.
func Agent() Suite {
	return Suite{
		Name: "agent",
		Behaviours: map[string]func(*testing.T, *storage.DB){
			"keep":        keepAgent,
			"add at once": addAgentAtOnce,
			"change":      changeAgent,
			"remove":      removeAgent,
			"list":        listAgents,
		},
		Durabilities: map[string]func(*testing.T, string){
			"reopen": reopened(func(t *testing.T, db *storage.DB) {
				addAgent(t, db.Agent(), newAgent("a"), true)
			}, func(t *testing.T, db *storage.DB) {
				equal(t, stored(t, db.Agent().Get, "a"), newAgent("a"))
			}),
		},
	}
}

// newAgent returns an enabled agent that has only an id.
func newAgent(id string) agent.Profile {
	return agent.Profile{AgentID: id, Description: "d", Enabled: true, Source: agent.Registered, CreatedAt: noon}
}

func addAgent(t *testing.T, s agent.Store, p agent.Profile, want bool) {
	t.Helper()
	added, err := s.Add(t.Context(), p)
	noError(t, err)
	if added != want {
		t.Fatalf("adding %s: %v, want %v", p.AgentID, added, want)
	}
}

func keepAgent(t *testing.T, db *storage.DB) {
	s := db.Agent()
	full := newAgent("full")
	full.DisplayName, full.Team, full.SystemPrompt = "Füll 'n", "a\x00b", "You are {{ agent.role }} 任务 '?"
	full.Capabilities, full.Tags, full.Expertise = []string{"x", "y"}, []string{"t"}, []string{"e"}
	full.Version, full.Role, full.Enabled = "2", "tester", false
	full.Orchestration = &agent.Orchestration{MaxDelegationDepth: new(0)}
	full.Workflow = []engine.Step{
		{
			StepID: "a", Name: "A", Type: "tool", Description: "first", TimeoutMs: 5,
			Config: json.RawMessage(`{"tool":"x","arguments":{"big":123456789012345678901234567890,"spelt":1.50}}`),
			Retry:  &engine.Retry{MaxAttempts: 2, BackoffMs: 3},
		},
		{StepID: "b", Name: "B", Type: "prompt", DependsOn: []string{"a"}, ContinueOnError: true, Config: json.RawMessage(`{"prompt":"p"}`)},
	}
	addAgent(t, s, full, true)
	addAgent(t, s, newAgent("plain"), true)
	equal(t, stored(t, s.Get, "full"), full)
	equal(t, stored(t, s.Get, "plain"), newAgent("plain"))
	other := newAgent("full")
	other.Description = "another"
	addAgent(t, s, other, false)
	equal(t, stored(t, s.Get, "full"), full)
	if _, found, err := s.Get(t.Context(), "none"); found || err != nil {
		t.Fatalf("an agent that is not there: %v, %v", found, err)
	}
}

// addAgentAtOnce checks that one of several concurrent adders of an id succeeds.
func addAgentAtOnce(t *testing.T, db *storage.DB) {
	var added atomic.Int64
	noError(t, each(8, func(int) error {
		ok, err := db.Agent().Add(t.Context(), newAgent("one"))
		if ok {
			added.Add(1)
		}
		return err
	}))
	equal(t, added.Load(), int64(1))
}

// changeAgent checks that no concurrent change is lost.
func changeAgent(t *testing.T, db *storage.DB) {
	s := db.Agent()
	addAgent(t, s, newAgent("a"), true)
	noError(t, each(8, func(i int) error {
		found, err := s.Change(t.Context(), "a", func(p agent.Profile) (agent.Profile, error) {
			p.Tags = append(p.Tags, fmt.Sprint(i))
			p.Team, p.Enabled = "red", false
			return p, nil
		})
		if !found {
			return errors.New("the agent is gone")
		}
		return err
	}))
	changed := stored(t, s.Get, "a")
	slices.Sort(changed.Tags)
	want := newAgent("a")
	want.Tags, want.Team, want.Enabled = []string{"0", "1", "2", "3", "4", "5", "6", "7"}, "red", false
	equal(t, changed, want)
	page, err := s.List(t.Context(), agent.Query{Limit: 9, Team: "red", Enabled: new(false)})
	noError(t, err)
	equal(t, page.Total, 1)
	refused := errors.New("refused")
	found, err := s.Change(t.Context(), "a", func(p agent.Profile) (agent.Profile, error) {
		p.Team = "blue"
		return p, refused
	})
	if !found || !errors.Is(err, refused) {
		t.Fatalf("a refused change: %v, %v", found, err)
	}
	equal(t, stored(t, s.Get, "a").Team, "red")
	found, err = s.Change(t.Context(), "none", func(p agent.Profile) (agent.Profile, error) { return p, refused })
	if found || err != nil {
		t.Fatalf("a change of no agent: %v, %v", found, err)
	}
}

func removeAgent(t *testing.T, db *storage.DB) {
	s := db.Agent()
	addAgent(t, s, newAgent("a"), true)
	addAgent(t, s, newAgent("b"), true)
	for _, want := range []bool{true, false} {
		removed, err := s.Remove(t.Context(), "a")
		noError(t, err)
		equal(t, removed, want)
	}
	stored(t, s.Get, "b")
	addAgent(t, s, newAgent("a"), true)
}

func listAgents(t *testing.T, db *storage.DB) {
	s := db.Agent()
	for i, id := range []string{"b", "B", "a-1", "a", "c"} {
		p := newAgent(id)
		p.Enabled = i%2 == 0
		if i < 3 {
			p.Team = "red"
		}
		addAgent(t, s, p, true)
	}
	for _, test := range []struct {
		query agent.Query
		want  string
	}{
		{agent.Query{Limit: 10}, "[B a a-1 b c] 5"},
		{agent.Query{Limit: 2}, "[B a] 5"},
		{agent.Query{Limit: 2, After: "a"}, "[a-1 b] 5"},
		{agent.Query{Limit: 2, After: "c"}, "[] 5"},
		{agent.Query{Limit: 9, Team: "red"}, "[B a-1 b] 3"},
		{agent.Query{Limit: 9, Enabled: new(true)}, "[a-1 b c] 3"},
		{agent.Query{Limit: 9, Enabled: new(false), Team: "red"}, "[B] 1"},
		{agent.Query{Limit: 9, Team: "blue"}, "[] 0"},
	} {
		page, err := s.List(t.Context(), test.query)
		noError(t, err)
		ids := []string{}
		for _, p := range page.Profiles {
			ids = append(ids, p.AgentID)
		}
		equal(t, fmt.Sprint(ids, page.Total), test.want)
	}
}
