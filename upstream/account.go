package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// Account is a login at a server, by OAuth 2.1: an access token that is renewed before it expires. All
// processes with the login share it through its store: the file of [Accounts], or the [Vault] of
// [CallerLogins]. That of [Exchange.Account] is stored nowhere. It is safe for concurrent use.
type Account struct {
	exchanged *exchanged // the tokens of a caller; nil = the login is in a store
	logins    loginStore
	url       string // of the server that the token is for
	now       func() time.Time

	// strict refuses requests without a login, or with an Authorization header of the settings: the server
	// must not take a caller for somebody else. A login that is over is removed from the store.
	strict bool

	mu     sync.Mutex // held while the token is renewed, so that callers wait for one renewal
	login  *login     // as last read from the store; nil if there is no login or it was not read yet
	client *http.Client
}

// loginStore has the login of one account.
type loginStore interface {
	// read returns the login; nil if there is no login for the server.
	read(ctx context.Context) (*login, error)

	// update stores the login that edit returns for the stored one. Nil means no login. The same pointer changes
	// nothing. No other process updates the login meanwhile.
	update(ctx context.Context, edit func(*login) *login) error

	// first returns [ErrLogin] with the reason, and what the user can do if that is always the same.
	first(why string) error

	// scoped explains how to get a login with another scope.
	scoped(scope string) string
}

// login is a stored login.
type login struct {
	URL    string       `json:"url"` // a login is not used for another server
	Token  oauth2.Token `json:"token"`
	Issued time.Time    `json:"issued"`
	Client registration `json:"client"`
}

// registration is the client that was registered at an authorization server.
type registration struct {
	ID       string           `json:"id"`
	Secret   string           `json:"secret,omitempty"`
	TokenURL string           `json:"tokenUrl"`
	Style    oauth2.AuthStyle `json:"style,omitempty"`
	Scopes   []string         `json:"scopes,omitempty"`
}

// ErrLogin is returned if a server requires a login that is missing or has expired.
var ErrLogin = errors.New("it requires a login")

// keepToken returns the login for a token that was requested at issued.
func keepToken(url string, token oauth2.Token, issued time.Time, client registration) *login {
	if token.ExpiresIn > 0 { // the library counts from the response, and by its own clock
		token.Expiry = issued.Add(time.Duration(token.ExpiresIn) * time.Second)
	}
	return &login{URL: url, Token: token, Issued: issued, Client: client}
}

// ends returns the time to renew the token: a quarter of its life, and at most a minute, before it
// expires. The zero time means never.
func (l *login) ends() time.Time {
	if l.Token.Expiry.IsZero() {
		return time.Time{}
	}
	return l.Token.Expiry.Add(-min(time.Minute, l.Token.Expiry.Sub(l.Issued)/4))
}

// newAccount returns the account for the login in a store.
func newAccount(logins loginStore, url string, now func() time.Time) *Account {
	return &Account{logins: logins, url: url, now: now, client: newLoginClient(url)}
}

// loginTimeout is the time limit of a request to an authorization server.
const loginTimeout = 30 * time.Second

// newLoginClient returns the client for requests to the authorization server of the server at url.
func newLoginClient(url string) *http.Client {
	return &http.Client{Timeout: loginTimeout, Transport: zoned{url}}
}

// fresh reports whether the login has a token that is not about to expire and differs from refused.
func (a *Account) fresh(refused string) bool {
	if a.login == nil {
		return false
	}
	ends := a.login.ends()
	return (ends.IsZero() || a.now().Before(ends)) && a.login.Token.AccessToken != refused
}

// token returns the access token, or an empty string if there is no login. It renews a token that is
// about to expire or equals refused. Concurrent callers wait for one renewal.
func (a *Account) token(ctx context.Context, refused string) (string, error) {
	if a.exchanged != nil {
		return a.exchanged.token(ctx, refused)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh(refused) {
		return a.login.Token.AccessToken, nil
	}
	stored, err := a.logins.read(ctx)
	if err != nil {
		return "", err
	}
	if a.login = stored; a.login == nil {
		return "", nil
	}
	if a.fresh(refused) {
		return a.login.Token.AccessToken, nil
	}
	var failed error
	err = a.logins.update(ctx, func(stored *login) *login { // another process may have renewed it
		if a.login = stored; stored == nil || a.fresh(refused) {
			return stored
		}
		if failed = a.renew(ctx); a.strict && errors.Is(failed, ErrLogin) {
			return nil
		}
		return a.login
	})
	switch {
	case err != nil:
		return "", err
	case failed != nil && refused == "" && a.now().Before(a.login.Token.Expiry):
		return a.login.Token.AccessToken, nil // the next call tries again
	case failed != nil:
		return "", failed
	case a.login == nil:
		return "", nil
	}
	return a.login.Token.AccessToken, nil
}

// over explains that there was a login.
const over = ", as the last one is over"

// first returns the error of a login that is missing or refused, with the reason.
func (a *Account) first(why string) error {
	if a.exchanged != nil {
		return exchangeErrorf("it refuses the token for which your access token was exchanged: are audience and scopes of exchange right?")
	}
	return a.logins.first(why)
}

// scoped explains how to get a login with another scope.
func (a *Account) scoped(scope string) string {
	if a.exchanged != nil {
		return fmt.Sprintf("exchange.scopes has to ask for %q", scope)
	}
	return a.logins.scoped(scope)
}

// Ready gets the token for requests of ctx. Its error is for the caller of ctx.
func (a *Account) Ready(ctx context.Context) error {
	_, err := a.token(ctx, "")
	return err
}

// renew exchanges the refresh token.
func (a *Account) renew(ctx context.Context) error {
	if a.login.Token.RefreshToken == "" {
		return a.logins.first(over)
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, a.client)
	issued := a.now()
	client := a.login.Client
	token, err := client.config("").TokenSource(ctx, &oauth2.Token{RefreshToken: a.login.Token.RefreshToken}).Token()
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		return a.logins.first(over)
	case errors.As(err, &refused):
		return fmt.Errorf("renewing the login: the authorization server answered %s %s", refused.Response.Status, refused.ErrorCode)
	case err != nil:
		return fmt.Errorf("renewing the login: %w", err)
	}
	a.login = keepToken(a.login.URL, *token, issued, client)
	return nil
}

// config returns the client as the library takes it. redirect is where it leads browsers back to.
func (r registration) config(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: r.ID, ClientSecret: r.Secret, Scopes: r.Scopes, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: r.Style},
	}
}

// authorize sends a request with the access token. If the server refuses it, the request is sent once
// more with a renewed token. Requests with their own Authorization header are sent unchanged, unless
// the account is strict.
func (a *Account) authorize(r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		if a.strict {
			return nil, errors.New("its settings have a header Authorization, which would stand for every caller: remove it")
		}
		return send(r)
	}
	refused := ""
	for {
		token, err := a.token(r.Context(), refused)
		if err != nil {
			return nil, err
		}
		if token == "" && a.strict {
			return nil, a.first("")
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := send(r)
		if err != nil || response.StatusCode != http.StatusUnauthorized {
			return response, err
		}
		_ = response.Body.Close()
		switch {
		case token == "":
			return nil, a.first("")
		case refused != "":
			return nil, a.first(", as it refuses the present one")
		case r.Body != nil && r.GetBody == nil:
			return nil, errors.New("the login was renewed, and the request cannot be sent again")
		case r.Body != nil:
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		refused = token
	}
}
