package servers

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// A server over HTTP does not start with an exchange that cannot work, or could send a login for everybody.
func TestCheckExchanges(t *testing.T) {
	good := func() config.Upstream {
		return config.Upstream{URL: "https://example.com/mcp", Login: "exchange", Exchange: &config.Exchange{
			TokenURL: "https://login.example.com/token", ClientID: "gateway", ClientSecret: "${SECRET}"}}
	}
	for want, change := range map[string]func(u *config.Upstream, o *settings.Options){
		"":                    func(*config.Upstream, *settings.Options) {},
		"belong together":     func(u *config.Upstream, _ *settings.Options) { u.Exchange = nil },
		"and the member":      func(u *config.Upstream, _ *settings.Options) { u.Login = "" },
		"takes a url":         func(u *config.Upstream, _ *settings.Options) { u.URL, u.Command = "", "server" },
		"takes httpLogin":     func(_ *config.Upstream, o *settings.Options) { o.HTTPLogin.Issuer = "" },
		"to be a reference":   func(u *config.Upstream, _ *settings.Options) { u.Exchange.ClientSecret = "secret" },
		"header":              func(u *config.Upstream, _ *settings.Options) { u.Headers = map[string]string{"authorization": "x"} },
		"address with https":  func(u *config.Upstream, _ *settings.Options) { u.Exchange.TokenURL = "http://login.example.com/token" },
		"onBehalfOf takes sc": func(u *config.Upstream, _ *settings.Options) { u.Exchange.Grant = "onBehalfOf" },
	} {
		u, o := good(), &settings.Options{}
		o.HTTPLogin.Issuer = "https://login.example.com"
		change(&u, o)
		o.Upstreams = map[string]config.Upstream{"records": u, "other": {Command: "x"}}
		err := CheckExchanges(o)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "upstreams.records: ") ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
