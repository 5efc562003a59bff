// Package regex compiles regular expressions when they are first used, so that a
// start pays for none.
package regex

import (
	"regexp"
	"sync"
)

// Lazy returns what compiles an expression once; it panics where [regexp.MustCompile]
// does.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
