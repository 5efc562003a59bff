// Package issuer knows callers over HTTP by the access tokens of an OAuth 2.0 issuer, and their rights by the groups
// in these tokens.
package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
)

const (
	patience = 5 * time.Second // for one answer of the issuer
	pause    = 5 * time.Second // between two questions to the issuer, whatever tokens callers send
	maxToken = 16 << 10        // bytes
	shown    = 10              // groups in an error
)

// Options are those of an issuer.
type Options struct {
	URL       string   // of the issuer, as its tokens and its metadata say it
	Resource  string   // address of /mcp, as clients reach it
	Audiences []string // one of them must be in a token
	Scopes    []string // all of them must be in a token
	Groups    string   // claim with the groups of a caller; with dots for a claim within claims
	Rights    string   // path of the file with the rights of groups

	// ClientID and ClientSecret are this server as a client of the issuer, which users log in at by a browser, see
	// [Issuer.Begin]. The secret may be empty.
	ClientID, ClientSecret string

	Families func() []*toolfold.Family // rules have to match them
	Sets     map[string]permission.Set // existing sets, by name
	Log      *slog.Logger
}

// Issuer knows callers by their tokens. It is safe for concurrent use.
type Issuer struct {
	Options
	rights *rights
	asked  context.Context // has the client for questions to the issuer
	pause  time.Duration

	mu       sync.Mutex
	answered *metadata     // nil until the issuer has answered
	err      error         // of the last question
	tried    time.Time     // its end
	asking   chan struct{} // closed at the end of a question that is under way; nil = none is
}

// New returns an issuer. The error says which option is invalid. An issuer that does not answer now is logged, and asked
// again when a caller comes.
func New(ctx context.Context, o Options) (*Issuer, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, fmt.Errorf("the issuer is %q, not an address with https", o.URL)
	}
	return open(ctx, o, pause)
}

// open is New with the time between two questions to the issuer.
func open(ctx context.Context, o Options, pause time.Duration) (i *Issuer, err error) {
	i = &Issuer{Options: o, pause: pause}
	if i.rights, err = openRights(o); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &sparing{next: http.DefaultTransport, pause: pause}}
	i.asked = oidc.ClientContext(context.WithoutCancel(ctx), client)
	if _, err := i.ready(ctx); err != nil {
		o.Log.Error("the issuer of logins does not answer as it should; it is asked again when a caller comes", "err", err)
	}
	return i, nil
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// metadata is what the issuer has said about itself.
type metadata struct {
	verifier *oidc.IDTokenVerifier // of access tokens
	browsers *oidc.IDTokenVerifier // of id tokens for ClientID
	endpoint oauth2.Endpoint
}

// ready returns the issuer's metadata, once it has answered.
func (i *Issuer) ready(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	if i.answered != nil || i.err != nil && i.asking == nil && time.Since(i.tried) < i.pause {
		defer i.mu.Unlock()
		return i.answered, i.err
	}
	if i.asking == nil {
		i.asking = make(chan struct{})
		go i.discover(i.asking)
	}
	answered := i.asking
	i.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.answered, i.err
}

// discover asks the issuer where its keys are, and closes answered.
func (i *Issuer) discover(answered chan struct{}) {
	said, err := i.metadata()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answered, i.err, i.tried, i.asking = said, err, time.Now(), nil
	close(answered)
}

func (i *Issuer) metadata() (*metadata, error) {
	provider, err := oidc.NewProvider(i.asked, i.URL)
	if err != nil {
		return nil, fmt.Errorf("asking the issuer %s: %w", i.URL, err)
	}
	var keys struct {
		URL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&keys); err != nil {
		return nil, fmt.Errorf("reading the metadata of the issuer %s: %w", i.URL, err)
	}
	set := signatures{oidc.NewRemoteKeySet(i.asked, keys.URL)}
	access := &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: asymmetric} // Authorize checks the audience
	return &metadata{
		verifier: oidc.NewVerifier(i.URL, set, access),
		browsers: oidc.NewVerifier(i.URL, set, &oidc.Config{ClientID: i.ClientID, SupportedSigningAlgs: asymmetric}),
		endpoint: provider.Endpoint(),
	}, nil
}

