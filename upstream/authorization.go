package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

// authorization is a login that has begun: the browser is at the authorization server. It is plain data, so that
// any process can end the login. The go-sdk has the whole flow only as one call that waits for the browser.
type authorization struct {
	State       string       `json:"state"`
	Verifier    string       `json:"verifier"` // of PKCE
	Redirect    string       `json:"redirect"` // where the browser is led back to
	Resource    string       `json:"resource"`
	Issuer      string       `json:"issuer"`
	NamesIssuer bool         `json:"namesIssuer,omitempty"` // it has to name itself to the browser (RFC 9207)
	Client      registration `json:"client"`
}

// authorizationOptions are what an authorization can be begun with.
type authorizationOptions struct {
	State    string
	Redirect string
	Known    registration // a client that the authorization server knows; without an ID one is registered
	Scopes   []string     // empty = those that the server names
}

// authorize begins a login at a server, and returns the address for the browser. It returns [ErrNoLogin] if
// the server requires no login.
func authorize(ctx context.Context, client *http.Client, s Server, o authorizationOptions) (authorization, string, error) {
	none := authorization{}
	response, err := challenge(ctx, s)
	switch {
	case errors.Is(err, ErrNoLogin):
		return none, "", err
	case err != nil:
		return none, "", s.reason(err, "")
	}
	challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		return none, "", fmt.Errorf("reading its header WWW-Authenticate: %w", err)
	}
	resource, err := resourceOf(ctx, client, challenges, s.URL)
	if err != nil {
		return none, "", err
	}
	server, err := authServerOf(ctx, client, resource.AuthorizationServers[0])
	if err != nil {
		return none, "", err
	}
	a := authorization{State: o.State, Verifier: oauth2.GenerateVerifier(), Redirect: o.Redirect, Resource: resource.Resource,
		Issuer: server.Issuer, NamesIssuer: server.AuthorizationResponseIssParameterSupported, Client: o.Known}
	if a.Client.ID == "" {
		if a.Client, err = register(ctx, client, server, o.Redirect); err != nil {
			return none, "", err
		}
	} else {
		a.Client.Style = styleOf(server.TokenEndpointAuthMethodsSupported)
	}
	a.Client.TokenURL, a.Client.Scopes = server.TokenEndpoint, scopesOf(o.Scopes, challenges, resource, server)
	config := a.Client.config(a.Redirect)
	config.Endpoint.AuthURL = server.AuthorizationEndpoint
	return a, config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), a.resource()), nil
}

func (a authorization) resource() oauth2.AuthCodeOption {
	return oauth2.SetAuthURLParam("resource", a.Resource)
}

// end returns the token for the query with which the authorization server led the browser back.
func (a authorization) end(ctx context.Context, client *http.Client, query url.Values) (*oauth2.Token, error) {
	named := query.Get("iss")
	switch {
	case query.Get("state") != a.State:
		return nil, errors.New("the answer is for another login")
	case named != a.Issuer && (named != "" || a.NamesIssuer):
		return nil, fmt.Errorf("the answer is of the issuer %q, not of %q", named, a.Issuer)
	case query.Get("error") != "":
		return nil, fmt.Errorf("the authorization server refused: %s %s", query.Get("error"), query.Get("error_description"))
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := a.Client.config(a.Redirect).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(a.Verifier), a.resource())
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) { // its text has the whole answer
		return nil, fmt.Errorf("the authorization server answered %s %s", refused.Response.Status, refused.ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("getting the token: %w", err)
	}
	return token, nil
}

// ErrNoLogin is returned if a server answers without a login.
var ErrNoLogin = errors.New("it requires no login")

