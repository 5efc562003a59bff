package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/toolfold/toolfold/internal/ordered"
	"github.com/toolfold/toolfold/tools"
)

// Limits of definition files.
const (
	maxFiles    = 500
	maxFileSize = 256 << 10 // bytes
)

// File is a definition that lies in the workspace, as YAML or JSON.
type File struct {
	Path  string         // in the workspace, with slashes
	Value map[string]any // numbers are json.Number
	lines map[string]int
}

// Broken is a file that cannot be used, and why.
type Broken struct {
	File   string `json:"file"`           // path in the workspace
	Line   int    `json:"line,omitempty"` // zero where the fault has none
	Reason string `json:"reason"`
}

// Stem is the name without folder and ending.
func (b Broken) Stem() string { return stem(b.File) }

// Text says where and why.
func (b Broken) Text() string {
	if b.Line == 0 {
		return b.File + ": " + b.Reason
	}
	return fmt.Sprintf("%s, line %d: %s", b.File, b.Line, b.Reason)
}

// BrokenFields declares the members of a broken file.
var BrokenFields = tools.Fields{
	tools.String{Name: "file", Doc: "Path in the workspace."},
	tools.Int{Name: "line", Doc: "Where."},
	tools.String{Name: "reason", Doc: "What is wrong."},
}

// Stem is the name without folder and ending.
func (f File) Stem() string { return stem(f.Path) }

func stem(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }

// Line is where the value at a JSON pointer stands, or what holds it.
func (f File) Line(pointer string) int {
	for {
		if line, ok := f.lines[pointer]; ok {
			return line
		}
		cut := strings.LastIndex(pointer, "/")
		if cut < 0 {
			return 0
		}
		pointer = pointer[:cut]
	}
}

// Fault reports the file as broken by what is wrong in it.
func (f File) Fault(pointer, format string, args ...any) Broken {
	return Broken{File: f.Path, Line: f.Line(pointer), Reason: fmt.Sprintf(format, args...)}
}

// Faults reports the file as broken by all faults, at the line of the first.
func (f File) Faults(faults Faults) Broken {
	return f.Fault(faults[0].Path, "%s", faults.Error())
}

// Check lists what is wrong with the members of the file, of which some must
// be there.
func (f File) Check(required, optional []tools.Param) Faults {
	var faults Faults
	for _, p := range required {
		if _, ok := f.Value[p.Name]; !ok {
			faults = append(faults, Fault{Problem: tools.Problem{Path: "/" + p.Name, Kind: tools.ProblemMissing}})
		}
	}
	for _, p := range tools.CheckFields(slices.Concat(required, optional), f.Value) {
		faults = append(faults, Fault{Problem: p})
	}
	return faults
}

// Decode reads the members of the file into a struct by their JSON names.
func (f File) Decode(v any) error {
	raw, err := ordered.JSON(f.Value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", f.Path, err)
	}
	return json.Unmarshal(raw, v)
}

// ReadFiles reads the YAML and JSON files of a folder of the workspace, in
// the order of their names. A folder that is not there has none. Files that
// cannot be read do not hide the others. Nothing outside of the workspace is
// read, whatever links there are.
func ReadFiles(workspace, folder string) ([]File, []Broken, error) {
	if workspace == "" {
		return nil, nil, nil
	}
	root, err := os.OpenRoot(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	names, err := definitions(root, folder)
	if err != nil {
		return nil, nil, fmt.Errorf("listing %s: %w", folder, err)
	}
	var files []File
	var broken []Broken
	if more := len(names) - maxFiles; more > 0 {
		broken = append(broken, Broken{File: path.Join(folder, names[maxFiles]), Reason: fmt.Sprintf("it and %d more are not read: %d files are the most", more-1, maxFiles)})
		names = names[:maxFiles]
	}
	for _, name := range names {
		file, wrong := readFile(root, path.Join(folder, name))
		if wrong != nil {
			broken = append(broken, *wrong)
			continue
		}
		files = append(files, file)
	}
	return files, broken, nil
}

func definitions(root *os.Root, folder string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func readFile(root *os.Root, name string) (File, *Broken) {
	text, err := readText(root, name)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return File{}, &Broken{File: name, Reason: "it cannot be read: " + err.Error()}
	}
	value, lines, wrong := parseYAML(text)
	if wrong != nil {
		return File{}, &Broken{File: name, Line: wrong.line, Reason: wrong.reason}
	}
	return File{Path: name, Value: value, lines: lines}, nil
}

func readText(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a plain file")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err == nil && len(text) > maxFileSize {
		err = fmt.Errorf("it has more than %d bytes", maxFileSize)
	}
	return text, err
}
