package files

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold/internal/code/lex"
)

// node is a value of JSON, YAML, TOML or of a literal in code, with its offsets in the part.
type node struct {
	kind       nodeKind
	start, end int    // including quotes and brackets
	text       string // of a string, decoded
	from, to   int    // of a string, without the quotes
	members    []member
	items      []node
	loose      bool // the object has further, unknown members: ...others
	block      bool // the object has no brackets, or is from TOML
	style      style
}

// style is the notation of a string between its quotes.
type style int

const (
	escaped style = iota // with backslashes
	raw                  // verbatim
	doubled              // verbatim, except that quotes are doubled
)

type nodeKind int

const (
	otherNode nodeKind = iota // numbers, names, expressions
	textNode
	objectNode
	listNode
	nullNode
)

type member struct {
	key   node
	value node
}

func (n node) get(keys ...string) *node {
	for i := range n.members {
		for _, key := range keys {
			if n.members[i].key.text == key {
				return &n.members[i].value
			}
		}
	}
	return nil
}

// has reports whether an object has one of these members.
func (n node) has(keys ...string) bool { return n.get(keys...) != nil }

// code is a tokenized source with its bracket structure.
type code struct {
	part
	language string // go, js or py
	tokens   []lex.Token
	partner  []int // index of the matching bracket, or -1
	parent   []int // for each token, the index of the bracket around it, or -1

	values map[[2]int]node // values caches results by token range, because a failed object is read again as a list.
}

// The languages of source files.
const (
	golang     = "go"
	javascript = "js"
	python     = "py"
)

func (p part) code(language string) *code {
	c := &code{part: p, language: language, values: map[[2]int]node{}}
	var source *lex.Source
	switch language {
	case golang:
		source = lex.Go(p.text)
	case python:
		source = lex.Python(p.text)
	default:
		source = lex.JavaScript(p.text)
	}
	for _, t := range source.Tokens {
		if t.Kind != lex.Newline {
			c.tokens = append(c.tokens, t)
		}
	}
	c.partner, c.parent = make([]int, len(c.tokens)), make([]int, len(c.tokens))
	var open []int
	for i, t := range c.tokens {
		c.partner[i], c.parent[i] = -1, -1
		if len(open) > 0 {
			c.parent[i] = open[len(open)-1]
		}
		if t.Kind != lex.Operator {
			continue
		}
		if strings.Contains("([{", t.Text) {
			open = append(open, i)
		} else if which := strings.Index(")]}", t.Text); which >= 0 && len(open) > 0 {
			last := open[len(open)-1]
			if c.tokens[last].Text[0] == "([{"[which] {
				open = open[:len(open)-1]
				c.partner[i], c.partner[last] = last, i
				c.parent[i] = c.parent[last]
			}
		}
	}
	return c
}

// at returns the text of a token, or "" outside of the source.
func (c *code) at(i int) string {
	if i < 0 || i >= len(c.tokens) {
		return ""
	}
	return c.tokens[i].Text
}

func (c *code) isText(i int) bool {
	return i >= 0 && i < len(c.tokens) && c.tokens[i].Kind == lex.Text
}

func (c *code) isWord(i int) bool {
	return i >= 0 && i < len(c.tokens) && c.tokens[i].Kind == lex.Word
}

// end returns the index of the comma or bracket that ends the expression at token i.
func (c *code) end(i int) int {
	for ; i < len(c.tokens); i++ {
		switch {
		case c.tokens[i].Kind != lex.Operator:
		case strings.Contains("([{", c.tokens[i].Text) && c.partner[i] > i:
			i = c.partner[i]
		case strings.Contains(",)]}", c.tokens[i].Text):
			return i
		}
	}
	return i
}

// value reads the literal in the tokens [i, end).
func (c *code) value(i, end int) node {
	n, known := c.values[[2]int{i, end}]
	if !known {
		n = c.readValue(i, end)
		c.values[[2]int{i, end}] = n
	}
	return n
}

func (c *code) readValue(i, end int) node {
	if i >= end || end > len(c.tokens) {
		return node{}
	}
	n := node{start: c.tokens[i].Start, end: c.tokens[end-1].End()}
	last := c.partner[end-1]
	switch {
	case end == i+1 && c.isText(i):
		return c.literal(i)
	case end == i+1 && (c.at(i) == "null" || c.at(i) == "None" || c.at(i) == "nil"):
		n.kind = nullNode
	case last == i, last > i && c.language == golang && c.at(last) == "{" && !c.isCall(i, last):
		if c.at(last) == "{" && c.members(&n, last) {
			return n
		}
		if c.at(last) != "{" || c.language != javascript {
			c.list(&n, last)
		}
	}
	return n
}

// isCall reports whether the tokens before a bracket are more than a type.
func (c *code) isCall(i, bracket int) bool {
	for ; i < bracket; i++ {
		if c.at(i) == "func" || c.isText(i) {
			return true
		}
	}
	return false
}

