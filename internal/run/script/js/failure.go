package js

import (
	"encoding/json"
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

// compile returns the function of the program, or the reason against it.
func (r *run) compile() (function value, fault *Failure) {
	source := r.program.Source
	if other, ok := r.Compile(otherOpener+source+otherCloser, file); ok { // its messages are clearer
		r.Free(other)
	} else {
		return r.Undefined, r.syntax(len(otherOpener))
	}
	compiled, ok := r.Compile(opener+source+closer, file)
	if !ok {
		return r.Undefined, r.syntax(len(opener))
	}
	function, _ = r.Run(compiled)
	return function, nil
}

// syntax returns the failure of a text that does not compile.
func (r *run) syntax(prefix int) *Failure {
	f := r.failure(r.Exception(), prefix)
	f.Kind, f.Stack = Syntax, nil
	if f.Line > 0 {
		f.Message = clearer(f.Message, strings.Split(r.program.Source, "\n")[f.Line-1], f.Column)
	}
	return f
}

// failure describes what was thrown, and releases it. prefix is the length of the text before the source
// in its first line.
func (r *run) failure(thrown value, prefix int) *Failure {
	var description struct{ Name, Message, Stack, Tool, Code string }
	if text, ok := r.Call(r.describe, thrown); ok {
		encoded, _, _ := r.Text(text, 1<<20)
		_ = json.Unmarshal([]byte(encoded), &description)
		r.Free(text)
	} else {
		r.Free(r.Exception())
		description.Message = "what it threw cannot be shown"
	}
	if r.over != nil {
		r.stop(r.over, description.Stack)
	}
	f := &Failure{Kind: Thrown, Name: description.Name, Message: shorten.To(description.Message, maxMessage)}
	if description.Name == "ToolError" && description.Tool != "" {
		f.Name, f.Tool = description.Code, description.Tool
	}
	if name, ok := undefinedName(f); ok {
		if near := suggest.Nearest(name, families(r.program.Names)); near != "" {
			f.Message += "; did you mean " + near + "?"
		}
	}
	f.place(r.program.Source, description.Stack, prefix)
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

// frame matches a line of a stack in the program, for example "    at f (script:3:5)".
var frame = regex.Lazy(`^\s*at (?:(.*) \()?` + file + `:(\d+):(\d+)\)?$`)

// place sets where a failure was, from a stack of the engine.
func (f *Failure) place(source, stack string, prefix int) {
	lines := strings.Split(source, "\n")
	for text := range strings.Lines(stack) {
		parts := frame().FindStringSubmatch(strings.TrimRight(text, "\n"))
		if parts == nil || len(f.Stack) == maxFrames {
			continue
		}
		line, _ := strconv.Atoi(parts[2])
		column, _ := strconv.Atoi(parts[3])
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
			name = file
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
