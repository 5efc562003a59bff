package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Login describes how a user logs in at a server.
type Login struct {
	Server Server

	// Show is called with the address to open in a browser. It leads back to this process.
	Show func(address string)

	// Paste returns the address that the browser was led to, for users whose browser does not run here.
	// If Paste is nil, LogIn waits for the browser.
	Paste func(ctx context.Context) (address string, err error)

	// ClientID and ClientSecret identify a client that the authorization server already knows. If they
	// are empty, a client is registered.
	ClientID, ClientSecret string

	// Scopes replace the scopes that the server names. Nil keeps those.
	Scopes []string
}

// LogIn lets a user log in at the server of an account, and stores the login. It returns ErrNoLogin if
// the server requires no login.
func (a *Account) LogIn(ctx context.Context, l Login) (err error) {
	if l.Server, err = l.Server.Expand(ctx); err != nil {
		return err
	}
	request, response, err := challenge(ctx, l.Server)
	switch {
	case errors.Is(err, ErrNoLogin):
		return err
	case err != nil:
		return l.Server.reason(err, "")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("waiting for the browser: %w", err)
	}
	defer listener.Close()
	back := "http://" + listener.Addr().String() + "/callback"
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: a.client,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			l.Show(args.URL)
			if l.Paste == nil {
				return serveLogin(ctx, listener)
			}
			address, err := l.Paste(ctx)
			if err != nil {
				return nil, err
			}
			at, err := url.Parse(strings.TrimSpace(address))
			if err != nil || at.Query().Get("code") == "" && at.Query().Get("error") == "" {
				return nil, errors.New("that is not the address that the browser was led to: it begins with " + back)
			}
			return resultOf(at.Query())
		},
		NewTokenSource: func(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			client := registration{
				ID: config.ClientID, Secret: config.ClientSecret, TokenURL: config.Endpoint.TokenURL,
				Style: config.Endpoint.AuthStyle, Scopes: config.Scopes,
			}
			err := a.accounts.update(ctx, func(logins map[string]*login) bool {
				logins[a.name] = keepToken(a.url, *token, a.accounts.now(), client)
				return true
			})
			return oauth2.StaticTokenSource(token), err
		},
	}
	if len(l.Scopes) > 0 {
		config.ScopeFilter = func([]string) []string { return l.Scopes }
	}
	if l.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: l.ClientID}
		if l.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: l.ClientSecret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "toolfold", RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	err = handler.Authorize(ctx, request, response)
	switch {
	case err == nil:
		return nil
	case l.ClientID == "" && strings.Contains(err.Error(), "client registration methods"): // an error of the library
		return errors.New("logging in: the authorization server registers no clients by itself: " +
			"register toolfold there by hand, and name the client with --client-id ID")
	case l.ClientID == "" && strings.Contains(err.Error(), "failed to register client"):
		return fmt.Errorf("logging in: %w; if the server takes known clients only, name one with --client-id ID", err)
	}
	return fmt.Errorf("logging in: %w", err)
}

// ErrNoLogin is returned if a server answers without a login.
var ErrNoLogin = errors.New("it requires no login")

// challenge sends a request without a login, and returns it with the server's refusal.
func challenge(ctx context.Context, s Server) (*http.Request, *http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"toolfold","version":"0"}}}`
	method, body := http.MethodPost, hello
	if s.SSE {
		method, body = http.MethodGet, ""
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, values := range s.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode != http.StatusUnauthorized {
		response.Body.Close()
		if response.StatusCode >= 300 {
			return nil, nil, fmt.Errorf("it answered %s", response.Status)
		}
		return nil, nil, ErrNoLogin
	}
	return request, response, nil
}

// serveLogin waits for the redirect of the browser from the authorization server.
func serveLogin(ctx context.Context, listener net.Listener) (*auth.AuthorizationResult, error) {
	type outcome struct {
		result *auth.AuthorizationResult
		err    error
	}
	done := make(chan outcome, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		result, err := resultOf(r.URL.Query())
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "You are logged in. This window can be closed.\n"
		if err != nil {
			text = "That did not work: see the terminal.\n"
		}
		fmt.Fprint(w, text)
		select {
		case done <- outcome{result, err}:
		default:
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ending)
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func resultOf(query url.Values) (*auth.AuthorizationResult, error) {
	if code := query.Get("error"); code != "" {
		return nil, fmt.Errorf("the authorization server refused: %s %s", code, query.Get("error_description"))
	}
	return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
}
