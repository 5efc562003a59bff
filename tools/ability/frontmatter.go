package ability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/toolfold/toolfold/tools"
)

// fence is the line above and below front matter.
const fence = "---"

// maxMatter is the most bytes of front matter.
const maxMatter = 16 << 10

// matter is what front matter may have: the parameters of register, but for
// the content, and what only a file knows of itself.
var matter = slices.Concat(tools.Fields{newID, version, author}, details).Params()

// fault is what is wrong with a file. Line 0 is the file as a whole.
type fault struct {
	line   int
	reason string
}

func faultf(line int, format string, args ...any) *fault {
	return &fault{line, fmt.Sprintf(format, args...)}
}

// parse reads a file: front matter, which may be missing, and content. The id
// is the name unless the front matter has another.
func parse(name, text string) (Ability, *fault) {
	if !utf8.ValidString(text) {
		return Ability{}, faultf(0, "it is not UTF-8")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, content, wrong := cut(text)
	if wrong != nil {
		return Ability{}, wrong
	}
	if n := utf8.RuneCountInString(content); n > maxContent {
		return Ability{}, faultf(0, "the content has %d characters, more than %d", n, maxContent)
	}
	a, wrong := parseMatter(name, front)
	a.Content = content
	return a, wrong
}

// cut takes a file apart. The front matter keeps its first fence, a document
// start to YAML, so that lines count as in the file.
func cut(text string) (front, content string, wrong *fault) {
	if !isFence(firstLine(text)) {
		return "", text, nil
	}
	end := 0
	for i, line := range slices.Collect(strings.Lines(text)) {
		if i > 0 && isFence(line) {
			return text[:end], strings.TrimLeft(text[end+len(line):], "\n"), nil
		}
		if end += len(line); end > maxMatter {
			return "", "", faultf(1, "the front matter has no closing %s in its first %d bytes", fence, maxMatter)
		}
	}
	return "", "", faultf(1, "the front matter has no closing %s", fence)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\n") == fence }

// parseMatter checks front matter against its declaration and fills in
// defaults.
func parseMatter(name, front string) (Ability, *fault) {
	values, lines, wrong := decodeMatter(front)
	if wrong != nil {
		return Ability{}, wrong
	}
	if problems := tools.CheckFields(matter, values); len(problems) > 0 {
		return Ability{}, describe(problems, lines)
	}
	for _, p := range matter {
		if _, given := values[p.Name]; !given && p.Default != nil {
			values[p.Name] = p.Default
		}
	}
	if _, given := values[abilityID.Name]; !given {
		values[abilityID.Name] = name
	}
	var a Ability
	if err := convert(values, &a); err != nil {
		return Ability{}, faultf(0, "%v", err)
	}
	if why := misnamed(a.ID); why != "" {
		return Ability{}, faultf(lines[abilityID.Name], "abilityId %q %s", tools.Shorten(a.ID), why)
	}
	if problems := checkReferences(a); len(problems) > 0 {
		return Ability{}, describe(problems, lines)
	}
	return a, nil
}

// maxProblems is how many problems of a file are told.
const maxProblems = 5

// describe says what is wrong, at the line of the first.
func describe(problems []tools.Problem, lines map[string]int) *fault {
	var texts []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		texts = append(texts, p.Text())
	}
	if more := len(problems) - maxProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(problems[0].Path, "/"), "/")
	return &fault{lines[key], strings.Join(texts, "; ")}
}

// decodeMatter reads YAML as JSON would have it, and the line of each key.
// The parser is not ours: that it never panics is more than we know.
func decodeMatter(front string) (values tools.Args, lines map[string]int, wrong *fault) {
	defer func() {
		if p := recover(); p != nil {
			wrong = faultf(1, "the front matter is not valid YAML")
		}
	}()
	file, err := parser.ParseBytes([]byte(front), 0)
	if err != nil {
		return nil, nil, yamlFault(err)
	}
	values, lines = tools.Args{}, map[string]int{}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if wrong := decodeDoc(doc.Body, values, lines); wrong != nil {
			return nil, nil, wrong
		}
	}
	return values, lines, nil
}

func decodeDoc(body ast.Node, values tools.Args, lines map[string]int) *fault {
	top := body.GetToken().Position.Line
	mapping, ok := body.(*ast.MappingNode)
	if !ok {
		if body.Type() == ast.NullType || body.Type() == ast.CommentType {
			return nil
		}
		return faultf(top, "the front matter must be keys with values")
	}
	for _, member := range mapping.Values {
		key := member.Key.GetToken()
		lines[key.Value] = key.Position.Line
		value, err := decodeValue(member.Value)
		if err != nil {
			return faultf(key.Position.Line, "%s: %v", tools.Shorten(key.Value), err)
		}
		values[key.Value] = value
	}
	return nil
}

func decodeValue(node ast.Node) (value any, err error) {
	var plain plainNodes
	ast.Walk(&plain, node)
	if plain.refused {
		return nil, errors.New("anchors and aliases are not taken")
	}
	if err := yaml.NodeToValue(node, &value); err != nil {
		return nil, errors.New(yamlFault(err).reason)
	}
	return value, convert(value, &value)
}

// plainNodes looks for aliases, with which a short text can stand for a huge
// value.
type plainNodes struct{ refused bool }

// Visit implements [ast.Visitor].
func (p *plainNodes) Visit(node ast.Node) ast.Visitor {
	switch node.Type() {
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType:
		p.refused = true
	}
	return p
}

// yamlFault leaves out the source that the parser quotes in its errors.
func yamlFault(err error) *fault {
	var known yaml.Error
	if !errors.As(err, &known) {
		return faultf(1, "%s", firstLine(err.Error()))
	}
	if at := known.GetToken(); at != nil && at.Position != nil {
		return &fault{at.Position.Line, known.GetMessage()}
	}
	return &fault{1, known.GetMessage()}
}

// convert makes one value of another that has the same JSON.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return errors.New("the value cannot be JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(to)
}
