package git

import (
	"fmt"
	"strconv"
	"strings"
)

// changedFiles reads the raw list and the counts of lines of a comparison, each ended by a
// zero byte. A file with changes is [Change.Whole] until its lines are known.
func changedFiles(listed string) map[string]*Change {
	byPath := map[string]*Change{}
	fields := strings.Split(listed, "\x00")
	for i := 0; i+1 < len(fields); i++ {
		if strings.HasPrefix(fields[i], ":") { // modes, objects and the status; the name follows
			name, status := fields[i+1], fields[i][len(fields[i])-1]
			byPath[name] = &Change{Path: name, Gone: status == 'D', New: status == 'A'}
			i++
			continue
		}
		added, rest, _ := strings.Cut(fields[i], "\t")
		removed, name, _ := strings.Cut(rest, "\t")
		if c := byPath[name]; c != nil { // without lines only its mode changed
			c.Whole = !c.Gone && !c.New && (added != "0" || removed != "0")
		}
	}
	return byPath
}

// changedLines returns the lines that a patch without context changes in each file
// that is there after it. Where lines were only taken out, the lines on both sides
// count as changed.
func changedLines(patch string) map[string][]Lines {
	changed := map[string][]Lines{}
	name, body := "", 0 // the file, and the lines of the hunk that are still to come
	for line := range strings.Lines(patch) {
		switch {
		case body > 0 && line[0] != '\\': // else it says that the file ends without a newline
			body--
		case strings.HasPrefix(line, "+++ "):
			name = patchedName(strings.TrimSuffix(line[4:], "\n"))
		case strings.HasPrefix(line, "@@ ") && name != "":
			removed, at, added := hunk(line)
			body = removed + added
			if added > 0 {
				changed[name] = append(changed[name], Lines{at, at + added - 1})
			} else {
				changed[name] = append(changed[name], Lines{max(at, 1), at + 1})
			}
		}
	}
	return changed
}

// patchedName returns the name in the line of a patch that begins with +++; empty for a
// file that is deleted. Git ends a name with a tab where it has spaces, and quotes one
// that has stranger characters.
func patchedName(text string) string {
	if strings.HasPrefix(text, `"`) {
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
	}
	name, ok := strings.CutPrefix(strings.TrimSuffix(text, "\t"), "b/")
	if !ok {
		return ""
	}
	return name
}

// hunk reads the head of a hunk, such as "@@ -4,2 +4 @@".
func hunk(head string) (removed, at, added int) {
	fields := strings.Fields(head)
	if len(fields) < 3 {
		return 0, 0, 0
	}
	count := func(field string) (at, n int) {
		if _, err := fmt.Sscanf(field[1:], "%d,%d", &at, &n); err != nil {
			at, _ = strconv.Atoi(field[1:])
			n = 1
		}
		return at, n
	}
	_, removed = count(fields[1])
	at, added = count(fields[2])
	return removed, at, added
}
