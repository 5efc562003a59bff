// Package redact hides the passwords, tokens and keys in what models and people
// are shown. It hides too much rather than too little.
package redact

import (
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Hidden stands in place of a secret.
const Hidden = "xxxxx"

var (
	// secretName matches the names of parameters and members that hold a
	// secret, such as sslpassword, access_token and X-Api-Key.
	secretName = regex.Lazy(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|key|credential|signature|auth(orization)?|^sig)$`)
	// userinfo matches the part of a URL before the last @, which a password
	// that is not escaped may hold too.
	userinfo = regex.Lazy(`(://)([^\s/:@?#]*)(:\S*)?@`)
	// assignment matches name=value in URLs, connection strings and flags.
	assignment = regex.Lazy(`([^\s=&;?#]+)(\s*=\s*)('[^']*'?|"[^"]*"?|[^\s&;#]*)`)
	// header matches the credentials of an Authorization header.
	header = regex.Lazy(`(?i)\b(bearer|basic)\s+\S+`)
)

// Value returns a decoded JSON value without the secrets in its texts, in
// members with the name of a secret, and after flags such as --token. It does
// not change the value itself.
func Value(value any) any {
	switch v := value.(type) {
	case string:
		return Text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Value(item)
			if flag, ok := list[max(0, i-1)].(string); ok && i > 0 && strings.HasPrefix(flag, "-") && Names(flag) {
				list[i] = Hidden // the value of a flag before it
			}
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = Value(member)
			if _, text := member.(string); text && Names(name) {
				object[name] = Hidden
			}
		}
		return object
	}
	return value
}

// Text returns a text without the secrets in it: in URLs, connection strings,
// flags with = and Authorization headers.
func Text(text string) string {
	// Most texts have none of the signs, and patterns take long to find that out.
	if strings.Contains(text, "@") {
		text = userinfo().ReplaceAllStringFunc(text, func(match string) string {
			part := userinfo().FindStringSubmatch(match)
			if part[3] == "" {
				return part[1] + Hidden + "@" // a name alone may be a token
			}
			return part[1] + part[2] + ":" + Hidden + "@"
		})
	}
	if strings.Contains(text, "=") {
		text = assignment().ReplaceAllStringFunc(text, func(match string) string {
			part := assignment().FindStringSubmatch(match)
			if !Names(part[1]) {
				return match
			}
			return part[1] + part[2] + Hidden
		})
	}
	if lower := strings.ToLower(text); strings.Contains(lower, "bearer") || strings.Contains(lower, "basic") {
		text = header().ReplaceAllString(text, "$1 "+Hidden)
	}
	return text
}

// Names reports whether a name, which may be escaped for a URL, is that of a secret.
func Names(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return secretName().MatchString(strings.TrimRight(name, "[]"))
}
