package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// A server with exchanged tokens lists its tools for the first caller, and gets calls of callers whose token is exchanged,
// each in a session of their own. The refusal of one delays nobody else.
func TestExchangedCallers(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		subject := r.PostFormValue("subject_token")
		if subject == "bob" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_target"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"for %s","token_type":"Bearer","expires_in":3600}`, subject)
	}))
	defer issuer.Close()
	f := &fleet{running: map[*countedProgram]bool{}}
	options := gateway.Options{Connect: f.connect, Upstreams: []gateway.Upstream{{
		Name: "srv", Server: upstream.Server{URL: "https://srv.example"}, Login: gateway.ExchangeLogin,
		Exchange: upstream.Exchange{TokenURL: issuer.URL, ClientID: "gateway"},
	}}}
	g, err := gateway.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := surface.New(surface.Options{})
	offered := make(chan struct{}, 10)
	g.Follow(gateway.Follower{Families: func(families []*toolfold.Family) {
		if err := s.Put(families...); err != nil {
			t.Error(err)
		}
		offered <- struct{}{}
	}})
	call := func(caller, token string) string {
		ctx := callctx.With(t.Context(), toolfold.Origin{Token: caller})
		if token != "" {
			ctx = callctx.With(ctx, callctx.NewBearer(token, time.Now().Add(time.Hour)))
		}
		answer := s.Client.Call(ctx, "count", nil)
		if answer.Err != nil {
			return answer.Err.Error()
		}
		return string(answer.Content) + string(answer.Reply)
	}
	if names := g.Unasked(); len(names) > 0 || len(g.Families()) > 0 || !strings.Contains(g.Absent()["srv"], "once a user who logs in") {
		t.Errorf("asked without a caller: %v %v", names, g.Absent())
	}
	g.Met(callctx.With(t.Context(), callctx.NewBearer("ada", time.Now().Add(time.Hour))), nil)
	select {
	case <-offered:
	case <-time.After(testwait.Limit):
		t.Fatal("its tools are not offered")
	}
	for _, c := range []struct{ caller, token, want string }{
		{"1", "ada", "count 1"},
		{"1", "ada", "count 2"},
		{"2", "bob", "the server srv did not get the call: the authorization server does not exchange your access token"},
		{"3", "eve", "count 1"},
		{"4", "", "a token of the token file cannot be exchanged"},
		{"1", "", "count 3"}, // with the token that is there
		{"", "ada", "this call has no caller"},
		{"2", "bobby", "count 1"},
	} {
		if answer := call(c.caller, c.token); !strings.Contains(answer, c.want) || c.token != "" && strings.Contains(answer, "for "+c.token) {
			t.Errorf("caller %q with the token %q: %s, not %s", c.caller, c.token, answer, c.want)
		}
	}

	options.OneClient = true
	alone, err := gateway.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if err := alone.Refresh(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), "only toolfold serve --http can call it") {
		t.Errorf("without callers: %v", err)
	}
}

// The token of a caller is not sent to a server whose tools the caller may not call.
func TestListWithRights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{running: map[*countedProgram]bool{}}
		exchanged := func(name string) gateway.Upstream {
			return gateway.Upstream{Name: name, Server: upstream.Server{URL: "https://" + name + ".example"}, Login: gateway.ExchangeLogin}
		}
		met := func(r permission.Rules, sets ...string) bool {
			g, err := gateway.New(gateway.Options{Connect: f.connect, Upstreams: []gateway.Upstream{exchanged("my-srv"), {Name: "other"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			rights, _ := r.OfCaller(sets, map[string]permission.Set{
				"in": {Upstreams: map[string][]string{"my-srv": {"get_*"}}}, "out": {Upstreams: map[string][]string{"other": nil}},
			})
			before := f.started
			g.Met(callctx.With(t.Context(), callctx.NewBearer("ada", time.Time{})), rights)
			synctest.Wait()
			return f.started > before
		}
		type rules = permission.Rules
		for _, r := range []rules{
			{}, {Allow: []string{"my-srv"}}, {Allow: []string{"memory", "my-srv.get_*"}}, {Allow: []string{"*.get"}}, {Allow: []string{"my_srv_x"}},
			{Allow: []string{"my-srv"}, Deny: []string{"*.delete", "my-srv.write"}, ReadOnly: true},
		} {
			if !met(r) {
				t.Errorf("%+v: the list is not requested", r)
			}
		}
		for _, r := range []rules{
			{ReadOnly: true}, {Deny: []string{"*.delete"}}, {Allow: []string{"memory"}}, {Allow: []string{"other.*", "my"}},
			{Allow: []string{"my-srv"}, Deny: []string{"my-srv"}}, {Allow: []string{"*"}, Deny: []string{"my-srv.*"}},
		} {
			if met(r) {
				t.Errorf("%+v: the list is requested", r)
			}
		}
		if !met(rules{}, "in") || met(rules{}, "out") || met(rules{}, "unknown") {
			t.Error("sets are not looked at")
		}
	})
}
