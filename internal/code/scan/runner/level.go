package runner

import "strings"

// levels are the severities for the words of all tools: of most rules, and of those about security.
var levels = map[string]struct{ most, security string }{
	"critical": {"critical", "critical"}, "blocker": {"critical", "critical"},
	"high": {"high", "high"}, "major": {"high", "high"},
	"error": {"medium", "high"}, "medium": {"medium", "medium"}, "moderate": {"medium", "medium"},
	"warning": {"low", "medium"}, "low": {"low", "low"}, "minor": {"low", "low"},
	"note": {"info", "low"}, "notice": {"info", "low"}, "info": {"info", "low"}, "information": {"info", "low"},
	"hint": {"info", "low"}, "style": {"info", "low"}, "convention": {"info", "low"}, "refactor": {"info", "low"},
}

// Level returns the severity for a word of a tool and a kind of finding. What a tool calls an error is
// medium, and high for security and types; a warning is low, and medium for security. A word
// that is not known, or empty, counts as an error: the tool has no severities.
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
