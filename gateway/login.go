package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/upstream"
)

// Login is whose login a server gets.
type Login string

// The values of [Login]. A server without a login is as with SharedLogin.
const (
	SharedLogin Login = "shared" // all callers share the login of [upstream.Server.Account]
	CallerLogin Login = "caller" // each caller logs in; nothing falls back to a shared login

	// ExchangeLogin exchanges the access token of each caller, see [Upstream.Exchange]; nothing falls back either.
	ExchangeLogin Login = "exchange"
)

// byCaller reports whether each caller has a login of their own.
func (l Login) byCaller() bool { return l == CallerLogin || l == ExchangeLogin }

// DefaultCallers is how many callers may be connected with a server at which they log in.
const DefaultCallers = 1000

// CallerLogins lets callers log in at servers as themselves.
type CallerLogins struct {
	upstream.CallerLogins

	// Address returns the address of a page at which the caller of a ticket logs in at a server.
	Address func(server, ticket string) string
}

// problem explains why no caller can log in; empty if callers can.
func (c *CallerLogins) problem() string {
	if c != nil {
		return ""
	}
	return "each caller logs in at it (login: caller): only toolfold serve --http can call it, for callers with a token; " +
		"remove login from its settings for one login, by toolfold upstream login"
}

const (
	loginPatience = 5 * time.Minute // for the user at the page, of a call that waits
	loginLook     = time.Second     // between two looks at the login, which may end at another process
)

// logIn lets the caller of a call log in, and returns nil when that is done. again means that a login was refused
// since the call began. If the client cannot show a page, the error has the link.
func (l *link) logIn(ctx context.Context, c *openCall, again bool) error {
	logins, caller := l.gateway.options.Logins, upstream.CallerKey(toolfold.OriginOf(ctx).Token)
	ticket, err := logins.Ticket(ctx, caller, l.Name)
	if err != nil {
		return err
	}
	address := logins.Address(l.Name, ticket)
	needed := toolfold.Errorf(toolfold.LoginRequired, "the server %s requires your own login, and did not get the call: open %s, log in, "+
		"then call again", l.Name, address).WithHint("show the user this link: only they can log in; it is good for some minutes")
	client := callctx.ClientOf(ctx)
	if again || !showsPages(client) {
		return needed
	}
	c.pause()
	defer c.resume()
	id := rand.Text()
	answer, err := client.Ask(ctx, callctx.Question{Method: upstream.Elicit, Params: ordered.Map{
		{Key: "mode", Value: "url"}, {Key: "elicitationId", Value: id}, {Key: "url", Value: address},
		{Key: "message", Value: fmt.Sprintf("Log in at %s as yourself. Calls of its tools wait for that.", l.Name)},
	}})
	var chosen struct{ Action string }
	if err != nil || json.Unmarshal(answer, &chosen) != nil || chosen.Action != "accept" {
		return needed
	}
	if !l.awaitLogin(ctx, ticket) {
		return needed
	}
	l.renewLogin(caller)
	if completed := callctx.Of[callctx.CompletedFunc](ctx); completed != nil {
		completed(ordered.MustJSON(map[string]string{"elicitationId": id}))
	}
	return nil
}

// showsPages reports whether a client sends its user to pages.
func showsPages(client callctx.Client) bool {
	if client == nil || !client.Offers(upstream.Elicit) {
		return false
	}
	var declared struct{ Elicitation struct{ URL json.RawMessage } }
	return json.Unmarshal(client.Declared(), &declared) == nil && declared.Elicitation.URL != nil
}

// awaitLogin waits until the caller of a ticket has logged in. It reports false if that takes too long.
func (l *link) awaitLogin(ctx context.Context, ticket string) bool {
	ctx, done := context.WithTimeout(ctx, loginPatience)
	defer done()
	for {
		ended, err := l.gateway.options.Logins.Redeemed(ctx, l.Name, ticket)
		if ended || errors.Is(err, upstream.ErrTicket) {
			return ended
		}
		select {
		case <-time.After(loginLook):
		case <-ctx.Done():
			return false
		}
	}
}

// renewLogin ends the session of a caller who has logged in again.
func (l *link) renewLogin(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pool, is := l.session.(*sessionPool); is {
		pool.renewLogin(owner{token: caller})
	}
}

// LoggedIn connects a caller who has logged in with a server. The first caller's list of tools is offered from then on.
func (g *Gateway) LoggedIn(server, caller string) {
	l, err := g.link(server)
	if err != nil {
		return
	}
	l.renewLogin(caller)
	g.work.Go(func() {
		ctx, done := context.WithTimeout(g.life, l.startTimeout())
		defer done()
		session, err := l.connected(ctx)
		if pool, is := session.(*sessionPool); err == nil && is {
			_, err = pool.callAs(ctx, owner{token: caller}, upstream.Call{})
		}
		if err != nil {
			g.options.Log.Warn("connecting with an upstream after a login", "upstream", server, "err", err)
		}
	})
}

// offerLogin offers an action that logs in, in place of the tools of a server whose list no caller has requested yet.
func (l *link) offerLogin() {
	plan, _, err := fold.Plan{}.Join(l.gateway.life, fold.Server{Name: l.Name, NameInUse: l.gateway.nameInUse(l)},
		[]fold.Tool{{Name: loginAction}})
	var families []*toolfold.Family
	if err == nil && l.reserve(plan) {
		families, err = l.loginFamilies(plan)
	}
	if err != nil {
		l.note(err.Error())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.families = families
}

const loginAction = "login"

// loginFamilies returns the families of a plan for loginAction.
func (l *link) loginFamilies(plan fold.Plan) (families []*toolfold.Family, err error) {
	for _, planned := range plan.Families {
		a, err := toolfold.External{
			Name: planned.Actions[0].Name, Server: l.Name, Category: l.category(), Effect: toolfold.Reads,
			Description: fmt.Sprintf("Log in at %s as yourself. Its tools are offered once a caller has logged in.", l.Name),
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), Relay: l.relayLogin,
		}.Action()
		if err != nil {
			return nil, err
		}
		a.Grants = l.grants(loginAction)
		mounted, err := toolfold.Mount(toolfold.Family{
			Name: planned.Name, Words: l.Name, Category: l.category(), Tier: toolfold.Extended, Apiece: true, Bare: planned.Bare,
			Server: l.Name, Trouble: l.why, Actions: []*toolfold.Action{a}, Summary: "Log in at " + l.Name + " to use its tools.",
		}, func(context.Context) (*link, error) { return l, nil })
		if err == nil {
			err = mounted.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("offering its login: %w", err)
		}
		families = append(families, mounted)
	}
	return families, nil
}

// relayLogin is the action loginAction.
func (l *link) relayLogin(ctx context.Context, _ json.RawMessage) (toolfold.Reply, error) {
	if _, err := l.call(ctx, upstream.Call{}); err != nil {
		return toolfold.Reply{}, err
	}
	if !l.hasTools() {
		if err := l.refresh(ctx); err != nil {
			return toolfold.Reply{}, toolfold.Errorf(toolfold.UpstreamError, "you are logged in at %s, and its tools could not be listed: %v",
				l.Name, err).WithHint("call again in some seconds")
		}
	}
	text := fmt.Sprintf("You are logged in at %s. Its tools are offered now: find them with tools.", l.Name)
	return toolfold.Reply{Result: ordered.MustJSON(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}})}, nil
}
