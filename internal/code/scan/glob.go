package scan

import (
	"errors"
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxAlternatives is the most combinations of the alternatives of a glob.
const MaxAlternatives = 256

// CheckGlob refuses a pattern that is not a glob, or takes too long to match: doublestar tries
// every combination of the alternatives in braces, and thirty of two take for ever. The error
// goes on a sentence that names the pattern.
func CheckGlob(pattern string) error {
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
