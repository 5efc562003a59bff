package tooltest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/legacy"
	"github.com/toolfold/toolfold/tools"
)

// Mount mounts a family on a service.
func Mount[S any](t testing.TB, family tools.Family, service S) *tools.Family {
	t.Helper()
	mounted, err := tools.Mount(family, func(context.Context) (S, error) { return service, nil })
	if err != nil {
		t.Fatal(err)
	}
	return mounted
}

// Runner calls the actions of families under every name, as a server does.
func Runner(families ...*tools.Family) *call.Runner { return RunnerWith(families) }

// RunnerWith is Runner with middleware around its calls.
func RunnerWith(families []*tools.Family, middleware ...call.Middleware) *call.Runner {
	var entries []*tools.Entry
	for _, f := range families {
		entries = append(entries, consolidate.Entries(f, consolidate.ByFamily)...)
	}
	entries = append(entries, legacy.Entries(families)...)
	names := call.NewResolver(append(entries, call.FullNames(families)...))
	return call.New(func(*tools.Rights) *call.Resolver { return names }, slog.New(slog.DiscardHandler), middleware...)
}
