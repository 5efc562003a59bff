package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// CallerLogins are the logins of callers at servers. A caller logs in by a link with a ticket: the caller opens it
// and proves who they are, the browser goes to the authorization server of the upstream and comes back with a state.
// What a login needs on its way is in the vault beside the logins, so that any process can go on with it.
type CallerLogins struct {
	Vault Vault
	Now   func() time.Time // nil = time.Now
}

// Times of a login on its way.
const (
	ticketTime  = 10 * time.Minute // from the link to the end of the login
	ticketLeast = 5 * time.Minute  // that a link has left when it is given again
	browserTime = 10 * time.Minute // at the authorization server
	beginTime   = time.Minute      // for the answers of a server and its authorization server, before the browser goes there
	vaultTime   = time.Minute      // for a change of the vault, which may include a renewal
)

// ErrTicket is returned for a ticket, or an answer of an authorization server, that belongs to no open login.
var ErrTicket = errors.New("the link was used or is too old")

// CallerKey is the key of a caller in the vault. token is [toolfold.Origin.Token]; an empty one belongs to no caller.
func CallerKey(token string) string {
	if token == "" {
		return ""
	}
	key := sha256.Sum256([]byte("toolfold caller " + token))
	return hex.EncodeToString(key[:])
}

// callerEntry is the entry of a caller at an upstream in the vault. Either member may be nil.
type callerEntry struct {
	Login  *login  `json:"login,omitempty"`
	Ticket *ticket `json:"ticket,omitempty"`
}

// ticket allows its caller to log in.
type ticket struct {
	Secret string      `json:"secret"`
	Ends   time.Time   `json:"ends"`
	Begun  *begunLogin `json:"begun,omitempty"` // the latest; nil before the caller has proven who they are
}

// begunLogin is a login whose browser is at the authorization server.
type begunLogin struct {
	URL           string            `json:"url"` // of the server; another one in the settings must not get the token
	Authorization authorization     `json:"authorization"`
	Browser       [sha256.Size]byte `json:"browser"` // hash of the secret in its cookie
	Ends          time.Time         `json:"ends"`
}

func (l CallerLogins) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

// Of returns the account of a caller at a server. It sends nothing without the caller's login.
func (l CallerLogins) Of(caller, upstream, url string) *Account {
	a := newAccount(vaultLogin{l, caller, upstream, url}, url, l.now)
	a.strict = true
	return a
}

// read returns the entry of a caller, which may be zero.
func (l CallerLogins) read(ctx context.Context, caller, upstream string) (e callerEntry, err error) {
	raw, err := l.Vault.Read(ctx, caller, upstream)
	if err != nil {
		return e, fmt.Errorf("reading the login of a caller: %w", err)
	}
	return decodeEntry(raw)
}

func decodeEntry(raw []byte) (e callerEntry, err error) {
	if raw != nil && json.Unmarshal(raw, &e) != nil {
		err = errors.New("the login of a caller cannot be read") // the error itself could quote a token
	}
	return e, err
}

// update changes the entry of a caller. It goes on if ctx ends: a token that was renewed must not be lost.
func (l CallerLogins) update(ctx context.Context, caller, upstream string, edit func(*callerEntry) error) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), vaultTime)
	defer done()
	var failed error
	err := l.Vault.Update(ctx, caller, upstream, func(raw []byte) ([]byte, error) {
		e, err := decodeEntry(raw)
		if err == nil {
			err = edit(&e)
		}
		if failed = err; err != nil || e == (callerEntry{}) {
			return nil, err
		}
		next, err := json.Marshal(e)
		if bytes.Equal(next, raw) {
			return raw, err
		}
		return next, err
	})
	if err != nil && failed == nil {
		err = fmt.Errorf("storing the login of a caller: %w", err)
	}
	return err
}

// Ticket returns the ticket by which a caller can log in now: the one that was given before if it is good for some
// minutes, else a new one.
func (l CallerLogins) Ticket(ctx context.Context, caller, upstream string) (secret string, err error) {
	err = l.update(ctx, caller, upstream, func(e *callerEntry) error {
		if now := l.now(); e.Ticket == nil || now.Add(ticketLeast).After(e.Ticket.Ends) {
			e.Ticket = &ticket{Secret: caller + "." + rand.Text(), Ends: now.Add(ticketTime)}
		}
		secret = e.Ticket.Secret
		return nil
	})
	return secret, err
}

// Redeemed reports whether the login of a ticket has ended well. The error is [ErrTicket] if it can no longer.
func (l CallerLogins) Redeemed(ctx context.Context, upstream, secret string) (bool, error) {
	e, err := l.read(ctx, callerOf(secret), upstream)
	switch {
	case err != nil:
		return false, err
	case l.opens(e, secret):
		return false, nil
	case e.Login == nil:
		return false, ErrTicket
	}
	return true, nil
}

// Caller returns the caller of a ticket. The error is [ErrTicket] if the ticket is not good.
func (l CallerLogins) Caller(ctx context.Context, upstream, secret string) (string, error) {
	e, err := l.read(ctx, callerOf(secret), upstream)
	if err == nil && !l.opens(e, secret) {
		err = ErrTicket
	}
	return callerOf(secret), err
}

// callerOf returns the caller that a ticket names.
func callerOf(secret string) string {
	caller, _, _ := strings.Cut(secret, ".")
	return caller
}

