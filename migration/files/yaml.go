package files

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/toolfold/toolfold/internal/text/regex"
)

// yaml handles a YAML file, or the front matter of a page. If it does not parse, a file's names are
// reported for the user, and front matter is read line by line.
func (p part) yaml(file bool) {
	nodes, err := p.yamlNodes()
	switch {
	case err == nil:
		for _, n := range nodes {
			data{part: p}.value(n)
		}
	case file:
		p.report("it is not YAML that can be read", true)
	default:
		p.looseLines()
	}
}

// yamlNodes parses the documents of a YAML file.
func (p part) yamlNodes() (list []node, err error) {
	y := yamlReader{part: p, starts: []int{0}}
	for i := range len(p.text) {
		if p.text[i] == '\n' {
			y.starts = append(y.starts, i+1)
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(p.text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		for _, root := range document.Content {
			list = append(list, y.node(root, 0))
		}
	}
}

// yamlReader converts the parser's nodes.
type yamlReader struct {
	part
	starts []int // offsets of line starts
}

// place returns the offset of a line and a column, which counts characters.
func (y yamlReader) place(line, column int) int {
	if line < 1 || line > len(y.starts) {
		return len(y.text)
	}
	at := y.starts[line-1]
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(y.text[at:])
		at += size
	}
	return min(at, len(y.text))
}

func (y yamlReader) node(n *yaml.Node, depth int) node {
	at := y.place(n.Line, n.Column)
	out := node{start: at, end: at, from: at, to: at}
	switch {
	case n.Kind == yaml.MappingNode && depth < 100:
		out.kind = objectNode
		for i := 0; i+1 < len(n.Content); i += 2 {
			out.members = append(out.members, member{y.node(n.Content[i], depth+1), y.node(n.Content[i+1], depth+1)})
		}
		out.block = n.Style&yaml.FlowStyle == 0
	case n.Kind == yaml.SequenceNode && depth < 100:
		out.kind = listNode
		for _, item := range n.Content {
			out.items = append(out.items, y.node(item, depth+1))
		}
	case n.Kind == yaml.ScalarNode:
		y.scalar(n, &out)
	}
	return out
}

// scalar sets the text and offsets of a scalar.
func (y yamlReader) scalar(n *yaml.Node, out *node) {
	rest := y.text[out.start:]
	out.text = n.Value
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		out.kind, out.style = textNode, raw
		out.from, out.to = y.block(out.start)
		out.end = out.to
		return
	case strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "'"):
		out.kind, out.style = textNode, escaped
		if rest[0] == '\'' {
			out.style = doubled
		}
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[0] == '"' && rest[i] == '\\', rest[0] == '\'' && strings.HasPrefix(rest[i:], "''"):
				i++
			case rest[i] == rest[0]:
				out.from, out.to, out.end = out.start+1, out.start+i, out.start+i+1
				return
			}
		}
		return
	case strings.HasPrefix(rest, n.Value): // plain, on one line
		out.end, out.to = out.start+len(n.Value), out.start+len(n.Value)
	default: // plain, on several lines
		out.end = out.start + len(rest[:plainEnd(rest, n.Value)])
		out.to = out.end
	}
	out.style = raw
	if n.Tag == "!!str" || n.Tag == "" {
		out.kind = textNode
	}
}

// plainEnd returns the end of a plain scalar on several lines.
func plainEnd(rest, value string) int {
	i := 0
	for _, word := range strings.Fields(value) {
		at := strings.Index(rest[i:], word)
		if at < 0 || strings.TrimSpace(rest[i:i+at]) != "" {
			return i
		}
		i += at + len(word)
	}
	return i
}

