// Package upstream lists what other MCP servers offer. It starts them, or reaches them over HTTP, as a
// client would.
//
// It is not a stable API: see docs/stability.md.
package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Server describes how a server is started or reached.
type Server struct {
	Argv []string // program and arguments; nil if the server is at URL
	Dir  string   // working directory of the program; empty = the one of this process
	Env  []string // NAME=value, added to the environment of this process

	// EnvOnly makes Env the whole environment.
	EnvOnly bool

	// Name is the user's name for the server. Journal is the path of a file with the last lines of its
	// standard error, its failures and the calls it refused, see [ReadJournal]. Empty means no name, or
	// no journal.
	Name, Journal string

	URL    string
	Header http.Header
	SSE    bool // the older transport, HTTP with server-sent events

	Account *Account // the user's login at URL; nil if there is no login

	// Fill returns the server with the values that are read only when it is started or reached, such as
	// secrets of a keyring. Nil means that nothing is missing. Settings are compared without these
	// values.
	Fill   func(context.Context, Server) (Server, error) `json:"-"`
	Hidden []string                                      // removed from errors, like everything that looks like a secret

	// Legacy is set if the server is known to answer initialize and not server/discover. The latter is
	// not sent then.
	Legacy bool

	ProbeTimeout time.Duration // for the answer to server/discover; 0 = DefaultProbeTimeout
	StartTimeout time.Duration // for a program to answer anything; 0 = DefaultStartTimeout
	OfferTimeout time.Duration // for each list other than the list of tools, which waits for them; 0 = DefaultOfferTimeout
	MessageLimit int64         // bytes of one message; 0 = DefaultMessageLimit
}

// Expand returns the server with the values that Fill reads.
func (s Server) Expand(ctx context.Context) (Server, error) {
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
	DefaultOfferTimeout = 10 * time.Second
	DefaultMessageLimit = 16 << 20
)

// Answer holds the lists of a server and its instructions. Package doctor reads its JSON.
type Answer struct {
	Name         string            `json:"-"` // as the server gives it; may be empty
	Title        string            `json:"-"` // of the server, for people; may be empty
	Description  string            `json:"-"` // of the server; may be empty
	Version      string            `json:"-"` // of the server, as it gives it; may be empty
	Legacy       bool              `json:"-"` // see [Server]; false = unknown
	Protocol     string            `json:"-"` // revision of MCP that the session uses
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"` // as they were sent

	// The other lists, as they were sent.
	Prompts   []json.RawMessage `json:"-"`
	Resources []json.RawMessage `json:"-"`
	Templates []json.RawMessage `json:"-"`

	LeftOut  []string `json:"-"` // entries left out of the list of tools, each with the reason
	Problems []string `json:"-"` // why one of the other lists is missing or incomplete
}

const (
	grace     = 2 * time.Second
	maxReason = 8000 // bytes that are kept of the end of a program's standard error
	maxWhy    = 400  // characters of a reason
)

// List starts or reaches a server, asks for all its tools and ends it. Programs it started have ended
// when it returns. version is the version of this client. more lists methods that the client declares
// in addition to [Sample] and [Elicit]. Errors explain why there is no list, without the secrets that
// reaching the server takes.
func List(ctx context.Context, s Server, version string, more ...string) (Answer, error) {
	session, err := Connect(ctx, s, Client{
		Name: "toolfold-doctor", Version: version,
		Asks: append([]string{Sample, Elicit}, more...), // as clients do: some servers list other tools if a client declares less
	})
	if err != nil {
		return Answer{}, err
	}
	defer session.Close()
	return session.List(ctx)
}