// literal reads a string.
func (c *code) literal(i int) node {
	t := c.tokens[i]
	n := node{kind: textNode, start: t.Start, end: t.End(), from: t.Start, to: t.End()}
	mark := strings.IndexAny(t.Text, "\"'`")
	if mark < 0 {
		n.text, n.style = t.Text, raw
		return n
	}
	quote := t.Text[mark : mark+1]
	if triple := strings.Repeat(quote, 3); c.language == python && strings.HasPrefix(t.Text[mark:], triple) {
		quote = triple
	}
	n.from = t.Start + mark + len(quote)
	if n.to = t.End(); len(t.Text) >= mark+2*len(quote) && strings.HasSuffix(t.Text, quote) {
		n.to -= len(quote)
	}
	n.text = c.part.text[n.from:n.to]
	if quote == "`" || len(quote) == 3 || strings.ContainsAny(t.Text[:mark], "rR") {
		n.style = raw
	} else if strings.Contains(n.text, `\`) {
		n.text, _ = unescape(n.text)
	}
	return n
}

// members reads the members of an object. It reports whether the bracket contains an object.
func (c *code) members(n *node, bracket int) bool {
	end := c.partner[bracket]
	for i := bracket + 1; i < end; {
		if c.at(i) == "..." || c.at(i) == "**" {
			n.loose = true
			i = c.end(i) + 1
			continue
		}
		if !c.isText(i) && !c.isWord(i) && c.tokens[i].Kind != lex.Number {
			return false
		}
		key := node{text: c.at(i), start: c.tokens[i].Start, end: c.tokens[i].End()}
		key.from, key.to = key.start, key.end
		if c.isText(i) {
			key = c.literal(i)
		}
		switch after := c.at(i + 1); {
		case after == ":":
			stop := c.end(i + 2)
			if stop > end || stop == i+2 {
				return false
			}
			n.members = append(n.members, member{key, c.value(i+2, stop)})
			i = stop + 1
		case c.language == javascript && c.isWord(i) && (after == "," || i+1 == end): // shorthand: {key, value}
			n.members = append(n.members, member{key, node{start: key.start, end: key.end}})
			i += 2
		default:
			return false
		}
	}
	n.kind = objectNode
	return true
}

func (c *code) list(n *node, bracket int) {
	end := c.partner[bracket]
	n.kind, n.members = listNode, nil
	for i := bracket + 1; i < end; {
		stop := c.end(i)
		if stop > end {
			stop = end
		}
		n.items = append(n.items, c.value(i, stop))
		i = stop + 1
	}
}

// object reads the whole part as one value of JSON, JSON with comments or JSON5. It reports whether
// it is an object or a list.
func (p part) object() (n node, ok bool) {
	begin := strings.TrimLeft(p.text, " \t\r\n")
	if begin == "" || !strings.Contains("{[/", begin[:1]) {
		return node{}, false
	}
	c := p.code(javascript)
	if len(c.tokens) == 0 || c.partner[0] != len(c.tokens)-1 {
		return node{}, false
	}
	n = c.value(0, len(c.tokens))
	return n, (n.kind == objectNode || n.kind == listNode) && c.plain()
}

// plain reports whether the tokens are pure data, without expressions or statements.
func (c *code) plain() bool {
	for i, t := range c.tokens {
		switch {
		case t.Kind == lex.Operator && !strings.Contains("{}[]:,+-", t.Text):
			return false
		case t.Kind == lex.Text && (t.Text[0] == '`' || t.Text[0] == '/'):
			return false
		case t.Kind == lex.Word && c.at(i+1) != ":" && !strings.Contains(" true false null Infinity NaN ", " "+t.Text+" "):
			return false
		}
	}
	return true
}

// unescape decodes the content of a string literal of JSON, Go, JavaScript or Python. at maps each
// decoded byte, and the end, to its offset in raw.
func unescape(raw string) (s string, at []int) {
	var b strings.Builder
	add := func(text string, from int) {
		b.WriteString(text)
		for range len(text) {
			at = append(at, from)
		}
	}
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 == len(raw) {
			add(raw[i:i+1], i)
			i++
			continue
		}
		simple := strings.IndexByte(`nrtbf0"'/\`+"`", raw[i+1])
		switch {
		case simple >= 0:
			add(string("\n\r\t\b\f\x00\"'/\\`"[simple]), i)
			i += 2
		case raw[i+1] == '\n':
			i += 2
		case raw[i+1] == '\r' && strings.HasPrefix(raw[i+2:], "\n"):
			i += 3
		case raw[i+1] == 'u' && i+6 <= len(raw):
			code, err := strconv.ParseUint(raw[i+2:i+6], 16, 16)
			if err != nil {
				add(raw[i:i+2], i)
				i += 2
				continue
			}
			add(string(rune(code)), i)
			i += 6
		default:
			add(raw[i:i+2], i)
			i += 2
		}
	}
	return b.String(), append(at, len(raw))
}

// quotedLike returns a function that encodes text for a string literal with this quote. Anything
// else, such as a prefix of the literal, means double quotes.
func quotedLike(quote byte) func(string) string {
	return func(s string) string {
		quoted, _ := jsontext.AppendQuote(nil, s) // invalid UTF-8 is replaced
		inner := string(quoted[1 : len(quoted)-1])
		if quote != '\'' {
			return inner
		}
		return strings.ReplaceAll(strings.ReplaceAll(inner, `\"`, `"`), string(quote), `\`+string(quote))
	}
}

// content returns the decoded content of a string as a part.
func (p part) content(n node) part {
	between := p.text[n.from:n.to]
	switch n.style {
	case raw:
		return p.sub(n.from, n.to)
	case doubled:
		at := make([]int, 0, len(between)+1)
		var b strings.Builder
		for i := 0; i < len(between); i++ {
			b.WriteByte(between[i])
			at = append(at, n.from+i)
			if between[i] == '\'' {
				i++
			}
		}
		return p.inside(b.String(), append(at, n.to), func(s string) string { return strings.ReplaceAll(s, "'", "''") })
	}
	s, at := unescape(between)
	for i := range at {
		at[i] += n.from
	}
	return p.inside(s, at, quotedLike(p.text[n.start]))
}
