package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/pelletier/go-toml/v2"
	"github.com/tidwall/jsonc"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/code/git"
	"github.com/toolfold/toolfold/internal/code/scan"
	"github.com/toolfold/toolfold/internal/code/secrets"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/internal/system/child"
	"github.com/toolfold/toolfold/internal/text/english"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/redact"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// unread are the endings of sources whose imports cannot be read.
var unread = []string{".java", ".kt", ".kts", ".rs", ".rb", ".php", ".cs", ".c", ".cc", ".cpp", ".h", ".hpp", ".swift", ".scala", ".dart",
	".vue", ".svelte", ".ex", ".exs", ".lua", ".pl", ".zig"}

// dependencies runs the gate dependency.
func (k *check) dependencies(v *verdict) {
	files := 0
	for _, c := range k.changes {
		name, _ := k.inside(c.Path)
		if slices.Contains(unread, strings.ToLower(path.Ext(name))) && !c.Gone {
			v.addWarning(c.Path, "its imports were not read: only files of %s are", scan.Languages)
			continue
		}
		if !scan.Knows(name) {
			continue
		}
		source := k.text(c)
		if source.why != "" {
			v.addWarning(c.Path, "%s", source.why)
		}
		if source.why != "" || source.gone {
			continue
		}
		files++
		imports, fault, _ := scan.Imports(name, source.text)
		if fault != "" {
			v.addWarning(c.Path, "not all its imports were read: %s", fault)
		}
		module, at := "", ""
		if path.Ext(name) == ".go" {
			module, at = k.module(path.Dir(name))
		}
		for _, i := range imports {
			if len(i.Names) == 0 {
				v.addWarning(c.Path, "line %d: its import is known only when it runs", i.Line)
				continue
			}
			names := i.Names
			if below, ok := strings.CutPrefix(names[0]+"/", module+"/"); ok && module != "" {
				names = append(names, "./"+path.Join(at, below))
			}
			switch why := k.imported(names); {
			case why == "":
			case !c.judges(i.Line):
				v.older++
			default:
				v.addFailure(c.Path, "line %d: %s", i.Line, why)
			}
		}
	}
	v.pass = "the imports of " + english.Count(files, "file", "files") + " are allowed"
	if files == 0 {
		v.pass = "no file whose imports are read (" + scan.Languages + ")"
	}
	v.fail = english.Count(len(v.fails), "import", "imports") + " not allowed"
	v.suggestion = "import something that is allowed, or move the code to a place that may import it"
}

// imported returns why an import with these names is forbidden, or "" if it is not.
func (k *check) imported(names []string) string {
	cited := shorten.To(names[0], 80)
	for _, name := range names {
		if name == ".." || strings.HasPrefix(name, "../") {
			return cited + " is outside of the workspace"
		}
		for _, pattern := range k.policy.ForbiddenImports {
			if doublestar.MatchUnvalidated(pattern, name) {
				return fmt.Sprintf("forbiddenImports has %s over %s", pattern, cited)
			}
		}
	}
	if len(k.policy.AllowedImports) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(k.policy.AllowedImports, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
	}) {
		return "allowedImports does not have " + cited
	}
	return ""
}

// testOutput bounds how many bytes of the tests' output are shown, from its end.
const testOutput = 600

