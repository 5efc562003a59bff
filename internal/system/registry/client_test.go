package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answering starts a registry with a handler, and returns its client.
func answering(t *testing.T, answer http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return Client{URL: server.URL, Agent: "test/1"}
}

func asJSON(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, format, args...)
}

// entryOf returns a server as registries list it.
func entryOf(name, description, status string, latest bool) string {
	return fmt.Sprintf(`{"server":{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":%q,`+
		`"description":%q,"version":"1.2.0","packages":[{"registryType":"npm","identifier":"@a/b","version":"1.2.0",`+
		`"transport":{"type":"stdio"}}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"isLatest":%t,`+
		`"publishedAt":"2026-01-01T00:00:00Z"}}}`, name, description, status, latest)
}

// refuses reports whether an error contains a text.
func refuses(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

func TestSearch(t *testing.T) {
	t.Parallel()
	var requests []string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.URL.RequestURI())
		if r.Header.Get("User-Agent") != "test/1" || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("headers %v", r.Header)
		}
		switch r.URL.Query().Get("cursor") {
		case "":
			if r.URL.Query().Get("search") == "forge" {
				asJSON(w, `{"servers":[%s,17],"metadata":{"count":2}}`, entryOf("io.d/forge", "Issues, issues", "active", true))
				return
			}
			asJSON(w, `{"servers":[%s,%s,%s,17],"metadata":{"count":4,"nextCursor":"a:1"}}`,
				entryOf("io.a/issues", "Issues of a forge", "active", true),
				entryOf("io.a/issues", "older", "active", false),
				entryOf("io.a/gone-issues", "forge", "deleted", true))
		case "a:1":
			asJSON(w, `{"servers":[%s,%s],"metadata":{"count":2}}`, entryOf("io.b/issues", "Nothing", "active", true),
				entryOf("io.c/issues", "a Forge", "deprecated", true))
		}
	})
	found, err := c.Search(t.Context(), []string{"forge", "issues"})
	if err != nil || len(found.Servers) != 3 || found.Servers[0].Name != "io.d/forge" || found.Servers[2].Status != "deprecated" ||
		found.Unreadable != 1 || found.More {
		t.Errorf("%v: %+v", err, found)
	}
	want := []string{"/v0.1/servers?limit=50&search=forge&version=latest", "/v0.1/servers?limit=50&search=issues&version=latest",
		"/v0.1/servers?cursor=a%3A1&limit=50&search=issues&version=latest"}
	if strings.Join(requests, " ") != strings.Join(want, " ") {
		t.Errorf("requests %q", requests)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/v0.1/servers/io.a%2Fissues/versions/latest", "/v0.1/servers/io.a%2Fissues/versions/1.2.0":
			asJSON(w, "%s", entryOf("io.a/issues", "Issues", "active", true))
		case "/v0.1/servers/io.a%2Fother/versions/latest", "/v0.1/servers/io.a%2Fissues/versions/9.0.0":
			asJSON(w, "%s", entryOf("io.a/issues", "Issues", "active", true))
		case "/v0.1/servers/io.a%2Fdeleted/versions/latest":
			asJSON(w, "%s", entryOf("io.a/deleted", "Issues", "deleted", true))
		default:
			w.WriteHeader(http.StatusNotFound)
			asJSON(w, `{"error":"Server not found"}`)
		}
	})
	for _, c2 := range []struct{ name, version, want string }{
		{"io.a/issues", "", ""},
		{"io.a/issues", "1.2.0", ""},
		{"io.a/other", "", `answers wrongly: the answer is about "io.a/issues", not io.a/other`},
		{"io.a/issues", "9.0.0", `answers wrongly: the answer is about version "1.2.0", not 9.0.0`},
		{"io.a/deleted", "", "io.a/deleted is deleted at the registry"},
		{"io.a/none", "", "has no io.a/none: toolfold upstream search finds servers"},
		{"io.a/none", "2", "has no io.a/none in version 2: "},
		{"-y evil", "", "is no name of a server"},
	} {
		s, err := c.Server(t.Context(), c2.name, c2.version)
		if c2.want != "" && refuses(err, c2.want) || c2.want == "" && err == nil && s.Name == c2.name && len(s.Packages) == 1 {
			continue
		}
		t.Errorf("%s@%s: %v", c2.name, c2.version, err)
	}
}

