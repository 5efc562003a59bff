package toolfoldtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/legacy"
)

// Mount mounts a family on a service.
func Mount[S any](t testing.TB, family toolfold.Family, service S) *toolfold.Family {
	t.Helper()
	mounted, err := toolfold.Mount(family, func(context.Context) (S, error) { return service, nil })
	if err != nil {
		t.Fatal(err)
	}
	return mounted
}

// WithModel returns a context for calls of actions that use [toolfold.Sample]: answer stands for the model of
// the client.
func WithModel(ctx context.Context, answer func(toolfold.Prompt) (toolfold.Completion, error)) context.Context {
	return callctx.WithSampler(ctx, model(answer))
}

type model func(toolfold.Prompt) (toolfold.Completion, error)

// Sample implements [callctx.Sampler].
func (m model) Sample(_ context.Context, p callctx.Prompt) (callctx.Completion, error) {
	done, err := m(toolfold.Prompt{Text: p.Text, System: p.System, Model: p.Model, MaxTokens: p.MaxTokens, Schema: p.Schema})
	return callctx.Completion{Text: done.Text, Model: done.Model, Truncated: done.Truncated}, err
}

// Runner calls the actions of families under every name, as a server does.
func Runner(families ...*toolfold.Family) *call.Runner { return RunnerWith(families) }

// RunnerWith is Runner with middleware around its calls.
func RunnerWith(families []*toolfold.Family, middleware ...call.Middleware) *call.Runner {
	var entries []*entry.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	entries = append(entries, legacy.Entries(families)...)
	names := call.NewResolver(append(entries, call.FullNames(families)...))
	return call.New(func(*toolfold.Rights) *call.Resolver { return names }, slog.New(slog.DiscardHandler), middleware...)
}
