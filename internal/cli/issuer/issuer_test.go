package issuer

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/serve"
)

const audience = "https://tools.example.com/mcp"

// idp is an issuer on loopback.
type idp struct {
	t       *testing.T
	URL     string
	key     *rsa.PrivateKey
	keyID   string
	served  *oidctest.Server
	down    atomic.Bool
	instead atomic.Pointer[string] // of any answer; nil = none
	holds   atomic.Value           // func() that each request waits for
	asked   atomic.Int64
}

func newIDP(t *testing.T) *idp {
	i := &idp{t: t, served: &oidctest.Server{}}
	i.rotate("one")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if i.down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		if hold, ok := i.holds.Load().(func()); ok {
			hold()
		}
		if text := i.instead.Load(); text != nil {
			fmt.Fprint(w, *text)
			return
		}
		i.served.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	i.URL = web.URL
	i.served.SetIssuer(web.URL)
	return i
}

// rotate replaces the key of the issuer.
func (i *idp) rotate(keyID string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		i.t.Fatal(err)
	}
	i.key, i.keyID = key, keyID
	i.served.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: keyID, Algorithm: "RS256"}}
}

// claims are those of a good token, with changes; a nil value removes a claim.
func (i *idp) claims(changes map[string]any) string {
	all := map[string]any{
		"iss": i.URL, "aud": audience, "sub": "u-17", "exp": time.Now().Add(time.Hour).Unix(), "preferred_username": "ada",
		"groups": []string{"support"}, "scope": "openid tools",
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

func (i *idp) token(changes map[string]any) string {
	return oidctest.SignIDToken(i.key, i.keyID, "RS256", i.claims(changes))
}

func base(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

const groupFile = `- group: platform
- group: support
  allow: [memory]
  deny: ["*.delete"]
- group: reading staff
  readOnly: true
  sets: [web]
`

func families() []*toolfold.Family {
	f := &toolfold.Family{Name: "memory", Summary: "Notes"}
	for _, name := range []string{"get", "delete"} {
		f.Actions = append(f.Actions, &toolfold.Action{Name: name, Summary: "Do.", Family: f})
	}
	return []*toolfold.Family{f}
}

// options returns options with a file of rights.
func (i *idp) options(text string) Options {
	path := filepath.Join(i.t.TempDir(), "rights.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return Options{
		URL: i.URL, Audiences: []string{audience}, Scopes: []string{"tools"}, Groups: "groups", Rights: path,
		Families: families, Sets: map[string]permission.Set{"web": {Names: []string{"web"}, Upstreams: map[string][]string{"fetch": nil}}},
		Log: slog.New(slog.DiscardHandler),
	}
}

func authorize(i *Issuer, headers ...string) (serve.Identity, error) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
	for _, h := range headers {
		r.Header.Add("Authorization", h)
	}
	return i.Authorize(r)
}

func codeOf(err error) string {
	if refused, ok := errors.AsType[*toolfold.Error](err); ok {
		return refused.Code
	}
	return fmt.Sprint(err)
}

// A caller is known by its issuer and subject, and has the rights of the first entry with a group of its own.
func TestIdentity(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i, err := New(t.Context(), p.options(groupFile))
	if err != nil {
		t.Fatal(err)
	}
	get, remove := families()[0].Actions[0], families()[0].Actions[1]
	for _, test := range []struct {
		why         string
		changes     map[string]any
		name        string
		get, remove bool
	}{
		{"a group", nil, "ada (u-17)", true, false},
		{"all rights", map[string]any{"groups": []string{"x", "support", "platform"}}, "ada (u-17)", true, true},
		{"a name with blanks", map[string]any{"groups": "reading staff", "preferred_username": nil, "email": "a@b.c"},
			"a@b.c (u-17)", false, false},
		{"no name", map[string]any{"preferred_username": 7}, "u-17", true, false},
		{"several audiences, scopes as a list", map[string]any{"aud": []string{"x", audience}, "scope": nil, "scp": []string{"tools"}},
			"ada (u-17)", true, false},
	} {
		who, err := authorize(i, "bearer  "+p.token(test.changes))
		if err != nil || who.Issuer != p.URL || who.Subject != "u-17" || who.Name != test.name {
			t.Errorf("%s: %v %+v", test.why, err, who)
			continue
		}
		if who.Rights.Allow(get) != test.get || who.Rights.Allow(remove) != test.remove {
			t.Errorf("%s: get %v, delete %v", test.why, who.Rights.Allow(get), who.Rights.Allow(remove))
		}
	}
	o := p.options("- group: staff\n- group: '*'\n  readOnly: true")
	o.Groups, o.Scopes = "realm_access.roles", nil
	if i, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	staff, err := authorize(i, "Bearer "+p.token(map[string]any{"realm_access": map[string]any{"roles": []string{"staff"}}}))
	if err != nil || staff.Rights != nil {
		t.Errorf("a claim within claims: %v %+v", err, staff)
	}
	other, err := authorize(i, "Bearer "+p.token(map[string]any{"groups": nil}))
	if err != nil || other.Rights == nil || !other.Rights.OnlyReads {
		t.Errorf("everybody: %v %+v", err, other)
	}
}

// No token but a valid one for this server lets a caller in.
func TestAttacks(t *testing.T) {
	t.Parallel()
	p, foreign := newIDP(t), newIDP(t)
	i, err := New(t.Context(), p.options(groupFile))
	if err != nil {
		t.Fatal(err)
	}
	good := p.token(nil)
	parts := strings.Split(good, ".")
	public, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, public)
	symmetric := base(`{"alg":"HS256","kid":"one"}`) + "." + base(p.claims(nil))
	mac.Write([]byte(symmetric))
	const denied = "UNAUTHORIZED"
	for why, test := range map[string]struct {
		headers []string
		code    string
	}{
		"none":                  {nil, denied},
		"another scheme":        {[]string{"Basic " + good}, denied},
		"two headers":           {[]string{"Bearer " + good, "Bearer " + good}, denied},
		"no JWT":                {[]string{"Bearer 0123456789abcdef"}, denied},
		"too long":              {[]string{"Bearer " + good + strings.Repeat("a", maxToken)}, denied},
		"another audience":      {[]string{"Bearer " + p.token(map[string]any{"aud": "https://other.example.com/mcp"})}, denied},
		"a part of the address": {[]string{"Bearer " + p.token(map[string]any{"aud": "https://tools.example.com"})}, denied},
		"no audience":           {[]string{"Bearer " + p.token(map[string]any{"aud": nil})}, denied},
		"another issuer":        {[]string{"Bearer " + p.token(map[string]any{"iss": foreign.URL})}, denied},
		"another issuer's key":  {[]string{"Bearer " + foreign.token(map[string]any{"iss": p.URL})}, denied},
		"a foreign token":       {[]string{"Bearer " + foreign.token(nil)}, denied},
		"expired":               {[]string{"Bearer " + p.token(map[string]any{"exp": time.Now().Add(-time.Second).Unix()})}, denied},
		"without end":           {[]string{"Bearer " + p.token(map[string]any{"exp": nil})}, denied},
		"not yet":               {[]string{"Bearer " + p.token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})}, denied},
		"no subject":            {[]string{"Bearer " + p.token(map[string]any{"sub": nil})}, denied},
		"no signature":          {[]string{"Bearer " + base(`{"alg":"none"}`) + "." + parts[1] + "."}, denied},
		"a signature cut off":   {[]string{"Bearer " + parts[0] + "." + parts[1] + "."}, denied},
		"signed by the public key": {
			[]string{"Bearer " + symmetric + "." + base(string(mac.Sum(nil)))}, denied,
		},
		"other claims":    {[]string{"Bearer " + parts[0] + "." + base(p.claims(map[string]any{"sub": "root"})) + "." + parts[2]}, denied},
		"no scope":        {[]string{"Bearer " + p.token(map[string]any{"scope": "tools.read openid"})}, serve.InsufficientScope},
		"no group":        {[]string{"Bearer " + p.token(map[string]any{"groups": nil})}, toolfold.PermissionDenied},
		"unknown groups":  {[]string{"Bearer " + p.token(map[string]any{"groups": []string{"Support", "*"}})}, toolfold.PermissionDenied},
		"groups as words": {[]string{"Bearer " + p.token(map[string]any{"groups": "support platform"})}, toolfold.PermissionDenied},
	} {
		if who, err := authorize(i, test.headers...); codeOf(err) != test.code || who.Subject != "" {
			t.Errorf("%s: %v %+v, want %s", why, err, who, test.code)
		}
	}
}