// An invalid answer of a registry is a clear error, and never exceeds the limits.
func TestBrokenRegistries(t *testing.T) {
	t.Parallel()
	one := entryOf("io.a/issues", "x", "active", true)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"fails":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "answers 500 Internal Server Error: try again later"},
		"limits": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "answers 429 Too Many Requests"},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, `"text/html" came in place of JSON; is that the address of a registry?`},
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, "{") }, "the JSON cannot be read"},
		"no servers": {func(w http.ResponseWriter, _ *http.Request) { asJSON(w, `{"metadata":{}}`) }, "the answer has no servers"},
		"long": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"servers":[],"x":"%s"}`, strings.Repeat("x", maxAnswer))
		},
			"longer than 4194304 bytes"},
		"full page": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"servers":[%s]}`, strings.TrimSuffix(strings.Repeat(one+",", 10*pageSize+1), ","))
		}, "501 servers came on a page of 50"},
		"circle": {func(w http.ResponseWriter, _ *http.Request) {
			asJSON(w, `{"servers":[],"metadata":{"nextCursor":"same"}}`)
		},
			"its pages lead back to one before"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		},
			"the registry is asked over https only, not at http://example.com"},
		"file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "over https only"},
		"round": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
			"it redirects too often"},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			asJSON(w, "{")
		}, "cannot be reached: unexpected EOF"},
	} {
		_, err := answering(t, c.answer).Search(t.Context(), []string{"x"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// From a registry with an endless list, only maxPages pages are requested.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	pages := 0
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		pages++
		asJSON(w, `{"servers":[%s],"metadata":{"nextCursor":"%d"}}`, entryOf(fmt.Sprintf("io.a/x%d", pages), "x", "active", true), pages)
	})
	found, err := c.Search(t.Context(), []string{"x"})
	if err != nil || !found.More || pages != maxPages || len(found.Servers) != maxPages {
		t.Errorf("%v: %d pages, %d servers", err, pages, len(found.Servers))
	}
}

func TestSilentRegistry(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	c := answering(t, func(http.ResponseWriter, *http.Request) { <-done })
	defer close(done)
	c.Timeout = time.Millisecond
	if _, err := c.Search(t.Context(), []string{"x"}); !refuses(err, "has not answered in time: try again later") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Search(ctx, []string{"x"}); err == nil {
		t.Error("an ended search has a result")
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	server.Close()
	_, err := Client{URL: server.URL}.Search(t.Context(), []string{"x"})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached: ") || !strings.Contains(err.Error(), "are you offline?") {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		Official: true, "https://example.com/mcp/v0": true, "http://127.0.0.1:8": true, "http://localhost": true, "http://[::1]/": true,
		"http://example.com": false, "ftp://example.com": false, "example.com": false, "": false, "https://": false,
		"https://me:secret@example.com": false, "https://example.com?token=x": false, "https://example.com#x": false,
	} {
		if err := CheckURL(address); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
	if got := (Client{URL: "https://example.com/v0/"}).base(); got != "https://example.com/v0/" {
		t.Errorf("base %s", got)
	}
}

// FuzzRead parses entries of registries: each is rejected, or its ways have harmless settings.
func FuzzRead(f *testing.F) {
	f.Add(entryOf("io.a/b", "x", "active", true))
	f.Add(`{"server":{"name":"io.a/b","remotes":[` +
		`{"type":"sse","url":"https://{a}/{b}","variables":{"a":{"default":"$"},"b":{"default":"{X}"}}}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(json.RawMessage(text))
		if err != nil {
			return
		}
		for _, w := range s.Ways() {
			if w.Problem == nil {
				w.Questions()
				_, _ = w.Settings(nil)
			}
		}
	})
}
