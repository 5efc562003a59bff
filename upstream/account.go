package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolfold/toolfold/internal/system/safefile"
)

// Account is the login of this user at a server, by OAuth 2.1: an access token that is renewed before
// it expires. All processes of the user share it through the file of [Accounts]. It is safe for
// concurrent use.
type Account struct {
	accounts Accounts
	name     string // of the upstream
	url      string // of the server that the token is for

	mu     sync.Mutex // held while the token is renewed, so that callers wait for one renewal
	login  *login     // as last read from the file; nil if the file has no login or was not read yet
	lacks  time.Time  // modification time of the file without a login; zero if there was no file
	looked bool
	client *http.Client
}

// Accounts is the file with the logins of this user, which only this user can read.
type Accounts struct {
	Path string
	Now  func() time.Time // nil = time.Now
}

func (a Accounts) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// login is the entry of an account in the file.
type login struct {
	URL    string       `json:"url"` // a login is not used for another server
	Token  oauth2.Token `json:"token"`
	Issued time.Time    `json:"issued"`
	Client registration `json:"client"`
}

// registration is the client that this machine registered at an authorization server.
type registration struct {
	ID       string           `json:"id"`
	Secret   string           `json:"secret,omitempty"`
	TokenURL string           `json:"tokenUrl"`
	Style    oauth2.AuthStyle `json:"style,omitempty"`
	Scopes   []string         `json:"scopes,omitempty"`
}

// ErrLogin is returned if a server requires a login that is missing or has expired.
var ErrLogin = errors.New("it requires a login")

// maxAccounts is the largest size of the login file, in bytes.
const maxAccounts = 1 << 20

// Of returns the account for a server. It reads nothing yet.
func (a Accounts) Of(name, url string) *Account {
	return &Account{accounts: a, name: name, url: url, client: &http.Client{Timeout: 30 * time.Second}}
}

// Names maps the upstreams that have a login in the file to their URLs.
func (a Accounts) Names() (map[string]string, error) {
	logins, err := a.read()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name, l := range logins {
		names[name] = l.URL
	}
	return names, nil
}

// Remove removes a login from the file, and reports whether there was one.
func (a Accounts) Remove(ctx context.Context, name string) (removed bool, err error) {
	err = a.update(ctx, func(logins map[string]*login) bool {
		_, removed = logins[name]
		delete(logins, name)
		return removed
	})
	return removed, err
}

// modTime returns the modification time of the file, or the zero time if there is no file.
func (a Accounts) modTime() time.Time {
	info, err := os.Stat(a.Path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (a Accounts) read() (map[string]*login, error) {
	logins := map[string]*login{}
	root, err := os.OpenRoot(filepath.Dir(a.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return logins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the logins: %w", err)
	}
	defer root.Close()
	text, err := safefile.Read(root, filepath.Base(a.Path), maxAccounts)
	if errors.Is(err, fs.ErrNotExist) {
		return logins, nil
	}
	if err == nil && json.Unmarshal(text, &logins) != nil {
		err = errors.New("it is not JSON") // the error itself could quote a token
	}
	if err != nil {
		return nil, fmt.Errorf("reading the logins in %s: %w", a.Path, err)
	}
	return logins, nil
}

// update changes the file if edit reports a change, one process at a time.
func (a Accounts) update(ctx context.Context, edit func(map[string]*login) (changed bool)) error {
	if err := os.MkdirAll(filepath.Dir(a.Path), 0o700); err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	unlock, err := safefile.Lock(ctx, a.Path+".lock")
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	defer unlock()
	logins, err := a.read()
	if err != nil || !edit(logins) {
		return err
	}
	text, err := json.MarshalIndent(logins, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(a.Path))
	if err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	defer root.Close()
	if err := safefile.Replace(root, filepath.Base(a.Path), append(text, '\n')); err != nil {
		return fmt.Errorf("writing the logins: %w", err)
	}
	return nil
}

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

// token returns the access token, or an empty string if there is no login. It renews a token that is
// about to expire or equals refused. Concurrent callers wait for one renewal.
func (a *Account) token(ctx context.Context, refused string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := func() bool {
		ends := a.login.ends()
		return (ends.IsZero() || a.accounts.now().Before(ends)) && a.login.Token.AccessToken != refused
	}
	if a.login != nil && fresh() {
		return a.login.Token.AccessToken, nil
	}
	modified := a.accounts.modTime()
	if a.login == nil && a.looked && modified.Equal(a.lacks) {
		return "", nil
	}
	a.looked, a.lacks = true, modified
	var failed error
	err := a.accounts.update(ctx, func(logins map[string]*login) bool { // another process may have renewed it
		if a.login = logins[a.name]; a.login == nil || a.login.URL != a.url {
			a.login = nil
			return false
		}
		if fresh() {
			return false
		}
		if failed = a.renew(ctx); failed == nil {
			logins[a.name] = a.login
		}
		return failed == nil
	})
	switch {
	case err != nil:
		return "", err
	case failed != nil && refused == "" && a.accounts.now().Before(a.login.Token.Expiry):
		return a.login.Token.AccessToken, nil // the next call tries again
	case failed != nil:
		return "", failed
	case a.login == nil:
		return "", nil
	}
	return a.login.Token.AccessToken, nil
}

// loginFirst returns [ErrLogin] with the command to run.
func (a *Account) loginFirst(why string) error {
	return fmt.Errorf("%w%s: toolfold upstream login %s", ErrLogin, why, a.name)
}

// renew exchanges the refresh token.
func (a *Account) renew(ctx context.Context) error {
	if a.login.Token.RefreshToken == "" {
		return a.loginFirst(", as the last one is over")
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, a.client)
	issued := a.accounts.now()
	client := a.login.Client
	config := oauth2.Config{
		ClientID: client.ID, ClientSecret: client.Secret, Scopes: client.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: client.TokenURL, AuthStyle: client.Style},
	}
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: a.login.Token.RefreshToken}).Token()
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		return a.loginFirst(", as the last one is over")
	case errors.As(err, &refused):
		return fmt.Errorf("renewing the login: the authorization server answered %s %s", refused.Response.Status, refused.ErrorCode)
	case err != nil:
		return fmt.Errorf("renewing the login: %w", err)
	}
	a.login = keepToken(a.login.URL, *token, issued, client)
	return nil
}

// authorize sends a request with the access token. If the server refuses it, the request is sent once
// more with a renewed token. Requests with their own Authorization header are sent unchanged.
func (a *Account) authorize(r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return send(r)
	}
	refused := ""
	for {
		token, err := a.token(r.Context(), refused)
		if err != nil {
			return nil, err
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
			return nil, a.loginFirst("")
		case refused != "":
			return nil, a.loginFirst(", as it refuses the present one")
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
