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

// caller is the owner of a bearer token, or of a connection without a token.
type caller struct {
	id     string           // of the token; empty if no token is required
	name   string           // of the token; may be empty
	rights *toolfold.Rights // nil = all that the server offers
	sets   []string         // sets that it is limited to; nil = no limit
	admin  bool             // it may log in to the site
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
	path     string
	families func() []*toolfold.Family // rules have to match them; nil = rules are not checked
	sets     map[string]permission.Set // existing sets, by name
	log      *slog.Logger
	every    time.Duration // between two checks of the file

	mu      sync.Mutex
	looked  time.Time
	time    time.Time // of the last file read
	size    int64
	callers map[[sha256.Size]byte]*caller
	unknown error // error of a token that is limited to an unknown set; may be nil
	err     error
}

// openToken reads the file at path; nil for an empty path. A token with an unknown set is an error.
// In later versions of the file such a set may be newer than the server: its token gets nothing of
// the set, and a warning is logged.
func openToken(path string, families func() []*toolfold.Family, sets map[string]permission.Set, log *slog.Logger) (tokens, error) {
	if path == "" {
		return nil, nil
	}
	t := &tokenFile{path: path, families: families, sets: sets, log: slog.New(slog.DiscardHandler), every: time.Second}
	if _, err := t.now(); err != nil {
		return nil, err
	}
	if t.unknown != nil {
		return nil, t.unknown
	}
	t.log = log
	return t, nil
}

func (t *tokenFile) of(hash [sha256.Size]byte) (*caller, error) {
	callers, err := t.now()
	if err != nil {
		return nil, err
	}
	// The timing of the lookup reveals at most a hash, from which no token follows.
	return callers[hash], nil
}

// now returns the current callers, by the hash of their token.
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

// read reads the file.
func (t *tokenFile) read(info fs.FileInfo) (map[[sha256.Size]byte]*caller, error) {
	list, err := permission.ReadTokens(t.path, info)
	if err != nil {
		return nil, err
	}
	callers := map[[sha256.Size]byte]*caller{}
	t.unknown = nil
	for _, token := range list {
		if t.families != nil {
			if err := token.Rules.Check(t.families()); err != nil {
				return nil, fmt.Errorf("%s: token %s: %w", t.path, token.Name, err)
			}
		}
		callers[token.Hash] = &caller{id: string(token.Hash[:]), name: token.Name, rights: t.rightsOf(token), sets: token.Sets,
			admin: token.Admin}
	}
	if t.unknown != nil {
		t.log.Warn("a token gets nothing of an unknown set; one that is new is served after the next start", "err", t.unknown)
	}
	return callers, nil
}

// rightsOf returns the rights of a token. A token with rules reaches tools of other servers only by
// allow rules, or by the sets that it is limited to.
func (t *tokenFile) rightsOf(token permission.Token) *toolfold.Rights {
	rules := token.Rules
	if len(token.Sets) == 0 {
		rules.NamedOnly = rules.ReadOnly || len(rules.Allow) > 0 || len(rules.Deny) > 0
		return rules.Rights()
	}
	var sets []permission.Set
	for _, name := range token.Sets {
		set, known := t.sets[name]
		if !known {
			t.unknown = fmt.Errorf("%s: token %s is limited to the set %q, which is not in the settings: toolfold upstream sets shows "+
				"the sets", t.path, token.Name, name)
			continue
		}
		sets = append(sets, set)
	}
	limit := permission.Rules{Set: new(permission.Unite(sets...))}
	return rules.Rights().And(limit.Rights())
}
