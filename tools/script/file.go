package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/notefile"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Folder is the folder of the workspace that holds scripts.
const Folder = ".toolfold/scripts"

// The lines around the head of a script, which is YAML in a comment.
const (
	headBegin = "/*---"
	headEnd   = "---*/"
)

// headFields declares the members of a head.
var headFields = toolfold.Fields{description, inputSchema}.Params()

func newFiles(dir string) *workspace.Files[Script] {
	return workspace.NewFiles(dir, Folder, []string{".js"}, script.MaxSource, func(file string, text []byte) (Script, *workspace.BrokenFile) {
		name := workspace.Stem(file)
		if why := misnamed(name); why != "" {
			return Script{}, &workspace.BrokenFile{File: file, Reason: "the name " + why}
		}
		if !utf8.Valid(text) {
			return Script{}, &workspace.BrokenFile{File: file, Reason: "it is not UTF-8"}
		}
		h, broken := readHead(file, string(text))
		if broken != nil {
			return Script{}, broken
		}
		s := Script{Name: name, Description: h.Description, InputSchema: h.InputSchema, Code: string(text), Source: workspace.InFile, File: file}
		s.Digest = s.digest()
		return s, nil
	})
}

// head is what a script says of itself.
type head struct {
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// readHead reads the head of a script. A script without one has an empty head.
func readHead(file, code string) (h head, broken *workspace.BrokenFile) {
	lines := strings.SplitAfter(strings.TrimPrefix(code, "\ufeff"), "\n")
	if strings.TrimSpace(lines[0]) != headBegin {
		return head{}, nil
	}
	end := 1
	for end < len(lines) && strings.TrimSpace(lines[end]) != headEnd {
		end++
	}
	if end == len(lines) {
		return head{}, &workspace.BrokenFile{File: file, Line: 1, Reason: "the head that begins with " + headBegin + " has no line " + headEnd}
	}
	for i, line := range lines[1:end] {
		if strings.Contains(line, "*/") {
			return head{}, &workspace.BrokenFile{File: file, Line: i + 2, Reason: "*/ ends the comment of the head: write it in another way"}
		}
	}
	text := "---\n" + strings.ReplaceAll(strings.Join(lines[1:end], ""), "\r\n", "\n") // lines keep their numbers
	doc, broken := workspace.ParseYAML(file, []byte(text))
	if broken != nil || doc.Value == nil {
		return head{}, broken
	}
	if problems := validate.Fields(headFields, doc.Value); len(problems) > 0 {
		return head{}, doc.AsBroken(problems[0].Path, "%s", problems[0].Text())
	}
	if err := doc.Decode(&h); err != nil {
		return head{}, doc.AsBroken("", "%v", err)
	}
	var err error
	if h.InputSchema, err = checkSchema(h.InputSchema); err != nil {
		return head{}, doc.AsBroken("/"+inputSchema.Name, "%s: %v", inputSchema.Name, err)
	}
	return h, nil
}

// checkSchema returns a schema with its members in order. It fails if the schema is not valid, cannot be
// checked in bounded time, or is not that of an object. Nil is no schema.
func checkSchema(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if _, err := workspace.BoundSchema(raw); err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := jsonx.Decode(raw, &schema); err != nil {
		return nil, err
	}
	if kind, has := schema["type"]; has && kind != "object" {
		return nil, errors.New("input is an object, so its type must be object")
	}
	if _, err := validate.Schema(raw, map[string]any{}, ""); err != nil {
		return nil, err
	}
	return ordered.JSON(schema)
}

// digest returns the version of a script.
func (s Script) digest() string {
	sum := sha256.Sum256(ordered.MustJSON([]any{s.Code, s.Description, string(s.InputSchema)}))
	return hex.EncodeToString(sum[:12])
}

var wellNamed = regex.Lazy(`^[a-z][a-z0-9_-]*$`)

// misnamed returns why a name is invalid, or "". Names are files on every system.
func misnamed(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("has more than %d characters", maxName)
	case !wellNamed().MatchString(name):
		return "must be lower-case letters, digits, dashes and underscores, with a letter first"
	case notefile.Reserved(name):
		return "is reserved by Windows"
	}
	return ""
}