// tests runs the gate contract_tests.
func (k *check) tests(ctx context.Context, v *verdict) error {
	v.pass, v.suggestion = "the tests pass", "fix the failures of the tests, or take the change back"
	argv := k.policy.Tests.Command
	if len(argv) == 0 && k.TestCommand != nil {
		var err error
		if argv, err = k.TestCommand(); err != nil {
			return fmt.Errorf("reading testCommand: %w", err)
		}
	}
	at := k.policy.File
	if at == "" {
		at = "."
	}
	switch {
	case len(argv) == 0:
		v.addWarning(at, "no tests ran: the policy names no command, and the user has set no testCommand")
		return nil
	case toolfold.OriginOf(ctx).OnlyReads:
		v.addWarning(at, "no tests ran: this server, or the caller, only reads (readOnly)")
		return nil
	case k.Trusted == nil || !k.Trusted():
		v.addWarning(at, "no tests ran: %s", workspace.Folder{Dir: k.Dir}.HowToTrust())
		return nil
	}
	limit := time.Duration(cmp.Or(k.policy.Tests.TimeoutMs, defaultTestMs)) * time.Millisecond
	running, stop := context.WithTimeout(ctx, limit)
	defer stop()
	out := &child.Tail{Keep: 8 * testOutput}
	err := child.Run(running, child.Command{Argv: argv, Dir: k.Dir, Stdout: out, Stderr: out})
	var start *child.StartError
	var exit *child.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case running.Err() != nil:
		v.addFailure(at, "the tests took longer than %v: %s", limit, out.Quote(testOutput, redact.Text))
	case errors.As(err, &start):
		v.addWarning(at, "no tests ran: %s cannot be started: %s", shorten.Quoted(argv[0]), start.Reason)
	case errors.As(err, &exit):
		v.addFailure(at, "%s: %s", exit.State, out.Quote(testOutput, redact.Text))
	default:
		return fmt.Errorf("running tests: %w", err)
	}
	v.fail = "the tests fail"
	return nil
}

// configs runs the gate config_validation.
func (k *check) configs(ctx context.Context, v *verdict) error {
	files, unfilled := 0, 0
	for _, c := range k.changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, _ := k.inside(c.Path)
		if syntaxOf(name) == nil {
			continue
		}
		config := k.text(c)
		if config.why != "" {
			v.addWarning(c.Path, "%s", config.why)
		}
		if config.why != "" || config.gone {
			continue
		}
		if k.isTemplate(name) {
			unfilled++
			continue
		}
		files++
		values, err := syntaxOf(name)([]byte(config.text))
		if err != nil {
			v.addFailure(c.Path, "%s", shorten.To(err.Error(), 200))
			continue
		}
		for _, s := range k.policy.Schemas {
			if matches(s.Paths, name) {
				if err := k.validate(ctx, v, c.Path, values, s.Schema); err != nil {
					return err
				}
			}
		}
	}
	v.pass = english.Count(files, "configuration file", "configuration files") + " valid"
	if files == 0 {
		v.pass = "no configuration file"
	}
	if unfilled > 0 {
		v.pass += ", and " + english.Count(unfilled, "template", "templates") + " of a Helm chart, which are read once they are filled in"
	}
	v.fail = english.Count(len(v.fails), "fault", "faults") + " in configuration files"
	v.suggestion = "mend the files"
	return nil
}

// isTemplate reports whether a file is a template of a Helm chart. Templates are not YAML before
// they are rendered.
func (k *check) isTemplate(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if path.Base(folder) != "templates" {
			continue
		}
		if _, err := k.root.Lstat(filepath.FromSlash(path.Join(path.Dir(folder), "Chart.yaml"))); err == nil {
			return true
		}
	}
	return false
}

// maxProblems bounds the problems shown per document.
const maxProblems = 3

