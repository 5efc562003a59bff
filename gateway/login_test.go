package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// loginGateway returns a gateway to a fleet at which callers log in, and a function that calls its tools. broken is the
// error of each start.
func loginGateway(t *testing.T, f *fleet) (*gateway.Gateway, func(from toolfold.Origin, tool string) string) {
	t.Helper()
	return loginGatewayWith(t, f, &upstream.MemoryVault{})
}

// loginGatewayWith is loginGateway with a vault.
func loginGatewayWith(t *testing.T, f *fleet, vault upstream.Vault) (*gateway.Gateway, func(from toolfold.Origin, tool string) string) {
	t.Helper()
	f.running = map[*countedProgram]bool{}
	g, err := gateway.New(gateway.Options{
		Connect: f.connect, Logins: &gateway.CallerLogins{
			CallerLogins: upstream.CallerLogins{Vault: vault},
			Address:      func(server, ticket string) string { return "https://tools.example/" + server + "/" + ticket },
		},
		Upstreams: []gateway.Upstream{{Name: "srv", Server: upstream.Server{URL: "https://srv.example"}, Login: gateway.CallerLogin,
			MaxSessions: 2, SessionIdle: time.Minute}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := surface.New(surface.Options{})
	put := func(families []*toolfold.Family) {
		if err := s.Put(families...); err != nil {
			t.Error(err)
		}
	}
	put(g.Families())
	g.Follow(gateway.Follower{Families: put})
	return g, func(from toolfold.Origin, tool string) string {
		answer := s.Client.Call(callctx.With(t.Context(), from), tool, nil)
		if answer.Err != nil {
			return answer.Err.Error() + " " + answer.Err.Hint
		}
		return string(answer.Content) + string(answer.Reply)
	}
}

// All sessions of a caller share one session with the server, and no other caller does. Its end is not reported.
func TestSessionsOfCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{}
		g, call := loginGateway(t, f)
		defer g.Close()
		ada, bob := toolfold.Origin{Token: "ada", Session: "1"}, toolfold.Origin{Token: "bob", Session: "2"}
		if names := g.Unasked(); len(names) > 0 || f.started > 0 {
			t.Errorf("asked without a caller: %v", names)
		}
		expect(t, call(toolfold.Origin{}, "srv_login"), "this call has no caller")
		expect(t, call(ada, "srv_login"), "You are logged in at srv")
		synctest.Wait()
		if list := g.Resources(callctx.With(t.Context(), bob)); len(list) != 1 || !strings.Contains(string(list[0]), "ui://srv/chart") {
			t.Errorf("the resources of one caller are listed for another: %s", list)
		}
		expect(t, call(ada, "count"), "count 1, roots false")
		expect(t, call(toolfold.Origin{Token: "ada", Session: "3"}, "count"), "count 2")
		expect(t, call(toolfold.Origin{Token: "ada"}, "count"), "count 3")
		expect(t, call(bob, "count"), "count 1")
		expect(t, call(toolfold.Origin{Session: "1"}, "count"), "this call has no caller")
		expect(t, call(toolfold.Origin{Token: "eve"}, "count"), "2 callers are connected with the server srv")
		g.SessionEnded("1")
		expect(t, call(ada, "count"), "count 4")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if f.runs() > 0 {
			t.Errorf("%d idle sessions run", f.runs())
		}
		expect(t, call(ada, "count"), "count 1")
	})
}

// A caller without a login gets a link, each their own and the same again. The missing login delays nobody else.
func TestCallerWithoutLogin(t *testing.T) {
	t.Parallel()
	f := &fleet{broken: upstream.ErrLogin}
	g, call := loginGateway(t, f)
	defer g.Close()
	ada := call(toolfold.Origin{Token: "ada"}, "srv_login")
	expect(t, ada, "LOGIN_REQUIRED: the server srv requires your own login, and did not get the call: open https://tools.example/srv/")
	if again := call(toolfold.Origin{Token: "ada"}, "srv_login"); again != ada {
		t.Errorf("another link for the same caller: %s", again)
	}
	if bob := call(toolfold.Origin{Token: "bob"}, "srv_login"); bob == ada || !strings.Contains(bob, "LOGIN_REQUIRED") {
		t.Errorf("another caller is answered %s", bob)
	}
	f.mu.Lock()
	f.broken = nil
	f.mu.Unlock()
	expect(t, call(toolfold.Origin{Token: "bob"}, "srv_login"), "You are logged in at srv")
}

