package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrTooLong is the error for a reply that exceeds its limit.
var ErrTooLong = errors.New("the reply is too long")

// Client sends requests to model endpoints that a user configured. It limits replies, and does not
// follow redirects, because the content is only meant for the configured address.
type Client struct {
	MaxReply int // bytes
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Do sends a request and returns the reply; a redirect is an error.
func (c Client) Do(r *http.Request) (*http.Response, error) {
	reply, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode >= 300 && reply.StatusCode < 400 {
		reply.Body.Close()
		return nil, &url.Error{Op: "Post", URL: "", Err: fmt.Errorf("the endpoint redirects (%d): set its real baseURL", reply.StatusCode)}
	}
	reply.Body = &boundedBody{reply.Body, c.MaxReply}
	return reply, nil
}

// boundedBody is a body that fails with [ErrTooLong] beyond a number of bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, ErrTooLong
	}
	return n, err
}
