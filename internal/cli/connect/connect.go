// Package connect has the pages at which callers over HTTP log in at upstreams as themselves.
//
// A caller gets a link with a ticket. Whoever opens it has to prove that they are this caller: otherwise a caller could
// send the link to other people, and act at the upstream as them. Users of an issuer log in there, other callers give
// their token. Then the browser goes to the authorization server of the upstream with a state, and gets a cookie by
// which it has to come back: otherwise the caller could go so far, and send the address of the authorization server to
// other people. What a login needs at the issuer is in a cookie alone; see [upstream.CallerLogins] for the rest.
package connect

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/issuer"
	"github.com/toolfold/toolfold/upstream"
)

// Path begins the paths of the pages.
const Path = "/connect"

// Options are those of the pages.
type Options struct {
	Base   string                              // URL of the server for browsers, without a slash at its end
	Logins upstream.CallerLogins               // of all callers
	Server func(name string) *gateway.Upstream // at which callers log in; nil for other names
	Issuer *issuer.Issuer                      // of users who are callers; nil = callers have tokens only
	Caller func(token string) (string, error)  // see [serve.HTTP.Connect]
	Done   func(server string, caller string)  // called after a login; may be nil
	Log    *slog.Logger
}

// pages are the pages for options.
type pages struct{ Options }

// Address returns the address of the page for a ticket.
func Address(base, server, ticket string) string {
	return base + Path + "/" + server + "?" + url.Values{"ticket": {ticket}}.Encode()
}

const (
	cookieTime = 10 * time.Minute // from one step of a login to the next
	maxForm    = 16 << 10         // bytes
	maxCookie  = 4 << 10          // bytes
)

