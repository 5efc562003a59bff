package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/call/callctx"
)

// exchanger is an authorization server that exchanges tokens. Its answer is a JSON object.
type exchanger struct {
	asked  atomic.Int64
	status int
	answer func(subject string, n int64) string

	mu    sync.Mutex
	form  map[string]string // of the last request
	basic string
}

func (e *exchanger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	n := e.asked.Add(1)
	e.mu.Lock()
	e.form, e.basic = map[string]string{}, ""
	for name := range r.PostForm {
		e.form[name] = r.PostForm.Get(name)
	}
	if id, secret, ok := r.BasicAuth(); ok {
		e.basic = id + ":" + secret
	}
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "https://elsewhere.example.com/")
	if e.status != 0 {
		w.WriteHeader(e.status)
	}
	subject := r.PostForm.Get("subject_token") + r.PostForm.Get("assertion")
	fmt.Fprint(w, e.answer(subject, n))
}

func startExchanger(t *testing.T, life time.Duration) (*exchanger, string) {
	e := &exchanger{answer: func(subject string, n int64) string {
		return fmt.Sprintf(`{"access_token": "%s-%d", "token_type": "bearer", "expires_in": %d}`, subject, n, int(life.Seconds()))
	}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, server.URL
}

func secretOf(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

func as(ctx context.Context, token string, expires time.Time) context.Context {
	return callctx.With(ctx, callctx.NewBearer(token, expires))
}

func expectToken(t *testing.T, x *exchanged, ctx context.Context, refused, want string) {
	t.Helper()
	if token, err := x.token(ctx, refused); err != nil || token != want {
		t.Errorf("the token is %q, %v, not %s", token, err, want)
	}
}

// A token is exchanged once, until a while before it ends, and never beyond the end of the caller's own. A caller's other
// token may have other rights, and is exchanged by itself.
func TestExchangedUntil(t *testing.T) {
	t.Parallel()
	_, url := startExchanger(t, time.Hour)
	x := newExchanged(Exchange{TokenURL: url, ClientID: "gateway", Secret: secretOf("s")})
	now := time.Now()
	x.now = func() time.Time { return now }
	long, short := as(t.Context(), "long", now.Add(24*time.Hour)), as(t.Context(), "short", now.Add(2*time.Minute))
	if _, err := x.token(t.Context(), ""); !errors.Is(err, ErrNoBearer) {
		t.Error(err)
	}
	expectToken(t, x, long, "", "long-1")
	expectToken(t, x, long, "", "long-1")
	expectToken(t, x, short, "", "short-2")
	expectToken(t, x, short, "", "short-2")
	expectToken(t, x, t.Context(), "", "short-2") // a stream of the same caller
	now = now.Add(2 * time.Minute)
	expectToken(t, x, short, "", "short-3")
	expectToken(t, x, long, "", "long-1")
	now = now.Add(58 * time.Minute) // the library counts by its own clock, a little later
	expectToken(t, x, long, "", "long-4")
	expectToken(t, x, long, "long-4", "long-5")
	expectToken(t, x, long, "long-4", "long-5") // another call whose request was refused meanwhile
	if len(x.tokens) != 1 {
		t.Errorf("%d tokens are in memory", len(x.tokens))
	}
	if _, err := x.token(t.Context(), "long-5"); !errors.Is(err, ErrNoBearer) {
		t.Error(err)
	}
}

// Calls at once wait for one exchange, also if the first of them leaves.
func TestExchangedOnce(t *testing.T) {
	t.Parallel()
	e, url := startExchanger(t, time.Hour)
	begun, goOn := make(chan struct{}), make(chan struct{})
	answer := e.answer
	e.answer = func(subject string, n int64) string {
		close(begun)
		<-goOn
		return answer(subject, n)
	}
	x := newExchanged(Exchange{TokenURL: url, ClientID: "gateway", Secret: secretOf("s")})
	ctx, leave := context.WithCancel(as(t.Context(), "ada", time.Now().Add(time.Hour)))
	left := make(chan error, 1)
	go func() { _, err := x.token(ctx, ""); left <- err }()
	<-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() { expectToken(t, x, as(t.Context(), "ada", time.Now().Add(time.Hour)), "", "ada-1") })
	}
	close(goOn)
	calls.Wait()
	if e.asked.Load() != 1 {
		t.Errorf("%d exchanges", e.asked.Load())
	}
}

