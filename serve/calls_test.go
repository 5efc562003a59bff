package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/mcptest"
	"github.com/toolfold/toolfold/serve"
)

// named returns a server whose callers are those of the header Authorization, with a tool that holds on.
func named(t *testing.T, limits serve.Limits, hold func()) *mcptest.HTTP {
	t.Helper()
	family, err := toolfold.External{
		Name: "hold", Description: "Hold on.", Category: "elsewhere", Effect: toolfold.Reads,
		Run: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			hold()
			return json.RawMessage(`{"held":true}`), nil
		},
	}.Family()
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{
		Limits: limits, Log: quiet, Families: []*toolfold.Family{family},
		Authorize: func(r *http.Request) (serve.Identity, error) {
			return serve.Identity{Subject: r.Header.Get("Authorization")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.ConnectTo(t, s.Handler(""))
}

// holdAs calls the tool as a caller.
func holdAs(h *mcptest.HTTP, caller string) string {
	answer, _ := h.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{},%s}}`,
		mcptest.ModernMeta), "Authorization", caller, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "hold")
	return answer
}

// A caller that holds all that it may leaves room for others.
func TestCallersShareCalls(t *testing.T) {
	t.Parallel()
	started, release := make(chan bool, 10), make(chan bool)
	h := named(t, serve.Limits{Calls: 4}, func() { started <- true; <-release })
	var calls sync.WaitGroup
	for range 5 {
		calls.Go(func() { holdAs(h, "greedy") })
	}
	for range 3 { // three quarters of the places
		<-started
	}
	calls.Go(func() {
		if answer := holdAs(h, "modest"); !strings.Contains(answer, "held") {
			t.Errorf("another caller is answered %s", answer)
		}
	})
	<-started // of the other caller: the two that wait have no place
	close(release)
	calls.Wait()
}

// A caller that calls too often is told when there is room. Others are not affected.
func TestCallsPerMinute(t *testing.T) {
	t.Parallel()
	h := named(t, serve.Limits{PerMinute: 3}, func() {})
	for range 3 {
		if answer := holdAs(h, "greedy"); !strings.Contains(answer, "held") {
			t.Errorf("answered %s", answer)
		}
	}
	answer := holdAs(h, "greedy")
	if !strings.Contains(answer, "LIMIT_REACHED") || !strings.Contains(answer, "the limit is 3 calls a minute; there is room in ") {
		t.Errorf("a call beyond the limit is answered %s", answer)
	}
	if answer := holdAs(h, "modest"); !strings.Contains(answer, "held") {
		t.Errorf("another caller is answered %s", answer)
	}
}
