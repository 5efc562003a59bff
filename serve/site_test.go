package serve

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// A site gets / for HTML and the paths that the server does not serve, after the checks of host and origin. It
// knows the tokens of admins only.
func TestSite(t *testing.T) {
	t.Parallel()
	note := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	s, err := New(Options{Families: []*toolfold.Family{note}, Log: quietLog})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens")
	hash := func(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
	lines := fmt.Sprintf("%s\n%s\na-plain-token-of-all\n", permission.Token{Name: "me", Hash: hash("mine"), Admin: true},
		permission.Token{Name: "ci", Hash: hash("theirs")})
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := openToken(path, nil, nil, quietLog)
	if err != nil {
		t.Fatal(err)
	}
	var login Login
	site := func(next http.Handler, l Login) http.Handler {
		login = l
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/nothing") {
				next.ServeHTTP(w, r)
				return
			}
			fmt.Fprint(w, "the site")
		})
	}
	_, handler := s.web(token, HTTP{Site: site})
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, test := range []struct{ method, path, accept, origin, want string }{
		{"GET", "/", "text/html", "", "the site"},
		{"GET", "/", "*/*", "", "toolfold serves MCP"},
		{"POST", "/", "text/html", "", "the site"},
		{"GET", "/notes", "*/*", "", "the site"},
		{"POST", "/notes", "", "", "the site"},
		{"GET", "/nothing", "text/html", "", "404"},
		{"GET", "/mcp", "text/html", "", "a server of the"},
		{"POST", "/mcp", "", "", "a bearer token"},
		{"GET", "/healthz", "text/html", "", `{"status":"ok"}`},
		{"POST", "/notes", "", "http://evil.example", "another origin"},
		{"GET", "/notes", "text/html", "null", "another origin"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", test.accept)
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains(string(text), test.want) {
			t.Errorf("%v: %d %s", test, answer.StatusCode, text)
		}
	}
	for given, want := range map[string]string{"mine": "me", "theirs": "", "a-plain-token-of-all": "", "": ""} {
		if name, err := login.Admin(hash(given)); err != nil || name != want {
			t.Errorf("the token %q is of the admin %q: %v", given, name, err)
		}
	}
	s.web(nil, HTTP{Site: site})
	if login.Admin != nil {
		t.Error("a server without tokens has admins")
	}
	select {
	case <-login.Stopping:
		t.Error("the server stops")
	default:
	}
}
