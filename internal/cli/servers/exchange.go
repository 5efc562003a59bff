package servers

import (
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/system/hosts"
	"github.com/toolfold/toolfold/tools/config"
)

// CheckExchanges rejects upstreams that a server over HTTP could not reach with exchanged tokens.
func CheckExchanges(o *settings.Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.Upstreams)) {
		if err := checkExchange(o.Upstreams[name], o.HTTPLogin.Issuer != ""); err != nil {
			return fmt.Errorf("upstreams.%s: %w", name, err)
		}
	}
	return nil
}

// checkExchange is CheckExchanges for an upstream. known reports whether callers log in at an issuer.
func checkExchange(u config.Upstream, known bool) error {
	exchanges := gateway.Login(u.Login) == gateway.ExchangeLogin
	switch {
	case exchanges != (u.Exchange != nil):
		return errors.New("login exchange and the member exchange belong together")
	case !exchanges:
		return nil
	case u.URL == "":
		return errors.New("login exchange takes a url")
	case !known:
		return errors.New("login exchange takes httpLogin: access tokens of its issuer are exchanged")
	case u.Exchange.ClientSecret != "" && !hosts.IsReference(u.Exchange.ClientSecret):
		return errors.New("exchange.clientSecret has to be a reference, such as ${NAME} or ${keyring:NAME}")
	}
	for header := range u.Headers {
		if textproto.CanonicalMIMEHeaderKey(header) == "Authorization" {
			return errors.New("login exchange takes no header Authorization, which would stand for every caller")
		}
	}
	if err := exchangeOf(u.Exchange).Check(); err != nil {
		return fmt.Errorf("exchange: %w", err)
	}
	return nil
}
