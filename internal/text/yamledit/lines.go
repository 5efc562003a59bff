package yamledit

import (
	"cmp"
	"fmt"
	"strings"
)

// Lines is a key of a block mapping with its value as written, so that [Give] can restore it after
// [Take].
type Lines struct {
	Key   string
	After string // previous key; empty if it was the first
	Text  string // its lines, unindented, with the comment lines directly above and the blank lines above those
}

// Take removes the key at a path with its lines and the comments above it. A missing key is an
// error.
func Take(text []byte, path ...string) (rest []byte, taken Lines, err error) {
	if now, err := Get(text, path...); now == nil || err != nil {
		return nil, taken, fmt.Errorf("taking %s out: %w", path[len(path)-1], cmp.Or(err, errLayout))
	}
	d, parent, err := open(text)
	if err != nil {
		return nil, taken, err
	}
	for _, key := range path[:len(path)-1] {
		k, _ := find(parent, key)
		parent = parent.Content[k+1]
	}
	taken.Key = path[len(path)-1]
	k, _ := find(parent, taken.Key)
	if k > 0 {
		taken.After = parent.Content[k-2].Value
	}
	indent := strings.Repeat(" ", parent.Content[k].Column-1)
	start, end := d.extent(parent, k)
	above := d.lead(start, indent)
	for _, line := range d.lines[above:end] {
		taken.Text += strings.TrimPrefix(line, indent)
	}
	bare, _, _ := open(text)
	bare.replace(above, start, "")
	rest, err = Remove([]byte(strings.Join(bare.lines, "")), path...)
	return rest, taken, err
}

// Give restores a key that [Take] returned in the mapping at a path: after its previous key, or at
// the end if that is gone. It is an error if the mapping has the key.
func Give(text []byte, taken Lines, path ...string) ([]byte, error) {
	whole := append(append([]string{}, path...), taken.Key)
	if now, err := Get(text, whole...); now != nil || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("it has %q already", taken.Key))
	}
	value, err := Get([]byte(taken.Text), taken.Key)
	if err != nil || value == nil {
		return nil, cmp.Or(err, errLayout)
	}
	with, err := Set(text, value, whole...)
	if err != nil {
		return nil, err
	}
	d, parent, err := open(with)
	if err != nil {
		return nil, err
	}
	for _, key := range path {
		k, _ := find(parent, key)
		parent = parent.Content[k+1]
	}
	k, _ := find(parent, taken.Key)
	start, end := d.extent(parent, k)
	indent := strings.Repeat(" ", parent.Content[k].Column-1)
	d.replace(start, end, "")
	at := start
	switch before, _ := find(parent, taken.After); {
	case before >= 0 && before != k:
		_, at = d.extent(parent, before)
	case taken.After == "" && len(parent.Content) > 2:
		at, _ = d.extent(parent, 0)
		at = d.lead(at, indent)
	}
	var lines strings.Builder
	for line := range strings.Lines(taken.Text) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" {
			line = indent + line
		}
		lines.WriteString(line + "\n")
	}
	d.replace(at, at, lines.String())
	return d.check(text, value, whole)
}

// lead returns the first of the lines above a key that belong to it: comments, and the blank lines
// above those.
func (d *document) lead(at int, indent string) int {
	for at > 0 && strings.HasPrefix(d.lines[at-1], indent+"#") {
		at--
	}
	for at > 0 && strings.TrimSpace(d.lines[at-1]) == "" {
		at--
	}
	return at
}
