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
// before anything else of them is read. Only browsers send where a page is from. open reports the requests that
// pages of other origins may begin.
func sameOrigin(hosts []string, open func(*http.Request) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here := places{scheme: "http", hosts: hosts}
		here.own, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if r.TLS != nil {
			here.scheme = "https"
		}
		if !here.has(r.Host, here.scheme) {
			refuse(w, r, fmt.Sprintf("the host %.100q is not served here: the setting allowedHosts names more hosts", r.Host), http.StatusForbidden)
			return
		}
		if open(r) {
			next.ServeHTTP(w, r)
			return
		}
		site := r.Header.Get("Sec-Fetch-Site")
		if !here.allows(r.Header.Values("Origin")) || site != "" && site != "same-origin" && site != "none" {
			refuse(w, r, "requests from pages of another origin are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// connectPath is the path of [HTTP.Connect].
const connectPath = "/connect"

// connects reports whether a browser may come from another page: by a link to log in, or from an authorization
// server. Such a request changes nothing without the secrets in it.
func connects(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == connectPath || strings.HasPrefix(r.URL.Path, connectPath+"/"))
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

// places are the hosts that a request may be for.
type places struct {
	own    net.Addr // of the connection; nil = unknown
	scheme string   // of the connection
	hosts  []string // further ones, which may be behind TLS; one without a port stands for every port
}

// allows reports whether a request has no Origin header, or one with an origin that is served here.
func (p places) allows(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (origin.Scheme == "http" || origin.Scheme == "https") &&
		origins[0] == origin.Scheme+"://"+origin.Host && p.has(origin.Host, origin.Scheme)
}

// has reports whether a host, with or without a port, is the address of the connection, or one of the further hosts.
func (p places) has(host, scheme string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), map[string]string{"http": "80", "https": "443"}[scheme]
	}
	for _, allowed := range p.hosts {
		if strings.EqualFold(allowed, host) || strings.EqualFold(allowed, name) {
			return true
		}
	}
	if p.own == nil || scheme != p.scheme {
		return false
	}
	at, err := netip.ParseAddrPort(p.own.String())
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
