package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolfold/toolfold/tools"
)

// FileError tells what is wrong with the settings file of one scope.
type FileError struct {
	Scope string
	Path  string // for people at this machine; no answer of a tool shows it
	Line  int    // of the fault; zero where it has none
	Err   error
}

// Error names scope, path and line.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s settings in %s: %s", e.Scope, e.Path, e.reason())
}

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

func (e *FileError) reason() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return e.Err.Error()
}

// fail makes a FileError of err. The path is in its place there, so it is
// taken out of errors of the file system.
func (f Files) fail(scope string, line int, err error) error {
	var known *FileError
	if errors.As(err, &known) {
		return err
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	dir, name := f.place(scope)
	return &FileError{Scope: scope, Path: filepath.Join(dir, name), Line: line, Err: err}
}

// place is the directory that a scope's file may not leave, and the file's
// name in there. The user's file may be a link to wherever they keep it.
func (f Files) place(scope string) (dir, name string) {
	if scope == Local {
		return f.Workspace, LocalFile
	}
	path := f.Global
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path), filepath.Base(path)
}

func (f Files) has(scope string) bool {
	return scope == Local && f.Workspace != "" || scope == Global && f.Global != ""
}

// read returns the settings in a scope's file, checked.
func (f Files) read(scope string) (values map[string]any, unknown []Unknown, err error) {
	_, values, err = f.parse(scope)
	if err != nil {
		return nil, nil, err
	}
	denied := f.deny(scope, values)
	unknown, invalid := f.check(scope, values)
	if len(invalid) > 0 {
		return nil, nil, f.fail(scope, 0, errors.New(describe(invalid)))
	}
	return values, append(denied, unknown...), nil
}

// deny takes what only the user may set out of a workspace's values: whoever
// wrote the files of a cloned repository must not choose what runs here.
func (f Files) deny(scope string, values map[string]any) []Unknown {
	var denied []Unknown
	for _, name := range UserOnly {
		if _, ok := values[name]; ok && scope == Local {
			delete(values, name)
			denied = append(denied, Unknown{Scope: scope, Path: name, Reason: "only the user's own file may set it"})
		}
	}
	return denied
}

// parse returns a scope's file as text and as values, both empty when there
// is no file.
func (f Files) parse(scope string) (text []byte, values map[string]any, err error) {
	if !f.has(scope) {
		return nil, map[string]any{}, nil
	}
	dir, name := f.place(scope)
	text, err = readIn(dir, name)
	if err != nil {
		return nil, nil, f.fail(scope, 0, err)
	}
	values, line, err := parseText(text)
	if err != nil {
		return nil, nil, f.fail(scope, line, err)
	}
	return text, values, nil
}

func readIn(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	text, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// parseText reads the text of a settings file, with numbers kept as written.
// An empty file has no settings, and null is a setting that is not set.
func parseText(text []byte) (values map[string]any, line int, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, 0, nil
	}
	var v any
	at, err := decode(text, &v)
	if err != nil {
		return nil, 1 + bytes.Count(text[:at], []byte("\n")), err
	}
	values, ok := withoutNulls(v).(map[string]any)
	if !ok {
		return nil, 1, errors.New("the file must hold a JSON object")
	}
	return values, 0, nil
}

// decode reads exactly one JSON value. At is where an error lies.
func decode(text []byte, v *any) (at int64, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return faultAt(text, err), fmt.Errorf("not valid JSON: %w", err)
	}
	end := dec.InputOffset()
	if _, err := dec.Token(); err != io.EOF {
		rest := bytes.TrimLeft(text[end:], " \t\r\n")
		return int64(len(text) - len(rest)), errors.New("not valid JSON: more than one value")
	}
	return 0, nil
}

func faultAt(text []byte, err error) int64 {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return max(0, syntax.Offset-1) // the offset counts the offending byte
	}
	return int64(len(text)) // the text ends too early
}

func withoutNulls(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, value := range object {
		if value == nil {
			delete(object, name)
			continue
		}
		object[name] = withoutNulls(value)
	}
	return object
}

// check sorts what is wrong with the values of a file into keys that no
// setting has and values that are invalid.
func (f Files) check(scope string, values map[string]any) (unknown []Unknown, invalid []tools.Problem) {
	for _, p := range tools.CheckFields(members(f.root()), values) {
		if p.Kind != tools.ProblemUnknown {
			invalid = append(invalid, p)
			continue
		}
		path := fromPointer(p.Path)
		suggest := p.Suggest
		if suggest != "" {
			suggest = dotted(append(path[:len(path)-1:len(path)-1], suggest))
		}
		unknown = append(unknown, Unknown{Scope: scope, Path: dotted(path), Suggest: suggest})
	}
	return unknown, invalid
}

func fromPointer(pointer string) []string {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}

func dotted(steps []string) string { return strings.Join(steps, ".") }

// describe says invalid values in words, with what would be allowed.
func describe(invalid []tools.Problem) string {
	list := make([]string, len(invalid))
	for i, p := range invalid {
		p.Path = "/" + dotted(fromPointer(p.Path))
		list[i] = p.Text()
		if len(p.Allowed) > 0 {
			list[i] += " (allowed: " + strings.Join(p.Allowed, ", ") + ")"
		}
	}
	return strings.Join(list, "; ")
}
