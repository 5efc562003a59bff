package workbench

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// Browsers reach the server at the address in the settings, or at its own if that is of this machine.
func TestBrowserURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		o    config.Options
		want string // an address, or a part of an error
	}{
		{config.Options{HTTP: ":8137", HTTPLogin: config.HTTPLogin{URL: "https://tools.example.com/mcp"}}, "https://tools.example.com"},
		{config.Options{HTTP: "127.0.0.1:8137"}, "http://127.0.0.1:8137"},
		{config.Options{HTTP: "localhost:8137", HTTPTLS: config.HTTPTLS{Cert: "a", Key: "b"}}, "https://localhost:8137"},
		{config.Options{HTTP: ":8137"}, "httpLogin needs url"},
		{config.Options{HTTP: "127.0.0.1:0"}, "httpLogin needs url"},
		{config.Options{HTTP: "192.0.2.1:8137"}, "httpLogin needs url"},
		{config.Options{HTTP: ":8137", HTTPLogin: config.HTTPLogin{URL: "https://tools.example.com"}}, "not an address such as"},
		{config.Options{HTTP: ":8137", HTTPLogin: config.HTTPLogin{URL: "javascript://x/mcp"}}, "not an address such as"},
	}
	for _, test := range tests {
		got, err := browserURL(&settings.Options{Options: test.o})
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%s, %s: %q, want %q", test.o.HTTP, test.o.HTTPLogin.URL, got, test.want)
		}
	}
}
