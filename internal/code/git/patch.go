package git

import (
	"fmt"
	"strconv"
	"strings"
)

// changedFiles parses the output of git diff --raw --numstat -z. A file with changes is
// [Change.FullReport] until its lines are known.
func changedFiles(output string) map[string]*Change {
	byPath := map[string]*Change{}
	fields := strings.Split(output, "\x00")
	for i := 0; i+1 < len(fields); i++ {
		if strings.HasPrefix(fields[i], ":") { // modes, objects and status; the name follows
			name, status := fields[i+1], fields[i][len(fields[i])-1]
			byPath[name] = &Change{Path: name, Gone: status == 'D', New: status == 'A'}
			i++
			continue
		}
		added, rest, _ := strings.Cut(fields[i], "\t")
		removed, name, _ := strings.Cut(rest, "\t")
		if c := byPath[name]; c != nil { // if no lines changed, only its mode did
			c.Whole = !c.Gone && !c.New && (added != "0" || removed != "0")
		}
	}
	return byPath
}

// changedLines returns the lines that a patch without context changes, for each file that exists
// after it. If lines were only removed, the lines on both sides count as changed.
func changedLines(patch string) map[string][]Lines {
	changed := map[string][]Lines{}
	name, body := "", 0 // the file, and the remaining lines of the hunk
	for line := range strings.Lines(patch) {
		switch {
		case body > 0 && line[0] != '\\': // a backslash marks a file without a newline at its end
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

// patchedName returns the file name of a +++ line of a patch, or "" for a deleted file. Git appends
// a tab to names with spaces, and quotes names with special characters.
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

// hunk parses the header of a hunk, such as "@@ -4,2 +4 @@".
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
