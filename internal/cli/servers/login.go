package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
	"github.com/toolfold/toolfold/upstream"
)

// byCaller reports whether each caller has a login of their own at an upstream.
func byCaller(u config.Upstream) bool {
	return u.Login != "" && gateway.Login(u.Login) != gateway.SharedLogin
}

// ForLogin returns a server of the settings at which a user can log in.
func ForLogin(o *settings.Options, name string) (upstream.Server, error) {
	u := o.Upstreams[name]
	if u.URL == "" {
		return upstream.Server{}, env.UsageError("%s is a program: it logs in by itself", name)
	}
	switch gateway.Login(u.Login) {
	case gateway.CallerLogin:
		return upstream.Server{}, env.UsageError("each caller of toolfold serve --http logs in at %s by a link (login: caller); "+
			"there is no login for everybody", name)
	case gateway.ExchangeLogin:
		return upstream.Server{}, env.UsageError("%s gets the exchanged token of each caller (login: exchange): nobody logs in at it", name)
	}
	s, err := OfUpstream(name, u, o.Files.Workspace)
	if err == nil && s.Header.Get("Authorization") != "" {
		err = env.UsageError("%s is sent the header Authorization of the settings: take that out first", name)
	}
	return s, err
}

// LogIn lets the user log in at a server by an address that show gets, in a browser of this machine. Then it asks
// the server for its tools, by g.
func LogIn(ctx context.Context, o *settings.Options, g *gateway.Gateway, name string, show func(address string)) error {
	s, err := ForLogin(o, name)
	if err != nil {
		return err
	}
	if err := s.Account.LogIn(ctx, upstream.Login{Server: s, Show: show}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := g.Refresh(ctx, name); err != nil {
		return fmt.Errorf("you are logged in, and %s failed then: %w", name, err)
	}
	return nil
}

// WantsLogin reports whether the problem of a server is that the user has to log in.
func WantsLogin(problem string) bool { return strings.Contains(problem, upstream.ErrLogin.Error()) }
