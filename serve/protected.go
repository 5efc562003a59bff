package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// ProtectedResource describes a server to clients that log in: it is a protected resource of OAuth 2.0, with metadata as in
// RFC 9728. Answers without a known caller name these metadata, so that clients find the issuer.
type ProtectedResource struct {
	URL     string   // of /mcp, as clients reach it, such as https://tools.example.com/mcp
	Issuers []string // authorization servers whose tokens [Options.Authorize] accepts
	Scopes  []string // that a token needs; may be empty
}

const metadataPath = "/.well-known/oauth-protected-resource"

// check rejects a resource that clients cannot use.
func (r *ProtectedResource) check() error {
	if r == nil {
		return nil
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.User != nil ||
		u.Path != "/mcp" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the URL of the resource is %q, not one such as https://tools.example.com/mcp", r.URL)
	}
	if len(r.Issuers) == 0 {
		return fmt.Errorf("the resource %s has no issuer", r.URL)
	}
	return nil
}

// metadata serves the description of the resource.
func (r *ProtectedResource) metadata() http.HandlerFunc {
	text := ordered.MustJSON(struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		TokensBy []string `json:"bearer_methods_supported"`
	}{r.URL, r.Issuers, r.Scopes, []string{"header"}})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
}

// challenge returns the header WWW-Authenticate of a refusal, see RFC 6750. problem is its error code; empty if the
// request has no credentials. That of a nil resource is the scheme alone.
func (r *ProtectedResource) challenge(problem string) string {
	if r == nil {
		return "Bearer"
	}
	text := fmt.Sprintf("Bearer resource_metadata=%q", strings.TrimSuffix(r.URL, "/mcp")+metadataPath+"/mcp")
	if len(r.Scopes) > 0 {
		text += fmt.Sprintf(", scope=%q", strings.Join(r.Scopes, " "))
	}
	if problem != "" {
		text += fmt.Sprintf(", error=%q", problem)
	}
	return text
}
