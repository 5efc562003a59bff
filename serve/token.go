package serve

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	minToken = 16      // characters
	maxToken = 4 << 10 // bytes
)

// tokens give the hash of the bearer token that applies now.
type tokens interface {
	sum() ([sha256.Size]byte, error)
}

// fixedToken is a token that does not change.
type fixedToken string

func (t fixedToken) sum() ([sha256.Size]byte, error) { return sha256.Sum256([]byte(t)), nil }

// tokenFile is a file with a token. It is looked at once a second and read
// again when its time or size change; while it cannot be used, no token is
// right.
type tokenFile struct {
	path  string
	log   *slog.Logger
	every time.Duration // between two looks

	mu     sync.Mutex
	looked time.Time
	time   time.Time // of the file as it was read
	size   int64
	hash   [sha256.Size]byte
	err    error
}

// openToken reads the file at path; nil for an empty path.
func openToken(path string, log *slog.Logger) (tokens, error) {
	if path == "" {
		return nil, nil
	}
	t := &tokenFile{path: path, log: log, every: time.Second}
	if _, err := t.sum(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *tokenFile) sum() ([sha256.Size]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.looked) < t.every {
		return t.hash, t.err
	}
	info, err := os.Stat(t.path)
	t.looked = time.Now()
	if err == nil && info.ModTime().Equal(t.time) && info.Size() == t.size {
		return t.hash, t.err
	}
	before := t.err
	t.time, t.size = time.Time{}, 0
	if err == nil {
		t.time, t.size = info.ModTime(), info.Size()
		t.hash, err = readToken(t.path, info)
	}
	t.err = nil
	if err != nil {
		t.err = fmt.Errorf("reading bearer token: %w", err)
	}
	if t.err != nil && (before == nil || before.Error() != t.err.Error()) {
		t.log.Error("HTTP callers are refused", "err", t.err)
	}
	return t.hash, t.err
}

// readToken reads the hash of the token in a file.
func readToken(path string, info fs.FileInfo) (hash [sha256.Size]byte, err error) {
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return hash, fmt.Errorf("%s is not a plain file", path)
	case mode.Perm()&0o006 != 0 && runtime.GOOS != "windows":
		return hash, fmt.Errorf("everybody on this machine may use %s (mode %04o); run: chmod 600 %s", path, mode.Perm(), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return hash, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return hash, err
	}
	token := strings.TrimSpace(string(raw))
	switch {
	case len(raw) > maxToken:
		return hash, fmt.Errorf("%s is larger than %d bytes", path, maxToken)
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		return hash, fmt.Errorf("%s begins with a byte order mark: save it as plain UTF-8", path)
	case token == "":
		return hash, fmt.Errorf("%s is empty", path)
	case strings.ContainsFunc(token, unicode.IsSpace):
		return hash, fmt.Errorf("the token in %s has white space in it: it must be one word", path)
	case len([]rune(token)) < minToken:
		return hash, fmt.Errorf("the token in %s has fewer than %d characters; a good one: openssl rand -hex 32", path, minToken)
	}
	return sha256.Sum256([]byte(token)), nil
}
