package text

import (
	"strconv"
	"strings"
)

// ScriptWords are the words that a variable or parameter in a module of JavaScript or TypeScript
// cannot be called.
var ScriptWords = strings.Fields(`await break case catch class const continue debugger default delete do else enum
	export extends false finally for function if implements import in instanceof interface let new null package private
	protected public return static super switch this throw true try typeof undefined var void while with yield arguments eval`)

// Scope is the set of names that are taken in one place of a text.
type Scope map[string]bool

// NewScope returns a scope in which some names are taken, such as the reserved
// words of a language.
func NewScope(taken ...string) Scope {
	s := Scope{}
	for _, name := range taken {
		s[name] = true
	}
	return s
}

// Claim takes a name and returns it. Where it is taken already, the name gets
// the lowest number, from 2, that makes it free.
func (s Scope) Claim(name string) string {
	free := name
	for n := 2; s[free]; n++ {
		free = name + strconv.Itoa(n)
	}
	s[free] = true
	return free
}
