package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Login describes how a user logs in at a server.
type Login struct {
	Server Server

	// Show is called with the address to open in a browser. It leads back to this process.
	Show func(address string)

	// Paste returns the address that the browser was led to, for users whose browser does not run here.
	// If Paste is nil, LogIn waits for the browser.
	Paste func(ctx context.Context) (address string, err error)

	// ClientID and ClientSecret identify a client that the authorization server already knows. If they
	// are empty, a client is registered.
	ClientID, ClientSecret string

	// Scopes replace the scopes that the server names. Nil keeps those.
	Scopes []string
}

// LogIn lets a user log in at the server of an account, and stores the login. It returns ErrNoLogin if
// the server requires no login.
func (a *Account) LogIn(ctx context.Context, l Login) (err error) {
	if l.Server, err = l.Server.Expand(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("waiting for the browser: %w", err)
	}
	defer listener.Close()
	back := "http://" + listener.Addr().String() + "/callback"
	begun, address, err := authorize(ctx, a.client, l.Server, authorizationOptions{
		State: rand.Text(), Redirect: back, Known: registration{ID: l.ClientID, Secret: l.ClientSecret}, Scopes: l.Scopes,
	})
	switch {
	case errors.Is(err, ErrNoLogin):
		return err
	case errors.Is(err, errUnknownClient):
		return fmt.Errorf("logging in: %w: register toolfold there by hand, and name the client with --client-id ID", err)
	case errors.Is(err, errRegistration):
		return fmt.Errorf("logging in: %w; if the server takes known clients only, name one with --client-id ID", err)
	case err != nil:
		return fmt.Errorf("logging in: %w", err)
	}
	l.Show(address)
	answer, err := l.answer(ctx, listener, back)
	if err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	issued := a.now()
	token, err := begun.end(ctx, a.client, answer)
	if err != nil {
		return fmt.Errorf("logging in: %w", err)
	}
	return a.logins.update(ctx, func(*login) *login { return keepToken(a.url, *token, issued, begun.Client) })
}

// answer returns the query of the address that the authorization server leads the browser to.
func (l Login) answer(ctx context.Context, listener net.Listener, back string) (url.Values, error) {
	if l.Paste == nil {
		return serveLogin(ctx, listener)
	}
	address, err := l.Paste(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(strings.TrimSpace(address))
	if err != nil || at.Query().Get("code") == "" && at.Query().Get("error") == "" {
		return nil, errors.New("that is not the address that the browser was led to: it begins with " + back)
	}
	return at.Query(), nil
}

// serveLogin returns the query with which the authorization server leads the browser back.
func serveLogin(ctx context.Context, listener net.Listener) (url.Values, error) {
	done := make(chan url.Values, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "You are logged in. This window can be closed.\n"
		if r.URL.Query().Get("error") != "" {
			text = "That did not work: see the terminal.\n"
		}
		fmt.Fprint(w, text)
		select {
		case done <- r.URL.Query():
		default:
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ending)
	}()
	select {
	case query := <-done:
		return query, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
