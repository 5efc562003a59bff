package gateway

import (
	"testing"

	"github.com/toolfold/toolfold/upstream"
)

// The * of an exclude pattern matches slashes too, as in the rules of clients that import takes over.
func TestExcludeMatchesSlashes(t *testing.T) {
	t.Parallel()
	l := &link{Upstream: Upstream{Server: upstream.Server{Name: "files"}, Include: []string{"admin/*", "get"}, Exclude: []string{"*delete*"}}}
	for name, want := range map[string]bool{
		"admin/list": true, "get": true, "admin/delete_user": false, "admin/user/list": false, "delete/get": false,
	} {
		if got := l.shows("", name); got != want {
			t.Errorf("%s: shown %t, want %t", name, got, want)
		}
	}
}
