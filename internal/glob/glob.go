// Package glob checks the patterns of doublestar, which tries every combination
// of the alternatives in braces: thirty of two take for ever.
package glob

import (
	"errors"
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxAlternatives is the most combinations of the alternatives of a pattern.
const MaxAlternatives = 256

// Check refuses a pattern that is none, or takes too long to match. The error
// goes on a sentence that names the pattern.
func Check(pattern string) error {
	if !doublestar.ValidatePattern(pattern) {
		return errors.New("is not a glob")
	}
	combinations := 1
	var open []int // alternatives of the braces that are open
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				combinations *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
		if combinations > MaxAlternatives {
			return fmt.Errorf("has more than %d combinations of alternatives", MaxAlternatives)
		}
	}
	return nil
}
