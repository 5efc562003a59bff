package scan

import (
	"errors"
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxAlternatives bounds the combinations of a glob's alternatives.
const MaxAlternatives = 256

// CheckGlob returns an error if a pattern is not a glob or takes too long to match: doublestar
// tries every combination of the alternatives in braces, so thirty pairs take forever. The error
// message continues a sentence that begins with the pattern.
func CheckGlob(pattern string) error {
	if !doublestar.ValidatePattern(pattern) {
		return errors.New("is not a glob")
	}
	combinations := 1
	var open []int // number of alternatives of each open brace
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
