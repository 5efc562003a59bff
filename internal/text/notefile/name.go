package notefile

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Ending is the ending of files.
const Ending = ".md"

// DefaultNamespace is the namespace that names of files leave out.
const DefaultNamespace = "default"

const (
	betweenNames = "%%" // between namespace and key; no escaped text has it
	beforeHash   = "~"  // no escaped text has it
	maxStem      = 100  // bytes of a name without hash and ending
	hashLength   = 16   // characters, of 5 bits each

	conflictMark = beforeHash + "conflict-"
)

// Name returns the name for the file of a note. It is safe on Windows and macOS: it has at most 150
// bytes, no reserved name, and different notes have different names, also if case and Unicode
// normalization do not count. Names of keys with capitals, letters beyond ASCII or too many
// characters end in a hash.
func Name(namespace, key string) string {
	stem := escape(key)
	if namespace != DefaultNamespace {
		stem = escape(namespace) + betweenNames + stem
	}
	if reserved().MatchString(stem) || stem[0] == '.' {
		stem = escapeByte(stem[0]) + stem[1:]
	}
	if len(stem) > maxStem || strings.ContainsFunc(unescaped(stem), func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) }) {
		stem = cut(stem) + beforeHash + hash(namespace, key)
	}
	return stem + Ending
}

// Hashed returns another name for the file of a note, for use if a file of another note has [Name].
func Hashed(namespace, key string) string { return beforeHash + hash(namespace, key) + Ending }

// Conflict returns the name for a copy of a note beside its file. Digest is the copy's.
func Conflict(name, digest string) string {
	return strings.TrimSuffix(name, Ending) + conflictMark + digest[:12] + Ending
}

// IsConflict reports whether a file has a name of [Conflict].
func IsConflict(name string) bool { return strings.Contains(name, conflictMark) }

func hash(namespace, key string) string {
	sum := sha256.Sum256([]byte(namespace + "\x00" + key))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength]
}

// reserved matches names that Windows reserves, with any ending.
var reserved = regex.Lazy(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(\.|$)`)

// Reserved reports whether Windows reserves a file's name, with any ending.
func Reserved(name string) bool { return reserved().MatchString(name) }

// escape escapes the bytes of characters that names cannot have everywhere, and spaces at the ends.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		width := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError || width < 0:
			_, width = utf8.DecodeRuneInString(s[i:])
			escapeAll(&b, s[i:i+width])
		case r == ' ' && (i == 0 || i == len(s)-1):
			escapeAll(&b, " ")
		case strings.ContainsRune("._-, +=@()#&", r), unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && i > 0:
			b.WriteRune(r)
		default:
			escapeAll(&b, s[i:i+width])
		}
	}
	return b.String()
}

func escapeAll(b *strings.Builder, s string) {
	for _, c := range []byte(s) {
		b.WriteString(escapeByte(c))
	}
}

func escapeByte(c byte) string { return "%" + strings.ToUpper(hex.EncodeToString([]byte{c})) }

// cut cuts an escaped text to maxStem bytes, between characters.
func cut(stem string) string {
	if len(stem) <= maxStem {
		return stem
	}
	end := maxStem
	for !utf8.RuneStart(stem[end]) {
		end--
	}
	if i := strings.LastIndexByte(stem[:end], '%'); i >= 0 && i > end-len("%2F") {
		end = i
	}
	return strings.TrimRight(stem[:end], " .")
}

// unescaped removes the escapes from an escaped text.
func unescaped(stem string) string {
	var b strings.Builder
	for i := 0; i < len(stem); i++ {
		if _, escaped := escapedByte(stem[i:]); escaped {
			i += 2
			continue
		}
		b.WriteByte(stem[i])
	}
	return b.String()
}

// escapedByte returns the byte of the escape at the beginning of a text.
func escapedByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	raw, err := hex.DecodeString(s[1:3])
	if err != nil {
		return 0, false
	}
	return raw[0], true
}

// parseName returns the namespace and the key of a file's name; the namespace is empty if the name
// has none. It is false if the name is a shortened one, or not a text.
func parseName(name string) (namespace, key string, ok bool) {
	stem := strings.TrimSuffix(name, Ending)
	plain := stem
	i := strings.LastIndex(stem, beforeHash)
	hashed := i >= 0 && len(stem)-i-len(beforeHash) == hashLength
	if hashed {
		plain = stem[:i]
	}
	namespace, key, found := strings.Cut(plain, betweenNames)
	if !found {
		namespace, key = "", plain
	}
	namespace, key = unescape(namespace), unescape(key)
	if hashed {
		within := namespace
		if !found {
			within = DefaultNamespace
		}
		if Name(within, key) != name {
			return "", "", false
		}
	}
	return namespace, key, key != "" && utf8.ValidString(namespace) && utf8.ValidString(key)
}

// unescape replaces escapes by their bytes, and leaves everything else.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, escaped := escapedByte(s[i:]); escaped {
			b.WriteByte(c)
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