// A server that refuses one caller delays this caller alone, and the list comes from a caller whose login is good.
func TestRefusedCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{broken: errors.New("it answered 403 Forbidden")}
		g, call := loginGateway(t, f)
		defer g.Close()
		ada, bob := toolfold.Origin{Token: "ada"}, toolfold.Origin{Token: "bob"}
		expect(t, call(bob, "srv_login"), "403 Forbidden")
		f.mu.Lock()
		f.broken = nil
		f.mu.Unlock()
		expect(t, call(ada, "srv_login"), "You are logged in at srv")
		expect(t, call(bob, "count"), "403 Forbidden; next start in")
		time.Sleep(2 * time.Second)
		f.mu.Lock()
		for p := range f.running {
			p.over = true
		}
		f.mu.Unlock()
		if err := g.Refresh(t.Context(), "srv"); !errors.Is(err, upstream.ErrLogin) {
			t.Errorf("without a login: %v", err)
		}
		expect(t, call(bob, "count"), "count 1")
		if err := g.Refresh(t.Context(), "srv"); err != nil {
			t.Errorf("after the end of the first login: %v", err)
		}
	})
}

// browsing is a client that shows its user a page, and returns the user's answer.
type browsing struct {
	action string
	opened func(address string)
}

func (b *browsing) Offers(method string) bool { return method == upstream.Elicit }
func (b *browsing) Declared() json.RawMessage { return json.RawMessage(`{"elicitation":{"url":{}}}`) }
func (b *browsing) Seen() time.Time           { return time.Now() }
func (b *browsing) Ask(_ context.Context, q callctx.Question) (json.RawMessage, error) {
	var page struct{ Mode, URL string }
	if err := json.Unmarshal(ordered.MustJSON(q.Params), &page); err != nil || page.Mode != "url" {
		return nil, fmt.Errorf("it asks %v", q.Params)
	}
	b.opened(page.URL)
	return json.RawMessage(`{"action":"` + b.action + `"}`), nil
}

// A call of a client that shows pages waits for the login, also longer than the time limit of calls; a user who declines,
// or does not log in, gets the link.
func TestCallWaitsForLogin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action string
		after  time.Duration // until the user has logged in
		waited time.Duration
		want   string
	}{
		{"accept", 4 * time.Minute, 4 * time.Minute, "You are logged in at srv"},
		{"accept", 6 * time.Minute, 5 * time.Minute, "LOGIN_REQUIRED"},
		{"decline", time.Minute, 0, "LOGIN_REQUIRED"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{broken: upstream.ErrLogin}
			vault := &upstream.MemoryVault{}
			g, _ := loginGatewayWith(t, f, vault)
			defer g.Close()
			s := surface.New(surface.Options{})
			if err := s.Put(g.Families()...); err != nil {
				t.Fatal(err)
			}
			opened, begun := "", time.Now()
			logIn := func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.broken = nil
				err := vault.Update(context.Background(), upstream.CallerKey("ada"), "srv", func([]byte) ([]byte, error) {
					return []byte(`{"login":{"url":"https://srv.example"}}`), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			user := &browsing{c.action, func(address string) { opened = address; time.AfterFunc(c.after, logIn) }}
			ctx := callctx.With(callctx.WithClient(t.Context(), user), toolfold.Origin{Token: "ada"})
			answer := s.Client.Call(ctx, "srv_login", nil)
			text := string(answer.Reply)
			if answer.Err != nil {
				text = answer.Err.Error()
			}
			waited := time.Since(begun)
			if !strings.Contains(text, c.want) || !strings.HasPrefix(opened, "https://tools.example/srv/") || waited.Round(time.Minute) != c.waited {
				t.Errorf("%s, login after %s: after %s with the page %s: %s", c.action, c.after, waited, opened, text)
			}
			time.Sleep(10 * time.Minute)
		})
	}
}

// Without logins of callers such a server cannot be called, and nothing of it is offered.
func TestNoLoginsOfCallers(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Options{Upstreams: []gateway.Upstream{{Name: "srv", Login: gateway.CallerLogin,
		Server: upstream.Server{URL: "https://srv.example"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Refresh(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), "only toolfold serve --http can call it") ||
		!strings.Contains(err.Error(), "remove login from its settings") {
		t.Error(err)
	}
	if families := g.Families(); len(families) > 0 {
		t.Errorf("%d families are offered", len(families))
	}
}
