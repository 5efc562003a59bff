package storage

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// forms lists the URLs that Open accepts, for its errors.
const forms = "use memory:, sqlite:///path or postgres://user@host/database"

type kind int

const (
	kindMemory kind = iota
	kindSQLite
	kindPostgres
)

// location is a parsed store URL.
type location struct {
	kind kind
	path string // of a SQLite file
}

// CheckURL checks a store URL without opening the store. Its errors quote only the scheme.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

// IsPostgres reports whether a URL names a PostgreSQL store, which servers on several machines can share.
func IsPostgres(url string) bool {
	at, err := parseURL(url)
	return err == nil && at.kind == kindPostgres
}

// MayHold reports whether the store at a URL may have data: an existing file, or any server,
// because only opening it would show.
func MayHold(url string) bool {
	at, err := parseURL(url)
	if err != nil || at.kind == kindMemory {
		return false
	}
	if at.kind == kindPostgres {
		return true
	}
	_, err = os.Stat(at.path)
	return err == nil
}

// parseURL parses a store URL. Its errors quote only the scheme: the rest may contain a password.
func parseURL(text string) (location, error) {
	if text == "" {
		var err error
		if text, err = DefaultURL(); err != nil {
			return location{}, err
		}
	}
	scheme, _, found := strings.Cut(text, ":")
	if !found {
		return location{}, errors.New("the store is not a URL: " + forms)
	}
	switch scheme {
	case "memory":
		if text != "memory:" {
			return location{}, errors.New("memory: takes nothing after the colon")
		}
		return location{kind: kindMemory}, nil
	case "postgres", "postgresql":
		return location{kind: kindPostgres}, nil
	case "sqlite":
		path, err := sqlitePath(text)
		return location{kindSQLite, path}, err
	}
	return location{}, fmt.Errorf("unknown store scheme %q: %s", scheme, forms)
}

// sqlitePath returns the absolute path in sqlite:///path. On Windows the path
// starts with a drive: sqlite:///C:/path.
func sqlitePath(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("the sqlite URL is not valid: write % in the path as %25")
	}
	if u.Host != "" || u.Path == "" || u.Path == "/" {
		return "", errors.New("a sqlite URL has three slashes and an absolute path: sqlite:///path/to/toolfold.db")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("a sqlite URL takes no options: write ? in the path as %3F, and # as %23")
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' && runtime.GOOS == "windows" {
		path = path[1:]
	}
	return filepath.FromSlash(path), nil
}

// DefaultURL returns the URL of the default store: toolfold.db in the user's data directory. It
// creates nothing.
func DefaultURL() (string, error) {
	dir, err := DataDir()
	if err != nil {
		return "", err
	}
	path := filepath.ToSlash(filepath.Join(dir, "toolfold.db"))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "sqlite", Path: path}).String(), nil
}

// DataDir returns the folder of toolfold in the user's data directory. It
// creates nothing.
func DataDir() (string, error) {
	dir, err := dataDir(runtime.GOOS)
	if err != nil {
		return "", fmt.Errorf("finding data directory: %w", err)
	}
	return filepath.Join(dir, "toolfold"), nil
}

// dataDir returns the system's folder for a user's program data.
func dataDir(system string) (string, error) {
	switch system {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("LocalAppData is not set")
	case "darwin":
		home, err := os.UserHomeDir()
		return filepath.Join(home, "Library", "Application Support"), err
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share"), err
}
