package settings

import (
	"fmt"

	"github.com/toolfold/toolfold/lazy"
)

// longList is the cost of a list, in tokens, above which a shorter listing is worth a discovery call.
const longList = 10_000

// ListAdvice returns advice about a list of that cost at that level. It is empty if the list is short,
// or if no listing is shorter.
func ListAdvice(tokens int, level lazy.Level) string {
	if tokens <= longList || level == lazy.Search {
		return ""
	}
	return fmt.Sprintf("the list costs %d tokens: --listing=search lists only discovery and the core tools, and clients "+
		"find the rest", tokens)
}