// The requests have the forms of RFC 8693 and of Entra's on-behalf-of flow.
func TestExchangeForms(t *testing.T) {
	t.Parallel()
	const accessToken = "urn:ietf:params:oauth:token-type:access_token"
	for _, test := range []struct {
		exchange Exchange
		form     map[string]string
		basic    string
	}{
		{
			Exchange{ClientID: "gate way", Secret: secretOf("s"), Audience: "github", Scopes: []string{"a", "b"}},
			map[string]string{"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "ada",
				"subject_token_type": accessToken, "requested_token_type": accessToken, "audience": "github", "scope": "a b"},
			"gate+way:s", // encoded, as RFC 6749 has it
		}, {
			Exchange{ClientID: "public"},
			map[string]string{"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "ada",
				"subject_token_type": accessToken, "requested_token_type": accessToken, "client_id": "public"}, "",
		}, {
			Exchange{ClientID: "gateway", Secret: secretOf("s"), Scopes: []string{"api://1/.default"}, Grant: OnBehalfOf},
			map[string]string{"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "ada",
				"requested_token_use": "on_behalf_of", "scope": "api://1/.default", "client_id": "gateway", "client_secret": "s"}, "",
		},
	} {
		e, url := startExchanger(t, time.Hour)
		test.exchange.TokenURL = url
		if err := test.exchange.Check(); err != nil {
			t.Error(err)
		}
		expectToken(t, newExchanged(test.exchange), as(t.Context(), "ada", time.Time{}), "", "ada-1")
		if diff := cmp.Diff(test.form, e.form); diff != "" || e.basic != test.basic {
			t.Errorf("%q: %s", e.basic, diff)
		}
	}
}

// A refusal is explained without the token, and the next call asks again. A redirect is not followed: it would get the
// token and the secret.
func TestExchangeRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		answer string
		want   string
	}{
		{400, `{"error": "invalid_target", "error_description": "SUBJECT may not"}`, "one of this server: invalid_target: xxxxx may not"},
		{401, `{"error": "invalid_client"}`, "one of this server: invalid_client"},
		{500, `SUBJECT`, "one of this server: 500 Internal Server Error"},
		{307, `{}`, "one of this server: 307 Temporary Redirect"},
		{200, `{"token_type": "bearer"}`, "missing access_token"},
		{200, `{"access_token": "SUBJECT", "token_type": "N_A"}`, "a token of type \"N_A\", not Bearer"},
		{200, `SUBJECT`, "exchanging your access token"},
	} {
		e, url := startExchanger(t, time.Hour)
		good := e.answer
		e.status, e.answer = test.status, func(subject string, _ int64) string { return strings.ReplaceAll(test.answer, "SUBJECT", subject) }
		x := newExchanged(Exchange{TokenURL: url, ClientID: "gateway", Secret: secretOf("secret")})
		ctx := as(t.Context(), "subject-token", time.Time{})
		token, err := x.token(ctx, "")
		if token != "" || err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "subject-token") ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", test.answer, token, err)
		}
		e.status, e.answer = 200, good
		expectToken(t, x, ctx, "", "subject-token-2")
	}
}

func TestExchangeCheck(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Exchange{
		"https":        {TokenURL: "http://login.example.com/token", ClientID: "x"},
		"tokenUrl":     {ClientID: "x"},
		"clientId":     {TokenURL: "https://login.example.com/token"},
		"takes scopes": {TokenURL: "https://login.example.com/token", ClientID: "x", Grant: OnBehalfOf},
		"no audience": {TokenURL: "https://login.example.com/token", ClientID: "x", Grant: OnBehalfOf, Scopes: []string{"a"},
			Audience: "a"},
	} {
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Requests go out with the token of their own caller. A server that refuses a token gets one more, and then the caller is
// told; a header of the settings, and a request without a caller, are not sent.
func TestExchangeAuthorizes(t *testing.T) {
	t.Parallel()
	_, url := startExchanger(t, time.Hour)
	a := Exchange{TokenURL: url, ClientID: "gateway", Secret: secretOf("s")}.Account()
	var sent []string
	send := func(good string) func(*http.Request) (*http.Response, error) {
		return func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Header.Get("Authorization"))
			status := http.StatusUnauthorized
			if r.Header.Get("Authorization") == "Bearer "+good {
				status = http.StatusOK
			}
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		}
	}
	request := func(ctx context.Context) *http.Request {
		return httptest.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/mcp", strings.NewReader("{}"))
	}
	ada := as(t.Context(), "ada", time.Now().Add(time.Hour))
	again := request(ada)
	again.Body, again.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
	if _, err := a.authorize(again, send("ada-2")); err != nil {
		t.Error(err)
	}
	never := again.Clone(ada)
	never.Header = http.Header{}
	if _, err := a.authorize(never, send("never")); err == nil || !strings.HasPrefix(err.Error(), "it refuses the token for which") ||
		errors.Is(err, ErrLogin) {
		t.Error(err)
	}
	headed := request(ada)
	headed.Header.Set("Authorization", "Bearer everybody")
	if _, err := a.authorize(headed, send("everybody")); err == nil {
		t.Error("a header for everybody is sent")
	}
	other := Exchange{TokenURL: url, ClientID: "gateway", Secret: secretOf("s")}.Account()
	if _, err := other.authorize(request(t.Context()), send("")); !errors.Is(err, ErrNoBearer) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Bearer ada-1", "Bearer ada-2", "Bearer ada-2", "Bearer ada-3"}, sent); diff != "" {
		t.Error(diff)
	}
}
