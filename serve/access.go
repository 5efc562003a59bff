package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/permission"
)

// sameOrigin refuses requests under a name that is not the server's, and those
// of web pages from elsewhere, before anything else of them is read. A browser
// says where a page is from; other clients do not.
func sameOrigin(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !isServed(r.Host, "http", own, hosts) {
			refuse(w, r, fmt.Sprintf("the host %.100q is not served here: the setting allowedHosts names more hosts", r.Host), http.StatusForbidden)
			return
		}
		site := r.Header.Get("Sec-Fetch-Site")
		if !allowsOrigin(r.Header.Values("Origin"), own, hosts) || site != "" && site != "same-origin" && site != "none" {
			refuse(w, r, "requests from pages of another origin are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers a request without reading its body, for which the web server
// would wait: a client that is not let in could hold connections so. The
// connection ends with it, since its requests share what a deadline cancels.
func refuse(w http.ResponseWriter, r *http.Request, text string, status int) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	http.Error(w, text, status)
}

// allowsOrigin reports whether the Origin headers of a request are absent, or
// one origin that is served here.
func allowsOrigin(origins []string, own net.Addr, hosts []string) bool {
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (origin.Scheme == "http" || origin.Scheme == "https") &&
		origins[0] == origin.Scheme+"://"+origin.Host && isServed(origin.Host, origin.Scheme, own, hosts)
}

// isServed reports whether a host, with or without a port, is the address that
// a connection came in on, or one of hosts. A host of these without a port
// stands for every port; behind them there may be TLS, which there is not at
// the server's own address.
func isServed(host, scheme string, own net.Addr, hosts []string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "80"
	}
	for _, allowed := range hosts {
		if strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name) {
			return true
		}
	}
	if own == nil || scheme != "http" {
		return false
	}
	at, err := netip.ParseAddrPort(own.String())
	if err != nil || port != fmt.Sprint(at.Port()) {
		return false
	}
	if strings.EqualFold(name, "localhost") {
		return at.Addr().Unmap().IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap() == at.Addr().Unmap()
}

// callerOf returns the caller that bearer let through: where no token is asked
// for, one without an id that has all rights.
func callerOf(ctx context.Context) *caller {
	if c := callctx.Of[*caller](ctx); c != nil {
		return c
	}
	return &caller{}
}

// bearer lets only requests with a good token through. Nil asks for none.
func bearer(token tokens, next http.Handler) http.Handler {
	if token == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		from, err := token.caller(strings.TrimLeft(credentials, " "))
		if err != nil {
			refuse(w, r, "the server cannot read its bearer token: its log has the reason", http.StatusServiceUnavailable)
			return
		}
		if !strings.EqualFold(scheme, "Bearer") || from == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, r, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		ctx := callctx.With(r.Context(), from)
		if r.Method == http.MethodGet || r.Header.Get(mcp.HeaderMethod) == string(mcp.MethodSubscriptionsListen) {
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			go endWithToken(ctx, end, token, strings.TrimLeft(credentials, " "))
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// endWithToken ends a stream when its token is not good any more: nothing is asked
// again on it by which that would be seen.
func endWithToken(ctx context.Context, end context.CancelFunc, token tokens, credentials string) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if from, err := token.caller(credentials); err == nil && from == nil {
				end()
				return
			}
		}
	}
}

// inSet lets a request through with the rights of the set that its path names, whatever else the request belongs to, such as
// a session that began elsewhere. A caller that is limited to sets cannot tell other sets from unknown names.
func inSet(sets map[string]permission.Set, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, from := r.PathValue("set"), callerOf(r.Context())
		if from.sets != nil && !slices.Contains(from.sets, name) {
			refuse(w, r, fmt.Sprintf("this bearer token is not for the set %.100q: it is limited to %s, and /mcp serves all of that",
				name, strings.Join(from.sets, ", ")), http.StatusForbidden)
			return
		}
		set, known := sets[name]
		if !known {
			refuse(w, r, fmt.Sprintf("there is no set %.100q: use /mcp, or a set that toolfold upstream sets shows; a new one is served after "+
				"the next start", name), http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r.WithContext(callctx.With(r.Context(), from.at(set))))
	})
}

// unlimited lets only callers with all rights through.
func unlimited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).rights != nil {
			refuse(w, r, "this bearer token has not all rights: the figures are of all callers", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
