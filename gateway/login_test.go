package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// loginGateway returns a gateway to a fleet at which callers log in, and a function that calls its tools. broken is the
// error of each start.
func loginGateway(t *testing.T, f *fleet) (*gateway.Gateway, func(from toolfold.Origin, tool string) string) {
	t.Helper()
	f.running = map[*countedProgram]bool{}
	g, err := gateway.New(gateway.Options{
		Connect: f.connect, Logins: &gateway.CallerLogins{
			CallerLogins: upstream.CallerLogins{Vault: &upstream.MemoryVault{}},
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
		f.broken = nil
		expect(t, call(ada, "srv_login"), "You are logged in at srv")
		expect(t, call(bob, "count"), "403 Forbidden; next start in")
		time.Sleep(2 * time.Second)
		for p := range f.running {
			p.over = true
		}
		if err := g.Refresh(t.Context(), "srv"); !errors.Is(err, upstream.ErrLogin) {
			t.Errorf("without a login: %v", err)
		}
		expect(t, call(bob, "count"), "count 1")
		if err := g.Refresh(t.Context(), "srv"); err != nil {
			t.Errorf("after the end of the first login: %v", err)
		}
	})
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
	if err := g.Refresh(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), "only toolfold serve --http can call it") {
		t.Error(err)
	}
	if families := g.Families(); len(families) > 0 {
		t.Errorf("%d families are offered", len(families))
	}
}
