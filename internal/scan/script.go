package scan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/toolfold/toolfold/internal/regex"
)

// program is the code of a script that runs: without types and comments, with JSX as calls. Rules
// look at its tokens as at those of any source.
type program struct {
	*source
	written *source   // the script as it is written
	places  []segment // in the order of both offsets of the code
	remarks []Finding // what the parser says
}

// segment says that the code from an offset on was written at another one.
type segment struct{ code, written int }

// loaders say how to read the files of an ending.
var loaders = map[string]api.Loader{
	".js": api.LoaderJSX, ".jsx": api.LoaderJSX, ".mjs": api.LoaderJSX, ".cjs": api.LoaderJSX,
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
}

// isScript reports whether the source is JavaScript or TypeScript.
func (s *source) isScript() bool { return s.lang == javascript || s.lang == typescript }

// parse reads a script as compilers do, and reports whether it is one; else its fault
// says why it is not. The text of JSX is blanked in the script: the lexer takes
// apostrophes and slashes there for code.
//
// A script may make the parser take all the stack there is, which ends the process.
func (s *source) parse() bool {
	if declarations().MatchString(s.name) {
		s.fault, s.script = "", &program{source: newSource(s.name, ""), written: s}
		return true
	}
	result := api.Transform(s.text, api.TransformOptions{
		Loader: loaders[strings.ToLower(path.Ext(s.name))], JSX: api.JSXTransform, Target: api.ESNext, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, LogLevel: api.LogLevelSilent,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true,"experimentalDecorators":true}}`,
	})
	if len(result.Errors) > 0 {
		s.fault = cut(result.Errors[0].Text, 200)
		if at := result.Errors[0].Location; at != nil {
			s.fault = fmt.Sprintf("line %d: %s", at.Line, s.fault)
		}
		return false
	}
	c := &program{source: newSource(s.name, string(result.Code)), written: s}
	c.readMap(result.Map)
	c.takeRemarks(result.Warnings)
	if blanked := c.blankJSX(); blanked != s.text {
		*s = *newSource(s.name, blanked)
	}
	s.fault, s.script, c.source.script = "", c, c
	return true
}

// declarations are files that hold types only.
var declarations = regex.Lazy(`(?i)\.d\.[cm]?ts$`)

// remarks are the warnings of the parser that say what cannot be meant.
var remarks = map[string]rule{
	"equals-new-object":             {name: "impossible-comparison", advice: "Compare what the objects hold."},
	"impossible-typeof":             {name: "impossible-comparison", advice: "Compare with a type that typeof returns."},
	"suspicious-boolean-not":        {name: "negated-operand", advice: "Put the whole comparison in parentheses behind !."},
	"suspicious-logical-operator":   {name: "constant-condition", advice: "Put parentheses around what is meant."},
	"suspicious-nullish-coalescing": {name: "constant-condition", advice: "Put parentheses around what is meant."},
	"duplicate-case":                {name: "duplicate-case", advice: "Remove the case, or mend its value."},
	"duplicate-object-key":          {name: "duplicate-key", advice: "Remove the member that is overwritten."},
	"duplicate-class-member":        {name: "duplicate-member", advice: "Remove the member that is overwritten."},
	"assign-to-constant":            {name: "constant-assigned", advice: "Declare it with let, or assign to another."},
	"semicolon-after-return":        {name: "return-without-value", advice: "Put the value on the line of return."},
	"delete-super-property":         {name: "impossible-delete", advice: "Remove the statement."},
	"assign-to-import":              {name: "constant-assigned", advice: "Assign in the module that exports it."},
	"call-import-namespace":         {name: "impossible-call", advice: "Import the function by its name."},
	"equals-negative-zero":          {name: "impossible-comparison", advice: "Use Object.is."},
}

// assignsConstants reports whether the parser remarks of a script that it does.
func (s *source) assignsConstants() bool {
	return s.script != nil && slices.ContainsFunc(s.script.remarks, func(f Finding) bool { return f.Rule == "js/constant-assigned" })
}

// takeRemarks keeps the warnings that are findings.
func (c *program) takeRemarks(warnings []api.Message) {
	for _, w := range warnings {
		r := remarks[w.ID]
		if r.name == "" || w.Location == nil {
			continue
		}
		c.remarks = append(c.remarks, Finding{
			Rule: "js/" + r.name, Kind: "logic-error", Level: "high", Confidence: 0.95, File: c.name, Line: w.Location.Line,
			Column: w.Location.Column + 1, Message: cut(w.Text, 300), Advice: r.advice,
		})
	}
}

// origin returns the offset in the script of one in the code; -1 where the parser made it.
func (c *program) origin(at int) int {
	i, exact := slices.BinarySearchFunc(c.places, at, func(s segment, at int) int { return cmp.Compare(s.code, at) })
	if !exact {
		i--
	}
	if i < 0 {
		return -1
	}
	return c.places[i].written
}

// commented reports whether the script has a comment with a word between what two tokens
// of the code come from.
func (c *program) commented(from, to int, word string) bool {
	start, end := c.origin(c.at(from).start), c.origin(c.at(to).start)
	return slices.ContainsFunc(c.written.comments, func(t token) bool {
		return start <= t.start && t.start <= end && strings.Contains(strings.ToLower(t.text), word)
	})
}

// readMap reads a source map, whose numbers are in base 64 with the lowest bits first,
// relative to those before, and count UTF-16 units of lines.
func (c *program) readMap(sourceMap []byte) {
	var decoded struct{ Mappings string }
	if json.Unmarshal(sourceMap, &decoded) != nil {
		return
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	writtenLine, writtenColumn := 0, 0
	for line, mapped := range strings.Split(decoded.Mappings, ";") {
		column := 0
		for entry := range strings.SplitSeq(mapped, ",") {
			var fields [5]int
			field, shift := 0, 0
			for i := range len(entry) {
				digit := strings.IndexByte(digits, entry[i])
				if field == len(fields) || digit < 0 {
					break
				}
				fields[field] |= (digit & 31) << shift
				if shift += 5; digit&32 == 0 {
					if fields[field]&1 == 1 {
						fields[field] = -fields[field]
					}
					fields[field] /= 2
					field, shift = field+1, 0
				}
			}
			column += fields[0]
			if field < 4 || line >= len(c.lines) {
				continue
			}
			writtenLine, writtenColumn = writtenLine+fields[2], writtenColumn+fields[3]
			if writtenLine < 0 || writtenLine >= len(c.written.lines) {
				continue
			}
			c.places = append(c.places, segment{c.offset(line, column), c.written.offset(writtenLine, writtenColumn)})
		}
	}
	slices.SortStableFunc(c.places, func(a, b segment) int { return cmp.Compare(a.code, b.code) })
}

// offset returns the offset of a line, from 0, and a column in UTF-16 units.
func (s *source) offset(line, column int) int {
	start, end := s.lines[line], len(s.text)
	if line+1 < len(s.lines) {
		end = s.lines[line+1]
	}
	return start + offset16(s.text[start:end], column)
}

// blankJSX returns the script with the text of its JSX as spaces: strings of the code
// that are none in the script.
func (c *program) blankJSX() string {
	var blanked []byte
	for _, t := range c.tokens {
		if t.kind != text {
			continue
		}
		i, exact := slices.BinarySearchFunc(c.places, t.start, func(s segment, at int) int { return cmp.Compare(s.code, at) })
		if !exact {
			continue
		}
		at := c.places[i].written
		if at == 0 || at >= len(c.written.text) || !strings.ContainsRune(">}", rune(c.written.text[at-1])) ||
			strings.ContainsRune("\"'`<{", rune(c.written.text[at])) {
			continue // it has quotes, or names an element or a member
		}
		if blanked == nil {
			blanked = []byte(c.written.text)
		}
		for ; at < len(blanked) && blanked[at] != '<' && blanked[at] != '{'; at++ {
			if blanked[at] != '\n' {
				blanked[at] = ' '
			}
		}
	}
	if blanked == nil {
		return c.written.text
	}
	return string(blanked)
}
