package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/upstream"
)

// noCallers explains why nobody can call a server with [ExchangeLogin].
const noCallers = "it gets a token for each caller (login: exchange): only toolfold serve --http can call it, for callers who log in at " +
	"the issuer of httpLogin"

// exchange has the tokens of all callers at a server with [ExchangeLogin]. A nil exchange does nothing.
type exchange struct {
	upstream string // its name
	how      upstream.Exchange

	mu       sync.Mutex
	accounts map[owner]*upstream.Account
	listing  time.Time // no attempt to get the first list before this time
}

func newExchange(u Upstream) *exchange {
	if u.Login != ExchangeLogin {
		return nil
	}
	return &exchange{upstream: u.Name, how: u.Exchange, accounts: map[owner]*upstream.Account{}}
}

// account returns the account of an owner. Without an owner it is a new one each time.
func (x *exchange) account(of owner) *upstream.Account {
	if of == (owner{}) {
		return x.how.Account()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.accounts[of]
	if a == nil {
		a = x.how.Account()
		x.accounts[of] = a
	}
	return a
}

// forget drops the tokens of an owner.
func (x *exchange) forget(of owner) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.accounts, of)
}

// ready exchanges the access token of the caller of a call, before the call needs the server.
func (x *exchange) ready(ctx context.Context, of owner) error {
	if x == nil || of == (owner{}) {
		return nil
	}
	err := x.account(of).Ready(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return toolfold.Errorf(toolfold.UpstreamError, "the server %s did not get the call: %v", x.upstream, err).
			WithHint("other tools are not affected; the administrator of this gateway can look into its login")
	}
	return nil
}

// listPauseOfCallers is the pause before the next caller is used to get a first list.
const listPauseOfCallers = 10 * time.Second

// begins reports whether to try to get the first list now.
func (x *exchange) begins(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if now.Before(x.listing) {
		return false
	}
	x.listing = now.Add(listPauseOfCallers)
	return true
}

// Exchanges reports whether there are servers with [ExchangeLogin].
func (g *Gateway) Exchanges() bool {
	return slices.ContainsFunc(g.links, func(l *link) bool { return l.exchange != nil })
}

// Met asks servers with [ExchangeLogin] that never listed their tools for them, with the access token of the caller of a
// context, if the caller's rights may include a tool of the server. It does not wait for the answers.
func (g *Gateway) Met(ctx context.Context, rights *toolfold.Rights) {
	asking := callctx.With(g.life, callctx.Of[callctx.Bearer](ctx))
	for _, l := range g.links {
		if l.exchange == nil || l.hasTools() || l.Problem != "" || l.isOff() || !rights.Allow(l.anyTool()) {
			continue
		}
		if l.exchange.begins(g.options.Now()) {
			g.work.Go(func() { _ = l.refresh(asking) }) // a failure is logged
		}
	}
}