// validate validates the documents of a file against a schema.
func (k *check) validate(ctx context.Context, v *verdict, file string, values []any, name string) error {
	text, why := k.read(name)
	if why != "" {
		v.addWarning(file, "its schema %s: %s", name, why)
		return nil
	}
	var raw json.RawMessage
	parse := syntaxOf(name)
	if parse == nil {
		parse = parseJSON
	}
	documents, err := parse([]byte(text))
	if err == nil && len(documents) == 1 {
		raw, err = json.Marshal(documents[0])
	}
	var schema workspace.Schema
	if err == nil {
		schema, err = workspace.BoundSchema(raw)
	}
	if err != nil {
		v.addWarning(file, "its schema %s cannot be used: %s", name, shorten.To(err.Error(), 200))
		return nil
	}
	for _, value := range values {
		object, ok := jsonValue(value).(map[string]any)
		switch {
		case !ok:
			v.addWarning(file, "it was not held to %s: it is no object with texts as names", name)
			continue
		case !schema.Admits(object):
			v.addWarning(file, "it was not held to %s: it is too large for that", name)
			continue
		}
		problems, err := workspace.Await(ctx, func() ([]toolfold.Problem, error) { return validate.Schema(raw, object, "") })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.addWarning(file, "its schema %s cannot be used: %s", name, shorten.To(err.Error(), 200))
			return nil
		}
		for i, p := range problems {
			if i == maxProblems {
				v.addFailure(file, "%d more problems", len(problems)-i)
				break
			}
			v.addFailure(file, "%s: %s", name, shorten.To(p.Text(), 200))
		}
	}
	return nil
}

// jsonValue converts a value to its JSON form, or nil if it has none.
func jsonValue(value any) (decoded any) {
	raw, err := json.Marshal(value)
	if err != nil || jsonx.Decode(raw, &decoded) != nil {
		return nil
	}
	return decoded
}

// commented matches .json files in which comments are usual.
var commented = []string{"**/tsconfig*.json", "**/jsconfig*.json", "**/.vscode/*.json", "**/.eslintrc.json", "**/devcontainer.json",
	"**/.devcontainer.json", "**/turbo.json", "**/biome.json", "**/deno.json", "**/api-extractor*.json", "**/.codesandbox/*.json",
	"**/tslint.json", "**/rush.json", "**/.oxlintrc.json"}

// syntaxOf returns the parser of a configuration file, or nil for other files. The parser returns
// the file's documents.
func syntaxOf(name string) func([]byte) ([]any, error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".json":
		if matches(commented, name) {
			return parseJSONC
		}
		return parseJSON
	case ".jsonc", ".code-workspace":
		return parseJSONC
	case ".yaml", ".yml":
		return parseYAML
	case ".toml":
		return parseTOML
	}
	return nil
}

func parseJSON(text []byte) ([]any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	var value any
	err := jsonx.Decode(text, &value)
	if err == nil {
		if name := twice(text); name != "" {
			return nil, fmt.Errorf("%q stands twice in an object", shorten.Quoted(name))
		}
		return []any{value}, nil
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, new(json.RawMessage)), &syntax) {
		at := min(max(0, syntax.Offset-1), int64(len(text))) // the offset is after the invalid byte
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), syntax)
	}
	return nil, err
}

// twice returns a name that two members of one object have, or "". It ignores names that begin with
// two slashes, which serve as comments. The text must be valid JSON.
func twice(text []byte) string {
	type object struct {
		names map[string]bool // nil in a list
		value bool            // the next token is a member's value
	}
	var open []object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for token, err := decoder.Token(); err == nil; token, err = decoder.Token() {
		in := len(open) - 1
		if name, isText := token.(string); isText && in >= 0 && open[in].names != nil && !open[in].value {
			if open[in].names[name] && !strings.HasPrefix(name, "//") {
				return name
			}
			open[in].names[name], open[in].value = true, true
			continue
		}
		if in >= 0 {
			open[in].value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:in]
		}
	}
	return ""
}

// parseJSONC parses JSON with comments and with commas before brackets.
func parseJSONC(text []byte) ([]any, error) { return parseJSON(jsonc.ToJSON(text)) }

func parseYAML(text []byte) (values []any, err error) {
	roots, err := yamlx.Read(text)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		var value any
		if err := root.Decode(&value); err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
		values = append(values, value)
	}
	return values, nil
}

