package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// maxFile limits a file to import, in bytes. It is in memory while it is read.
const maxFile = 32 << 20

// maxFaults limits the entries that the error for a file names.
const maxFaults = 5

// importFile has the entries of a file: an answer of export, or a list of entries.
type importFile struct {
	entries []json.RawMessage
	lines   []int // of each entry, from 1
	hasMore bool
	invalid []ImportProblem
}

// readFile reads a file of the workspace.
func (s *Service) readFile(path string) (importFile, error) {
	text, err := workspace.Path{Workspace: s.Folder, Parameter: file.Name, Value: path, Example: "notes.json"}.Read(maxFile)
	var from importFile
	if err == nil {
		from, err = parseFile(text)
	}
	if refused := new(toolfold.Error); err == nil || errors.As(err, &refused) {
		return from, err
	}
	return from, toolfold.Errorf(workspace.PathNotUsable, "%s cannot be imported: %s; nothing was stored", shorten.Quoted(path),
		shorten.To(err.Error(), 200)).About(toolfold.ProblemRefused, file.Name).
		WithHint("name a JSON file: an export that tools.call wrote with saveTo, or a list of entries; split a larger one")
}

// parseFile parses a file. Like the arguments of a call, it must be UTF-8 and give each member once.
// Other members than the entries and hasMore are ignored.
func parseFile(text []byte) (f importFile, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	line, counted := 1, 0
	at := func(end int64) int { // the line of a position, which must not decrease
		line += bytes.Count(text[counted:end], []byte{'\n'})
		counted = int(end)
		return line
	}
	defer func() {
		if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
			err = fmt.Errorf("line %d: %w", at(max(syntax.ByteOffset, int64(counted))), err)
		}
	}()
	entries := func() error {
		if dec.PeekKind() != '[' {
			return errNoList
		}
		_, err := dec.ReadToken()
		for err == nil && dec.PeekKind() != ']' {
			var entry jsontext.Value
			if entry, err = dec.ReadValue(); err != nil {
				return err
			}
			if f.entries = append(f.entries, json.RawMessage(entry.Clone())); len(f.entries) > maxImport {
				return fmt.Errorf("it has more than %s entries", english.Grouped(maxImport))
			}
			f.lines = append(f.lines, at(dec.InputOffset()-int64(len(entry))))
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
		return err
	}
	found := false
	switch dec.PeekKind() {
	case '[':
		found = true
		err = entries()
	case '{':
		_, err = dec.ReadToken()
		for err == nil && dec.PeekKind() != '}' {
			var name jsontext.Token
			if name, err = dec.ReadToken(); err != nil {
				return f, err
			}
			switch name.String() {
			case dataName:
				found = true
				err = entries()
			case "hasMore":
				var value jsontext.Value
				value, err = dec.ReadValue()
				f.hasMore = string(value) == "true"
			default:
				err = dec.SkipValue()
			}
		}
		if err == nil {
			_, err = dec.ReadToken()
		}
	default:
		if err = dec.SkipValue(); err == nil {
			err = errNoList
		}
	}
	if err != nil {
		return f, err
	}
	if !found {
		return f, errNoList
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return f, jsonx.ErrMoreValues
	}
	return f, nil
}

var errNoList = errors.New("it is no list of entries, and has no list data")

// refusal returns the error for a file with invalid entries.
func (f importFile) refusal(path string) error {
	var named []string
	for _, p := range f.invalid[:min(len(f.invalid), maxFaults)] {
		named = append(named, fmt.Sprintf("line %d, entry %d: %s", f.lines[p.Index], p.Index, p.Message))
	}
	if more := len(f.invalid) - len(named); more > 0 {
		named = append(named, "and "+english.Grouped(more)+" more")
	}
	return toolfold.Errorf(toolfold.InvalidInput, "%s has %s of %s entries that cannot be imported; nothing was stored: %s",
		shorten.Quoted(path), english.Grouped(len(f.invalid)), english.Grouped(len(f.entries)), strings.Join(named, "; ")).
		About(toolfold.ProblemRefused, file.Name).WithHint("correct or remove these entries; they are counted from 0")
}
