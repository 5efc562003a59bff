// Package redact hides passwords, tokens and keys in texts for models and people. It hides too much
// rather than too little.
package redact

import (
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// Hidden replaces a secret.
const Hidden = "xxxxx"

var (
	// secretName matches names of parameters and members with secret values, such as sslpassword,
	// access_token and X-Api-Key.
	secretName = regex.Lazy(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|key|credential|signature|auth(orization)?|^sig)$`)
	// userinfo matches the part of a URL before the last @, because an unescaped password may
	// contain @.
	userinfo = regex.Lazy(`(://)([^\s/:@?#]*)(:\S*)?@`)
	// assignment matches name=value in URLs, connection strings and flags.
	assignment = regex.Lazy(`([^\s=&;?#]+)(\s*=\s*)('[^']*'?|"[^"]*"?|[^\s&;#]*)`)
	// header matches the credentials of an Authorization header.
	header = regex.Lazy(`(?i)\b(bearer|basic)\s+\S+`)
)

// Value returns a copy of a decoded JSON value without secrets: in texts, in members with secret
// names, and after flags such as --token.
func Value(value any) any {
	switch v := value.(type) {
	case string:
		return Text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Value(item)
			if flag, ok := list[max(0, i-1)].(string); ok && i > 0 && strings.HasPrefix(flag, "-") && Names(flag) {
				list[i] = Hidden // the value of the previous flag
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

// Text returns a text without secrets in URLs, connection strings, flags with = and Authorization
// headers.
func Text(text string) string {
	// Most texts lack these characters, and patterns are slow.
	if strings.Contains(text, "@") {
		text = userinfo().ReplaceAllStringFunc(text, func(match string) string {
			part := userinfo().FindStringSubmatch(match)
			if part[3] == "" {
				return part[1] + Hidden + "@" // a user name alone may be a token
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

// Names reports whether a name, which may be URL-escaped, suggests a secret value.
func Names(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return secretName().MatchString(strings.TrimRight(name, "[]"))
}
