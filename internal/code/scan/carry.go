package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
)

// carry returns a function that adapts a finding of a file to the file's change, by moving its
// lines and edits. The function returns false for findings whose lines changed.
func (m fixedFile) carry() func(Finding) (Finding, bool) {
	sum := sha256.Sum256([]byte(m.after))
	hash := hex.EncodeToString(sum[:])
	moved, from, to := movedLines(m.before, m.after), lineStarts(m.before), lineStarts(m.after)
	return func(f Finding) (Finding, bool) {
		if f.File != m.name || f.Hash != m.hash || f.Line >= len(moved) || moved[f.Line] == 0 {
			return f, false
		}
		edits := make([]Edit, len(f.Edits))
		for i, e := range f.Edits {
			first, last := lineAt(from, e.Start), lineAt(from, max(e.Start, e.End-1))
			for line := first; line <= last; line++ {
				if moved[line] == 0 || moved[line]-line != moved[first]-first {
					return f, false
				}
			}
			by := to[moved[first]-1] - from[first-1]
			edits[i] = Edit{e.Start + by, e.End + by, e.Text}
		}
		again := []int(nil)
		for _, line := range f.Again {
			if line < len(moved) && moved[line] > 0 {
				again = append(again, moved[line])
			}
		}
		f.Hash, f.Line, f.Edits, f.Again = hash, moved[f.Line], edits, again
		return f, true
	}
}

// movedLines returns for each line of before, from 1, its number in after, or 0 if the line
// changed.
func movedLines(before, after string) []int {
	moved := make([]int, len(lineStarts(before))+1)
	from, to := 1, 1
	keep := func(until int) {
		for ; from < until; from, to = from+1, to+1 {
			moved[from] = to
		}
	}
	inHunk := false
	for line := range strings.Lines(unified("", before, after)) {
		at := 0
		if n, _ := fmt.Sscanf(line, "@@ -%d", &at); n == 1 {
			keep(at)
			inHunk = true
			continue
		}
		switch {
		case !inHunk:
		case line[0] == '-':
			from++
		case line[0] == '+':
			to++
		case line[0] == ' ':
			keep(from + 1)
		}
	}
	keep(len(moved))
	return moved
}

// lineStarts returns the offsets of the beginnings of lines.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// lineAt returns the line of an offset, from 1.
func lineAt(starts []int, at int) int {
	return sort.Search(len(starts), func(i int) bool { return starts[i] > at })
}
