package runner

import "strings"

// levels maps the severities of all tools to ours: for most rules, and for security rules.
var levels = map[string]struct{ most, security string }{
	"critical": {"critical", "critical"}, "blocker": {"critical", "critical"},
	"high": {"high", "high"}, "major": {"high", "high"},
	"error": {"medium", "high"}, "medium": {"medium", "medium"}, "moderate": {"medium", "medium"},
	"warning": {"low", "medium"}, "low": {"low", "low"}, "minor": {"low", "low"},
	"note": {"info", "low"}, "notice": {"info", "low"}, "info": {"info", "low"}, "information": {"info", "low"},
	"hint": {"info", "low"}, "style": {"info", "low"}, "convention": {"info", "low"}, "refactor": {"info", "low"},
}

// Level returns the severity for a tool's word and the kind of a finding. An error is medium, or
// high for security and types. A warning is low, or medium for security. An unknown or empty word
// counts as an error, because some tools have no severities.
func Level(word, kind string) string {
	level, known := levels[strings.ToLower(word)]
	if !known {
		level = levels["error"]
	}
	if kind == "security" || kind == "type-error" && level == levels["error"] {
		return level.security
	}
	return level.most
}