// Keys are fetched anew when the issuer changes them, and not for each token with an unknown key.
func TestKeys(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	i, err := open(t.Context(), p.options(groupFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	before := p.token(nil)
	if _, err := authorize(i, "Bearer "+before); err != nil {
		t.Error(err)
	}
	p.rotate("two")
	if _, err := authorize(i, "Bearer "+p.token(nil)); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if _, err := authorize(i, "Bearer "+before); codeOf(err) != "UNAUTHORIZED" {
		t.Errorf("a former key: %v", err)
	}
	if i, err = open(t.Context(), p.options(groupFile), time.Hour); err != nil {
		t.Fatal(err)
	}
	asked := p.asked.Load()
	for n := range 50 {
		p.keyID = fmt.Sprint(n)
		if _, err := authorize(i, "Bearer "+p.token(nil)); codeOf(err) != "UNAUTHORIZED" {
			t.Fatal(err)
		}
	}
	if n := p.asked.Load() - asked; n != 1 {
		t.Errorf("50 tokens with unknown keys asked the issuer %d times", n)
	}
}

// While the issuer is down, callers with known keys are served, and no other caller's token is called invalid.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.down.Store(true)
	i, err := open(t.Context(), p.options(groupFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	unknown := func() {
		t.Helper()
		if _, err := authorize(i, "Bearer "+p.token(nil)); err == nil || codeOf(err) == "UNAUTHORIZED" {
			t.Errorf("while the issuer is down: %v", err)
		}
	}
	unknown()
	p.down.Store(false)
	if _, err := authorize(i, "Bearer "+p.token(nil)); err != nil {
		t.Error(err)
	}
	p.down.Store(true)
	if _, err := authorize(i, "Bearer "+p.token(nil)); err != nil {
		t.Errorf("a known key: %v", err)
	}
	known := p.token(nil)
	p.rotate("two")
	unknown()
	p.down.Store(false)
	for _, answer := range []string{"<html>", `{"keys":[]}`, ""} {
		p.instead.Store(&answer)
		unknown()
		if _, err := authorize(i, "Bearer "+known); err != nil {
			t.Errorf("a known key after the answer %q: %v", answer, err)
		}
	}
}

// An issuer that does not answer holds up only callers with its tokens, and these only as long as they wait.
func TestIssuerHangs(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.down.Store(true)
	i, err := open(t.Context(), p.options(groupFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	p.down.Store(false)
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	p.holds.Store(func() { asked <- struct{}{}; <-release })
	gone, leave := context.WithCancel(t.Context())
	answered := make(chan error, 5)
	for n := range 5 {
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
			if n > 0 {
				r = r.WithContext(gone)
			}
			r.Header.Set("Authorization", "Bearer "+p.token(nil))
			_, err := i.Authorize(r)
			answered <- err
		}()
	}
	<-asked
	leave()
	for range 4 {
		if err := <-answered; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left: %v", err)
		}
	}
	p.holds.Store(func() {})
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the caller that waited: %v", err)
	}
}

// The rights of a group change with the file. A file with a fault lets no caller in.
func TestRightsChange(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	o := p.options(groupFile)
	i, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	i.rights.file.Every = 0
	write := func(text string) {
		if err := os.WriteFile(o.Rights, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token := "Bearer " + p.token(nil)
	write("- group: platform\n")
	if _, err := authorize(i, token); codeOf(err) != toolfold.PermissionDenied {
		t.Error(err)
	}
	write("- group: support\n  alow: [memory]\n")
	if _, err := authorize(i, token); err == nil || !strings.Contains(err.Error(), "line 2") || codeOf(err) == toolfold.PermissionDenied {
		t.Error(err)
	}
	write("- group: support\n")
	if who, err := authorize(i, token); err != nil || who.Rights != nil {
		t.Error(err)
	}
}

// A file with rights that would permit more than it says is refused, with the reason.
func TestRightsFile(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	for text, want := range map[string]string{
		"":                         "has no group",
		"[]":                       "has no group",
		"group: support":           "it is a list of groups",
		"- group: a\n- group: a":   `the group "a" is there twice`,
		"- readOnly: true":         "entry 1 has no group",
		"- group: '*'\n- group: a": `the group "a" stands behind "*"`,
		"- group: a\n  allow: []":  "has an empty list, which would permit all",
		"- group: a\n  sets: []":   "has an empty list, which would permit all",
		"- group: a\n  allow:\n":   "line 2 has a member or an entry without a value",
		"- {group: a, sets: }":     "line 1 has a member or an entry without a value",
		"- group: a\n  allow:\n  - memory\n  -\n": "line 4 has a member or an entry without a value",
		"- group: a\n  allow: [~]":                "line 2 has a member or an entry without a value",
		"- group: a\n---\n- group: b":             "more than one document",
		"- group: a\n  sets: [nosuch]":            `limited to the set "nosuch", which is not in the settings`,
		"- group: a\n  allow: [nosuch.get]":       "nosuch.get",
		"- group: a\n  readonly: true":            "field readonly not found",
		"- group: a\n  allow: memory":             "line 2",
		"- group: a\n  readOnly: \"perhaps\"":     "line 2",
		strings.Repeat("- group: a\n", 30<<10):    "is larger than",
	} {
		if _, err := New(t.Context(), p.options(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	o := p.options(groupFile)
	if err := os.Chmod(o.Rights, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that others may change: %v", err)
	}
	for _, url := range []string{"", "issuer.example.com", "http://issuer.example.com", "ftp://localhost"} {
		o := p.options(groupFile)
		if o.URL = url; url == "" {
			o.URL = "https://"
		}
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not an address with https") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// The file of rights in the documentation is one.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml rights\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/http.md has no file of rights")
	}
	p := newIDP(t)
	o := p.options(text)
	o.Families = nil // those of another server
	i, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	who, err := authorize(i, "Bearer "+p.token(map[string]any{"groups": nil}))
	if err != nil || who.Rights == nil || !who.Rights.OnlyReads {
		t.Errorf("everybody: %v %+v", err, who)
	}
}
