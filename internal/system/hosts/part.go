package hosts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/yamledit"
)

// Part is the text of a server's entry that [Host.Take] removed from a file, so that [Host.Give]
// can put it back.
type Part struct {
	jsonedit.Member          // in TOML, Text is the lines of its tables, and After is empty; in YAML, Text is its lines
	List            []string `json:"list,omitempty"` // path of the list of servers that it was in
	Next            string   `json:"next,omitempty"` // in TOML, the header of the next table; empty if it was last
}

// Take removes the entry of a server from the text of the host's file, with its comments: the lines
// directly above it and the rest of its line. It returns an error if anything else would change.
func (h *Host) Take(text []byte, server string) (rest []byte, p Part, err error) {
	switch h = h.in(text, server); h.format {
	case jsonFile:
		p.List = h.list()
		rest, p.Member, err = jsonedit.Take(text, h.list(server)...)
		return rest, p, err
	case yamlFile:
		p.List = h.list()
		rest, lines, err := yamledit.Take(text, h.list(server)...)
		p.Key, p.After, p.Text = lines.Key, lines.After, lines.Text
		return rest, p, err
	}
	text, mark := splitMark(text)
	if p.Key = server; !slices.ContainsFunc(slices.Collect(strings.Lines(string(text))), h.tableHeader(server).MatchString) {
		return nil, p, fmt.Errorf("it is no table of its own: write it as [%s.%s] and import again", h.key, server)
	}
	bare, lead := h.withoutLead(string(text), server)
	rest, p.Text, p.Next, err = h.cutTable([]byte(bare), server)
	p.Lead = lead
	return slices.Concat(mark, rest), p, err
}

// withoutLead returns a text without the comment lines directly above the first table of a server, and those lines.
func (h *Host) withoutLead(text, server string) (bare, lead string) {
	var before strings.Builder
	for line := range strings.Lines(text) {
		if h.tableHeader(server).MatchString(line) {
			break
		}
		before.WriteString(line)
		if lead += line; !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lead = ""
		}
	}
	end := before.Len()
	return text[:end-len(lead)] + text[end:], lead
}

// tableHeader matches the line with the header of a table of a server's entry.
func (h *Host) tableHeader(server string) *regexp.Regexp {
	return regexp.MustCompile(`^\s*\[\s*` + h.key + `\s*\.\s*["']?` + regexp.QuoteMeta(server) + `["']?\s*[.\]]`)
}

// Give puts an entry that [Host.Take] returned back into the text of the host's file: at its old
// place, or at the end if its neighbour is gone. An empty text is a new file. If the file has an
// entry with this name, Give returns an error.
func (h *Host) Give(text []byte, p Part) ([]byte, error) {
	if p.List == nil {
		p.List = h.list()
	}
	switch h.format {
	case jsonFile:
		return jsonedit.Give(text, p.Member, p.List...)
	case yamlFile:
		return yamledit.Give(text, yamledit.Lines{Key: p.Key, After: p.After, Text: p.Text}, p.List...)
	}
	if has, err := h.Has(text, p.Key); has || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("it has %q already", p.Key))
	}
	text, mark := splitMark(text)
	end := newline(text)
	block := p.Lead + p.Text
	given := strings.TrimRight(string(text), "\r\n")
	if given != "" {
		given += end + end
	}
	given += strings.TrimRight(block, "\r\n") + ending(text)
	if before, behind, found := splitAtHeader(string(text), p.Next); found {
		given = before + block + behind
	}
	var want, got, entry map[string]any
	if err := errors.Join(toml.Unmarshal(text, &want), toml.Unmarshal([]byte(p.Text), &entry)); err != nil {
		return nil, errByHand
	}
	list := map[string]any{p.Key: h.server(entry, p.Key)}
	maps.Copy(list, object(want, h.key))
	if want == nil {
		want = map[string]any{}
	}
	if want[h.key] = list; toml.Unmarshal([]byte(given), &got) != nil || !reflect.DeepEqual(want, got) {
		return nil, errByHand
	}
	return slices.Concat(mark, []byte(given)), nil
}

// splitAtHeader splits a text before the comments directly above the line of a header. Found is
// false unless exactly one line is the header.
func splitAtHeader(text, header string) (before, behind string, found bool) {
	start, lead := 0, 0 // of the line and of the comments above it
	for line := range strings.Lines(text) {
		switch rest := strings.TrimSpace(line); {
		case rest == header && header != "":
			if found {
				return "", "", false
			}
			before, behind, found = text[:lead], text[lead:], true
		case strings.HasPrefix(rest, "#"):
			start += len(line)
			continue
		}
		start += len(line)
		lead = start
	}
	return before, behind, found
}

// Value returns the entry of a server as JSON with sorted members, or nil if there is no entry.
func (h *Host) Value(text []byte, server string) (json.RawMessage, error) {
	all, err := settings(text, h.format)
	if err != nil {
		return nil, err
	}
	value, has := inside(all, h.in(text, server).list()...)[server]
	if !has {
		return nil, nil
	}
	return ordered.MustJSON(value), nil
}

// ValueOf returns the value of a part, as [Host.Value] does.
func (h *Host) ValueOf(p Part) (json.RawMessage, error) {
	text, err := h.Give(nil, p)
	if err != nil {
		return nil, err
	}
	return h.Value(text, p.Key)
}

// Admits reports whether the text of the host's file allows a server: the list of allowed servers
// has it, or is missing or empty.
func (h *Host) Admits(text []byte, server string) (bool, error) {
	allowed, err := h.allowedTools(text)
	return len(allowed) == 0 || slices.Contains(allowed, server), err
}

// allowedTools lists the servers that the host allows. If it is empty, the host allows all.
func (h *Host) allowedTools(text []byte) ([]string, error) {
	if h.allow == nil || len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	list, err := jsonedit.Get(text, h.allow...)
	names, _ := ordered.Texts(list)
	return names, err
}

// admit adds the entry's name to the list of allowed servers if there is such a list.
func (h *Host) admit(text []byte) ([]byte, error) {
	if admits, err := h.Admits(text, Server); admits || err != nil {
		return text, err
	}
	return jsonedit.Append(text, ordered.MustJSON(Server), h.allow...)
}

// Dismiss removes the entry's name from the list of allowed servers.
func (h *Host) Dismiss(text []byte) ([]byte, error) {
	allowed, err := h.allowedTools(text)
	if i := slices.Index(allowed, Server); i >= 0 && err == nil {
		return jsonedit.Drop(text, i, h.allow...)
	}
	return text, err
}
