package runner

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// readLines reads one report from each line that matches form. It is an error if no line of a
// non-empty output matches.
func readLines(output []byte, form *regexp.Regexp, report func(match []string) Report) ([]Report, error) {
	var list []Report
	for line := range strings.Lines(string(output)) {
		if m := form.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			list = append(list, report(m))
		}
	}
	if list == nil && len(bytes.TrimSpace(output)) > 0 {
		return nil, errors.New("no line reports anything")
	}
	return list, nil
}

// at converts a line and a column in decimal digits. A number that is too large becomes the largest
// int, and an empty one 0.
func at(line, column string) Place {
	var p Place
	p.Line, _ = strconv.Atoi(line)
	p.Column, _ = strconv.Atoi(column)
	return p
}
