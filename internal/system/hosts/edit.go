package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/yamledit"
)

// format is the format of a host's file.
type format int

const (
	jsonFile format = iota
	tomlFile
	yamlFile // a mapping of servers by name
	yamlList // a list of servers with names; never edited
	nothing  // the host has no such file
)

// editor edits the values of a file at paths of keys. Values are JSON.
type editor struct {
	get    func(text []byte, path ...string) ([]byte, error)
	set    func(text, value []byte, path ...string) ([]byte, error)
	remove func(text []byte, path ...string) ([]byte, error)
}

// edit returns the editor of the host's JSON or YAML file. There is no editor for TOML.
func (h *Host) edit() editor {
	if h.format == yamlFile {
		return editor{yamledit.Get, yamledit.Set, yamledit.Remove}
	}
	return editor{jsonedit.Get, jsonedit.Set, jsonedit.Remove}
}

// list returns the path of the list of servers in the host's file, followed by inner.
func (h *Host) list(inner ...string) []string {
	if h.within != nil {
		return slices.Concat(h.within, inner)
	}
	return append([]string{h.key}, inner...)
}

// in returns the host with the layout of its file's text: the layout with an entry of the server,
// or otherwise the last layout that exists.
func (h *Host) in(text []byte, server string) *Host {
	if h.forms == nil {
		return h
	}
	all, _ := settings(text, h.format) // callers find the error when they read the file
	found := h
	for _, f := range h.forms {
		other := *h
		other.within, other.entry, other.forms = f.path, f.entry, nil
		list := inside(all, f.path...)
		isHere := inside(all, found.list(server)...) != nil
		if list != nil && !isServer(list) && (!isHere || list[server] != nil) {
			found = &other
		}
	}
	return found
}

// errByHand is the error for an edit that could lose something.
var errByHand = errors.New("its layout would not survive the edit: paste the entry by hand")

// WithVariables returns the host with an entry that passes variables to the server. A host that passes
// all variables is returned unchanged.
func (h *Host) WithVariables(variables []string) *Host {
	if !h.Keeps() || len(variables) == 0 {
		return h
	}
	other := *h
	other.entry = func(command string, args []string) ordered.Map {
		return append(h.entry(command, args), h.hand(variables))
	}
	return &other
}

// Keeps reports whether the host does not pass all variables of its environment to servers.
func (h *Host) Keeps() bool { return h.hand != nil }

// Put returns the text of the host's file with the entry. An existing entry gets the command and
// its arguments; everything else stays unchanged. If the entry is there already, the text is
// unchanged. An empty text is a new file. Put returns an error for a file that it cannot read and
// for an existing entry with a URL. If the host has a list of allowed servers, the entry's name is
// added to it.
func (h *Host) Put(text []byte, command string, args []string) ([]byte, error) {
	with, err := h.put(text, command, args)
	if err != nil {
		return nil, err
	}
	return h.admit(with)
}

func (h *Host) put(text []byte, command string, args []string) ([]byte, error) {
	h = h.in(text, Server)
	has, err := h.Has(text, Server)
	if err != nil {
		return nil, err
	}
	if has && h.Entry(text).URL != "" {
		return nil, fmt.Errorf("its entry %s is at a URL, which a command would contradict: take it out by hand", Server)
	}
	switch {
	case h.format == tomlFile && has:
		return h.replaceInTable(text, command, args)
	case h.format == tomlFile:
		table, end, last := strings.TrimSpace(h.table(command, args)), newline(text), ending(text)
		if text = bytes.TrimRight(text, "\r\n"); len(text) > 0 {
			text = append(bytes.Clone(text), end+end...)
		}
		return append(text, strings.ReplaceAll(table, "\n", end)+last...), nil
	case len(bytes.TrimSpace(text)) == 0:
		return []byte(h.Snippet(command, args)), nil
	case has:
		return h.putMembers(text, h.entry(command, args), h.list(Server)...)
	}
	return h.edit().set(text, ordered.MustJSON(h.entry(command, args)), h.list(Server)...)
}

