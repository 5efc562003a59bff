package issuer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// failure is the key of a context for the error of fetching keys, which the verifier does not wrap.
type failure struct{}

// errUnavailable is wrapped by errors of an issuer that does not answer.
var errUnavailable = errors.New("the issuer does not answer")

// signatures verifies tokens by the keys of an issuer.
type signatures struct{ *oidc.RemoteKeySet }

// VerifySignature implements [oidc.KeySet]. It tells a wrong signature from an issuer that does not answer.
func (s signatures) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := s.RemoteKeySet.VerifySignature(ctx, jwt)
	if into, ok := ctx.Value(failure{}).(*error); ok && (errors.Is(err, errUnavailable) || ctx.Err() != nil) {
		*into = err
	}
	return payload, err
}

// sparing asks an address at most once in a pause. In between it gives the last answer again: tokens with unknown keys,
// which anybody can make, are otherwise a question each.
type sparing struct {
	next  http.RoundTripper
	pause time.Duration

	mu      sync.Mutex
	answers map[string]*answer // by address; there are two, those of the metadata and of the keys
}

type answer struct {
	once   sync.Once
	at     time.Time // of the answer; zero while it is under way
	status int
	header http.Header
	body   []byte
	err    error
}

const maxAnswer = 1 << 20 // bytes of metadata or keys

// RoundTrip implements [http.RoundTripper].
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	address := r.URL.String()
	s.mu.Lock()
	a := s.answers[address]
	if a == nil || !a.at.IsZero() && time.Since(a.at) >= s.pause {
		if s.answers == nil {
			s.answers = map[string]*answer{}
		}
		a = &answer{}
		s.answers[address] = a
	}
	s.mu.Unlock()
	a.once.Do(func() {
		a.ask(s.next, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		a.at = time.Now() // others may have waited for the answer long
	})
	if a.err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, a.err)
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Header: a.header.Clone(), Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// ask gets the answer to a request. Any but JSON with success is an error, also a set without keys: the keys before
// it stay.
func (a *answer) ask(next http.RoundTripper, r *http.Request) {
	ctx, done := context.WithTimeout(r.Context(), patience)
	defer done()
	response, err := next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		a.err = err
		return
	}
	defer response.Body.Close()
	a.status, a.header = response.StatusCode, response.Header
	a.body, a.err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	var set struct{ Keys *[]json.RawMessage }
	switch {
	case a.err != nil:
	case a.status != http.StatusOK:
		a.err = fmt.Errorf("%s is answered %s", r.URL, response.Status)
	case json.Unmarshal(a.body, &set) != nil:
		a.err = fmt.Errorf("%s is not answered with a JSON object", r.URL)
	case set.Keys != nil && len(*set.Keys) == 0:
		a.err = fmt.Errorf("%s has no keys", r.URL)
	}
}
