package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/toolfold/toolfold/internal/ordered"
)

// format is the format of a host's file.
type format int

const (
	jsonFile format = iota
	tomlFile
	yamlFile
	nothing // the host has no such file
)

// errByHand refuses a file that could lose something.
var errByHand = errors.New("it has comments, or a layout that would not survive: paste the entry by hand")

// Put returns the text of the host's file with the entry in it; all else stays
// as it is, in an entry that is there everything but the command and its arguments. An
// empty text is a new file. The same text comes back when the entry is there already.
// It refuses what it cannot read.
func (h *Host) Put(text []byte, command string, args []string) ([]byte, error) {
	if h.format == tomlFile {
		has, err := h.Has(text, Server)
		if err != nil {
			return nil, err
		}
		if has {
			return h.replaceInTable(text, command, args)
		}
		if text = bytes.TrimRight(text, "\n"); len(text) > 0 {
			text = append(bytes.Clone(text), "\n\n"...)
		}
		return append(text, h.table(command, args)...), nil
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte(h.Snippet(command, args)), nil
	}
	if err := h.readable(text); err != nil {
		return nil, err
	}
	entry := ordered.MustJSON(over([]byte(gjson.GetBytes(text, h.path(Server)).Raw), h.entry(command, args)))
	if now := gjson.GetBytes(text, h.path(Server)); now.Exists() && same([]byte(now.Raw), entry) {
		return text, nil
	}
	edited, err := sjson.SetRawBytes(text, h.path(Server), entry)
	if err != nil {
		return nil, fmt.Errorf("adding the entry: %w", err)
	}
	return likeBefore(text, edited), nil
}

// over returns an entry with the members of another put into it, in objects too.
func over(entry []byte, members ordered.Map) ordered.Map {
	var all ordered.Map
	if json.Unmarshal(entry, &all) != nil { // there is none
		return members
	}
	for _, m := range members {
		before, _ := all.Get(m.Key)
		inner, isObject := m.Value.(ordered.Map)
		if raw, ok := before.(json.RawMessage); ok && isObject {
			m.Value = over(raw, inner)
		}
		all.Set(m.Key, m.Value)
	}
	return all
}

// replaceInTable puts the command and its arguments into the entry's table, and refuses
// where that would change anything else.
func (h *Host) replaceInTable(text []byte, command string, args []string) ([]byte, error) {
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
		line := fmt.Sprintf("%s = %s\n", m.Key, strings.ReplaceAll(string(ordered.MustJSON(m.Value)), `","`, `", "`))
		written := regexp.MustCompile(`(?m)^[ \t]*` + m.Key + `[ \t]*=[ \t]*(\[[^\]]*\]|[^\n]*)[ \t\r]*\n?`)
		if place := written.FindStringIndex(table); place != nil {
			table = table[:place[0]] + line + table[place[1]:]
		} else {
			table = line + table
		}
	}
	for key, value := range h.server(ours, Server).(map[string]any) {
		entry[key] = value
	}
	edited := []byte(string(text[:at[1]]) + table + string(text[end:]))
	if toml.Unmarshal(edited, &after) != nil || !reflect.DeepEqual(before, after) {
		return nil, errByHand
	}
	return edited, nil
}

// Options lists the options of serve in the entry of the host's file, without the one
// that says for which host it serves; nil without an entry.
func (h *Host) Options(text []byte) []string {
	all, err := settings(text, h.format)
	if err != nil {
		return nil
	}
	var words []string
	for _, e := range h.entries(map[string]any{Server: object(object(all, h.key), Server)}) {
		words = e.Command
	}
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

// Same reports whether two texts of the host's file say the same; a list without
// servers says nothing.
func (h *Host) Same(a, b []byte) bool {
	x, err := settings(a, h.format)
	y, wrong := settings(b, h.format)
	for _, all := range []map[string]any{x, y} {
		if servers, ok := all[h.key].(map[string]any); ok && len(servers) == 0 {
			delete(all, h.key)
		}
	}
	return err == nil && wrong == nil && (len(x)+len(y) == 0 || reflect.DeepEqual(x, y))
}

// Remove returns the text of the host's file without the entry of a server; the
// same text when it has none.
func (h *Host) Remove(text []byte, server string) ([]byte, error) {
	has, err := h.Has(text, server)
	if err != nil || !has {
		return text, err
	}
	if h.format == tomlFile {
		return h.removeTable(text, server)
	}
	edited, err := sjson.DeleteBytes(text, h.path(server))
	if err != nil {
		return nil, fmt.Errorf("removing the entry: %w", err)
	}
	return likeBefore(text, edited), nil
}

// Has reports whether the text of the host's file has an entry of a server.
func (h *Host) Has(text []byte, server string) (bool, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return false, nil
	}
	if h.format == tomlFile {
		var all map[string]any
		if err := toml.Unmarshal(text, &all); err != nil {
			return false, fmt.Errorf("reading TOML: %w", err)
		}
		return h.server(all, server) != nil, nil
	}
	if err := h.readable(text); err != nil {
		return false, err
	}
	return gjson.GetBytes(text, h.path(server)).Exists(), nil
}

func (h *Host) path(server string) string { return h.key + "." + gjson.Escape(server) }

// readable refuses a JSON file whose list of servers is not where it should be.
func (h *Host) readable(text []byte) error {
	if !json.Valid(text) {
		return errByHand
	}
	for _, value := range []gjson.Result{gjson.ParseBytes(text), gjson.GetBytes(text, h.key)} {
		if value.Exists() && !value.IsObject() {
			return fmt.Errorf("%s is not an object", h.key)
		}
	}
	return nil
}

// server returns the entry of a server in a parsed TOML file; nil without one.
func (h *Host) server(all map[string]any, server string) any {
	list, _ := all[h.key].(map[string]any)
	return list[server]
}

// removeTable takes out the lines of the entry's tables, and refuses where that
// would change anything else.
func (h *Host) removeTable(text []byte, server string) ([]byte, error) {
	header := regexp.MustCompile(`^\s*\[`)
	ours := regexp.MustCompile(`^\s*\[\s*` + h.key + `\s*\.\s*["']?` + regexp.QuoteMeta(server) + `["']?\s*[.\]]`)
	var result strings.Builder
	inside := false
	for line := range strings.Lines(string(text)) {
		if header.MatchString(line) {
			inside = ours.MatchString(line)
		}
		if !inside {
			result.WriteString(line)
		}
	}
	var before, after map[string]any
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, fmt.Errorf("reading TOML: %w", err)
	}
	list := before[h.key].(map[string]any)
	if delete(list, server); len(list) == 0 {
		delete(before, h.key)
	}
	if toml.Unmarshal([]byte(result.String()), &after) != nil || !reflect.DeepEqual(before, after) && len(before)+len(after) > 0 {
		return nil, errByHand
	}
	return []byte(result.String()), nil
}

// same reports whether two JSON texts have the same value.
func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// likeBefore lays JSON out as the text was before the edit, where that was laid
// out evenly; else only the place of the edit differs.
func likeBefore(before, edited []byte) []byte {
	trimmed := bytes.TrimSpace(before)
	for _, indent := range []string{"  ", "    ", "\t"} {
		var even bytes.Buffer
		if json.Indent(&even, trimmed, "", indent) != nil || !bytes.Equal(even.Bytes(), trimmed) {
			continue
		}
		even.Reset()
		_ = json.Indent(&even, bytes.TrimSpace(edited), "", indent) // it was valid and still is
		return append(even.Bytes(), before[bytes.LastIndex(before, trimmed)+len(trimmed):]...)
	}
	return edited
}
