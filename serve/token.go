package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/permission"
)

// caller is the owner of a bearer token, or of a connection that needs none.
type caller struct {
	id     string           // of the token; empty where none is asked for
	name   string           // of the token; empty where it has none
	rights *toolfold.Rights // nil = all that the server offers
}

// tokens find who a bearer token belongs to.
type tokens interface {
	// caller returns nil for a token that is not good, and an error where that
	// cannot be said.
	caller(token string) (*caller, error)
}

// fixedToken is the hash of a token that does not change and has all rights.
type fixedToken [sha256.Size]byte

func (t fixedToken) caller(token string) (*caller, error) {
	if sum := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(sum[:], t[:]) != 1 {
		return nil, nil
	}
	return &caller{id: string(t[:])}, nil
}

// tokenFile is a file with tokens. It is looked at once a second and read again
// when its time or size change; while it cannot be used, no token is right.
type tokenFile struct {
	path     string
	families func() []*toolfold.Family // that rules have to match; nil = rules are not checked
	log      *slog.Logger
	every    time.Duration // between two looks

	mu      sync.Mutex
	looked  time.Time
	time    time.Time // of the file as it was read
	size    int64
	callers map[[sha256.Size]byte]*caller
	err     error
}

// openToken reads the file at path; nil for an empty path.
func openToken(path string, families func() []*toolfold.Family, log *slog.Logger) (tokens, error) {
	if path == "" {
		return nil, nil
	}
	t := &tokenFile{path: path, families: families, log: log, every: time.Second}
	if _, err := t.now(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tokenFile) caller(token string) (*caller, error) {
	callers, err := t.now()
	if err != nil {
		return nil, err
	}
	// The time of the look-up tells of a hash at most, which leads to no token.
	return callers[sha256.Sum256([]byte(token))], nil
}

// now returns the callers that apply now, by the hash of their token.
func (t *tokenFile) now() (map[[sha256.Size]byte]*caller, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.looked) < t.every {
		return t.callers, t.err
	}
	info, err := os.Stat(t.path)
	t.looked = time.Now()
	if err == nil && info.ModTime().Equal(t.time) && info.Size() == t.size {
		return t.callers, t.err
	}
	before := t.err
	t.time, t.size = time.Time{}, 0
	if err == nil {
		t.time, t.size = info.ModTime(), info.Size()
		t.callers, err = t.read(info)
	}
	t.err = nil
	if err != nil {
		t.err = fmt.Errorf("reading bearer token: %w", err)
	}
	if t.err != nil && (before == nil || before.Error() != t.err.Error()) {
		t.log.Error("HTTP callers are refused", "err", t.err)
	}
	return t.callers, t.err
}

// read reads the file. Callers with the same rules share their rights.
func (t *tokenFile) read(info fs.FileInfo) (map[[sha256.Size]byte]*caller, error) {
	list, err := permission.ReadTokens(t.path, info)
	if err != nil {
		return nil, err
	}
	callers := map[[sha256.Size]byte]*caller{}
	for _, token := range list {
		if t.families != nil {
			if err := token.Rules.Check(t.families()); err != nil {
				return nil, fmt.Errorf("%s: token %s: %w", t.path, token.Name, err)
			}
		}
		callers[token.Hash] = &caller{id: string(token.Hash[:]), name: token.Name, rights: rightsOf(token)}
	}
	return callers, nil
}

// rightsOf returns the rights of a token. One that has some reaches the tools of other
// servers only by allow.
func rightsOf(token permission.Token) *toolfold.Rights {
	rules := token.Rules
	rules.Named = rules.ReadOnly || len(rules.Allow) > 0 || len(rules.Deny) > 0
	return rules.Rights()
}
