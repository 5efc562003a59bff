package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/storage/storagetest"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/toolfoldtest"
	"github.com/toolfold/toolfold/tools/agent"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/session"
)

const sessionID = "00000000-0000-4000-8000-000000000001"

// bench is a workbench with agents, memory, sessions, and the test's abilities. Its clock stands
// still.
type bench struct {
	toolfoldtest.Talk
	*surface.Surface
	t         *testing.T
	workspace string
	untrusted bool
	settings  map[string]any // of providers
	model     *model
	abilities *abilities
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db := storagetest.Open(t, "memory:")
	log := slog.New(slog.DiscardHandler)
	b := &bench{Surface: surface.New(surface.Options{Log: log}), t: t, workspace: t.TempDir(), model: &model{}, abilities: &abilities{}}
	b.Talk = toolfoldtest.Talk{T: t, Call: b.call}
	now := func() time.Time { return time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC) }
	settings := func() (map[string]any, error) { return b.settings, nil }
	runner := &engine.Runner{Caller: b.Runner, Names: b.Runner, Providers: engine.NewProviders(settings, ""), Now: now, Log: log}
	err := b.Put(
		toolfoldtest.Mount(t, memory.Family, memory.New(db.Memory(memory.History{}), now)),
		toolfoldtest.Mount(t, session.Family, session.New(db.Session(), now, func() string { return sessionID })),
		toolfoldtest.Mount(t, agent.Family, agent.New(db.Agent(),
			agent.Options{Folder: workspace.Folder{Dir: b.workspace, Trusted: func() bool { return !b.untrusted }}, Runner: runner, Tools: b.Runner,
				Now: now})),
	)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// model answers a prompt with the prompt.
type model struct {
	mu      sync.Mutex
	prompts []callctx.Prompt
}

func (m *model) Sample(_ context.Context, p callctx.Prompt) (callctx.Completion, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompts = append(m.prompts, p)
	return callctx.Completion{Text: "re: " + p.Text}, nil
}

// abilities replaces the service of that family.
type abilities struct {
	calls []injectIn
	text  string
	in    []injectedAbility
	err   error
}

type injectIn struct {
	AgentID   string `json:"agentId"`
	Task      string `json:"task"`
	MaxTokens int    `json:"maxTokens"`
}

type injectedAbility struct {
	AbilityID string  `json:"abilityId" doc:"ID."`
	Tokens    int     `json:"tokens" doc:"Tokens."`
	Score     float64 `json:"score" doc:"Score."`
}

type injectOut struct {
	Injected        []injectedAbility `json:"injected,omitempty" doc:"Those that are in."`
	CombinedContent string            `json:"combinedContent" doc:"Text."`
	TokenCount      int               `json:"tokenCount" doc:"Tokens."`
}

func (a *abilities) inject(_ context.Context, in injectIn) (injectOut, error) {
	a.calls = append(a.calls, in)
	return injectOut{CombinedContent: a.text, Injected: a.in}, a.err
}

var abilityFamily = toolfold.Family{
	Name: "ability", Summary: "s", Category: "abilities", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name: "inject", Summary: "s", Effect: toolfold.Reads, Example: `{"agentId":"a","task":"t","maxTokens":1}`,
		Required: toolfold.Fields{
			toolfold.String{Name: "agentId", Doc: "d"}, toolfold.String{Name: "task", Doc: "d", MaxLen: 5000},
			toolfold.Int{Name: "maxTokens", Doc: "d"},
		},
		Run: toolfold.Method((*abilities).inject),
	}},
}

func (b *bench) withAbilities() {
	b.t.Helper()
	err := b.Put(toolfoldtest.Mount(b.t, abilityFamily, b.abilities))
	if err != nil {
		b.t.Fatal(err)
	}
}

// call returns the content of the answer.
func (b *bench) call(action, args string) string {
	b.t.Helper()
	ctx := callctx.WithSampler(b.t.Context(), b.model)
	return string(b.Runner.Call(ctx, action, json.RawMessage(args)).Content)
}

func (b *bench) register(id, more string) {
	b.t.Helper()
	b.Expect("agent.register", fmt.Sprintf(`{"agentId":%q,"description":"About %s."%s}`, id, id, more),
		fmt.Sprintf(`{"registered":true,"agentId":%q,"message":"agent \"%s\" is registered","createdAt":"2026-07-28T09:00:00Z"}`, id, id))
}

func (b *bench) file(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.workspace, filepath.FromSlash(agent.Folder), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