// block returns the lines of a block scalar whose indicator is at an offset.
func (y yamlReader) block(sign int) (from, to int) {
	next := strings.IndexByte(y.text[sign:], '\n')
	if next < 0 {
		return len(y.text), len(y.text)
	}
	from = sign + next + 1
	to = from
	indent := -1
	for line := range strings.Lines(y.text[from:]) {
		if strings.TrimSpace(line) != "" {
			deep := len(line) - len(strings.TrimLeft(line, " "))
			if indent < 0 {
				indent = deep
			}
			if deep < indent || deep == 0 {
				return from, to
			}
		}
		to += len(line)
	}
	return from, to
}

// looseLine matches a line of front matter that is not YAML: key: value, or - item.
var looseLine = regex.Lazy(`(?m)^(?:([A-Za-z][\w-]*):[ \t]*|[ \t]*-[ \t]+)(.*?)[ \t\r]*$`)

// looseLines reads front matter like hosts do, which accept more than YAML.
func (p part) looseLines() {
	key := ""
	for _, m := range looseLine().FindAllStringSubmatchIndex(p.text, -1) {
		if m[2] >= 0 {
			key = p.text[m[2]:m[3]]
		}
		n := node{kind: textNode, start: m[4], end: m[5], from: m[4], to: m[5], text: p.text[m[4]:m[5]], style: raw}
		data{part: p, keys: []string{key}}.value(n)
	}
}

// tomlTable is a table of a TOML file.
type tomlTable struct {
	keys    []node
	members []member
}

// toml handles a TOML file. It converts tables to objects, so that rules are found as in JSON.
func (p part) toml() {
	parser := unstable.Parser{}
	parser.Reset([]byte(p.text))
	tables := []tomlTable{{}}
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			tables = append(tables, tomlTable{keys: p.tomlKeys(e.Key())})
		case unstable.KeyValue:
			last := &tables[len(tables)-1]
			last.members = append(last.members, p.tomlMember(e))
		}
	}
	if parser.Error() != nil {
		p.report("it is not TOML that can be read", true)
		return
	}
	for _, t := range tables {
		data{part: p}.value(under(t.keys, node{kind: objectNode, block: true, members: t.members}))
	}
}

// under wraps a value in objects, one for each part of a dotted key.
func under(keys []node, value node) node {
	for _, key := range slices.Backward(keys) {
		value = node{kind: objectNode, block: true, members: []member{{key, value}}}
	}
	return value
}

func (p part) tomlKeys(it unstable.Iterator) (keys []node) {
	for it.Next() {
		keys = append(keys, p.tomlText(it.Node()))
	}
	return keys
}

func (p part) tomlMember(e *unstable.Node) member {
	keys := p.tomlKeys(e.Key())
	return member{keys[0], under(keys[1:], p.tomlValue(e.Value()))}
}

func (p part) tomlValue(e *unstable.Node) node {
	switch e.Kind {
	case unstable.String:
		return p.tomlText(e)
	case unstable.Array:
		n := node{kind: listNode}
		for it := e.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.items = append(n.items, p.tomlValue(it.Node()))
			}
		}
		return n
	case unstable.InlineTable:
		n := node{kind: objectNode, block: true}
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				n.members = append(n.members, p.tomlMember(it.Node()))
			}
		}
		return n
	}
	return node{start: int(e.Raw.Offset), end: int(e.Raw.Offset + e.Raw.Length)}
}

// tomlText reads a key or a string, with or without quotes.
func (p part) tomlText(e *unstable.Node) node {
	n := node{kind: textNode, start: int(e.Raw.Offset), end: int(e.Raw.Offset + e.Raw.Length), text: string(e.Data), style: raw}
	n.from, n.to = n.start, n.end
	written := p.text[n.start:n.end]
	for _, quote := range []string{`"""`, "'''", `"`, "'"} {
		if len(written) >= 2*len(quote) && strings.HasPrefix(written, quote) && strings.HasSuffix(written, quote) {
			n.from, n.to = n.start+len(quote), n.end-len(quote)
			if quote == `"` {
				n.style = escaped
			}
			break
		}
	}
	return n
}
