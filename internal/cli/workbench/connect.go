package workbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/internal/cli/connect"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/seal"
	"github.com/toolfold/toolfold/upstream"
)

// callerLogins returns the logins of callers at other servers; nil if no server has such logins, or calls are not
// over HTTP.
func (b *Workbench) callerLogins(o *settings.Options) (*gateway.CallerLogins, error) {
	at := slices.IndexFunc(b.others, func(u gateway.Upstream) bool { return u.Login == gateway.CallerLogin && !u.Off })
	if at < 0 || o.HTTP == "" || !o.ManyClients {
		return nil, nil
	}
	base, err := browserURL(o)
	var keys *seal.Keys
	if err == nil {
		keys, err = servers.LoginKeys(context.Background(), o.LoginKeys) // the keyring has a time limit of its own
	}
	switch {
	case err != nil:
	case o.HTTPTokenFile == "" && o.HTTPLogin.Issuer == "":
		err = errors.New("without tokens (toolfold token add) and httpLogin, callers cannot be told apart")
	case o.HTTPLogin.Issuer != "" && o.HTTPLogin.ClientID == "":
		err = errors.New("httpLogin needs clientId: users prove to the issuer who they are, in a browser")
	}
	if err != nil {
		return nil, env.UsageError("upstreams.%s: login caller: %v", b.others[at].Name, err)
	}
	b.logins = &gateway.CallerLogins{
		CallerLogins: upstream.CallerLogins{Vault: app.Logins{Open: b.store.Open, Keys: keys}},
		Address:      func(server, ticket string) string { return connect.Address(base, server, ticket) },
	}
	return b.logins, nil
}

// browserURL returns the address of the server for browsers, without a slash at its end: that of httpLogin, or its own
// if it is served to this machine alone.
func browserURL(o *settings.Options) (string, error) {
	if named := o.HTTPLogin.URL; named != "" {
		at, err := url.Parse(named)
		if err != nil || at.Host == "" || at.Path != "/mcp" || at.Scheme != "https" && at.Scheme != "http" {
			return "", fmt.Errorf("httpLogin.url is %q, not an address such as https://tools.example.com/mcp", named)
		}
		return at.Scheme + "://" + at.Host, nil
	}
	host, port, err := net.SplitHostPort(o.HTTP)
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); (err != nil || !ip.IsLoopback()) && !strings.EqualFold(host, "localhost") || port == "0" {
		return "", errors.New("httpLogin needs url: the address of this server for browsers")
	}
	if o.HTTPTLS.Cert != "" {
		return "https://" + o.HTTP, nil
	}
	return "http://" + o.HTTP, nil
}

// Connect returns the pages at which callers log in at other servers, for [serve.HTTP]; nil if there are no such servers.
// It is called after NewServer.
func (b *Workbench) Connect(o *settings.Options) func(caller func(string) (string, error)) http.Handler {
	if b.logins == nil {
		return nil
	}
	return func(caller func(string) (string, error)) http.Handler {
		if o.HTTPTokenFile == "" {
			caller = nil
		}
		base, _ := browserURL(o) // callerLogins has checked it
		return connect.New(connect.Options{
			Base: base, Logins: b.logins.CallerLogins, Server: b.loginServer, Issuer: b.issuer, Caller: caller,
			Done: b.gateway.LoggedIn, Log: b.log,
		})
	}
}

// loginServer returns the server with a name at which callers log in; nil for other names.
func (b *Workbench) loginServer(name string) *gateway.Upstream {
	for _, u := range b.others {
		if u.Name == name && u.Login == gateway.CallerLogin && u.Problem == "" {
			u.Server.Name = name
			return &u
		}
	}
	return nil
}
