package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// A server over HTTP reports changes of a watched resource and of its prompts.
func TestHTTPNotifies(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "srv", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{URI: "x:1", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	greet := func(name string) {
		s.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
	}
	greet("one")
	same := func(*http.Request) *mcp.Server { return s }
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer at.Close()
	_, g := offering(t, t.TempDir(), surface.Options{}, gateway.Upstream{Name: "srv", Server: upstream.Server{URL: at.URL}})
	defer g.Close() // before the server, which waits for its streams
	notices := make(chan string, 10)
	g.Follow(gateway.Follower{Updated: func(uri string) { notices <- uri }, Prompts: func() { notices <- "prompts" }})
	const uri = "toolfold://upstream/srv/x:1"
	expect := func(want string, until func()) {
		t.Helper()
		for end := time.Now().Add(testwait.Limit); time.Now().Before(end); {
			until()
			select {
			case got := <-notices:
				if got == want {
					return
				}
				if got != uri { // the change is repeated until it is reported, so it may be reported once too often
					t.Errorf("told of %s, want %s", got, want)
				}
			case <-time.After(200 * time.Millisecond):
			}
		}
		t.Errorf("not told of %s", want)
	}
	g.Watch(t.Context(), uri, true)
	expect(uri, func() { _ = s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "x:1"}) })
	g.Watch(t.Context(), uri, false)
	greet("two")
	expect("prompts", func() {})
	if got := keys(g.Prompts(t.Context()), "name"); got != "srv-one srv-two" {
		t.Errorf("prompts %s", got)
	}
}
