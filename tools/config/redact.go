package config

import (
	"net/url"
	"strings"
)

// redacted is a value as models may see it: a password in a URL, such as the
// store's, is left out.
func redacted(value any) any {
	switch v := value.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && strings.Contains(v, "://") {
			if _, has := u.User.Password(); has {
				return u.Redacted()
			}
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = redacted(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = redacted(member)
		}
		return object
	}
	return value
}