// challenge sends a request without a login, and returns the server's refusal.
func challenge(ctx context.Context, s Server) (*http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"toolfold","version":"0"}}}`
	method, body := http.MethodPost, hello
	if s.SSE {
		method, body = http.MethodGet, ""
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for name, values := range s.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		if response.StatusCode >= 300 {
			return nil, fmt.Errorf("it answered %s", response.Status)
		}
		return nil, ErrNoLogin
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // the connection can be used again
	return response, nil
}

// resourceOf returns what the server says about itself (RFC 9728). Servers of 2025-03-26 say nothing: they are
// their own authorization servers.
func resourceOf(ctx context.Context, client *http.Client, challenges []oauthex.Challenge, address string) (
	*oauthex.ProtectedResourceMetadata, error,
) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	origin := &url.URL{Scheme: at.Scheme, Host: at.Host}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := [][2]string{
		{origin.String() + wellKnown + "/" + strings.TrimLeft(at.Path, "/"), address},
		{origin.String() + wellKnown, origin.String()},
	}
	for _, c := range challenges {
		if named := c.Params["resource_metadata"]; named != "" {
			places = slices.Insert(places, 0, [2]string{named, address})
			break
		}
	}
	for _, place := range places {
		resource, err := oauthex.GetProtectedResourceMetadata(ctx, place[0], place[1], client)
		switch {
		case err != nil || resource == nil:
		case len(resource.AuthorizationServers) == 0:
			return nil, errors.New("its metadata name no authorization server")
		default:
			return resource, nil
		}
	}
	return &oauthex.ProtectedResourceMetadata{Resource: address, AuthorizationServers: []string{origin.String()}}, ctx.Err()
}

// authServerOf returns the metadata of an authorization server, or the usual paths if it has no metadata.
func authServerOf(ctx context.Context, client *http.Client, issuer string) (*oauthex.AuthServerMeta, error) {
	server, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	if err != nil {
		return nil, fmt.Errorf("asking the authorization server: %w", err)
	}
	if server == nil {
		server = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register"}
	}
	return server, nil
}

// register registers a client at an authorization server (RFC 7591).
func register(ctx context.Context, client *http.Client, server *oauthex.AuthServerMeta, redirect string) (registration, error) {
	if server.RegistrationEndpoint == "" {
		return registration{}, errUnknownClient
	}
	kind := "web"
	if at, err := url.Parse(redirect); err == nil && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, at.Hostname()) {
		kind = "native"
	}
	known, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "toolfold", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none", ApplicationType: kind,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}, client)
	if err != nil {
		return registration{}, fmt.Errorf("%w: %s", errRegistration, withoutBody(err))
	}
	return registration{ID: known.ClientID, Secret: known.ClientSecret, Style: styleOf([]string{
		cmp.Or(known.TokenEndpointAuthMethod, "client_secret_basic"), // the default of RFC 7591
	})}, nil
}

// withoutBody returns the reason that a client was not registered, without the body of an answer that is no error of
// RFC 7591: it may have a secret, or be of a server inside the network that the metadata name.
func withoutBody(err error) string {
	text := err.Error()
	if refused := new(oauthex.ClientRegistrationError); !errors.As(err, &refused) {
		text, _, _ = strings.Cut(text, " (")
		if status, is := strings.CutPrefix(text, "registration failed with status "); is {
			status, _, _ = strings.Cut(status, ":")
			text = "the authorization server answered " + status
		}
	}
	return shorten.To(text, maxWhy)
}

// Errors of logins without a known client.
var (
	errUnknownClient = errors.New("the authorization server registers no clients by itself")
	errRegistration  = errors.New("registering a client")
)

// styleOf returns how a client sends its secret, from the methods that the authorization server supports.
func styleOf(methods []string) oauth2.AuthStyle {
	switch {
	case slices.Contains(methods, "client_secret_post"), slices.Equal(methods, []string{"none"}):
		return oauth2.AuthStyleInParams
	case slices.Contains(methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleAutoDetect
}

// scopesOf returns the scopes to ask for: the chosen ones, else those of the server's refusal, else those of
// its metadata. The scope for refresh tokens is added if there is one.
func scopesOf(chosen []string, challenges []oauthex.Challenge, resource *oauthex.ProtectedResourceMetadata,
	server *oauthex.AuthServerMeta) []string {
	scopes := chosen
	for _, c := range challenges {
		if len(scopes) == 0 && c.Scheme == "bearer" {
			scopes = strings.Fields(c.Params["scope"])
		}
	}
	if len(scopes) == 0 {
		scopes = resource.ScopesSupported
	}
	const refresh = "offline_access"
	if slices.Contains(server.ScopesSupported, refresh) && !slices.Contains(scopes, refresh) {
		scopes = append(slices.Clone(scopes), refresh)
	}
	return scopes
}
