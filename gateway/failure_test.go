package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/upstream"
)

// Other processes know why a server failed until it lists its tools or is replaced. The failure is
// logged once, and not at all if the caller reports it.
func TestFailuresAreKnownElsewhere(t *testing.T) {
	t.Parallel()
	dir, fails := t.TempDir(), true
	var log bytes.Buffer
	open := func(quiet bool, program string) *gateway.Gateway {
		g, err := gateway.New(gateway.Options{
			Upstreams: []gateway.Upstream{
				{Name: "acme", Server: upstream.Server{Argv: []string{program}}}, {Name: "lame", Problem: "it has no command"},
			},
			Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil)), Quiet: quiet,
			Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
				if fails {
					return nil, errors.New("no key")
				}
				return funcSession{gone: make(chan struct{}), end: func() {},
					list: func(context.Context) (upstream.Answer, error) { return listOf(1) }}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		return g
	}
	check := func(when string, g *gateway.Gateway, want string) {
		t.Helper()
		if got := g.Failures(); got["acme"] != want || got["lame"] != "it has no command" {
			t.Errorf("%s: %v, want %q", when, got, want)
		}
	}
	check("before", open(true, "acme"), "")
	for range 2 {
		if err := open(true, "acme").Refresh(t.Context(), "acme"); err == nil {
			t.Fatal("it starts")
		}
	}
	if log.Len() > 0 {
		t.Errorf("it is logged too: %s", &log)
	}
	check("in another process", open(true, "acme"), "no key")
	check("of another program", open(true, "other"), "")
	loud := open(false, "acme")
	for range 2 {
		_ = loud.Refresh(t.Context(), "acme") // the second start is refused during the pause
	}
	if n := strings.Count(log.String(), "starting an upstream"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, &log)
	}
	fails = false
	g := open(true, "acme")
	if err := g.Refresh(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	check("once it lists its tools", g, "")
	check("in another process, once it lists its tools", open(true, "acme"), "")
}
