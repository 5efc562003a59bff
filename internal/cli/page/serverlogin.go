package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/settings"
)

// serverLogins are the logins at servers that the user has begun, by server. Each ends with the page.
type serverLogins struct {
	mu    sync.Mutex
	begun map[string]*serverLogin
	ended int // number of those that have ended
}

// serverLogin is a login at a server.
type serverLogin struct {
	Address string // to open in the browser; empty if the login ended before
	Ended   bool
	Problem string // why it failed; may be empty
	cancel  context.CancelFunc
	shown   chan struct{} // closed when there is an address, or the login has ended
}

const (
	loginTime  = 5 * time.Minute  // limit for the user in the browser, as of the command
	loginBegin = 30 * time.Second // limit for the server's answer with the address
)

// of returns a copy of the last login at a server, nil without one.
func (l *serverLogins) of(name string) *serverLogin {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun[name] == nil {
		return nil
	}
	now := *l.begun[name]
	return &now
}

// mark returns another number after each login that ends.
func (l *serverLogins) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// begin begins a login at a server, and ends the earlier one. It returns when the login has an address or has ended.
func (l *serverLogins) begin(ctx, life context.Context, name string, logIn func(ctx context.Context, show func(string)) error) {
	limited, cancel := context.WithTimeout(life, loginTime)
	next := &serverLogin{cancel: cancel, shown: make(chan struct{})}
	l.mu.Lock()
	if l.begun == nil {
		l.begun = map[string]*serverLogin{}
	}
	if last := l.begun[name]; last != nil {
		last.cancel()
	}
	l.begun[name] = next
	l.mu.Unlock()
	shown := sync.OnceFunc(func() { close(next.shown) })
	go func() {
		defer cancel()
		err := logIn(limited, func(address string) {
			l.mu.Lock()
			next.Address = address
			l.mu.Unlock()
			shown()
		})
		l.mu.Lock()
		l.ended++
		if next.Ended = true; err != nil {
			next.Problem = err.Error()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			next.Problem = "nobody logged in within " + loginTime.String()
		}
		l.mu.Unlock()
		shown()
	}()
	late := time.NewTimer(loginBegin)
	defer late.Stop()
	select {
	case <-next.shown:
	case <-late.C:
	case <-ctx.Done():
	}
}

// Host returns the name of the host that the user logs in at. It is empty if the address is none that a browser
// should open.
func (l *serverLogin) Host() string {
	u, err := url.Parse(l.Address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.Host
}

// logInAt begins a login at a server, and shows the server with the address to open.
func (p *Page) logInAt(w http.ResponseWriter, r *http.Request) {
	s, err := p.find(r)
	if err == nil && !(s.LogsIn && p.access != nil) {
		err = errNotFound
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.logins.begin(r.Context(), p.live.life, s.Name, func(ctx context.Context, show func(string)) error {
		o, g, err := p.machine.open()
		if err != nil {
			return err
		}
		defer g.Close()
		return p.logIn(ctx, o, g, s.Name, show)
	})
	toServer(w, r)
}

// logInFunc is the type of [servers.LogIn].
type logInFunc = func(ctx context.Context, o *settings.Options, g *gateway.Gateway, name string, show func(string)) error
