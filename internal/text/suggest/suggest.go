// Package suggest finds the intended name for a misspelled one.
package suggest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/text/shorten"
)

// prefixCost bounds the cost of a name that is a prefix of the other: the cost of two typos.
const prefixCost = 2

// Nearest returns the candidate closest to word, or "" if more than a third of the letters would
// have to change. Case, dots, dashes and underscores only break ties; then the earlier candidate
// wins.
func Nearest(word string, candidates []string) string {
	best, bestCost, bestSpelling := "", 0, 0
	folded := fold(word)
	for _, candidate := range candidates {
		cost, ok := cost(folded, fold(candidate))
		if !ok || best != "" && cost > bestCost {
			continue
		}
		spelling := distance([]rune(word), []rune(candidate))
		if best == "" || cost < bestCost || spelling < bestSpelling {
			best, bestCost, bestSpelling = candidate, cost, spelling
		}
	}
	return best
}

// Value returns the value of an enumeration closest to word, or "". Besides the matches of Nearest,
// it accepts another form of the same word, such as failed for failure: the only value that shares
// at least four letters and half of the longer word with it.
func Value(word string, values []string) string {
	if near := Nearest(word, values); near != "" {
		return near
	}
	form := ""
	for _, value := range values {
		shared := sharedPrefix(fold(word), fold(value))
		if shared < 4 || 2*shared < max(len(fold(word)), len(fold(value))) {
			continue
		}
		if form != "" {
			return ""
		}
		form = value
	}
	return form
}

// OneOf returns the error text for an invalid value of an option: the allowed values, and a
// suggestion.
func OneOf(name, value string, allowed []string) string {
	text := fmt.Sprintf("%s must be one of %s, got %q", name, strings.Join(allowed, ", "), shorten.Quoted(value))
	if near := Value(value, allowed); near != "" {
		text += fmt.Sprintf(", did you mean %q?", near)
	}
	return text
}

// Unknown yields the members of an object that are not known names, sorted. Each comes with a
// suggestion: the nearest known name that the object lacks, or "".
func Unknown(known []string, object map[string]any) iter.Seq2[string, string] {
	return func(yield func(name, near string) bool) {
		free := slices.DeleteFunc(slices.Sorted(slices.Values(known)), func(name string) bool {
			_, taken := object[name]
			return taken
		})
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains(known, name) && !yield(name, Nearest(name, free)) {
				return
			}
		}
	}
}

// cost returns the distance of two names; ok reports whether they are close.
func cost(a, b string) (cost int, ok bool) {
	if a == "" || b == "" {
		return 0, false
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	if long > 4*short || long > 200 {
		return 0, false
	}
	near, from, to := max(1, long/3), []rune(a), []rune(b)
	switch apart := max(len(from)-len(to), len(to)-len(from)); {
	case short >= 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)):
		return min(apart, prefixCost), true
	case apart > near: // the distance would be larger, too
		return 0, false
	}
	d := distance(from, to)
	return d, d <= near
}

func fold(s string) string { return separators.Replace(strings.ToLower(s)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// sharedPrefix returns the length of the common prefix, in bytes.
func sharedPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance returns the number of letters to insert, delete, replace or swap with a neighbour
// (optimal string alignment).
func distance(a, b []rune) int {
	var room [3 * 40]int // enough for most names
	cells, width := room[:], len(b)+1
	if 3*width > len(room) {
		cells = make([]int, 3*width)
	}
	before, above, row := cells[:width], cells[width:2*width], cells[2*width:3*width]
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := above[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
