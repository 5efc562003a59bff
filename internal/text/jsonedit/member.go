package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Member is a member of an object as written, so that [Give] can restore it after [Take].
type Member struct {
	Key   string `json:"key"`
	After string `json:"after,omitempty"` // key of the previous member; empty if it was the first
	Lead  string `json:"lead,omitempty"`  // comment lines directly above it, and blank lines above those
	Text  string `json:"text"`            // key, colon and value, with comments
	Trail string `json:"trail,omitempty"` // comment at the end of its line
}

// errNoMember is the error of [Take] for a missing member.
var errNoMember = errors.New("there is no such member")

// Take removes the member at a path of keys. It returns it with its comments: the lines directly
// above it with the blank lines above those, and the rest of its line.
func Take(text []byte, path ...string) (rest []byte, m Member, err error) {
	d, parent, err := read(text)
	for _, key := range path[:len(path)-1] {
		if err != nil {
			return nil, m, err
		}
		i, twice := parent.find(key)
		if i < 0 || twice != nil {
			return nil, m, errors.Join(twice, errNoMember)
		}
		parent, err = d.object(parent.members[i].value)
	}
	if err != nil {
		return nil, m, err
	}
	m.Key = path[len(path)-1]
	i, twice := parent.find(m.Key)
	if i < 0 || twice != nil {
		return nil, m, errors.Join(twice, errNoMember)
	}
	if i > 0 {
		m.After = parent.members[i-1].key
	}
	at := parent.members[i]
	m.Text = string(text[at.start:at.value.end])
	lead, trail := d.lead(at.start), d.trail(at.value.end)
	bare := document{text: document{text: text}.replace(trail, nil)}.replace(lead, nil)
	if rest, err = Remove(bare, path...); err == nil {
		m.Lead, m.Trail = string(text[lead.start:lead.end]), string(text[trail.start:trail.end])
		return rest, m, nil
	}
	rest, err = Remove(text, path...) // a comment starts or ends elsewhere, so it stays
	return rest, m, err
}

// lead returns the range of the comment lines directly above an offset's line, with the blank lines
// above those. It is empty if the line has other content before the offset.
func (d document) lead(place int) span {
	end := bytes.LastIndexByte(d.text[:place], '\n') + 1
	if end == 0 || len(bytes.TrimSpace(d.plain[end:place])) > 0 {
		return span{place, place}
	}
	start, blank := end, false
	for start > 0 {
		above := bytes.LastIndexByte(d.text[:start-1], '\n') + 1
		isBlank := len(bytes.TrimSpace(d.text[above:start])) == 0
		if len(bytes.TrimSpace(d.plain[above:start])) > 0 || blank && !isBlank {
			break
		}
		start, blank = above, isBlank
	}
	return span{start, end}
}

// trail returns the range of the comment at the end of a value's line.
func (d document) trail(valueEnd int) span {
	from := valueEnd
	if comma := d.comma(valueEnd); comma >= 0 {
		from = comma + 1
	}
	end := d.restOfLine(from)
	from += len(d.text[from:end]) - len(bytes.TrimLeft(d.text[from:end], " \t"))
	return span{from, end}
}

// restOfLine returns the end of the line at an offset, if only complete comments follow; else the
// offset.
func (d document) restOfLine(place int) int {
	end := len(d.text)
	if i := bytes.IndexByte(d.text[place:], '\n'); i >= 0 {
		end = place + i
	}
	line := d.text[place:end]
	opened := bytes.LastIndex(line, []byte("/*"))
	if len(bytes.TrimSpace(d.plain[place:end])) > 0 || opened >= 0 && !bytes.Contains(line[opened:], []byte("*/")) {
		return place
	}
	return place + len(bytes.TrimRight(line, " \t\r"))
}

// Give restores a member that [Take] returned in the object at a path of keys: after its previous
// member, or at the end if that is gone. It adds a missing object.
func Give(text []byte, m Member, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	value, err := Get([]byte("{"+m.Text+"}"), m.Key)
	if err != nil || value == nil {
		return nil, errors.Join(fmt.Errorf("the member %q was recorded wrongly", m.Key), err)
	}
	_, place, err := locate(text, path)
	if err == nil && place == (span{}) {
		text, err = Set(text, []byte("{}"), path...)
	}
	if err != nil {
		return nil, err
	}
	d, place, err := locate(text, path)
	if err != nil {
		return nil, err
	}
	o, err := d.object(place)
	if err != nil {
		return nil, at(path, err)
	}
	if i, twice := o.find(m.Key); i >= 0 || twice != nil {
		return nil, at(path, fmt.Errorf("it has %q already", m.Key))
	}
	i := len(o.members)
	if previous, _ := o.find(m.After); m.After == "" {
		i = 0
	} else if previous >= 0 {
		i = previous + 1
	}
	return d.check(d.give(o, i, m), append(slices.Clone(path), m.Key), value)
}

// give inserts a member at index i of an object.
func (d document) give(o object, i int, m Member) []byte {
	from, comma, after := o.open+1, "", ","
	if i > 0 {
		from = o.members[i-1].value.end
		if end := d.comma(from); end >= 0 {
			from = end + 1
		} else {
			comma, after = ",", ""
		}
	}
	if len(o.members) == 0 {
		after = ""
	}
	if !d.isSpread(o) && m.Lead+m.Trail == "" && !strings.Contains(m.Text, "\n") {
		before, behind := d.colon, ""
		if i == 0 {
			if before = ""; len(o.members) > 0 {
				behind = d.colon
			}
		}
		return document{text: d.text}.replace(span{from, from}, []byte(comma+before+m.Text+after+behind))
	}
	outer := d.indentAt(o.open)
	indent := outer + d.unit
	if len(o.members) > 0 && d.isSpread(o) {
		indent = d.indentAt(o.members[min(i, len(o.members)-1)].start)
	}
	line := d.restOfLine(from)
	added := d.newline + m.Lead + indent + m.Text + after
	if m.Trail != "" {
		added += " " + m.Trail
	}
	if rest := bytes.TrimLeft(d.text[line:], " \t\r"); len(rest) == 0 || rest[0] != '\n' {
		if added += d.newline; len(o.members) == i {
			added += outer
		}
	}
	return slices.Concat(d.text[:from], []byte(comma), d.text[from:line], []byte(added), d.text[line:])
}

// SyntaxError is a syntax error with its position. The reason quotes no more than a character of
// the text, because a client's file may contain secrets.
type SyntaxError struct {
	Line, Column int // from 1; columns count bytes
	Reason       string
}

// Error returns the position and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Check returns the first syntax error of a text, with or without comments, as a [SyntaxError], or
// nil. An empty text has no error.
func Check(text []byte) error {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return &SyntaxError{1, 1, "it is UTF-16: save it as UTF-8"}
	}
	plain := Plain(text)
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil
	}
	var all any
	err := json.Unmarshal(plain, &all)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	offset := int(syntax.Offset) - 1
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		offset = len(bytes.TrimRight(text, " \t\r\n"))
	}
	return faultAt(text, offset, "it is not JSON: "+syntax.Error())
}

// faultAt returns an error at a byte of a text.
func faultAt(text []byte, offset int, reason string) *SyntaxError {
	before := text[:max(0, min(offset, len(text)))]
	return &SyntaxError{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n'), reason}
}
