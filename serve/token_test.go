package serve

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A token file is refused with what is wrong with it.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	for why, test := range map[string]struct {
		text string
		mode os.FileMode
		want string // empty for a good one
	}{
		"good":                   {"0123456789abcdef\n", 0o600, ""},
		"for a group":            {"0123456789abcdef", 0o640, ""},
		"empty":                  {" \n", 0o600, "is empty"},
		"short":                  {"0123456789abcde", 0o600, "fewer than 16 characters"},
		"two lines":              {"0123456789abcdef\n0123456789abcdef", 0o600, "white space"},
		"a byte order mark":      {"\xef\xbb\xbf0123456789abcdef", 0o600, "byte order mark"},
		"large":                  {strings.Repeat("x", 5000), 0o600, "larger than"},
		"readable for everybody": {"0123456789abcdef", 0o644, "chmod 600"},
		"writable for everybody": {"0123456789abcdef", 0o602, "chmod 600"},
	} {
		if runtime.GOOS == "windows" && test.want == "chmod 600" {
			continue // there are no such modes
		}
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(test.text), test.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := openToken(path, quietLog)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %q", why, err, test.want)
		}
	}
	if _, err := openToken(t.TempDir(), quietLog); err == nil || !strings.Contains(err.Error(), "plain file") {
		t.Errorf("a folder: %v", err)
	}
}

// A token that changes in its file changes; while the file is bad, none is
// right.
func TestTokenChanges(t *testing.T) {
	t.Parallel()
	path, at := filepath.Join(t.TempDir(), "token"), time.Unix(1_000_000_000, 0)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("the first token of all")
	if _, err := openToken(path, quietLog); err == nil {
		t.Fatal("white space is taken")
	}
	write("first-token-of-all")
	token, err := openToken(path, quietLog)
	if err != nil {
		t.Fatal(err)
	}
	token.(*tokenFile).every = 0
	for _, text := range []string{"first-token-of-all", "other-token-of-all", "third-token-of-all"} {
		write(text)
		if sum, err := token.sum(); err != nil || sum != sha256.Sum256([]byte(text)) {
			t.Errorf("%s does not apply: %v", text, err)
		}
	}
	write("short")
	for range 2 {
		if _, err := token.sum(); err == nil {
			t.Error("the old token still applies")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := token.sum(); err == nil {
		t.Error("a token without its file applies")
	}
	write("fourth-token-of-all")
	if _, err := token.sum(); err != nil {
		t.Error(err)
	}
}