// asymmetric are the signatures that are accepted: a caller cannot make them with the issuer's public key.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// Authorize is for [serve.Options.Authorize].
func (i *Issuer) Authorize(r *http.Request) (serve.Identity, error) {
	list := r.Header.Values("Authorization")
	if len(list) == 0 {
		return serve.Identity{}, toolfold.Errorf("UNAUTHORIZED", "a bearer token is required: log in at %s", i.URL)
	}
	scheme, raw, _ := strings.Cut(list[0], " ")
	raw = strings.TrimSpace(raw)
	if len(list) > 1 || !strings.EqualFold(scheme, "Bearer") || len(raw) > maxToken || strings.Count(raw, ".") != 2 {
		return serve.Identity{}, i.invalid("it is no bearer token that is a JWT")
	}
	said, err := i.ready(r.Context())
	if err != nil {
		return serve.Identity{}, err
	}
	var unavailable error
	token, err := said.verifier.Verify(context.WithValue(r.Context(), failure{}, &unavailable), raw)
	switch expired := new(oidc.TokenExpiredError); {
	case unavailable != nil:
		return serve.Identity{}, fmt.Errorf("fetching the keys of the issuer %s: %w", i.URL, unavailable)
	case errors.As(err, &expired):
		return serve.Identity{}, i.invalid("it expired at " + expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		i.Log.Debug("refusing a token", "err", err)
		return serve.Identity{}, i.invalid("its issuer, time, algorithm or signature is wrong")
	case !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(i.Audiences, a) }):
		return serve.Identity{}, i.invalid("it is for another audience than " + strings.Join(i.Audiences, ", "))
	case token.Subject == "":
		return serve.Identity{}, i.invalid("it has no subject")
	}
	return i.identity(token)
}

// Protected is for [serve.Options.Protected].
func (i *Issuer) Protected() *serve.ProtectedResource {
	return &serve.ProtectedResource{URL: i.Resource, Issuers: []string{i.URL}, Scopes: i.Scopes}
}

// invalid returns the refusal of a token.
func (i *Issuer) invalid(why string) error {
	return toolfold.Errorf("UNAUTHORIZED", "the token is refused: %s; log in at %s again", why, i.URL)
}

// identity returns the caller of a valid token.
func (i *Issuer) identity(token *oidc.IDToken) (serve.Identity, error) {
	claims := map[string]json.RawMessage{}
	if err := token.Claims(&claims); err != nil {
		return serve.Identity{}, i.invalid("its claims are no object")
	}
	var scopes []string
	for _, text := range append(texts(claims["scope"]), texts(claims["scp"])...) {
		scopes = append(scopes, strings.Fields(text)...)
	}
	for _, scope := range i.Scopes {
		if !slices.Contains(scopes, scope) {
			return serve.Identity{}, toolfold.Errorf(serve.InsufficientScope, "the token lacks the scope %s", scope)
		}
	}
	groups := texts(lookup(claims, i.Groups))
	rights, granted, err := i.rights.of(groups)
	if err != nil {
		return serve.Identity{}, err
	}
	if !granted {
		return serve.Identity{}, toolfold.Errorf(toolfold.PermissionDenied, "none of your groups has rights here: %s", listed(groups))
	}
	name := token.Subject
	for _, claim := range []string{"preferred_username", "email", "name"} {
		var text string
		if json.Unmarshal(claims[claim], &text) == nil && text != "" {
			name = text + " (" + token.Subject + ")" // a user may be able to choose the text
			break
		}
	}
	return serve.Identity{Issuer: token.Issuer, Subject: token.Subject, Name: name, Rights: rights, Expires: token.Expiry}, nil
}

// lookup returns a claim, or a claim within claims whose name has dots between. It is nil if there is none.
func lookup(claims map[string]json.RawMessage, name string) json.RawMessage {
	if raw, found := claims[name]; found {
		return raw
	}
	outer, inner, dotted := strings.Cut(name, ".")
	within := map[string]json.RawMessage{}
	if !dotted || json.Unmarshal(claims[outer], &within) != nil {
		return nil
	}
	return lookup(within, inner)
}

// texts returns the texts of a claim that is a text or a list of them.
func texts(raw json.RawMessage) []string {
	var one *string
	if json.Unmarshal(raw, &one) == nil && one != nil {
		return []string{*one}
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// listed returns groups for an error.
func listed(groups []string) string {
	if len(groups) == 0 {
		return "the token has none"
	}
	text := fmt.Sprintf("%q", groups[:min(len(groups), shown)])
	if more := len(groups) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
