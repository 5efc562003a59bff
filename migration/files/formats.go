package files

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"

	"github.com/tidwall/jsonc"
	"go.yaml.in/yaml/v3"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
)

// Reads reports whether files with this name are searched.
func Reads(name string) bool { return reader(name) != nil }

// reader returns the reader for files with this name, or nil.
func reader(name string) func(part) {
	base := strings.ToLower(path.Base(name))
	switch {
	case base == ".env" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env"):
		return part.variables
	case strings.HasPrefix(base, "dockerfile") || strings.HasSuffix(base, "dockerfile") || strings.HasPrefix(base, "containerfile"):
		return part.dockerfile
	case base == ".bashrc" || base == ".zshrc" || base == ".profile" || base == "makefile" || base == "justfile":
		return part.shell
	}
	switch path.Ext(base) {
	case ".md", ".mdc", ".markdown":
		return part.markdown
	case ".mdx":
		return part.mdx
	case ".json", ".jsonc", ".json5":
		return part.json
	case ".jsonl", ".ndjson", ".log":
		return part.jsonLines
	case ".yaml", ".yml":
		return func(p part) { p.yaml(true) }
	case ".toml":
		return part.toml
	case ".ipynb":
		return part.notebook
	case ".sh", ".bash", ".zsh":
		return part.shell
	case ".txt", ".prompt", ".rst", ".adoc":
		return part.plain
	}
	if language := languageOf(name); language != "" {
		return func(p part) { p.code(language).uses() }
	}
	return nil
}

// languageOf returns the language of a source file, or "" for other files.
func languageOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".go":
		return golang
	case ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs":
		return javascript
	case ".py", ".pyi":
		return python
	}
	return ""
}

// syntax returns the syntax check for a format, or nil if there is none.
func syntax(name string) func(text string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonc", ".ipynb":
		return func(text string) bool {
			return jsontext.Value(jsonc.ToJSON([]byte(strings.TrimPrefix(text, "\ufeff")))).IsValid(jsontext.AllowDuplicateNames(true))
		}
	case ".jsonl", ".ndjson":
		return func(text string) bool {
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != "" && !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
					return false
				}
			}
			return true
		}
	case ".yaml", ".yml":
		return isYAML
	case ".toml":
		return func(text string) bool { var v any; return toml.Unmarshal([]byte(text), &v) == nil }
	case ".go":
		return func(text string) bool {
			_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
			return err == nil
		}
	case ".md", ".mdc", ".markdown", ".mdx":
		return func(text string) bool {
			front := frontMatter().FindStringSubmatch(text)
			return front == nil || isYAML(front[1])
		}
	}
	return nil
}

func isYAML(text string) bool {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var v yaml.Node
		if err := decoder.Decode(&v); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// json handles a file with one JSON value, or with one value per line.
func (p part) json() {
	if n, ok := p.object(); ok {
		data{part: p}.value(n)
		return
	}
	if strings.Count(p.text, "\n{") > 1 {
		p.jsonLines()
		return
	}
	p.report("it is not JSON that can be read", true)
}

// report reports the names in a text that cannot be parsed, for the user to check: names with a
// server prefix, and if bare is set, names in quotes.
func (p part) report(why string, bare bool) {
	for _, n := range p.names() {
		if n.prefix == "" && !(bare && quotedAlone(p.text, n)) {
			continue
		}
		line := p.text[strings.LastIndexByte(p.text[:n.start], '\n')+1 : n.start]
		g := effectOf(line)
		rule := p.rule(n, g.kind())
		u := Use{Kind: g.kind(), Now: n.call(), Rule: rule, ByHand: true, Note: why + ": change it by hand"}
		if g == forbids {
			u.Now = "toolfold serve --deny " + rule.Deny
		}
		p.addUse(n, u)
	}
}

// quotedAlone reports whether a name is exactly the content of quotes.
func quotedAlone(text string, n name) bool {
	return n.start > 0 && n.end < len(text) && strings.ContainsRune("\"'`", rune(text[n.start-1])) && text[n.end] == text[n.start-1]
}

// jsonLines handles lines that contain a JSON object, possibly after a timestamp.
func (p part) jsonLines() {
	for at := 0; at < len(p.text); {
		stop := len(p.text)
		if n := strings.IndexByte(p.text[at:], '\n'); n >= 0 {
			stop = at + n
		}
		if begin := strings.IndexByte(p.text[at:stop], '{'); begin >= 0 {
			line := p.sub(at+begin, stop)
			if n, ok := line.object(); ok {
				log{data{part: line}}.value(n)
			}
		}
		at = stop + 1
	}
}

// log is a value in a log. Only calls in it are rewritten; everything else is history.
type log struct{ data }

func (l log) value(n node) {
	switch n.kind {
	case objectNode:
		if l.isDefinition(n) {
			return
		}
		l.call(n)
		for _, m := range n.members {
			inner := l
			inner.keys, inner.near = append(inner.keys[:len(inner.keys):len(inner.keys)], m.key.text), &n
			inner.value(m.value)
		}
	case listNode:
		for _, item := range n.items {
			l.value(item)
		}
	}
}

// notebook handles the cells of a notebook by kind. Outputs stay unchanged.
func (p part) notebook() {
	n, ok := p.object()
	if !ok {
		p.report("it is not JSON that can be read", true)
		return
	}
	cells := n.get("cells")
	if cells == nil {
		return
	}
	for _, cell := range cells.items {
		kind, source := cell.get("cell_type"), cell.get("source")
		if kind == nil || source == nil {
			continue
		}
		lines := source.items
		if source.kind == textNode {
			lines = []node{*source}
		}
		p.cell(kind.text, lines)
	}
}

// cell handles a cell of a notebook, given its lines.
func (p part) cell(kind string, lines []node) {
	var text strings.Builder
	var at []int
	end := 0
	for _, line := range lines {
		if line.kind != textNode {
			return
		}
		s, places := unescape(p.text[line.from:line.to])
		text.WriteString(s)
		for _, i := range places[:len(places)-1] {
			at = append(at, line.from+i)
		}
		end = line.to
	}
	cell := p.inside(text.String(), append(at, end), quotedLike('"'))
	switch kind {
	case "markdown":
		cell.markdown()
	case "code":
		c := cell.code(python)
		c.magic()
		c.uses()
	}
}
