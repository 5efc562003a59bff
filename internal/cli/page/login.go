package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/toolfold/toolfold/serve"
)

const (
	sessionTime = 12 * time.Hour // from the login to the end of a session
	maxSessions = 100            // at a time; one more ends the oldest
	maxLogin    = 16 << 10       // bytes of the form that logs in
	warnAgain   = time.Minute    // between two warnings about failed logins
	lookAgain   = time.Second    // between two checks of a stream's session
)

// login admits the browsers of users who log in with the token of an admin.
//
// Failed logins are counted for the log, and neither delayed nor stopped. A token has 256 random bits, so that
// no number of tries finds one, and a try costs a hash and a look into a table. A limit by address would shut
// out all users behind a proxy, and one for everybody would let anybody shut out the user.
type login struct {
	serve.Login
	next  http.Handler // answers what is not for the page
	write func(w http.ResponseWriter, r *http.Request, status int, name string, data any)
	log   *slog.Logger
	now   func() time.Time

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]loggedIn // by the hash of the cookie's value
	failed   int                            // logins since the last warning
	warned   time.Time
}

// loggedIn is the session of a browser. It has a hash of its token, which is looked up for each request.
type loggedIn struct {
	token [sha256.Size]byte
	ends  time.Time
}

// newLogin returns the login of a page. next answers what is not for the page.
func newLogin(p *Page, l serve.Login, next http.Handler) *login {
	return &login{Login: l, next: next, write: p.write, log: p.log, now: p.now, sessions: map[[sha256.Size]byte]loggedIn{}}
}

// loginForm is the data of the view that logs in.
type loginForm struct {
	Tokens  bool   // the server requires tokens; otherwise nobody can log in
	Back    string // path of the view to show then
	Problem string // why the last request failed; may be empty
}

const (
	notAdmin = "No admin has this token. toolfold token list marks the tokens of admins."
	ended    = "Your session has ended, and nothing was changed. Log in, and do it again."
	unread   = "The server cannot read its tokens: its log has the reason."
	foreign  = "The form is from another address than the page. A proxy in front of the server has to pass on the header Host."
)

// guard serves pages to the browsers that are logged in. Of other requests it answers only those of browsers for
// the views of pages, and forms. Programs get the answers of a server without a page.
func (l *login) guard(pages *http.ServeMux) http.Handler {
	pages.HandleFunc("POST /logout", l.leave)
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, foreign, http.StatusForbidden) }))
	ours := func(h http.Handler) http.Handler {
		h = protection.Handler(h)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			setHeaders(w.Header())
			h.ServeHTTP(w, r)
		})
	}
	views := ours(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := l.user(hashOf(r))
		switch {
		case err != nil:
			l.show(w, r, http.StatusServiceUnavailable, "/", unread)
		case name != "":
			serveVisit(w, r, visit{form: formOf(cookieOf(r)), user: name}, pages)
		case r.Method == http.MethodPost:
			l.show(w, r, http.StatusForbidden, "/", ended)
		case r.URL.Path == "/":
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		default:
			http.Redirect(w, r, "/login?back="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		}
	}))
	mux := http.NewServeMux()
	mux.Handle("GET /style.css", ours(pages))
	mux.Handle("GET /icon.svg", ours(pages))
	mux.Handle("GET /login", ours(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.show(w, r, http.StatusOK, r.URL.Query().Get("back"), "")
	})))
	mux.Handle("POST /login", ours(http.HandlerFunc(l.enter)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, view := pages.Handler(r)
		browses := r.Method == http.MethodPost || strings.Contains(r.Header.Get("Accept"), "text/html")
		if name, err := l.user(hashOf(r)); err == nil && name == "" && (view == "/" || !browses) {
			l.next.ServeHTTP(w, r)
			return
		}
		views.ServeHTTP(w, r)
	})
	return mux
}

// show shows the form that logs in, and leads to the view at back.
func (l *login) show(w http.ResponseWriter, r *http.Request, status int, back, problem string) {
	l.write(w, r, status, "login", loginForm{Tokens: l.Admin != nil, Back: local(back), Problem: problem})
}

