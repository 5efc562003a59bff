package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"sync"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// access admits one browser of this machine. It opens the page by a link that works once, and is known
// by a cookie afterwards.
type access struct {
	addr string // host:port of the listener
	key  string // name of the cookie; browsers send cookies to all ports of a host

	mu      sync.Mutex
	link    string // empty once it was used
	session string // value of the cookie
}

func newAccess(addr string) *access {
	_, port, _ := net.SplitHostPort(addr)
	return &access{addr: addr, key: "toolfold-page-" + port, link: rand.Text(), session: rand.Text()}
}

// address returns the link that opens the page once.
func (a *access) address() string { return "http://" + a.addr + "/enter/" + a.link }

// enter is the handler of the link: it sets the cookie and goes on to the overview.
func (a *access) enter(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	ok := a.link != "" && subtle.ConstantTimeCompare([]byte(r.PathValue("link")), []byte(a.link)) == 1
	if ok {
		a.link = ""
	}
	a.mu.Unlock()
	if !ok && !a.admits(r) {
		http.Error(w, linkUsed, http.StatusForbidden)
		return
	}
	if ok {
		http.SetCookie(w, &http.Cookie{Name: a.key, Value: a.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

const (
	noSession = "Only the browser that opened the link of toolfold page is let in. Run toolfold page for a new link."
	linkUsed  = "This link works once, and was used or is wrong. Run toolfold page for a new one; " +
		"if nobody of yours used it, end the running toolfold page."
	wrongForm = "The form is not of this page, or of an earlier run or login: go back, reload, and send it again."
)

// admits reports whether a request has the cookie.
func (a *access) admits(r *http.Request) bool {
	cookie, err := r.Cookie(a.key)
	return err == nil && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(a.session)) == 1
}

// form returns the token that every form of the page sends.
func (a *access) form() string { return formOf(a.session) }

// guard serves next to the admitted browser. It refuses other names of the host, which DNS rebinding
// uses, forms of other origins, and forms without the token.
func (a *access) guard(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(a.addr)
	checked := http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.admits(r) {
			http.Error(w, noSession, http.StatusForbidden)
			return
		}
		serveVisit(w, r, visit{form: a.form()}, next)
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /enter/{link}", a.enter)
	mux.Handle("/", checked)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if r.Host != a.addr && r.Host != net.JoinHostPort("localhost", port) {
			http.Error(w, "This page is served at http://"+a.addr+" only.", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// visit is a request of an admitted browser. Its context has it.
type visit struct {
	form string // the token that every form of the page sends
	user string // name of the token that logged in; empty if the browser came by a link
}

// formOf returns the token of the forms of a session. It does not show the cookie.
func formOf(session string) string {
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// policy lets a page load its style sheet and send its forms, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// setHeaders sets the headers of all answers. Without a referrer for its own origin, forms would come
// from the origin null.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// maxForm bounds the body of a form, in bytes: a note of the largest size, with every byte escaped.
const maxForm = 1 << 20

// serveVisit serves an admitted request, unless it is a form without the token of the visit.
func serveVisit(w http.ResponseWriter, r *http.Request, v visit, next http.Handler) {
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			http.Error(w, "The form cannot be read, or is larger than 1 MiB: shorten the text.", http.StatusRequestEntityTooLarge)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(v.form)) != 1 {
			http.Error(w, wrongForm, http.StatusForbidden)
			return
		}
	}
	next.ServeHTTP(w, r.WithContext(callctx.With(r.Context(), v)))
}
