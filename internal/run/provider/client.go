package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrTooLong is the error of reading a reply beyond its bound.
var ErrTooLong = errors.New("the reply is too long")

// Client sends requests to the endpoints of models that a user names. It reads replies up
// to a length, and does not follow redirects: what is sent is for the named address.
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
	reply.Body = &bounded{reply.Body, c.MaxReply}
	return reply, nil
}

// bounded is a body that fails with [ErrTooLong] after some bytes.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, ErrTooLong
	}
	return n, err
}