// enter begins a session for the token of a form. The form needs no token of the page: a page of another
// origin cannot send it, and it would have to know the token of an admin.
func (l *login) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	token := sha256.Sum256([]byte(strings.TrimSpace(r.PostFormValue("token"))))
	name, err := l.admin(token)
	if err != nil {
		l.show(w, r, http.StatusServiceUnavailable, r.PostFormValue("back"), unread)
		return
	}
	if name == "" {
		l.warn(r)
		l.show(w, r, http.StatusForbidden, r.PostFormValue("back"), notAdmin)
		return
	}
	id := rand.Text()
	l.begin(sha256.Sum256([]byte(id)), hashOf(r), token)
	l.log.Info("a user logged in to the page", "token", name, "from", r.RemoteAddr)
	setCookie(w, r, id, sessionTime)
	http.Redirect(w, r, local(r.PostFormValue("back")), http.StatusSeeOther)
}

// leave ends the session of a request.
func (l *login) leave(w http.ResponseWriter, r *http.Request) {
	l.end(hashOf(r))
	setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// admin returns the name of the admin's token with a hash; empty if there is no such token.
func (l *login) admin(token [sha256.Size]byte) (string, error) {
	if l.Admin == nil {
		return "", nil
	}
	return l.Admin(token)
}

// begin adds a session, and ends the browser's last one.
func (l *login) begin(id, last, token [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, last)
	var oldest [sha256.Size]byte
	for id, s := range l.sessions {
		if !l.now().Before(s.ends) {
			delete(l.sessions, id)
		} else if first, ok := l.sessions[oldest]; !ok || s.ends.Before(first.ends) {
			oldest = id
		}
	}
	if len(l.sessions) >= maxSessions {
		delete(l.sessions, oldest)
	}
	l.sessions[id] = loggedIn{token: token, ends: l.now().Add(sessionTime)}
}

func (l *login) end(id [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, id)
}

// user returns the name of the token of a session; empty if there is no such session. A session whose token was
// removed is ended. The timing reveals at most a hash, from which no cookie follows.
func (l *login) user(id [sha256.Size]byte) (string, error) {
	l.mu.Lock()
	session, ok := l.sessions[id]
	l.mu.Unlock()
	if !ok {
		return "", nil
	}
	name, err := l.admin(session.token)
	if err == nil && (name == "" || !l.now().Before(session.ends)) {
		l.end(id)
		return "", nil
	}
	return name, err
}

// untilEnd returns the context of a stream. It ends with the session, and when the server stops: no later
// request on the stream would look.
func (l *login) untilEnd(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	id := hashOf(r)
	go func() {
		defer cancel()
		look := time.NewTicker(lookAgain)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.Stopping:
				return
			case <-look.C:
				if name, err := l.user(id); err == nil && name == "" {
					return
				}
			}
		}
	}()
	return ctx, cancel
}

// warn logs failed logins, once in a while.
func (l *login) warn(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed++; l.now().Sub(l.warned) < warnAgain {
		return
	}
	l.log.Warn("logins to the page failed: no admin has the token", "logins", l.failed, "last from", r.RemoteAddr)
	l.failed, l.warned = 0, l.now()
}

// hashOf returns the hash of a request's cookie.
func hashOf(r *http.Request) [sha256.Size]byte { return sha256.Sum256([]byte(cookieOf(r))) }

// cookieOf returns the value of a request's cookie; empty without a cookie.
func cookieOf(r *http.Request) string {
	if cookie, err := r.Cookie(cookieName(r)); err == nil {
		return cookie.Value
	}
	return ""
}

// cookieName returns the name of the cookie. It has the server's port, because browsers send cookies to all
// ports of a host. Over TLS, browsers accept no cookie with the name from other hosts of a domain.
func cookieName(r *http.Request) string {
	name := "toolfold-session"
	if own, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ := net.SplitHostPort(own.String())
		name += "-" + port
	}
	if overTLS(r) {
		return "__Host-" + name
	}
	return name
}

// overTLS reports whether the browser sent a request over TLS, to the server or to a proxy.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// setCookie sets the cookie of a session for a time; a negative one removes it.
func setCookie(w http.ResponseWriter, r *http.Request, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: int(lasts / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overTLS(r)})
}
