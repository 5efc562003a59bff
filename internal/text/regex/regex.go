// Package regex compiles regular expressions at first use, so that they do not slow down the start.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles an expression at its first call. It panics if the
// expression is invalid.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
