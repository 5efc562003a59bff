package upstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Grant is the way an authorization server exchanges a token.
type Grant string

// The values of [Grant].
const (
	TokenExchange Grant = "tokenExchange" // RFC 8693, as Keycloak has it
	OnBehalfOf    Grant = "onBehalfOf"    // an assertion (RFC 7523) as Microsoft Entra has it
)

// Exchange describes how the access token of a caller is exchanged for one of a server.
type Exchange struct {
	TokenURL string
	ClientID string                                // of this gateway at the authorization server
	Secret   func(context.Context) (string, error) `json:"-"` // of the client; nil = a public client
	Audience string                                // of the new token, as the authorization server names it; may be empty
	Scopes   []string
	Grant    Grant // empty = TokenExchange
}

// Check rejects an exchange that cannot work, or would send tokens in the clear.
func (e Exchange) Check() error {
	at, err := url.Parse(e.TokenURL)
	switch {
	case err != nil || at.Host == "" || at.User != nil ||
		at.Scheme != "https" && !(at.Scheme == "http" && isLoopback(at.Hostname())):
		return errors.New("tokenUrl is not an address with https")
	case e.ClientID == "":
		return errors.New("it lacks clientId")
	case e.Grant == OnBehalfOf && len(e.Scopes) == 0:
		return errors.New("onBehalfOf takes scopes, such as api://ID/.default")
	case e.Grant == OnBehalfOf && e.Audience != "":
		return errors.New("onBehalfOf takes no audience: its scopes name it")
	}
	return nil
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// ErrExchange is wrapped by errors of a caller whose access token could not be exchanged, or was exchanged for one that
// the server refuses.
var ErrExchange = errors.New("no token for this caller")

// exchangeError is an [ErrExchange] in words for the caller.
type exchangeError struct{ why string }

// Error implements error.
func (e *exchangeError) Error() string { return e.why }

// Unwrap returns [ErrExchange].
func (e *exchangeError) Unwrap() error { return ErrExchange }

func exchangeErrorf(format string, args ...any) error {
	return &exchangeError{fmt.Sprintf(format, args...)}
}

// ErrNoBearer is returned if the caller of a request sent no access token that can be exchanged.
var ErrNoBearer = exchangeErrorf("your access token is exchanged for one of this server, and you called without one: log in at the " +
	"issuer of httpLogin (a token of the token file cannot be exchanged)")

// Account returns the account of one caller at a server. It sends nothing without a token of that caller, which the
// context of a request has as [callctx.Bearer].
func (e Exchange) Account() *Account { return &Account{exchanged: newExchanged(e), strict: true} }

// exchanged are the tokens of one caller at one server. They are in memory only.
type exchanged struct {
	exchange Exchange
	client   *http.Client
	now      func() time.Time

	mu     sync.Mutex
	tokens map[[sha256.Size]byte]*exchangedToken // by the hash of the caller's token
	latest *exchangedToken                       // for requests outside of a call, such as streams
}

// exchangedToken is the result of one exchange.
type exchangedToken struct {
	done  chan struct{} // closed once the other members are set
	token string
	ends  time.Time // not used later
	err   error
}

func newExchanged(e Exchange) *exchanged {
	client := &http.Client{Timeout: loginTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the token stays at TokenURL
	}}
	return &exchanged{exchange: e, client: client, now: time.Now, tokens: map[[sha256.Size]byte]*exchangedToken{}}
}