// opens reports whether a secret is the ticket of an entry.
func (l CallerLogins) opens(e callerEntry, secret string) bool {
	return e.Ticket != nil && same(e.Ticket.Secret, secret) && l.now().Before(e.Ticket.Ends)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// KnownClient is a client that an authorization server knows already.
type KnownClient struct {
	ID     string                                    // empty = a client is registered
	Secret func(ctx context.Context) (string, error) // nil = it has none
}

// registration returns the client with its secret.
func (k KnownClient) registration(ctx context.Context) (r registration, err error) {
	if r.ID = k.ID; k.Secret == nil {
		return r, nil
	}
	if r.Secret, err = k.Secret(ctx); err != nil {
		return r, fmt.Errorf("reading the secret of its client: %w", err)
	}
	return r, nil
}

// Browser is the browser of a caller who logs in.
type Browser struct {
	Secret string // in a cookie of it; it has to come back with it
	State  string // of the login, random
	Back   string // address to which the authorization server leads it
	Client KnownClient
}

// Begin begins the login of a ticket, whose caller has proven who they are, and returns the address for the
// browser. It takes the place of a login of that ticket which has begun before.
func (l CallerLogins) Begin(ctx context.Context, s Server, secret string, b Browser) (address string, err error) {
	if s, err = s.Expand(ctx); err != nil {
		return "", err
	}
	known, err := b.Client.registration(ctx)
	if err != nil {
		return "", err
	}
	asking, done := context.WithTimeout(ctx, beginTime)
	defer done()
	begun, address, err := authorize(asking, newLoginClient(s.URL), s, authorizationOptions{State: b.State, Redirect: b.Back, Known: known})
	switch {
	case errors.Is(err, errUnknownClient), errors.Is(err, errRegistration):
		return "", fmt.Errorf("%w: register toolfold there with the redirect URI %s, and set clientId of %s", err, b.Back, s.Name)
	case errors.Is(err, ErrNoLogin):
		return "", fmt.Errorf("%w: remove login from its settings", err)
	case err != nil:
		return "", err
	}
	err = l.update(ctx, callerOf(secret), s.Name, func(e *callerEntry) error {
		if !l.opens(*e, secret) {
			return ErrTicket
		}
		e.Ticket.Begun = &begunLogin{s.URL, begun, sha256.Sum256([]byte(b.Secret)), l.now().Add(browserTime)}
		return nil
	})
	return address, err
}

// End ends a login with the query with which the authorization server led the browser of a caller back, and
// stores it. browser is the secret in the browser's cookie. A state is good for one call. The error is [ErrTicket] if no
// login of this caller waits for that state in this browser.
func (l CallerLogins) End(ctx context.Context, s Server, caller, browser string, query url.Values) error {
	e, err := l.read(ctx, caller, s.Name)
	if err == nil && !l.waits(e, s, browser, query) { // strangers do not hold the entry
		err = ErrTicket
	}
	if err != nil {
		return err
	}
	var begun authorization
	var secret string
	err = l.update(ctx, caller, s.Name, func(e *callerEntry) error {
		if !l.waits(*e, s, browser, query) {
			return ErrTicket
		}
		begun, secret = e.Ticket.Begun.Authorization, e.Ticket.Secret
		e.Ticket.Begun = nil
		return nil
	})
	if err != nil {
		return err
	}
	issued := l.now()
	token, err := begun.end(ctx, newLoginClient(s.URL), query)
	if err != nil {
		return err
	}
	return l.update(ctx, caller, s.Name, func(e *callerEntry) error {
		e.Login = keepToken(s.URL, *token, issued, begun.Client)
		if e.Ticket != nil && same(e.Ticket.Secret, secret) {
			e.Ticket = nil
		}
		return nil
	})
}

// waits reports whether a login of an entry waits for a query in a browser.
func (l CallerLogins) waits(e callerEntry, s Server, browser string, query url.Values) bool {
	if e.Ticket == nil || e.Ticket.Begun == nil {
		return false
	}
	b, hash := e.Ticket.Begun, sha256.Sum256([]byte(browser))
	return b.URL == s.URL && same(b.Authorization.State, query.Get("state")) && same(string(b.Browser[:]), string(hash[:])) &&
		l.now().Before(b.Ends)
}

// vaultLogin is the login of a caller in the vault.
type vaultLogin struct {
	logins                CallerLogins
	caller, upstream, url string
}

// read implements [loginStore].
func (v vaultLogin) read(ctx context.Context) (*login, error) {
	e, err := v.logins.read(ctx, v.caller, v.upstream)
	return v.here(e.Login), err
}

// here returns a login if it is for the server.
func (v vaultLogin) here(l *login) *login {
	if l == nil || l.URL != v.url {
		return nil
	}
	return l
}

// update implements [loginStore].
func (v vaultLogin) update(ctx context.Context, edit func(*login) *login) error {
	return v.logins.update(ctx, v.caller, v.upstream, func(e *callerEntry) error {
		if stored := v.here(e.Login); stored != nil {
			e.Login = edit(stored)
		} else if next := edit(nil); next != nil {
			e.Login = next
		}
		return nil
	})
}

// first implements [loginStore]. The gateway gives the caller a link.
func (vaultLogin) first(why string) error { return fmt.Errorf("%w%s", ErrLogin, why) }

// scoped implements [loginStore].
func (vaultLogin) scoped(scope string) string {
	return fmt.Sprintf("it was not asked for %q, which the server did not name when the caller logged in", scope)
}
