package permission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Limits of the tokens in a file.
const (
	minToken = 16      // characters
	maxToken = 4 << 10 // bytes
)

// MaxTokenFile limits a file with tokens, in bytes.
const MaxTokenFile = 256 << 10

// Token is a bearer token that callers over HTTP may send.
type Token struct {
	Name  string            // of the caller; empty for a plain token
	Hash  [sha256.Size]byte // of the token
	Rules Rules             // narrow the rules of the server; Set is nil
	Sets  []string          // names of the sets that it is limited to; empty = no limit
	Admin bool              // it logs in to the page; Rules and Sets are empty then
}

const (
	hashPrefix   = "sha256:"
	adminWord    = "admin"
	readOnlyWord = "read-only"
	allowWord    = "allow="
	denyWord     = "deny="
	setWord      = "set="
)

var tokenName = regex.Lazy(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// CheckTokenName rejects invalid names of tokens.
func CheckTokenName(name string) error {
	if !tokenName().MatchString(name) {
		return fmt.Errorf("%q is no name of a token: letters, digits and ._@- are, at most 64 of them", shorten.Quoted(name))
	}
	return nil
}

// Check rejects an admin that has rules or sets. The page approves tools and switches servers, which are
// no actions: a rule could not bound it.
func (t Token) Check() error {
	if t.Admin && (t.Rules.String() != "" || len(t.Sets) > 0) {
		return fmt.Errorf("the token %s is an admin, which no rule and no set can limit: leave out admin, or the rules and sets", t.Name)
	}
	return nil
}

// String returns the token's line in a file. It is not for plain tokens: their text is not stored.
func (t Token) String() string {
	return strings.TrimRight(t.Name+" "+hashPrefix+hex.EncodeToString(t.Hash[:])+" "+t.Permits(), " ")
}

// Permits returns the words of the token's line after its hash: admin, or the sets and the rules. It is
// empty for a token with all rights that is no admin.
func (t Token) Permits() string {
	if t.Admin {
		return adminWord
	}
	words := t.Rules.String()
	if len(t.Sets) > 0 {
		words = strings.TrimSpace(setWord + strings.Join(t.Sets, ",") + " " + words)
	}
	return words
}

// String returns the rules in the form of a token file; empty if they permit all.
func (r Rules) String() string {
	var words []string
	if r.ReadOnly {
		words = append(words, readOnlyWord)
	}
	if len(r.Allow) > 0 {
		words = append(words, allowWord+strings.Join(r.Allow, ","))
	}
	if len(r.Deny) > 0 {
		words = append(words, denyWord+strings.Join(r.Deny, ","))
	}
	return strings.Join(words, " ")
}

// ErrNoToken is returned for a file without a token.
var ErrNoToken = errors.New("it is empty: toolfold token add adds a token")

// ParseTokens parses a file with a token per line. A line is a name with a hash and rules, as
// [Token.String] writes it, or a single word: a plain token with all rights. Empty lines and lines
// that begin with "# " are comments. Errors name the line, and no part of the token.
func ParseTokens(text []byte) ([]Token, error) {
	switch {
	case len(text) > MaxTokenFile:
		return nil, fmt.Errorf("it is larger than %d bytes", MaxTokenFile)
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return nil, fmt.Errorf("it begins with a byte order mark: save it as plain UTF-8")
	}
	var list []Token
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		t, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if slices.ContainsFunc(list, func(other Token) bool { return t.Name != "" && other.Name == t.Name || other.Hash == t.Hash }) {
			return nil, fmt.Errorf("line %d: the name or the token is there twice", i+1)
		}
		list = append(list, t)
	}
	if list == nil {
		return nil, ErrNoToken
	}
	return list, nil
}

// ReadTokens reads the plain file at path with the given info. It rejects a file that every user of
// this machine may read or write, or that its group may write: who writes it gets all rights. Its
// group may read it, because services get files of secrets so. Errors name the path.
func ReadTokens(path string, info fs.FileInfo) ([]Token, error) {
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a plain file", path)
	case mode.Perm()&0o006 != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("everybody on this machine may use %s (mode %04o); run: chmod 600 %s", path, mode.Perm(), path)
	case mode.Perm()&0o020 != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("its group may change %s (mode %04o); run: chmod g-w %s", path, mode.Perm(), path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxTokenFile+1))
	if err != nil {
		return nil, err
	}
	list, err := ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func parseToken(line string) (t Token, err error) {
	words := strings.Fields(line)
	if len(words) == 1 {
		switch {
		case len(line) > maxToken:
			return t, fmt.Errorf("the token is larger than %d bytes", maxToken)
		case len([]rune(line)) < minToken:
			return t, fmt.Errorf("the token has fewer than %d characters; toolfold token add makes a good one", minToken)
		case strings.HasPrefix(line, hashPrefix):
			return t, fmt.Errorf("the hash has no name in front of it")
		}
		return Token{Hash: sha256.Sum256([]byte(line))}, nil
	}
	hash, isHash := strings.CutPrefix(words[1], hashPrefix)
	if !isHash {
		return t, fmt.Errorf("it has white space in it, but is no NAME %sHASH: a token is one word", hashPrefix)
	}
	if err := CheckTokenName(words[0]); err != nil {
		return t, err
	}
	t.Name = words[0]
	if n, err := hex.Decode(t.Hash[:], []byte(hash[:min(len(hash), 2*sha256.Size)])); err != nil || n != sha256.Size ||
		len(hash) != 2*sha256.Size {
		return t, fmt.Errorf("the hash of %s is not %d hexadecimal digits", t.Name, 2*sha256.Size)
	}
	for _, word := range words[2:] {
		var into *[]string
		patterns := ""
		switch {
		case word == adminWord:
			t.Admin = true
			continue
		case word == readOnlyWord:
			t.Rules.ReadOnly = true
			continue
		case strings.HasPrefix(word, allowWord):
			into, patterns = &t.Rules.Allow, word[len(allowWord):]
		case strings.HasPrefix(word, denyWord):
			into, patterns = &t.Rules.Deny, word[len(denyWord):]
		case strings.HasPrefix(word, setWord):
			into, patterns = &t.Sets, word[len(setWord):]
		default:
			return t, fmt.Errorf("%q of %s is not one of %s, %s, %sPATTERNS, %sPATTERNS, %sNAMES", shorten.Quoted(word), t.Name, adminWord,
				readOnlyWord, allowWord, denyWord, setWord)
		}
		for pattern := range strings.SplitSeq(patterns, ",") {
			if pattern == "" { // an empty allow or set would permit all
				return t, fmt.Errorf("%q of %s has an empty pattern or name", shorten.Quoted(word), t.Name)
			}
			*into = append(*into, pattern)
		}
	}
	return t, t.Check()
}