// New returns the handler of [Path] and the paths below.
func New(o Options) http.Handler {
	p := &pages{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"/{server}", p.open)
	mux.HandleFunc("POST "+Path+"/{server}", p.prove)
	mux.HandleFunc("GET "+Path, p.proven)
	mux.HandleFunc("GET "+Path+"/callback/{server}", p.back)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// open is the page that a link leads to.
func (p *pages) open(w http.ResponseWriter, r *http.Request) {
	server, ticket := p.Server(r.PathValue("server")), r.URL.Query().Get("ticket")
	if server == nil {
		p.fail(w, http.StatusNotFound, noSuchServer)
		return
	}
	if _, err := p.Logins.Caller(r.Context(), server.Name, ticket); err != nil {
		p.failed(w, err)
		return
	}
	p.form(w, http.StatusOK, server, ticket, "")
}

// form shows how the caller of a ticket can prove who they are.
func (p *pages) form(w http.ResponseWriter, status int, server *gateway.Upstream, ticket, problem string) {
	at, _ := url.Parse(server.Server.URL)
	show(w, status, view{Server: server.Name, Host: at.Host, Ticket: ticket, Problem: problem, Token: p.Caller != nil, Issuer: p.issuerURL()})
}

func (p *pages) issuerURL() string {
	if p.Issuer == nil {
		return ""
	}
	return p.Issuer.URL
}

// prove takes a form: its token has to be that of the caller of the ticket, or the caller goes to the issuer.
func (p *pages) prove(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	server, ticket := p.Server(r.PathValue("server")), r.PostFormValue("ticket")
	if server == nil {
		p.fail(w, http.StatusNotFound, noSuchServer)
		return
	}
	caller, err := p.Logins.Caller(r.Context(), server.Name, ticket)
	switch {
	case err != nil:
		p.failed(w, err)
	case r.PostFormValue("token") == "" && p.Issuer != nil:
		p.toIssuer(w, r, errand{Server: server.Name, Ticket: ticket})
	case p.Caller == nil:
		p.form(w, http.StatusForbidden, server, ticket, notYours)
	default:
		token, err := p.Caller(strings.TrimSpace(r.PostFormValue("token")))
		switch {
		case err != nil:
			p.failed(w, err)
		case token == "":
			p.form(w, http.StatusForbidden, server, ticket, unknownToken)
		case !is(token, caller):
			p.form(w, http.StatusForbidden, server, ticket, notYours)
		default:
			p.toServer(w, r, server, ticket)
		}
	}
}

// is reports whether the token of an origin belongs to a caller of the vault.
func is(token, caller string) bool {
	key := upstream.CallerKey(token)
	return key != "" && subtle.ConstantTimeCompare([]byte(key), []byte(caller)) == 1
}

// errand is what a browser carries to the issuer and back, in a cookie. The browser may know all of it.
type errand struct {
	Server, Ticket  string
	Nonce, Verifier string
}

// toIssuer leads the browser to the issuer, which tells who uses it.
func (p *pages) toIssuer(w http.ResponseWriter, r *http.Request, e errand) {
	state := rand.Text()
	e.Nonce, e.Verifier = rand.Text(), oauth2.GenerateVerifier()
	address, err := p.Issuer.Begin(r.Context(), issuer.Visit{State: state, Nonce: e.Nonce, Verifier: e.Verifier, Back: p.Base + Path})
	if err != nil {
		p.failed(w, err)
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		p.failed(w, err)
		return
	}
	p.setCookie(w, state, base64.RawURLEncoding.EncodeToString(text))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// proven is where the issuer leads the browser back to: the user there has to be the caller of the ticket.
func (p *pages) proven(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var e errand
	text, err := base64.RawURLEncoding.DecodeString(p.takeCookie(w, r, query.Get("state")))
	if p.Issuer == nil || err != nil || json.Unmarshal(text, &e) != nil {
		p.failed(w, upstream.ErrTicket)
		return
	}
	server := p.Server(e.Server)
	if server == nil {
		p.fail(w, http.StatusNotFound, noSuchServer)
		return
	}
	caller, err := p.Logins.Caller(r.Context(), server.Name, e.Ticket)
	if err == nil && query.Get("error") != "" {
		err = errors.New("the issuer refused: " + query.Get("error"))
	}
	if err != nil {
		p.failed(w, err)
		return
	}
	visit := issuer.Visit{Nonce: e.Nonce, Verifier: e.Verifier, Back: p.Base + Path}
	user, err := p.Issuer.End(r.Context(), visit, query.Get("code"))
	switch {
	case err != nil:
		p.failed(w, err)
	case !is(user.Key(), caller):
		p.form(w, http.StatusForbidden, server, e.Ticket, notYours)
	default:
		p.toServer(w, r, server, e.Ticket)
	}
}

// toServer leads the browser of a proven caller to the authorization server of an upstream.
func (p *pages) toServer(w http.ResponseWriter, r *http.Request, server *gateway.Upstream, ticket string) {
	b := upstream.Browser{Secret: rand.Text(), State: rand.Text(), Back: p.Base + Path + "/callback/" + server.Name,
		Client: server.Client}
	caller, err := p.Logins.Caller(r.Context(), server.Name, ticket)
	var address string
	if err == nil {
		address, err = p.Logins.Begin(r.Context(), server.Server, ticket, b)
	}
	if err != nil {
		p.failed(w, err)
		return
	}
	p.setCookie(w, b.State, caller+"."+b.Secret)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// back is where the authorization server of an upstream leads the browser back to.
func (p *pages) back(w http.ResponseWriter, r *http.Request) {
	server := p.Server(r.PathValue("server"))
	if server == nil {
		p.fail(w, http.StatusNotFound, noSuchServer)
		return
	}
	caller, secret, _ := strings.Cut(p.takeCookie(w, r, r.URL.Query().Get("state")), ".")
	if caller == "" || secret == "" {
		p.failed(w, upstream.ErrTicket)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the code is good once
	if err := p.Logins.End(ctx, server.Server, caller, secret, r.URL.Query()); err != nil {
		p.failed(w, err)
		return
	}
	p.Log.Info("a caller logged in at an upstream", "upstream", server.Name)
	if p.Done != nil {
		p.Done(server.Name, caller)
	}
	show(w, http.StatusOK, view{Server: server.Name, Done: true})
}

// cookieName returns the name of the cookie for a state: each login has its own. Over TLS, browsers accept no cookie
// with the name from other hosts of a domain.
func (p *pages) cookieName(state string) string {
	hash := sha256.Sum256([]byte(state))
	name := "toolfold-connect-" + hex.EncodeToString(hash[:8])
	if p.overTLS() {
		return "__Host-" + name
	}
	return name
}

func (p *pages) overTLS() bool { return strings.HasPrefix(p.Base, "https://") }

// setCookie gives the browser a cookie for a state. It is sent when another site leads the browser back.
func (p *pages) setCookie(w http.ResponseWriter, state, value string) {
	http.SetCookie(w, &http.Cookie{Name: p.cookieName(state), Value: value, Path: "/", MaxAge: int(cookieTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: p.overTLS()})
}

// takeCookie returns and removes the cookie for a state; empty without one.
func (p *pages) takeCookie(w http.ResponseWriter, r *http.Request, state string) string {
	cookie, err := r.Cookie(p.cookieName(state))
	if state == "" || err != nil || len(cookie.Value) > maxCookie {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: cookie.Name, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: p.overTLS()})
	return cookie.Value
}

// failed shows that a login cannot go on.
func (p *pages) failed(w http.ResponseWriter, err error) {
	if errors.Is(err, upstream.ErrTicket) {
		p.fail(w, http.StatusForbidden, noTicket)
		return
	}
	p.Log.Warn("a login of a caller failed", "err", err)
	p.fail(w, http.StatusBadGateway, "The login failed: "+err.Error()+".")
}

func (p *pages) fail(w http.ResponseWriter, status int, text string) {
	show(w, status, view{Failed: text})
}
