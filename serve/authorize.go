package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
)

// Identity is the caller of a request over HTTP. Issuer and Subject together are the same for all requests of a
// caller, and differ between callers: sessions, calls that wait and records belong to them.
type Identity struct {
	Issuer  string           // who vouches for the caller; may be empty
	Subject string           // the caller; must not be empty
	Name    string           // for people, such as in logs; empty = Subject
	Rights  *toolfold.Rights // what the caller may see and call, within what the server offers; nil = all of it
	Expires time.Time        // end of the credentials of the request; zero = unknown
}

// Key is the [toolfold.Origin]'s Token of the caller's calls.
func (i Identity) Key() string {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q", i.Issuer, i.Subject))
	return string(key[:])
}

// gate returns the caller of a request: nil if the request has no valid credentials. A [*toolfold.Error] refuses
// the request with its message. Any other error means that the caller cannot be known now.
type gate func(*http.Request) (*caller, error)

// gate returns how callers are known: by a token, or by [Options.Authorize]. With both, a request whose token is none
// of t is left to Authorize. It is nil if neither is given: then everybody is let in.
func (s *Server) gate(t tokens) gate {
	switch {
	case s.authorize == nil && t == nil:
		return nil
	case s.authorize == nil:
		return byToken(t)
	case t == nil:
		return byIdentity(s.authorize, s.log)
	}
	token, identity := byToken(t), byIdentity(s.authorize, s.log)
	return func(r *http.Request) (*caller, error) {
		if from, err := token(r); from != nil || err != nil {
			return from, err
		}
		return identity(r)
	}
}

func byToken(t tokens) gate {
	return func(r *http.Request) (*caller, error) {
		scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		from, err := ownerOf(t, strings.TrimLeft(credentials, " "))
		if err != nil || !strings.EqualFold(scheme, "Bearer") {
			return nil, err
		}
		return from, nil
	}
}

func byIdentity(authorize func(*http.Request) (Identity, error), log *slog.Logger) gate {
	return func(r *http.Request) (*caller, error) {
		who, err := guarded(authorize, r)
		if err == nil && who.Subject == "" {
			err = errors.New("Options.Authorize returned an identity without a subject")
		}
		if err != nil {
			if refused := new(toolfold.Error); !errors.As(err, &refused) {
				log.Error("authorizing a request", "err", err)
			}
			return nil, err
		}
		name := who.Name
		if name == "" {
			name = who.Subject
		}
		bearer := callctx.BearerOf(r.Header.Get("Authorization"), who.Expires)
		return &caller{id: who.Key(), name: name, rights: who.Rights, bearer: bearer}, nil
	}
}

// guarded calls authorize, and returns a panic as an error: streams call it outside of their request, where a panic
// would end the process.
func guarded(authorize func(*http.Request) (Identity, error), r *http.Request) (who Identity, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Options.Authorize panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return authorize(r)
}

// admit lets only requests of known callers through, or all requests if know is nil. resource may be nil.
func admit(know gate, resource *ProtectedResource, next http.Handler) http.Handler {
	if know == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := know(r)
		if err != nil || from == nil {
			refuseCaller(w, r, resource, err)
			return
		}
		ctx := callctx.With(callctx.With(r.Context(), from), from.bearer)
		if r.Method == http.MethodGet || r.Header.Get(mcp.HeaderMethod) == string(mcp.MethodSubscriptionsListen) {
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			go endWithCaller(ctx, end, know, r.Clone(ctx))
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// InsufficientScope is the code of errors of [Options.Authorize] for a token that lacks a scope of [ProtectedResource.Scopes].
const InsufficientScope = "INSUFFICIENT_SCOPE"

// refuseCaller answers a request without a known caller. err is the error of the gate; nil means that credentials
// are missing or invalid.
func refuseCaller(w http.ResponseWriter, r *http.Request, resource *ProtectedResource, err error) {
	refused := new(toolfold.Error)
	switch {
	case err == nil:
		refused = toolfold.Errorf("UNAUTHORIZED", "a bearer token is required")
	case !errors.As(err, &refused):
		refuse(w, r, "the server cannot tell who calls: its log has the reason", http.StatusServiceUnavailable)
		return
	}
	problem, status := "", http.StatusUnauthorized
	switch {
	case refused.Code == toolfold.PermissionDenied:
		refuse(w, r, refused.Message, http.StatusForbidden)
		return
	case refused.Code == InsufficientScope:
		problem, status = "insufficient_scope", http.StatusForbidden
	case r.Header.Get("Authorization") != "":
		problem = "invalid_token"
	}
	w.Header().Set("WWW-Authenticate", resource.challenge(problem))
	refuse(w, r, refused.Message, status)
}

// endWithCaller ends a stream when its request would be refused. No later request on the stream would check it.
func endWithCaller(ctx context.Context, end context.CancelFunc, know gate, r *http.Request) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			from, err := know(r)
			if refused := new(toolfold.Error); err == nil && from == nil || errors.As(err, &refused) {
				end()
				return
			}
		}
	}
}