func parseTOML(text []byte) ([]any, error) {
	var value map[string]any
	err := toml.Unmarshal(text, &value)
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return nil, fmt.Errorf("line %d: %s", line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return []any{value}, err
}

// searchTime bounds the search for secrets in all files of a check together.
const searchTime = 20 * time.Second

// sensitive runs the gate sensitive_change.
func (k *check) sensitive(ctx context.Context, v *verdict) error {
	searching, done := context.WithTimeout(ctx, searchTime)
	defer done()
	known, why := k.knownSecrets()
	if why != "" {
		v.addWarning(baselineFile, "%s", why)
	}
	for _, c := range k.changes {
		name, _ := k.inside(c.Path)
		if pattern, ok := matchesFolded(k.policy.Sensitive, name); ok {
			v.addFlag(c.Path, "sensitivePaths has "+pattern)
		}
		file := k.text(c)
		switch {
		case file.gone || strings.ContainsRune(file.text, 0) || file.why != "" && k.isBinary(name):
			continue // it is gone or binary
		case file.why != "":
			v.addWarning(c.Path, "%s", file.why)
			continue
		}
		list, err := secrets.Find(searching, name, file.text)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			v.addWarning(c.Path, "it was not searched for secrets, or only in part: the search of all files took %v", searchTime)
			continue
		}
		for _, f := range list {
			switch {
			case known[fmt.Sprintf("%s:%s:%d", name, f.Rule, f.Line)]:
				v.known++
			case !c.judges(f.Line):
				v.older++
			case f.Line == 0:
				v.addFailure(c.Path, "such files hold secrets (%s)", f.Rule)
			default:
				v.addFailure(c.Path, "line %d looks like a secret (%s)", f.Line, f.Rule)
			}
		}
	}
	if unsettled, err := k.baselineChanged(ctx, v.known > 0); err != nil {
		return err
	} else if unsettled {
		v.addFlag(baselineFile, "it lists the known secrets")
	}
	v.pass = "no secrets in " + english.Count(len(k.changes), "file", "files")
	v.fail = english.Count(len(v.fails), "secret", "secrets")
	v.suggestion = "take secrets out and revoke those that were shared; a line that only looks like one gets the comment gitleaks:allow, " +
		"or a line path:rule:line in " + baselineFile
	return nil
}

// baselineFile lists findings that may stay, one per line in the format of gitleaks:
// path:rule:line, optionally with a commit in front.
const baselineFile = ".gitleaksignore"

// knownSecrets returns the entries of the baseline, or why it was not read.
func (k *check) knownSecrets() (known map[string]bool, why string) {
	if _, err := k.root.Lstat(baselineFile); err != nil {
		return nil, ""
	}
	text, why := k.read(baselineFile)
	known = map[string]bool{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if commit, rest, ok := strings.Cut(line, ":"); ok && len(commit) == 40 && strings.Count(rest, ":") >= 2 {
			line = rest
		}
		known[strings.TrimSpace(line)] = true
	}
	return known, why
}

// baselineChanged reports whether the baseline is one of several changes. If the baseline is in
// use, it also reports whether it differs from the committed one, named or not.
func (k *check) baselineChanged(ctx context.Context, inUse bool) (bool, error) {
	if len(k.changes) > 1 && slices.ContainsFunc(k.changes, func(c Change) bool {
		return c.Path == baselineFile && (c.Since == nil || c.Since.Differs())
	}) {
		return true, nil
	}
	if !inUse {
		return false, nil
	}
	changes, err := git.Since(ctx, k.Dir, git.Uncommitted, baselineFile)
	var none *git.NoChanges
	if errors.As(err, &none) { // there is no committed one
		return false, nil
	}
	return slices.ContainsFunc(changes, func(c git.Change) bool { return c.Path == baselineFile && c.Differs() }), err
}

// isBinary reports whether an unread file is binary, by the same rule as git: it has a zero byte
// near its beginning.
func (k *check) isBinary(name string) bool {
	info, err := k.root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := k.root.Open(filepath.FromSlash(name))
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, 8000)
	n, _ := io.ReadFull(file, start) // an error only means a shorter file
	return bytes.IndexByte(start[:n], 0) >= 0
}