// putMembers sets members of the object at a path. Members that are objects are set recursively.
func (h *Host) putMembers(text []byte, members ordered.Map, path ...string) (_ []byte, err error) {
	for _, m := range members {
		to := append(slices.Clone(path), m.Key)
		if inner, ok := m.Value.(ordered.Map); ok {
			text, err = h.putMembers(text, inner, to...)
		} else {
			text, err = h.edit().set(text, ordered.MustJSON(m.Value), to...)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Restore returns the text of the host's file with the entry from a former text, or without an
// entry if the former text has no entry.
func (h *Host) Restore(text, former []byte) ([]byte, error) {
	h = h.in(text, Server)
	had, err := h.Has(former, Server)
	switch {
	case err != nil:
		return nil, err
	case had && h.format == tomlFile:
		return nil, errByHand
	case had:
		entry, err := h.edit().get(former, h.list(Server)...)
		if err != nil {
			return nil, err
		}
		return h.edit().set(text, entry, h.list(Server)...)
	}
	without, err := h.Remove(text, Server)
	if names, _ := h.allowedTools(former); err == nil && !slices.Contains(names, Server) {
		without, err = h.Dismiss(without)
	}
	if err != nil || h.format == tomlFile {
		return without, err
	}
	if len(bytes.TrimSpace(former)) > 0 {
		if list, err := h.edit().get(former, h.list()...); list != nil || err != nil {
			return without, err
		}
	}
	if list, err := h.edit().get(without, h.list()...); string(list) != "{}" || err != nil {
		return without, err
	}
	return h.edit().remove(without, h.list()...)
}

// newline returns the line ending of a text.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// ending returns the line endings after the last line that is not empty, or a single one if all
// lines are empty.
func ending(text []byte) string {
	filled := len(bytes.TrimRight(text, "\r\n"))
	if filled == 0 {
		return newline(text)
	}
	return string(text[filled:])
}

// replaceInTable sets the command and its arguments in the entry's table. It returns an error if
// anything else would change.
func (h *Host) replaceInTable(text []byte, command string, args []string) ([]byte, error) {
	text, mark := splitMark(text)
	var before, after, ours map[string]any
	if toml.Unmarshal(text, &before) != nil || toml.Unmarshal([]byte(h.table(command, args)), &ours) != nil {
		return nil, errByHand
	}
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*` + h.key + `[ \t]*\.[ \t]*["']?` + Server + `["']?[ \t]*\][^\n]*\n`)
	at := header.FindIndex(text)
	entry, _ := h.server(before, Server).(map[string]any)
	if at == nil || entry == nil {
		return nil, errByHand
	}
	end := len(text)
	if next := regexp.MustCompile(`(?m)^[ \t]*\[`).FindIndex(text[at[1]:]); next != nil {
		end = at[1] + next[0]
	}
	table := string(text[at[1]:end])
	for _, m := range h.entry(command, args) {
		if reflect.DeepEqual(entry[m.Key], h.server(ours, Server).(map[string]any)[m.Key]) {
			continue
		}
		value := strings.ReplaceAll(string(ordered.MustJSON(m.Value)), `","`, `", "`)
		written := regexp.MustCompile(`(?m)^[ \t]*` + m.Key + `[ \t]*=[ \t]*(\[[^\]]*\]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')`)
		if place := written.FindStringSubmatchIndex(table); place != nil {
			table = table[:place[2]] + value + table[place[3]:]
		} else {
			table = m.Key + " = " + value + newline(text) + table
		}
	}
	for key, value := range h.server(ours, Server).(map[string]any) {
		entry[key] = value
	}
	edited := []byte(string(text[:at[1]]) + table + string(text[end:]))
	if toml.Unmarshal(edited, &after) != nil || !reflect.DeepEqual(before, after) {
		return nil, errByHand
	}
	return slices.Concat(mark, edited), nil
}

// Entry returns the entry in the text of the host's file, or an empty one if it has no entry.
func (h *Host) Entry(text []byte) Entry {
	h = h.in(text, Server)
	all, err := settings(text, h.format)
	entry := inside(all, h.list(Server)...)
	if err != nil || entry == nil {
		return Entry{}
	}
	return h.read(Server, entry)
}

// Options lists the options of serve in the entry of the host's file, except --for. It is nil if
// there is no entry.
func (h *Host) Options(text []byte) []string {
	words := h.Entry(text).Command
	at := slices.Index(words, "serve")
	if at < 0 {
		return nil
	}
	var options []string
	for i := at + 1; i < len(words); i++ {
		switch {
		case words[i] == "--for":
			i++
		case !strings.HasPrefix(words[i], "--for="):
			options = append(options, words[i])
		}
	}
	return options
}

// Remove returns the text of the host's file without the entry of a server. A text without this
// entry stays unchanged.
func (h *Host) Remove(text []byte, server string) ([]byte, error) {
	has, err := h.Has(text, server)
	if err != nil || !has {
		return text, err
	}
	if h.format == tomlFile {
		bare, mark := splitMark(text)
		rest, _, _, err := h.cutTable(bare, server)
		return slices.Concat(mark, rest), err
	}
	h = h.in(text, server)
	return h.edit().remove(text, h.list(server)...)
}

// Has reports whether the text of the host's file has an entry of a server.
func (h *Host) Has(text []byte, server string) (bool, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return false, nil
	}
	if h.format == tomlFile {
		all, err := settings(text, h.format)
		return h.server(all, server) != nil, err
	}
	h = h.in(text, server)
	entry, err := h.edit().get(text, h.list(server)...)
	return entry != nil, err
}

// server returns the entry of a server in a parsed TOML file, or nil if there is no such entry.
func (h *Host) server(all map[string]any, server string) any {
	list, _ := all[h.key].(map[string]any)
	return list[server]
}

// splitMark splits the byte order mark off a TOML text.
func splitMark(text []byte) (bare, mark []byte) {
	bare = bytes.TrimPrefix(text, []byte("\ufeff"))
	return bare, text[:len(text)-len(bare)]
}

// cutTable removes the lines of the entry's tables. Comments after the last setting stay, because
// they belong to the next table. It returns the remaining lines, the removed lines and the next
// header, or an error if anything else would change.
func (h *Host) cutTable(text []byte, server string) (rest []byte, cut, next string, err error) {
	ours := h.tableHeader(server)
	var result, removed strings.Builder
	inside, comments := false, "" // comments after the last setting of our tables
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		switch isHeader := strings.HasPrefix(trimmed, "["); {
		case isHeader && ours.MatchString(line):
			removed.WriteString(comments + line)
			inside, comments = true, ""
		case isHeader || !inside:
			if inside {
				next = cmp.Or(next, trimmed)
			}
			result.WriteString(comments + line)
			inside, comments = false, ""
		case strings.HasPrefix(trimmed, "#"), trimmed == "" && comments != "":
			comments += line
		default:
			removed.WriteString(comments + line)
			comments = ""
		}
	}
	if inside { // the empty line before the entry goes too
		stretches := []string{strings.TrimRight(result.String(), "\r\n"), strings.TrimRight(comments, "\r\n")}
		stretches = slices.DeleteFunc(stretches, func(stretch string) bool { return stretch == "" })
		if result.Reset(); len(stretches) > 0 {
			result.WriteString(strings.Join(stretches, newline(text)) + ending(text))
		}
	}
	var before, after map[string]any
	if before, err = settings(text, tomlFile); err != nil {
		return nil, "", "", err
	}
	delete(before[h.key].(map[string]any), server)
	if toml.Unmarshal([]byte(result.String()), &after) != nil {
		return nil, "", "", errByHand
	}
	for _, all := range []map[string]any{before, after} { // in some files the list has its own table
		if len(object(all, h.key)) == 0 {
			delete(all, h.key)
		}
	}
	if !reflect.DeepEqual(before, after) && len(before)+len(after) > 0 {
		return nil, "", "", errByHand
	}
	return []byte(result.String()), removed.String(), next, nil
}
