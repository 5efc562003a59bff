package settings

import (
	"fmt"

	"github.com/toolfold/toolfold/lazy"
)

// longList is the cost of a list of tools, in tokens, beyond which a shorter listing is worth a call of discovery.
const longList = 10_000

// ListAdvice returns what to do about a list that costs so many tokens at a level; empty if it is short, or no
// listing is shorter.
func ListAdvice(tokens int, level lazy.Level) string {
	if tokens <= longList || level == lazy.Search {
		return ""
	}
	return fmt.Sprintf("the list costs %d tokens: --listing=search lists only discovery and the core tools, and clients "+
		"find the rest", tokens)
}