// token returns the token for the access token of the caller in ctx, and exchanges it if needed. A token equal to refused
// is exchanged anew. Calls with the same token wait for one exchange. An error is for the caller.
func (x *exchanged) token(ctx context.Context, refused string) (string, error) {
	bearer := callctx.Of[callctx.Bearer](ctx)
	if bearer.Reveal() == "" {
		return x.last(refused)
	}
	key := sha256.Sum256([]byte(bearer.Reveal()))
	x.mu.Lock()
	entry := x.tokens[key]
	if entry == nil || entry.over(x.now()) || entry.isDone() && entry.token == refused {
		entry = &exchangedToken{done: make(chan struct{})}
		maps.DeleteFunc(x.tokens, func(_ [sha256.Size]byte, old *exchangedToken) bool { return old.over(x.now()) })
		x.tokens[key] = entry
		go x.fill(context.WithoutCancel(ctx), entry, bearer)
	}
	x.mu.Unlock()
	select {
	case <-entry.done:
		return entry.token, entry.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// last returns the latest token, for a request outside of a call.
func (x *exchanged) last(refused string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.latest == nil || x.latest.over(x.now()) || x.latest.token == refused {
		return "", ErrNoBearer
	}
	return x.latest.token, nil
}

// isDone reports whether the exchange has ended.
func (t *exchangedToken) isDone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// over reports whether the token, or the failure, is no longer used.
func (t *exchangedToken) over(now time.Time) bool {
	return t.isDone() && (t.err != nil || !t.ends.IsZero() && !now.Before(t.ends))
}

// fill exchanges a token.
func (x *exchanged) fill(ctx context.Context, entry *exchangedToken, bearer callctx.Bearer) {
	issued := x.now()
	token, err := x.request(context.WithValue(ctx, oauth2.HTTPClient, x.client), bearer.Reveal())
	x.mu.Lock()
	defer x.mu.Unlock()
	defer close(entry.done)
	if entry.err = err; err != nil {
		return
	}
	entry.token = token.AccessToken
	entry.ends = keepToken("", *token, issued, registration{}).ends()
	if own := bearer.Expires(); !own.IsZero() && (entry.ends.IsZero() || own.Before(entry.ends)) {
		entry.ends = own
	}
	x.latest = entry
}

// request asks the authorization server for a token. Its errors quote no token.
func (x *exchanged) request(ctx context.Context, subject string) (*oauth2.Token, error) {
	config := x.exchange.config(subject)
	if x.exchange.Secret != nil {
		secret, err := x.exchange.Secret(ctx)
		if err != nil {
			return nil, exchangeErrorf("reading the client secret of exchange: %v", err)
		}
		config.ClientSecret = secret
	}
	token, err := config.Token(ctx)
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused):
		why := cmp.Or(refused.ErrorCode, refused.Response.Status)
		if refused.ErrorDescription != "" {
			why += ": " + shorten.To(refused.ErrorDescription, maxWhy)
		}
		why = strings.ReplaceAll(why, subject, "xxxxx")
		return nil, exchangeErrorf("the authorization server does not exchange your access token for one of this server: %s", why)
	case err != nil:
		return nil, exchangeErrorf("exchanging your access token for one of this server: %s", strings.ReplaceAll(err.Error(), subject, "xxxxx"))
	case !strings.EqualFold(token.Type(), "Bearer"):
		return nil, exchangeErrorf("the authorization server exchanged your access token for a token of type %.20q, not Bearer", token.TokenType)
	}
	return token, nil
}

// config returns the request of an exchange, without the secret. The library's client credentials are a POST with the form of any grant.
func (e Exchange) config(subject string) *clientcredentials.Config {
	form := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":        {subject},
		"subject_token_type":   {accessTokenType},
		"requested_token_type": {accessTokenType},
	}
	if e.Audience != "" {
		form.Set("audience", e.Audience)
	}
	style := oauth2.AuthStyleInHeader
	if e.Secret == nil {
		style = oauth2.AuthStyleInParams
	}
	if e.Grant == OnBehalfOf {
		style = oauth2.AuthStyleInParams
		form = url.Values{
			"grant_type":          {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
			"assertion":           {subject},
			"requested_token_use": {"on_behalf_of"},
		}
	}
	return &clientcredentials.Config{
		ClientID: e.ClientID, TokenURL: e.TokenURL, Scopes: e.Scopes, EndpointParams: form, AuthStyle: style,
	}
}

const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
