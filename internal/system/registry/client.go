// Package registry queries a registry of MCP servers, and converts its answers to commands and
// addresses. A registry is not trusted: its answers are bounded, checked, and shown to the user
// before use.
package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Official is the URL of the official registry.
const Official = "https://registry.modelcontextprotocol.io"

// Limits of requests and answers.
const (
	maxAnswer    = 4 << 20 // bytes of one answer
	pageSize     = 50      // servers per page
	maxPages     = 10
	maxRedirects = 3
)

// Client queries one registry.
type Client struct {
	URL     string        // empty = [Official]
	Agent   string        // the User-Agent of requests
	Timeout time.Duration // for all requests of one query; 0 = 30 s
}

// SearchResult is the result of a search.
type SearchResult struct {
	Servers    []Server
	Unreadable int  // number of invalid servers in the answers
	More       bool // not all pages were read
}

// CheckURL returns an error for an invalid address of a registry. It must be https, or on this
// machine, and have no password.
func CheckURL(address string) error {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "":
		return fmt.Errorf("%q is no address of a registry: https://…", address)
	case at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return errors.New("the address of a registry has no password, query or fragment: registries get no credentials")
	}
	return allowed(at)
}

// allowed returns an error unless requests may be sent to the address.
func allowed(at *url.URL) error {
	ip := net.ParseIP(at.Hostname())
	local := at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if at.Scheme == "https" || at.Scheme == "http" && local {
		return nil
	}
	return fmt.Errorf("the registry is asked over https only, not at %s://%s", at.Scheme, at.Host)
}

// Search returns the newest versions of the servers with all words in their names, titles and
// descriptions. A registry only searches names for one text, so it is queried for each word.
func (c Client) Search(ctx context.Context, words []string) (found SearchResult, err error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	seen := map[string]bool{} // names of servers, and texts of invalid ones
	left := maxPages
	for _, word := range words {
		query := url.Values{"search": {word}, "version": {"latest"}, "limit": {strconv.Itoa(pageSize)}}
		visited := map[string]bool{}
		for cursor := "first"; cursor != ""; left-- {
			if left == 0 {
				found.More = true
				return found, nil
			}
			list, next, err := c.page(ctx, query)
			if err != nil {
				return found, err
			}
			for _, raw := range list {
				s, err := read(raw)
				switch {
				case err != nil && !seen[string(raw)]:
					seen[string(raw)] = true
					found.Unreadable++
				case err == nil && !s.Older && s.Status != "deleted" && !seen[s.Name] && s.matches(words):
					seen[s.Name] = true
					found.Servers = append(found.Servers, s)
				}
			}
			if cursor = next; visited[cursor] {
				return found, c.invalid("its pages lead back to one before")
			}
			visited[cursor] = true
			query.Set("cursor", cursor)
		}
	}
	return found, nil
}

// page requests one page of a list. next is the cursor of the next page, or "".
func (c Client) page(ctx context.Context, query url.Values) (list []json.RawMessage, next string, err error) {
	var page struct {
		Servers  *[]json.RawMessage
		Metadata struct{ NextCursor string }
	}
	err = c.get(ctx, "servers?"+query.Encode(), &page)
	switch {
	case err != nil:
		return nil, "", err
	case page.Servers == nil:
		return nil, "", c.invalid("the answer has no servers")
	case len(*page.Servers) > 10*pageSize:
		return nil, "", c.invalid("%d servers came on a page of %d", len(*page.Servers), pageSize)
	}
	return *page.Servers, page.Metadata.NextCursor, nil
}

// matches reports whether the server's texts contain all words.
func (s Server) matches(words []string) bool {
	text := strings.ToLower(s.Name + "\n" + s.Title + "\n" + s.Description)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) })
}

