package toolfoldtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
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

// Runner calls the actions of families under every name, as a server does.
func Runner(families ...*toolfold.Family) *call.Runner { return RunnerWith(families) }

// RunnerWith is Runner with middleware around its calls.
func RunnerWith(families []*toolfold.Family, middleware ...call.Middleware) *call.Runner {
	var entries []*toolfold.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	entries = append(entries, legacy.Entries(families)...)
	names := call.NewResolver(append(entries, call.FullNames(families)...))
	return call.New(func(*toolfold.Rights) *call.Resolver { return names }, slog.New(slog.DiscardHandler), middleware...)
}
