package callctx

import (
	"fmt"
	"strings"
	"time"
)

// Bearer is the access token with which the caller of a request logged in. It is for exchange at an authorization
// server only: its content is not printed, logged or marshalled. The zero Bearer is no token.
type Bearer struct {
	reveal  func() string // fmt prints the members of a value in a context, and of a func only its address
	expires time.Time
}

// NewBearer returns an access token. A zero time means that its end is unknown.
func NewBearer(token string, expires time.Time) Bearer {
	return Bearer{func() string { return token }, expires}
}

// BearerOf returns the access token of a header Authorization; the zero Bearer if it has another scheme.
func BearerOf(authorization string, expires time.Time) Bearer {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Bearer{}
	}
	return NewBearer(strings.TrimSpace(token), expires)
}

// Reveal returns the token; empty if there is none.
func (b Bearer) Reveal() string {
	if b.reveal == nil {
		return ""
	}
	return b.reveal()
}

// Expires returns the end of the token; zero if it is unknown.
func (b Bearer) Expires() time.Time { return b.expires }

// Format implements [fmt.Formatter]. It writes no token.
func (b Bearer) Format(to fmt.State, _ rune) { fmt.Fprint(to, "(an access token)") }
