package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/system/reread"
	"github.com/toolfold/toolfold/permission"
)

// caller is the owner of a bearer token, or of a connection without a token.
type caller struct {
	id     string           // of the token; empty if no token is required
	name   string           // of the token; may be empty
	rights *toolfold.Rights // nil = all that the server offers
	sets   []string         // sets that it is limited to; nil = no limit
	admin  bool             // it may log in to the site

	bearer callctx.Bearer // access token of an [Identity]
}

// at returns the caller at the address of a set: its rights are limited to the set.
func (c *caller) at(set permission.Set) *caller {
	there := *c
	there.rights = c.rights.And(set.Rights())
	return &there
}

// tokens look up the owner of a bearer token.
type tokens interface {
	// of returns the caller by the hash of its token: nil for an invalid token, and an error if tokens
	// cannot be read.
	of(hash [sha256.Size]byte) (*caller, error)
}

// ownerOf returns the owner of a token, nil for an invalid one.
func ownerOf(t tokens, token string) (*caller, error) { return t.of(sha256.Sum256([]byte(token))) }

// idOf returns the id of the owner of a token; empty for an invalid one. t may be nil.
func idOf(t tokens, token string) (string, error) {
	if t == nil {
		return "", nil
	}
	from, err := ownerOf(t, token)
	if err != nil || from == nil {
		return "", err
	}
	return from.id, nil
}

// adminOf returns the name of the admin's token with a hash; empty for other tokens.
func adminOf(t tokens, hash [sha256.Size]byte) (string, error) {
	from, err := t.of(hash)
	if err != nil || from == nil || !from.admin {
		return "", err
	}
	return from.name, nil
}

// fixedToken is the hash of a token that does not change and has all rights.
type fixedToken [sha256.Size]byte

func (t fixedToken) of(hash [sha256.Size]byte) (*caller, error) {
	if subtle.ConstantTimeCompare(hash[:], t[:]) != 1 {
		return nil, nil
	}
	return &caller{id: string(t[:])}, nil
}

// tokenFile is a file with tokens. It is checked once a second and read again if its time or size
// changes. While it is invalid, every token is rejected.
type tokenFile struct {
	file     reread.File[map[[sha256.Size]byte]*caller] // callers by the hash of their token
	families func() []*toolfold.Family                  // rules have to match them; nil = rules are not checked
	sets     map[string]permission.Set                  // existing sets, by name
	log      *slog.Logger
	unknown  error // error of a token that is limited to an unknown set; may be nil
}

// openToken reads the file at path; nil for an empty path. A token with an unknown set is an error.
// In later versions of the file such a set may be newer than the server: its token gets nothing of
// the set, and a warning is logged.
func openToken(path string, families func() []*toolfold.Family, sets map[string]permission.Set, log *slog.Logger) (tokens, error) {
	if path == "" {
		return nil, nil
	}
	t := &tokenFile{families: families, sets: sets, log: slog.New(slog.DiscardHandler)}
	t.file = reread.File[map[[sha256.Size]byte]*caller]{
		Path: path, Every: time.Second, Read: t.read,
		Failed: func(err error) {
			t.log.Error("HTTP callers are refused", "err", fmt.Errorf("reading bearer token: %w", err))
		},
	}
	if _, err := t.file.Now(); err != nil {
		return nil, fmt.Errorf("reading bearer token: %w", err)
	}
	if t.unknown != nil {
		return nil, t.unknown
	}
	t.log = log
	return t, nil
}

func (t *tokenFile) of(hash [sha256.Size]byte) (*caller, error) {
	callers, err := t.file.Now()
	if err != nil {
		return nil, fmt.Errorf("reading bearer token: %w", err)
	}
	// The timing of the lookup reveals at most a hash, from which no token follows.
	return callers[hash], nil
}

// read reads the file.
func (t *tokenFile) read(info fs.FileInfo) (map[[sha256.Size]byte]*caller, error) {
	path := t.file.Path
	list, err := permission.ReadTokens(path, info)
	if err != nil {
		return nil, err
	}
	callers := map[[sha256.Size]byte]*caller{}
	t.unknown = nil
	for _, token := range list {
		if t.families != nil {
			if err := token.Rules.Check(t.families()); err != nil {
				return nil, fmt.Errorf("%s: token %s: %w", path, token.Name, err)
			}
		}
		rights, unknown := token.Rules.OfCaller(token.Sets, t.sets)
		if unknown != nil {
			t.unknown = fmt.Errorf("%s: token %s is limited to %w", path, token.Name, unknown)
		}
		callers[token.Hash] = &caller{id: string(token.Hash[:]), name: token.Name, rights: rights, sets: token.Sets, admin: token.Admin}
	}
	if t.unknown != nil {
		t.log.Warn("a token gets nothing of an unknown set; one that is new is served after the next start", "err", t.unknown)
	}
	return callers, nil
}
