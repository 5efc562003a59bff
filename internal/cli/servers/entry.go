package servers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// upstreamFrom converts an upstream of the settings for the gateway. Its Problem is the reason why it
// cannot be started or reached.
func upstreamFrom(name string, u config.Upstream, workspace string) gateway.Upstream {
	server, err := OfUpstream(name, u, workspace)
	to := ForGateway(name, u, server)
	if err != nil {
		to.Problem = err.Error()
	}
	return to
}

// ForGateway converts an upstream of the settings for the gateway.
func ForGateway(name string, u config.Upstream, server upstream.Server) gateway.Upstream {
	server.MessageLimit, server.ProbeTimeout = int64(u.MessageLimit), time.Duration(u.ProbeTimeoutMs)*time.Millisecond
	server.Env, server.EnvOnly = slices.Concat(ownEnv(), server.Env, []string{asUpstream + "=1"}), true
	return gateway.Upstream{
		Exchange: exchangeOf(u.Exchange),
		Name:     name, Server: server, Off: u.Disabled, Include: u.Include, Exclude: u.Exclude, Repeat: u.Repeat,
		Timeout:         time.Duration(u.TimeoutMs) * time.Millisecond,
		QuestionTimeout: time.Duration(u.QuestionTimeoutMs) * time.Millisecond,
		CallsPerMinute:  u.CallsPerMinute, MaxConcurrency: u.MaxConcurrency, ResultLimit: u.ResultLimit,
		Changes: gateway.Changes(u.Changes), Alone: u.Fold == "none",
		Isolated: u.Isolate == "session", MaxSessions: u.MaxSessions, SessionIdle: time.Duration(u.SessionIdleMs) * time.Millisecond,
		FirstList: gateway.Changes(u.FirstList), Login: gateway.Login(u.Login), Client: clientOf(u),
		Limits: gateway.Limits{Tools: u.MaxTools, Schema: u.SchemaLimit, Instructions: u.InstructionsLimit},
	}
}

// clientOf returns the client of an upstream at which callers log in. Its secret is read for each login.
func clientOf(u config.Upstream) upstream.KnownClient {
	k := upstream.KnownClient{ID: u.ClientID}
	if u.ClientSecret != "" {
		k.Secret = func(ctx context.Context) (string, error) { return Secret(ctx, u.ClientSecret) }
	}
	return k
}

// exchangeOf converts the exchange of an upstream. Its secret is read for each exchange.
func exchangeOf(e *config.Exchange) upstream.Exchange {
	if e == nil {
		return upstream.Exchange{}
	}
	x := upstream.Exchange{TokenURL: e.TokenURL, ClientID: e.ClientID, Audience: e.Audience, Scopes: e.Scopes, Grant: upstream.Grant(e.Grant)}
	if e.ClientSecret != "" {
		x.Secret = func(ctx context.Context) (string, error) { return Secret(ctx, e.ClientSecret) }
	}
	return x
}

// OfUpstream returns how an upstream is started or reached, with its variables filled in. The error
// names a variable that cannot be filled in.
func OfUpstream(name string, u config.Upstream, workspace string) (upstream.Server, error) {
	e := EntryOf(name, u).Fill(workspace)
	s := OfEntry(e)
	if s.URL != "" && !byCaller(u) {
		s.Account = Accounts().Of(name, s.URL)
	}
	if e.Problem != "" {
		return s, errors.New(e.Problem)
	}
	return s, nil
}

// EntryOf converts an upstream to an entry of a client, with variables not filled in.
func EntryOf(name string, u config.Upstream) hosts.Entry {
	e := hosts.Entry{Name: name, Own: true, Dir: cmp.Or(u.Cwd, "."), URL: u.URL, Header: u.Headers, SSE: u.Type == "sse"}
	if u.Command != "" {
		e.Command = append([]string{u.Command}, u.Args...)
	}
	for _, variable := range slices.Sorted(maps.Keys(u.Env)) {
		e.Env = append(e.Env, variable+"="+u.Env[variable])
	}
	return e
}

// Accounts returns the file of this user's logins, beside the settings.
func Accounts() upstream.Accounts {
	return upstream.Accounts{Path: filepath.Join(filepath.Dir(config.DefaultFiles("").Global), "logins.json")}
}

// OfEntry returns how the server of an entry is started or reached. The entry's variables are filled
// in.
func OfEntry(e hosts.Entry) upstream.Server {
	s := upstream.Server{Argv: e.Command, Dir: e.Dir, Env: e.Env, URL: e.URL, Header: http.Header{}, SSE: e.SSE}
	for name, value := range e.Header {
		s.Header.Set(name, value)
	}
	if e.HasSecrets() {
		s.Fill = func(ctx context.Context, s upstream.Server) (upstream.Server, error) { return reveal(ctx, e, s) }
	}
	return s
}

// reveal returns a server with the secrets that its entry refers to, from the keyring.
func reveal(ctx context.Context, e hosts.Entry, s upstream.Server) (upstream.Server, error) {
	full, secrets, err := e.Reveal(func(name string) (string, error) { return keyring.Get(ctx, name) })
	if err != nil {
		return s, err
	}
	with := OfEntry(full)
	s.Argv, s.Dir, s.URL, s.Header, s.Hidden = with.Argv, with.Dir, with.URL, with.Header, secrets
	s.Env = slices.Clone(s.Env) // it has more variables than the entry
	for i, variable := range e.Env {
		s.Env[slices.Index(s.Env, variable)] = with.Env[i]
	}
	return s, nil
}

// maxTimeout is the longest time limit for calls that the settings of an upstream allow.
const maxTimeout = time.Hour

// UpstreamOf converts an entry to settings of an upstream, including members with toolfold's own names.
// unread lists the members without a counterpart. Spellings of variables are unified, so that the same
// server gives the same upstream. The error names a setting with an invalid value.
func UpstreamOf(e hosts.Entry) (u config.Upstream, unread []string, err error) {
	e = e.Respell()
	u = config.Upstream{URL: e.URL, Cwd: e.Dir, Headers: e.Header, Include: e.Only, Exclude: e.Except,
		TimeoutMs: int(min(e.Timeout, maxTimeout).Milliseconds())}
	if slices.Contains(u.Include, "*") {
		u.Include = nil
	}
	if len(e.Command) > 0 {
		u.Command, u.Args = e.Command[0], e.Command[1:]
	}
	if e.SSE {
		u.Type = "sse"
	}
	for _, variable := range e.Env {
		name, value, _ := strings.Cut(variable, "=")
		if u.Env == nil {
			u.Env = map[string]string{}
		}
		u.Env[name] = value
	}
	unread, err = u.Adopt(e.Unread)
	return u, unread, err
}
