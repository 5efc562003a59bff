package serve

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// Login is what a site of [HTTP.Site] needs to let users in.
type Login struct {
	// Admin returns the name of the token with a SHA-256 hash, if that is the token of an admin, see
	// [permission.Token]; otherwise an empty name. It knows changes of the file after a second, so
	// that a removed token can end its sessions. It fails while the file is invalid. Nil = the server
	// requires no token, and there is nothing to log in with.
	Admin func(hash [sha256.Size]byte) (name string, err error)

	// Stopping is closed once the server stops: streams have to end, and other requests may go on.
	Stopping <-chan struct{}
}

// root is the pattern of the address that a user types.
const root = "GET /{$}"

// withSite gives a site the requests that are not for paths of own, and those for / that accept HTML.
func withSite(site http.Handler, own *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := own.Handler(r); pattern == "" || pattern == root && acceptsHTML(r) {
			site.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

// acceptsHTML reports whether a request is for a page to look at, as browsers send it.
func acceptsHTML(r *http.Request) bool {
	accepts := r.Header.Get("Accept")
	return r.Method == http.MethodGet && strings.Contains(accepts, "text/html") && !strings.Contains(accepts, "text/event-stream")
}
