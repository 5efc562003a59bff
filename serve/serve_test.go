package serve_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/surface"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// newServer serves discovery and a tool that returns its arguments.
func newServer(t testing.TB, level lazy.Level, more ...toolfold.External) (*serve.Server, *surface.Surface) {
	t.Helper()
	return newLimited(t, level, serve.Limits{}, quiet, more...)
}

// newLimited is newServer with limits, a log and more tools.
func newLimited(t testing.TB, level lazy.Level, limits serve.Limits, log *slog.Logger, more ...toolfold.External) (*serve.Server,
	*surface.Surface) {
	t.Helper()
	metrics := serve.NewMetrics()
	s := surface.New(surface.Options{Level: level, ResultLimit: -1, Log: quiet, Middleware: []call.Middleware{metrics.Calls}})
	families := []*toolfold.Family{lazy.Mount(s.Discovery)}
	for _, x := range append(more, toolfold.External{
		Name: "echo", Description: "Say it again.", Category: "elsewhere", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"n":{}}}`),
		Run:         func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
	}) {
		family, err := x.Family()
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, family)
	}
	if err := s.Put(families...); err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Version: "test", Instructions: "Echo.", Surface: s, Metrics: metrics, Log: log, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return server, s
}
