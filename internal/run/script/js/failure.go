package js

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold/internal/call/jsapi"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/suggest"
)

// The body of an async function allows await and return. It starts on the first line, so that lines are
// those of the source.
const (
	file   = "script"
	opener = "(async () => {"
	closer = "\n})"

	// A source that closes the wrapper above and opens another, such as "}); f(async () => {", does
	// not close this one: after the body, one continues by a comma or a bracket alone, the other by
	// neither.
	otherOpener = "async function $() {"
	otherCloser = "\n}"
)

// compile returns the function of a program, or the reason against it.
func (m *realm) compile() (function value, fault *Failure) {
	source := m.run.sources[m.file]
	if other, ok := m.Compile(otherOpener+source+otherCloser, m.file); ok { // its messages are clearer
		m.Free(other)
	} else {
		return m.Undefined, m.syntax(len(otherOpener))
	}
	compiled, ok := m.Compile(opener+source+closer, m.file)
	if !ok {
		return m.Undefined, m.syntax(len(opener))
	}
	function, _ = m.Run(compiled)
	return function, nil
}

// syntax returns the failure of a text that does not compile.
func (m *realm) syntax(prefix int) *Failure {
	f := m.failure(m.Exception(), prefix)
	f.Kind, f.Stack = Syntax, nil
	if f.Line > 0 {
		f.Message = clearer(f.Message, strings.Split(m.run.sources[m.file], "\n")[f.Line-1], f.Column)
	}
	return f
}

// failure describes what was thrown, and releases it. prefix is the length of the text before the source
// in its first line.
func (m *realm) failure(thrown value, prefix int) *Failure {
	var description struct{ Name, Message, Stack, Tool, Code string }
	if text, ok := m.Call(m.describe, thrown); ok {
		encoded, _, _ := m.Text(text, 1<<20)
		_ = json.Unmarshal([]byte(encoded), &description)
		m.Free(text)
	} else {
		m.Free(m.Exception())
		description.Message = "what it threw cannot be shown"
	}
	if m.run.over != nil {
		m.run.stop(m.run.over, description.Stack)
	}
	f := &Failure{Kind: Thrown, Name: description.Name, Message: shorten.To(description.Message, maxMessage)}
	if description.Name == "ToolError" && description.Tool != "" {
		f.Name, f.Tool = description.Code, description.Tool
	}
	if name, ok := undefinedName(f); ok {
		if near := suggest.Nearest(name, families(m.callable())); near != "" {
			f.Message += "; did you mean " + near + "?"
		}
	}
	m.place(f, description.Stack, prefix)
	return f
}

// undefinedName returns the name that a program uses but nothing defines.
func undefinedName(f *Failure) (name string, ok bool) {
	name, ok = strings.CutSuffix(f.Message, " is not defined")
	return strings.Trim(name, "'"), ok && f.Name == "ReferenceError"
}

// families returns the objects of a program's functions, and the functions without an object.
func families(names []string) (list []string) {
	for _, object := range jsapi.Spaces(names) {
		if object.Name != "" {
			list = append(list, object.Name)
			continue
		}
		for _, function := range object.Members {
			list = append(list, function.Key)
		}
	}
	return list
}

// maxFrames limits the frames of a failure.
const maxFrames = 3

// frame matches a line of a stack in a program, for example "    at f (script:3:5)".
var frame = regex.Lazy(`^\s*at (?:(.*) \()?(` + file + `|` + Stored + `\.[a-z][a-z0-9_-]*):(\d+):(\d+)\)?$`)

// place sets where a failure was in the program of a realm, from a stack of the engine. A stack that ends in a
// program of [Program.Stored], as that of a limit may, adds this place to the message.
func (m *realm) place(f *Failure, stack string, prefix int) {
	lines, elsewhere := strings.Split(m.run.sources[m.file], "\n"), false
	for text := range strings.Lines(stack) {
		parts := frame().FindStringSubmatch(strings.TrimRight(text, "\n"))
		if parts == nil || len(f.Stack) == maxFrames {
			continue
		}
		line, _ := strconv.Atoi(parts[3])
		column, _ := strconv.Atoi(parts[4])
		if parts[2] != m.file {
			if !elsewhere && f.Line == 0 {
				f.Message += fmt.Sprintf("; it was in %s, line %d", parts[2], line)
			}
			elsewhere = true
			continue
		}
		if line == 1 {
			column = max(1, column-prefix)
		}
		if line > len(lines) { // of the wrapper: what is missing at the end
			line = len(lines)
			column = utf8.RuneCountInString(lines[line-1]) + 1
		}
		if f.Line == 0 {
			f.Line, f.Column, f.Code = line, column, codeLine(lines[line-1], column)
		}
		name := parts[1]
		if name == "" || name == "<anonymous>" || name == "<eval>" {
			name = m.file
		}
		f.Stack = append(f.Stack, shorten.Quoted(name)+" ("+strconv.Itoa(line)+":"+strconv.Itoa(column)+")")
	}
}

// codeLine returns a line of a source, or of a long line the part around the column.
func codeLine(line string, column int) string {
	const most = 160
	runes := []rune(strings.TrimRight(line, "\r"))
	if len(runes) <= most {
		return strings.TrimSpace(string(runes))
	}
	from := min(max(0, column-most/2), len(runes)-most)
	return "…" + strings.TrimSpace(string(runes[from:from+most])) + "…"
}
