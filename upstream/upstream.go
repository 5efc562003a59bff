// Package upstream asks other MCP servers for what they offer. It starts them, or
// reaches them over HTTP, as a client would.
//
// It is not a stable API: see docs/stability.md.
package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Server says how a server is started or reached.
type Server struct {
	Argv []string // program and arguments; nil = it is at URL
	Dir  string   // that the program starts in; empty = that of this process
	Env  []string // NAME=value, besides the environment of this process

	// EnvOnly says that Env is the whole environment.
	EnvOnly bool

	// Name is how its user calls it, and Journal the path of the file that keeps the last lines of its standard error, why
	// it failed, and what it refused, see [ReadJournal]. Empty is none.
	Name, Journal string

	URL    string
	Header http.Header
	SSE    bool // the older transport, HTTP with server-sent events

	Account *Account // the user's login at URL; nil for none

	// Fill returns the server with what is read only when it is started or reached, such as secrets of a
	// keyring; nil = nothing is missing. The settings without it tell servers apart.
	Fill   func(context.Context, Server) (Server, error) `json:"-"`
	Hidden []string                                      // what no error of the server may have, beside what looks like a secret

	// Legacy says that the server is known to answer initialize and not server/discover, which is
	// not sent then.
	Legacy bool

	ProbeTimeout time.Duration // for the answer to server/discover; 0 = DefaultProbeTimeout
	StartTimeout time.Duration // for a program to answer anything; 0 = DefaultStartTimeout
	MessageLimit int64         // bytes of one message; 0 = DefaultMessageLimit
}

// Filled returns the server with what Fill reads.
func (s Server) Filled(ctx context.Context) (Server, error) {
	if s.Fill == nil {
		return s, nil
	}
	fill := s.Fill
	s.Fill = nil
	return fill(ctx, s)
}

// Limits of a [Server], unless the user sets others.
const (
	DefaultProbeTimeout = 3 * time.Second
	DefaultStartTimeout = time.Minute
	DefaultMessageLimit = 16 << 20
)

// Answer holds what a server offers, and its instructions. Package doctor reads its
// JSON.
type Answer struct {
	Name         string            `json:"-"` // that the server gives itself; may be empty
	Title        string            `json:"-"` // of the server, for people; may be empty
	Description  string            `json:"-"` // of the server; may be empty
	Version      string            `json:"-"` // of the server, as it gives it; may be empty
	Legacy       bool              `json:"-"` // see [Server]; false = not known
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"` // as they were sent

	// What it offers besides, as it was sent.
	Prompts   []json.RawMessage `json:"-"`
	Resources []json.RawMessage `json:"-"`
	Templates []json.RawMessage `json:"-"`

	Left     []string `json:"-"` // what of the list of tools is left out, and why
	Problems []string `json:"-"` // why one of these lists is not known, or not whole
}

const (
	grace   = 2 * time.Second
	maxSaid = 8000 // last bytes of a program's standard error that are kept
	maxWhy  = 400  // characters of a reason
)

// List starts or reaches a server, asks for all its tools and ends it. Programs
// it started have ended when it returns. The version is that of this client, and more are
// methods that it offers to answer beside [Sample] and [Elicit]. Errors
// say why there is no list, without the secrets that reaching the server takes.
func List(ctx context.Context, s Server, version string, more ...string) (Answer, error) {
	session, err := Connect(ctx, s, Client{
		Name: "toolfold-doctor", Version: version,
		Asks: append([]string{Sample, Elicit}, more...), // as clients do: some servers list other tools to clients that offer less
	})
	if err != nil {
		return Answer{}, err
	}
	defer session.Close()
	return session.List(ctx)
}
