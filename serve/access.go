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

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/permission"
)

// sameOrigin rejects requests for other host names, and requests from web pages of other origins,
// before anything else of them is read. Only browsers send where a page is from.
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

// refuse answers a request without reading its body. net/http would wait for the body, so that
// clients without access could hold connections. The connection is closed, because the deadline
// applies to all its requests.
func refuse(w http.ResponseWriter, r *http.Request, text string, status int) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	http.Error(w, text, status)
}

// allowsOrigin reports whether a request has no Origin header, or one with an origin that is served
// here.
func allowsOrigin(origins []string, own net.Addr, hosts []string) bool {
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (origin.Scheme == "http" || origin.Scheme == "https") &&
		origins[0] == origin.Scheme+"://"+origin.Host && isServed(origin.Host, origin.Scheme, own, hosts)
}

// isServed reports whether a host, with or without a port, is the address of the connection, or in
// hosts. An entry of hosts without a port allows every port. Entries of hosts may be behind TLS;
// the server's own address is not.
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

// callerOf returns the caller that admit has set. If everybody is let in, it returns a caller
// without an id that has all rights.
func callerOf(ctx context.Context) *caller {
	if c := callctx.Of[*caller](ctx); c != nil {
		return c
	}
	return &caller{}
}

// inSet limits a request to the rights of the set in its path, also if its session began elsewhere.
// A caller that is limited to sets cannot tell other sets from unknown names.
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
