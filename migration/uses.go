package migration

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/parser"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/regex"
)

// Use is a place in a file that names a legacy tool.
type Use struct {
	Line   int
	Name   string // as it stands there, with what a host puts in front
	Now    string // what stands for it now
	Note   string // what else changes; may be empty
	ByHand bool   // Rewrite leaves it to the user, Note says why
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// document is a file on its way through the rewriter.
type document struct {
	*Rewriter
	text  string
	uses  []Use
	edits []edit
}

// Uses finds the places in a file that name a legacy tool, and returns the text
// with those rewritten that can be; the rest of it stays byte by byte. The path
// decides how it is read: Markdown, JSON, JSON lines, YAML or code. Other files
// have no uses.
func (r *Rewriter) Uses(path string, text []byte) (uses []Use, now []byte) {
	d := &document{Rewriter: r, text: string(text)}
	if read := reader(path); read != nil {
		read(d)
	}
	slices.SortStableFunc(d.uses, func(a, b Use) int { return cmp.Compare(a.Line, b.Line) })
	slices.SortStableFunc(d.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	last := 0
	for _, e := range d.edits {
		b.WriteString(d.text[last:e.start] + e.text)
		last = e.end
	}
	return d.uses, []byte(b.String() + d.text[last:])
}

// Reads reports whether files of this name are looked into.
func Reads(path string) bool { return reader(path) != nil }

// reader returns the way to read a file, by the ending of its name; nil where
// there is none.
func reader(path string) func(*document) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".mdc", ".markdown":
		return (*document).markdown
	case ".json", ".jsonc":
		return func(d *document) {
			if !d.json(0, len(d.text)) {
				d.quoted(0, len(d.text), true)
			}
		}
	case ".jsonl", ".ndjson", ".log":
		return (*document).jsonLines
	case ".yaml", ".yml":
		return func(d *document) { d.yaml(0, len(d.text)) }
	case ".go", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".py":
		return func(d *document) { d.quoted(0, len(d.text), false) }
	}
	return nil
}

// name is a legacy name found in a text.
type name struct {
	start, end int
	prefix     string // what a host puts in front, such as mcp__toolfold__
	old        toolfold.OldName
	action     *toolfold.Action
}

func (n name) tool() string { return entry.Select(n.action).Tool }

// word is a run of characters that a tool's name may have.
var word = regex.Lazy(`[A-Za-z0-9_][A-Za-z0-9_-]*`)

// hostPrefix is put by hosts in front of a tool's name.
var hostPrefix = regex.Lazy(`^(mcp_+[A-Za-z0-9-]+_+|toolfold[_-])$`)

// names finds the legacy names between two places.
func (d *document) names(start, end int) (list []name) {
	for _, at := range word().FindAllStringIndex(d.text[start:end], -1) {
		from, to := start+at[0], start+at[1]
		found := d.text[from:to]
		for i := range found {
			e := d.legacy[found[i:]]
			if e == nil || i > 0 && !hostPrefix().MatchString(found[:i]) {
				continue
			}
			list = append(list, name{from, to, found[:i], e.old, e.action})
			break
		}
	}
	return list
}

// note adds a use, and the edit that rewrites it unless it is left to the user.
func (d *document) note(n name, now, note string, byHand bool) {
	d.uses = append(d.uses, Use{
		Line: 1 + strings.Count(d.text[:n.start], "\n"), Name: d.text[n.start:n.end], Now: now, Note: note, ByHand: byHand,
	})
}

// renames says which parameters have another name now; empty when none has.
func (n name) renames() string {
	var list []string
	for _, rename := range n.old.Renames {
		list = append(list, rename.Was+" → "+rename.Field.Param().Name)
	}
	return strings.Join(list, ", ")
}

// called rewrites the name of a call whose arguments stand elsewhere: the full
// name of the action takes them as the legacy name did, unless a parameter is
// called otherwise.
func (d *document) called(n name) {
	if renames := n.renames(); renames != "" {
		d.note(n, n.action.FullName(), "rename its parameters too: "+renames, true)
		return
	}
	d.note(n, n.action.FullName(), "", false)
	d.edits = append(d.edits, edit{n.start, n.end, n.action.FullName()})
}

// listed leaves a name as hosts have it, which may be a rule, to the user.
func (d *document) listed(n name) {
	note := "change rules by hand"
	if len(n.action.Family.Actions) > 1 {
		note += ": hosts know " + n.tool() + " as one tool with all its actions; serve --fold=effect, --deny and --read-only narrow it"
	}
	d.note(n, n.prefix+n.tool(), note, true)
}

// denied leaves a rule that forbids a tool to the user.
func (d *document) denied(n name) {
	d.note(n, fmt.Sprintf("toolfold serve --deny %s", n.action.FullName()),
		"this rule no longer protects: hosts know "+n.tool()+" as one tool", true)
}

// quoted leaves what stands in quotes alone to the user: in code it may be a
// call, a rule, a key or a comparison, and in what looks like JSON nothing can be
// read.
func (d *document) quoted(start, end int, likeJSON bool) {
	for _, n := range d.names(start, end) {
		if n.start == start || n.end == end || !strings.ContainsRune("\"'`", rune(d.text[n.start-1])) || d.text[n.end] != d.text[n.start-1] {
			continue
		}
		switch selected := entry.Select(n.action); {
		case likeJSON:
			d.note(n, n.tool(), "it is not JSON that can be read: change it by hand", true)
		case n.prefix != "":
			d.listed(n)
		default:
			d.note(n, selected.Tool+" {\"action\": \""+selected.Selector+"\"}", "code is changed by hand", true)
		}
	}
}

