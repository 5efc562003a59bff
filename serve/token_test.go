package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/test/notetest"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// An invalid token file is rejected with the reason.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	mounted := toolfoldtest.Mount(t, notetest.Family, &notetest.Service{})
	families := func() []*toolfold.Family { return []*toolfold.Family{mounted} }
	for why, test := range map[string]struct {
		text string
		mode os.FileMode
		want string // empty for a valid file
	}{
		"good":              {"0123456789abcdef\n", 0o600, ""},
		"for a group":       {"0123456789abcdef", 0o640, ""},
		"of a group":        {"0123456789abcdef", 0o660, "its group may change"},
		"two lines":         {"0123456789abcdef\n# another\n\n0123456789abcdeg\r\n", 0o600, ""},
		"with rules":        {"ci sha256:" + strings.Repeat("0a", 32) + " read-only allow=note,note.save deny=list_notes", 0o600, ""},
		"empty":             {" \n# nothing\n", 0o600, "is empty"},
		"short":             {"0123456789abcde", 0o600, "line 1: the token has fewer than 16 characters"},
		"two words":         {"0123456789abcdef 0123456789abcdef", 0o600, "white space"},
		"a byte order mark": {"\xef\xbb\xbf0123456789abcdef", 0o600, "byte order mark"},
		"large":             {strings.Repeat("x", 5000), 0o600, "larger than"},
		"very large":        {strings.Repeat("# \n", 100_000), 0o600, "larger than"},
		"a hash alone":      {"sha256:" + strings.Repeat("0a", 32), 0o600, "no name"},
		"a short hash":      {"ci sha256:0a", 0o600, "64 hexadecimal digits"},
		"a wrong name":      {"c/i sha256:" + strings.Repeat("0a", 32), 0o600, "no name of a token"},
		"twice the name": {"ci sha256:" + strings.Repeat("0a", 32) + "\nci sha256:" + strings.Repeat("0b", 32), 0o600,
			"line 2: the name or the token is there twice"},
		"twice the token": {"ci sha256:" + strings.Repeat("0a", 32) + "\ncd sha256:" + strings.Repeat("0a", 32), 0o600, "twice"},
		"a misspelt rule": {"ci sha256:" + strings.Repeat("0a", 32) + " alow=note", 0o600, "not one of admin, read-only, allow="},
		"an empty rule":   {"ci sha256:" + strings.Repeat("0a", 32) + " allow=", 0o600, "empty pattern"},
		"a set":           {"ci sha256:" + strings.Repeat("0a", 32) + " set=dev read-only", 0o600, ""},
		"an unknown set": {"ci sha256:" + strings.Repeat("0a", 32) + " set=dev,ops", 0o600,
			`token ci is limited to the set "ops", which is not in the settings: toolfold upstream sets`},
		"a rule for nothing": {"ci sha256:" + strings.Repeat("0a", 32) + " deny=nota", 0o600,
			`token ci: deny: "nota" matches no action, did you mean "note"?`},
		"readable for everybody": {"0123456789abcdef", 0o644, "chmod 600"},
		"writable for everybody": {"0123456789abcdef", 0o602, "chmod 600"},
	} {
		if runtime.GOOS == "windows" && test.want == "chmod 600" {
			continue // this system has no such modes
		}
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(test.text), test.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := openToken(path, families, map[string]permission.Set{"dev": {Names: []string{"dev"}}}, quietLog)
		if (err == nil) != (test.want == "") || err != nil &&
			(!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %q", why, err, test.want)
		}
	}
	if _, err := openToken(t.TempDir(), nil, nil, quietLog); err == nil || !strings.Contains(err.Error(), "plain file") {
		t.Errorf("a folder: %v", err)
	}
}

// A changed token file applies at once. While the file is invalid, every token is rejected.
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
	if _, err := openToken(path, nil, nil, quietLog); err == nil {
		t.Fatal("white space is taken")
	}
	write("first-token-of-all")
	token, err := openToken(path, nil, nil, quietLog)
	if err != nil {
		t.Fatal(err)
	}
	token.(*tokenFile).file.Every = 0
	for _, text := range []string{"first-token-of-all", "other-token-of-all", "third-token-of-all"} {
		write(text)
		if from, err := ownerOf(token, text); err != nil || from == nil || from.rights != nil {
			t.Errorf("%s does not apply: %v", text, err)
		}
	}
	write("short")
	for range 2 {
		if _, err := ownerOf(token, "third-token-of-all"); err == nil {
			t.Error("the old token still applies")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := ownerOf(token, "third-token-of-all"); err == nil {
		t.Error("a token without its file applies")
	}
	write("fourth-token-of-all")
	if from, err := ownerOf(token, "third-token-of-all"); err != nil || from != nil {
		t.Errorf("the old token applies: %v", err)
	}
	if from, err := ownerOf(token, "fourth-token-of-all"); err != nil || from == nil {
		t.Errorf("the new token does not apply: %v", err)
	}
	sum := sha256.Sum256([]byte("fifth-token-of-all")) // the token has a set that is newer than the server
	write("ci sha256:" + hex.EncodeToString(sum[:]) + " set=new")
	from, err := ownerOf(token, "fifth-token-of-all")
	if err != nil || from == nil || from.rights.Allow(&toolfold.Action{Family: &toolfold.Family{Server: "any"}}) {
		t.Errorf("a token of an unknown set reaches other servers: %v", err)
	}
}