// Server requests one version of a server; an empty version means the newest.
func (c Client) Server(ctx context.Context, name, version string) (Server, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if !IsName(name) {
		return Server{}, fmt.Errorf("%q is no name of a server: it is like io.github.owner/server", name)
	}
	var raw json.RawMessage
	err := c.get(ctx, "servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(cmp.Or(version, "latest")), &raw)
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		what := name
		if version != "" {
			what += " in version " + version
		}
		return Server{}, fmt.Errorf("%s has no %s: toolfold upstream search finds servers", c.at(), what)
	}
	if err != nil {
		return Server{}, err
	}
	s, err := read(raw)
	switch {
	case err != nil:
		return s, c.invalid("%s cannot be read: %v", name, err)
	case s.Name != name:
		return s, c.invalid("the answer is about %s, not %s", quote(s.Name), name)
	case version != "" && s.Version != version:
		return s, c.invalid("the answer is about version %s, not %s", quote(s.Version), version)
	case s.Status == "deleted":
		return s, fmt.Errorf("%s is deleted at %s: choose another server", name, c.at())
	}
	return s, nil
}

// read parses one entry of an answer.
func read(raw json.RawMessage) (s Server, err error) {
	var entry struct {
		Server *json.RawMessage
		Meta   map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &entry); err != nil || entry.Server == nil {
		return s, errors.New("it is no entry of a server")
	}
	if err := json.Unmarshal(*entry.Server, &s); err != nil {
		return s, errors.New("it is no server.json")
	}
	var official struct {
		Status   string
		IsLatest *bool
	}
	if meta := entry.Meta["io.modelcontextprotocol.registry/official"]; meta != nil {
		if err := json.Unmarshal(meta, &official); err != nil {
			return s, errors.New("its status cannot be read")
		}
	}
	s.Status, s.Older = official.Status, official.IsLatest != nil && !*official.IsLatest
	return s, s.check()
}

func (c Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(c.Timeout, 30*time.Second))
}

// at names the registry in errors.
func (c Client) at() string { return "the registry " + cmp.Or(c.URL, Official) }

// invalid returns the error for an invalid answer.
func (c Client) invalid(format string, args ...any) error {
	return fmt.Errorf("%s answers wrongly: %s", c.at(), fmt.Sprintf(format, args...))
}

// statusError is the error for an answer with a status other than 200.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// base returns the base URL of the API, of version v0.1 unless the registry's URL contains a
// version.
func (c Client) base() string {
	base := strings.TrimRight(cmp.Or(c.URL, Official), "/")
	if strings.HasSuffix(base, "/v0.1") || strings.HasSuffix(base, "/v0") {
		return base + "/"
	}
	return base + "/v0.1/"
}

// get requests a JSON answer.
func (c Client) get(ctx context.Context, path string, to any) error {
	if err := CheckURL(cmp.Or(c.URL, Official)); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base()+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.Agent)
	client := http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("it redirects too often")
		}
		if r.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
			return fmt.Errorf("it redirects to %s, which is not https", r.URL.Host)
		}
		return allowed(r.URL)
	}}
	response, err := client.Do(request)
	if err != nil {
		return c.unreachable(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return c.unreachable(err)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		return &statusError{response.StatusCode, fmt.Sprintf("%s answers %d %s: try again later, or set another registry",
			c.at(), response.StatusCode, http.StatusText(response.StatusCode))}
	case len(body) > maxAnswer:
		return c.invalid("the answer is longer than %d bytes", maxAnswer)
	case kind != "application/json" && !strings.HasSuffix(kind, "+json"):
		return c.invalid("%s came in place of JSON; is that the address of a registry?", quote(kind))
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(to); err != nil {
		return c.invalid("the JSON cannot be read")
	}
	return nil
}

// unreachable returns the error for a registry that did not answer.
func (c Client) unreachable(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // its text contains the whole URL
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s has not answered in time: try again later", c.at())
	}
	return fmt.Errorf("%s cannot be reached: %w; are you offline? toolfold upstream add NAME -- PROGRAM needs no registry", c.at(), err)
}