// toolValue and listValue match what stands in front of the tool of a step, and
// of a value in a list or under any key.
var (
	toolValue = regex.Lazy(`(^|[\s{,-])["']?tool["']?:\s*["']?$`)
	listValue = regex.Lazy(`[:,\[-]\s*["']?$`)
)

// yaml handles values of YAML: the tools of steps, and lists of tools. Where it
// cannot be parsed all is left to the user.
func (d *document) yaml(start, end int) {
	_, err := parser.ParseBytes([]byte(d.text[start:end]), 0)
	for at := start; at < end; {
		stop := at + strings.IndexByte(d.text[at:end]+"\n", '\n')
		line := d.text[at:stop]
		for _, n := range d.names(at, stop) {
			before, after := line[:n.start-at], strings.TrimLeft(line[n.end-at:], `"' `)
			isComment := strings.HasPrefix(strings.TrimSpace(before), "#") || strings.Contains(before, " #")
			if isComment || after != "" && !strings.ContainsAny(after[:1], ",]}#\r") {
				continue
			}
			switch {
			case n.prefix != "" && listValue().MatchString(before):
				d.listed(n)
			case n.prefix == "" && toolValue().MatchString(before) && err != nil:
				d.note(n, n.action.FullName(), "it is not YAML that can be read: change it by hand", true)
			case n.prefix == "" && toolValue().MatchString(before):
				d.called(n)
			}
		}
		at = stop + 1
	}
}

// frontLists match the keys of front matter that list tools.
var frontLists = regex.Lazy(`(?i)^(disallowed-?tools|allowed-?tools|tools):(.*)$`)

// frontMatter matches what stands between lines of dashes at the start of a
// file, and fence the line that begins a code block.
var (
	frontMatter = regex.Lazy(`(?s)\A\x{feff}?---\r?\n(.*?)(\n---|\z)`)
	fence       = regex.Lazy("(?m)^[ \t]*(```+|~~~+)[ \t]*(\\w*)[^\n]*\n")
)

// markdown handles front matter, code blocks and prose.
func (d *document) markdown() {
	at := 0
	if front := frontMatter().FindStringSubmatchIndex(d.text); front != nil {
		d.frontMatter(front[2], front[3])
		at = front[3]
	}
	for at < len(d.text) {
		block := fence().FindStringSubmatchIndex(d.text[at:])
		if block == nil {
			d.prose(at, len(d.text))
			return
		}
		d.prose(at, at+block[0])
		mark, language := d.text[at+block[2]:at+block[3]], d.text[at+block[4]:at+block[5]]
		from, to, next := at+block[1], len(d.text), len(d.text)
		closing := regexp.MustCompile("(?m)^[ \t]*" + mark + mark[:1] + "*[ \t\r]*$")
		if end := closing.FindStringIndex(d.text[from:]); end != nil {
			to, next = from+end[0], from+end[1]
		}
		switch {
		case d.json(from, to):
		case language == "yaml" || language == "yml":
			d.yaml(from, to)
		case language == "" || language == "sh" || language == "bash" || language == "text":
			for _, n := range d.names(from, to) {
				d.note(n, n.action.FullName(), "code is changed by hand", true)
			}
		default:
			d.quoted(from, to, language == "json")
		}
		at = next
	}
}

// frontMatter handles the lists of tools in front matter, on one line or in
// several.
func (d *document) frontMatter(start, end int) {
	list, denies := false, false
	for at := start; at < end; {
		stop := at + strings.IndexByte(d.text[at:end]+"\n", '\n')
		line := d.text[at:stop]
		if key := frontLists().FindStringSubmatch(line); key != nil {
			list, denies = true, strings.HasPrefix(strings.ToLower(key[1]), "dis")
		} else if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "-") {
			list = false
		}
		if list {
			for _, n := range d.names(at, stop) {
				if denies {
					d.denied(n)
				} else {
					d.listed(n)
				}
			}
		}
		at = stop + 1
	}
}

// alone match what may stand before and after a name in prose that is neither
// part of a path, a call, an address or quoted code.
var (
	aloneBefore = regex.Lazy("(^|[\\s(*\"“])`?$")
	aloneAfter  = regex.Lazy("^`?([\\s,;:)*!?\"”]|\\.(\\s|$)|$)")
)

// prose handles text for models and people.
func (d *document) prose(start, end int) {
	for _, n := range d.names(start, end) {
		if strings.HasSuffix(d.text[start:n.start], "toolfold call ") {
			d.called(n)
			continue
		}
		if !aloneBefore().MatchString(d.text[max(start, n.start-4):n.start]) || !aloneAfter().MatchString(d.text[n.end:min(end, n.end+5)]) ||
			n.prefix != "" {
			d.note(n, n.prefix+n.tool(), "what it is part of is changed by hand", true)
			continue
		}
		from, to := n.start, n.end
		tool, action := n.tool(), entry.Select(n.action).Selector
		if from > start && to < end && d.text[from-1] == '`' && d.text[to] == '`' {
			from, to = from-1, to+1
			tool, action = "`"+tool+"`", "`"+action+"`"
		}
		now := tool + " (action " + action + ")"
		note := ""
		if renames := n.renames(); renames != "" {
			note = "its parameters are renamed: " + renames
		}
		d.note(n, now, note, false)
		d.edits = append(d.edits, edit{from, to, now})
	}
}
