package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/toolfold/toolfold/internal/system/keyring"
	"github.com/toolfold/toolfold/internal/text/jsonedit"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/pattern"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/internal/text/yamledit"
	"github.com/toolfold/toolfold/internal/text/yamlx"
)

// Entry is a server in a host's settings.
type Entry struct {
	Name    string
	Problem string // why it cannot be started or reached; empty = no known problem

	Command []string // program and arguments; nil = reached at URL
	Dir     string   // working folder of the program; empty = any; relative to the workspace
	Env     []string // NAME=value, in addition to the environment

	URL    string
	Header map[string]string
	SSE    bool // the older transport

	Off bool // the settings switch it off

	Own bool // from the user's own toolfold settings, where ${keyring:NAME} is a secret in the system's keyring

	Timeout time.Duration  // of a call; 0 = the host's default
	Unread  map[string]any // members of the entry that this package does not read

	Only, Except []string // names of included and excluded tools; empty Only = all tools; * matches any characters

	// Approvals has the tools whose calls run without asking, by the member that names them. *
	// matches any characters.
	Approvals map[string][]string

	Asks []string // tools for which the host always asks, in spite of Approvals; * matches any characters

	Unrevealed *UnrevealedEntry // set if Fill found references to secrets
}

// UnrevealedEntry is an entry before [Entry.Expand], which does not read secrets.
type UnrevealedEntry struct {
	Entry     Entry
	Workspace string
}

// Approved reports whether calls of a tool run without asking.
func (e Entry) Approved(tool string) bool {
	if matches(e.Asks, tool) {
		return false
	}
	for _, tools := range e.Approvals {
		if matches(tools, tool) {
			return true
		}
	}
	return false
}

// Shows reports whether the settings include a tool of the server.
func (e Entry) Shows(tool string) bool {
	return (len(e.Only) == 0 || matches(e.Only, tool)) && !matches(e.Except, tool)
}

// matches reports whether a pattern of a list matches the name of a tool.
func matches(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(text string) bool { return pattern.Pattern(text).Match(tool) })
}

// Servers lists the servers in the text of one of the host's files, by name, except the
// switched-off ones. Variables are not filled in, see [Entry.Expand]. JSON may have comments.
func (h *Host) Servers(text []byte, workspace string) ([]Entry, error) {
	entries, err := h.Named(text, workspace)
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Off }), err
}

// Named is [Host.Servers] including switched-off servers.
func (h *Host) Named(text []byte, workspace string) (entries []Entry, err error) {
	if absolute, err := filepath.Abs(workspace); h.hasFolders() && err == nil {
		if entries, err = h.Within(absolute).List(text); err != nil {
			return nil, err
		}
	}
	list, err := h.List(text)
	for _, e := range list {
		if !slices.ContainsFunc(entries, func(known Entry) bool { return known.Name == e.Name }) {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// hasFolders reports whether the user's file of the host has servers for single folders.
func (h *Host) hasFolders() bool { return h.Name == "claude-code" }

// Within returns the host with the list of servers for a folder in its file, see [Host.Folders].
func (h *Host) Within(folder string) *Host {
	other := *h
	other.within = []string{"projects", folder, h.key}
	return &other
}

// List lists the servers in the host's main list in the text of its file, or in the list that
// [Host.Within] selected, including switched-off servers.
func (h *Host) List(text []byte) ([]Entry, error) {
	all, err := settings(text, h.format)
	if err != nil {
		return nil, err
	}
	entries := h.entries(h.servers(all))
	if h.likeGemini() {
		chosen := object(all, "mcp")
		allowed := texts(chosen["allowed"])
		for i, e := range entries {
			left := len(allowed) > 0 && !slices.Contains(allowed, e.Name) || slices.Contains(texts(chosen["excluded"]), e.Name)
			entries[i].Off = e.Off || left
		}
	}
	return entries, nil
}

// servers returns the entries in every layout of the host's file, by name.
func (h *Host) servers(all map[string]any) map[string]any {
	servers := maps.Clone(h.inside(all))
	for _, f := range h.forms {
		list := inside(all, f.path...)
		if list == nil || isServer(list) {
			continue
		}
		if f.path[0] == h.key { // the list of the first layout has other settings too
			maps.DeleteFunc(servers, func(_ string, value any) bool { entry, _ := value.(map[string]any); return !isServer(entry) })
		}
		if servers == nil {
			servers = map[string]any{}
		}
		maps.Copy(servers, list)
	}
	if h.Name == "goose" { // other extensions are built in
		maps.DeleteFunc(servers, func(_ string, value any) bool {
			entry, _ := value.(map[string]any)
			return entry["cmd"] == nil && entry["uri"] == nil
		})
	}
	return servers
}

// isServer reports whether an object has a command, a URL or a type, so it is the entry of a
// server.
func isServer(entry map[string]any) bool {
	for _, member := range []string{"command", "url", "type"} {
		switch entry[member].(type) {
		case string, []any:
			return true
		}
	}
	return false
}

// likeGemini reports whether the host has settings in the form of Gemini CLI.
func (h *Host) likeGemini() bool { return h.Name == "gemini" || h.Name == "qwen" }

// Readable lists the names of the hosts whose files can be read.
func Readable() []string {
	var names []string
	for _, h := range Hosts {
		if h.Path != nil {
			names = append(names, h.Name)
		}
	}
	return names
}

// anybody is the host for files with the common member mcpServers that belong to no known host.
var anybody = Host{Name: "mcpServers", Title: "A file with mcpServers", key: "mcpServers", entry: plain}

// Plain returns the host for files with the common member mcpServers.
func Plain() *Host { return &anybody }

// Owner returns the host that a file belongs to by its path and text. Among the hosts whose list of
// servers has the form of the text, it is the one whose file has the longest common end with path.
// A file name that several hosts use, such as mcp.json, does not count without its folder. Owner
// returns nil if no host has this form.
func Owner(path string, text []byte) *Host {
	var owner *Host
	most := -1
	for i := range Hosts {
		h := &Hosts[i]
		if h.format != formatOf(path) || h.Path == nil {
			continue
		}
		all, err := settings(text, h.format)
		if err != nil || h.in(text, "").inside(all) == nil {
			continue
		}
		files, _ := h.Paths.here() // without a home directory there are no files
		own := slices.Concat(h.Project, files)
		alike := 0
		for _, file := range own {
			alike = max(alike, sameEnd(file, path))
		}
		if h.in(text, "").list()[0] == anybody.key && (alike == 0 || alike == 1 && sharedName(filepath.Base(path))) {
			h, alike = &anybody, 0
		}
		if alike > most {
			owner, most = h, alike
		}
	}
	return owner
}

// formatOf returns the format of a file by its extension.
func formatOf(path string) format {
	switch filepath.Ext(path) {
	case ".toml":
		return tomlFile
	case ".yaml", ".yml":
		return yamlFile
	}
	return jsonFile
}

// sharedName reports whether several hosts use a file name.
func sharedName(name string) bool {
	return slices.Contains([]string{"mcp.json", "settings.json", "mcp_config.json", "mcp_settings.json"}, name)
}

// sameEnd counts the equal names at the end of two paths.
func sameEnd(a, b string) (n int) {
	for filepath.Base(a) == filepath.Base(b) && filepath.Dir(a) != a && filepath.Dir(b) != b {
		a, b = filepath.Dir(a), filepath.Dir(b)
		n++
	}
	return n
}

func settings(text []byte, format format) (map[string]any, error) {
	var all map[string]any
	switch format {
	case tomlFile:
		bare, _ := splitMark(text)
		if err := toml.Unmarshal(bare, &all); err != nil {
			return nil, tomlFault(err)
		}
	case jsonFile:
		if len(strings.TrimSpace(string(text))) == 0 {
			return nil, nil
		}
		if err := jsonedit.Check(text); err != nil {
			return nil, err
		}
		if err := jsonx.Decode(jsonedit.Plain(text), &all); err != nil {
			return nil, errors.New("it is no JSON object") // the error itself could quote a secret
		}
	case yamlFile:
		plain, err := yamledit.JSON(text)
		if err != nil {
			return nil, yamlFault(err)
		}
		if err := jsonx.Decode(plain, &all); err != nil {
			return nil, errors.New("it is no YAML mapping")
		}
	default:
		return nil, errors.New("it has no file that is read")
	}
	return all, nil
}

// tomlFault returns a TOML error with its position.
func tomlFault(err error) error {
	var fault *toml.DecodeError
	if !errors.As(err, &fault) {
		return fmt.Errorf("reading TOML: %w", err)
	}
	line, column := fault.Position()
	reason := "it is not TOML: " + strings.TrimPrefix(fault.Error(), "toml: ")
	return &jsonedit.SyntaxError{Line: line, Column: column, Reason: reason}
}

// yamlFault returns a YAML error with its position.
func yamlFault(err error) error {
	var fault *yamlx.Error
	if !errors.As(err, &fault) {
		return err
	}
	return &jsonedit.SyntaxError{Line: fault.Line, Column: fault.Column, Reason: "it cannot be read as YAML: " + fault.Reason}
}

// Check returns the first syntax error of the text of the host's file, as a [jsonedit.SyntaxError],
// or nil if it is valid.
func (h *Host) Check(text []byte) error { return check(text, h.format) }

// Check is [Host.Check] for a file of an unknown host. The format follows from its name.
func Check(path string, text []byte) error { return check(text, formatOf(path)) }

func check(text []byte, format format) error {
	if format == jsonFile {
		return jsonedit.Check(text)
	}
	_, err := settings(text, format)
	return err
}

// Folders returns the folders in the host's file, sorted, and the ones among them that have their
// own servers.
func (h *Host) Folders(text []byte) (known, withServers []string) {
	all, err := settings(text, h.format)
	if err != nil || !h.hasFolders() {
		return nil, nil
	}
	projects := object(all, "projects")
	for _, folder := range slices.Sorted(maps.Keys(projects)) {
		known = append(known, folder)
		if len(object(object(projects, folder), h.key)) > 0 {
			withServers = append(withServers, folder)
		}
	}
	return known, withServers
}

func (h *Host) entries(servers map[string]any) []Entry {
	var list []Entry
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		entry, _ := servers[name].(map[string]any)
		list = append(list, h.read(name, entry))
	}
	return list
}

// readMembers are the members of entries that are read or may be ignored.
var readMembers = strings.Fields(`command args env environment env_vars envFile cwd url httpUrl serverUrl type transport
	headers http_headers env_http_headers bearer_token_env_var headersHelper disabled enabled
	cmd envs env_keys uri working_directory source remote bundled display_name
	includeTools excludeTools enabled_tools disabled_tools disabledTools available_tools tools
	autoApprove alwaysAllow autoAllow trust default_tools_approval_mode name description`)

// bareVariable matches a variable in the form of shells, which Gemini CLI and Qwen Code fill in.
var bareVariable = regex.Lazy(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// read returns the entry of a server.
func (h *Host) read(name string, entry map[string]any) Entry {
	if inner := object(entry, "transport"); inner != nil { // Cline
		entry = maps.Clone(entry)
		maps.Copy(entry, inner)
	}
	if h.likeGemini() {
		entry, _ = mapTexts(entry, func(s string) string { return bareVariable().ReplaceAllString(s, "$${$1}") }).(map[string]any)
	}
	enabled, set := entry["enabled"].(bool)
	text := func(member string) string { value, _ := entry[member].(string); return value }
	e := Entry{
		Name: name, Off: entry["disabled"] == true || set && !enabled, Header: map[string]string{},
		Dir:    cmp.Or(text("cwd"), text("working_directory")),
		Only:   allTexts(entry, "includeTools", "enabled_tools", "available_tools", "tools"),
		Except: allTexts(entry, "excludeTools", "disabled_tools", "disabledTools"),
	}
	e.Command = texts(entry["command"]) // OpenCode: includes the arguments
	if program := cmp.Or(text("command"), text("cmd")); program != "" {
		e.Command = append([]string{program}, texts(entry["args"])...)
	}
	for _, member := range []string{"env", "environment", "envs"} {
		variables := object(entry, member)
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			if variables[name] != nil { // null: VS Code removes it
				e.Env = append(e.Env, name+"="+fmt.Sprint(variables[name]))
			}
		}
	}
	for _, variable := range texts(entry["env_vars"]) { // Codex: passed on if set
		e.Env = append(e.Env, fmt.Sprintf("%s=${%s:-}", variable, variable))
	}
	for _, variable := range texts(entry["env_keys"]) { // Goose: from its keyring or the environment
		e.Env = append(e.Env, fmt.Sprintf("%s=${%s}", variable, variable))
	}
	if e.URL = cmp.Or(text("httpUrl"), text("serverUrl"), text("url"), text("uri")); text("serverUrl") != "" {
		e.Command = nil // Antigravity prefers the URL
	}
	kind := text("type")
	e.SSE = kind == "sse" || h.Name == "gemini" && kind == "" && entry["httpUrl"] == nil && e.URL != ""
	for _, member := range []string{"headers", "http_headers"} {
		for name, value := range object(entry, member) {
			e.Header[name] = fmt.Sprint(value)
		}
	}
	for name, variable := range object(entry, "env_http_headers") {
		e.Header[name] = fmt.Sprintf("${%v}", variable)
	}
	if variable := text("bearer_token_env_var"); variable != "" {
		e.Header["Authorization"] = "Bearer ${" + variable + "}"
	}
	e.Approvals = approvals(entry)
	limit, unit := h.limit()
	if value, err := strconv.ParseFloat(fmt.Sprint(entry[limit]), 64); err == nil && value > 0 {
		e.Timeout = time.Duration(value * float64(unit))
	}
	for member := range entry {
		if !slices.Contains(readMembers, member) && member != limit {
			if e.Unread == nil {
				e.Unread = map[string]any{}
			}
			e.Unread[member] = entry[member]
		}
	}
	switch file := text("envFile"); {
	case object(entry, "command") != nil: // Zed's older form
		e.Problem = "its command is an object, as older versions of the client have it: write its path as command, with args and env beside it"
	case len(e.Command) == 0 && e.URL == "":
		e.Problem = "the entry has neither a command nor a URL"
	case file != "":
		e.Problem = "its variables are in a file, envFile, which only the client reads: name them in env, as ${NAME}"
	case entry["headersHelper"] != nil:
		e.Problem = "its headers come of a program, headersHelper, which only the client runs"
	case (h.Name == "opencode" || h.Name == "kilo") && mentions(entry, "{file:"):
		e.Problem = "it has the content of a file in it, {file:…}, which only the client reads: use {env:NAME}"
	}
	return e
}

// limit returns the member with the timeout of a server's calls, and its unit.
func (h *Host) limit() (member string, unit time.Duration) {
	switch h.Name {
	case "claude-code", "gemini", "qwen":
		return "timeout", time.Millisecond
	case "cline", "roo", "zed", "goose":
		return "timeout", time.Second
	case "codex":
		return "tool_timeout_sec", time.Second
	}
	return "", 0
}

// mapTexts returns a value with replace applied to each text in it.
func mapTexts(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = mapTexts(inner, replace)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, inner := range v {
			object[name] = mapTexts(inner, replace)
		}
		return object
	}
	return value
}

// mentions reports whether a text in a value contains part.
func mentions(value any, part string) (found bool) {
	mapTexts(value, func(s string) string {
		found = found || strings.Contains(s, part)
		return s
	})
	return found
}

// approvals reads the tools that may be called without asking, in the form of any host.
func approvals(entry map[string]any) map[string][]string {
	found := map[string][]string{}
	for _, member := range []string{"autoApprove", "alwaysAllow", "autoAllow", "trust"} {
		if tools := texts(entry[member]); len(tools) > 0 {
			found[member] = tools
		} else if entry[member] == true {
			found[member] = []string{"*"}
		}
	}
	const all, one = "default_tools_approval_mode", "approval_mode" // Codex
	if entry[all] == "approve" {
		found[all] = []string{"*"}
	}
	tools := object(entry, "tools")
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if object(tools, name)[one] == "approve" {
			found[one] = append(found[one], name)
		}
	}
	return found
}

// Fill returns the entry with its variables filled in from the environment, as hosts do. Problem
// names a variable that cannot be filled in. The user's other settings with servers also use
// ${NAME}, ${NAME:-default} and ${workspaceFolder}, and $NAME if it is the whole value of a
// variable or of a header. References to secrets of the keyring stay, see [Entry.Reveal].
func (e Entry) Fill(workspace string) Entry {
	x := expander{workspace: workspace, own: e.Own}
	filled := x.fill(e)
	if len(x.secrets) > 0 {
		filled.Unrevealed = &UnrevealedEntry{e, workspace}
	}
	return filled
}

// HasSecrets reports whether a filled-in entry has references to secrets of the keyring.
func (e Entry) HasSecrets() bool { return e.Unrevealed != nil }

// Reveal returns a filled-in entry with secrets in place of the references, and the secrets. It
// fills in the original entry again, so that a variable whose value looks like a reference is not
// taken for one.
func (e Entry) Reveal(read func(name string) (string, error)) (revealed Entry, secrets []string, err error) {
	if e.Unrevealed == nil {
		return e, nil, nil
	}
	x := expander{workspace: e.Unrevealed.Workspace, own: true, read: func(name string) (string, error) {
		secret, err := read(name)
		secrets = append(secrets, secret)
		return secret, err
	}}
	revealed = x.fill(e.Unrevealed.Entry)
	return revealed, secrets, x.failed
}

// Secrets lists the names of the keyring secrets that the entry refers to, sorted.
func (e Entry) Secrets() []string {
	x := expander{own: e.Own}
	x.fill(e)
	slices.Sort(x.secrets)
	return slices.Compact(x.secrets)
}

// Variables lists the environment variables that [Entry.Expand] fills in and that are set, sorted.
// If the entry has secrets, it includes the variables that the keyring needs.
func (e Entry) Variables() []string {
	x := expander{own: e.Own}
	x.fill(e)
	if len(x.secrets) > 0 {
		x.found = append(x.found, keyring.Environment()...)
	}
	slices.Sort(x.found)
	return slices.Compact(x.found)
}

// Input is a value of an entry for which the host asks its user.
type Input struct {
	ID          string
	Env, Header string // the variable or header that contains it; both empty if it is elsewhere
}

// input matches a reference to such a value, in the form of VS Code.
var input = regex.Lazy(`\$\{input:([^}]*)\}`)

// Inputs lists the values of the entry for which the host asks its user.
func (e Entry) Inputs() (list []Input) {
	add := func(text string, in Input) {
		for _, match := range input().FindAllStringSubmatch(text, -1) {
			in.ID = match[1]
			list = append(list, in)
		}
	}
	for _, variable := range e.Env {
		name, value, _ := strings.Cut(variable, "=")
		add(value, Input{Env: name})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		add(e.Header[name], Input{Header: name})
	}
	for _, text := range append(slices.Clone(e.Command), e.URL) {
		add(text, Input{})
	}
	return list
}

// WithInputs returns a text of an entry with each value that the host asks for replaced by the
// result of replace.
func WithInputs(text string, replace func(id string) string) string {
	return input().ReplaceAllStringFunc(text, func(match string) string {
		return replace(strings.TrimSuffix(strings.TrimPrefix(match, "${input:"), "}"))
	})
}

func (x *expander) fill(e Entry) Entry {
	filled := e
	filled.Dir, filled.URL = x.text(e.Dir), x.text(e.URL)
	if filled.Dir != "" && !filepath.IsAbs(filled.Dir) {
		filled.Dir = filepath.Join(x.workspace, filled.Dir)
	}
	filled.Command, filled.Env, filled.Header = x.list(e.Command), nil, map[string]string{}
	for _, variable := range e.Env {
		name, value, _ := strings.Cut(variable, "=")
		filled.Env = append(filled.Env, name+"="+x.text(braced(value)))
	}
	if len(filled.Command) > 0 && filled.Command[0] == "" {
		filled.Command = nil
	}
	for name, value := range e.Header {
		filled.Header[name] = x.text(braced(value))
	}
	filled.Problem = cmp.Or(e.Problem, x.problem)
	return filled
}

// object returns a member that is an object, or nil if there is no such member.
func object(value map[string]any, member string) map[string]any {
	inner, _ := value[member].(map[string]any)
	return inner
}

// inside returns the object at a path of members, or nil if there is no such object.
func inside(value map[string]any, path ...string) map[string]any {
	for _, member := range path {
		value = object(value, member)
	}
	return value
}

// inside returns the list of servers in the host's layout.
func (h *Host) inside(all map[string]any) map[string]any { return inside(all, h.list()...) }

// allTexts lists the texts in several members.
func allTexts(entry map[string]any, members ...string) (list []string) {
	for _, member := range members {
		list = append(list, texts(entry[member])...)
	}
	return list
}

func texts(value any) []string {
	items, _ := value.([]any)
	var list []string
	for _, item := range items {
		list = append(list, fmt.Sprint(item))
	}
	return list
}

// expander fills in variables as hosts do. problem describes one that it could not fill in, and
// found has the names of filled-in environment variables.
type expander struct {
	workspace string
	problem   string
	found     []string

	own     bool     // the entry may have references to secrets; see [Entry]
	secrets []string // names in the references
	read    func(name string) (string, error)
	failed  error // error of read
}

// secret returns the secret of a reference, or the reference if read is nil.
func (x *expander) secret(name, reference string) string {
	switch {
	case !x.own:
		x.problem = reference + " is a secret of the keyring, which only upstreams of toolfold get"
		return ""
	case !keyring.IsName(name):
		x.problem = reference + " names no secret: ${keyring:NAME} takes letters, digits, _, . and -"
		return ""
	}
	x.secrets = append(x.secrets, name)
	if x.read == nil {
		return reference
	}
	secret, err := x.read(name)
	x.failed = cmp.Or(x.failed, err)
	return secret
}

// placeholder matches ${NAME}, ${NAME:-default}, ${env:NAME}, ${keyring:NAME}, ${input:id} and
// OpenCode's {env:NAME}.
var placeholder = regex.Lazy(`\$\{([^}]*)\}|\{(env:[^}]*)\}`)

// environment matches an environment variable in the spelling of some clients.
var environment = regex.Lazy(`\$?\{env:([^}]*)\}`)

// Respell returns the entry with environment variables as ${NAME}. Some clients spell them
// ${env:NAME}, {env:NAME} or, as a whole value of env or headers, $NAME.
func (e Entry) Respell() Entry {
	plain := func(text string) string { return environment().ReplaceAllString(text, "$${$1}") }
	e.URL, e.Dir = plain(e.URL), plain(e.Dir)
	e.Command, e.Env = slices.Clone(e.Command), slices.Clone(e.Env)
	for i, word := range e.Command {
		e.Command[i] = plain(word)
	}
	for i, variable := range e.Env {
		name, value, _ := strings.Cut(variable, "=")
		e.Env[i] = name + "=" + plain(braced(value))
	}
	e.Header = maps.Clone(e.Header)
	for name, value := range e.Header {
		e.Header[name] = plain(braced(value))
	}
	return e
}

// HasVariable reports whether a value of env or of a header has a variable that is filled in.
func HasVariable(value string) bool { return placeholder().MatchString(braced(value)) }

// IsReference reports whether a value of env or of a header is one variable or secret, and nothing else.
func IsReference(value string) bool {
	value = braced(value)
	at := placeholder().FindString(value)
	return at != "" && at == value
}

// braced replaces a whole value $NAME of env or of a header by ${NAME}. In other places $NAME is
// left to the program; in arguments, shells fill it in.
func braced(value string) string {
	if at := bareVariable().FindString(value); at != "" && at == value {
		return "${" + at[1:] + "}"
	}
	return value
}

func (x *expander) text(text string) string {
	return placeholder().ReplaceAllStringFunc(text, func(match string) string {
		name := strings.Trim(strings.TrimPrefix(match, "$"), "{}")
		switch name {
		case "workspaceFolder":
			absolute, _ := filepath.Abs(x.workspace) // fails only without a working folder
			return absolute
		case "userHome":
			home, _ := os.UserHomeDir()
			return home
		case "pathSeparator", "/":
			return string(filepath.Separator)
		}
		if id, ok := strings.CutPrefix(name, "input:"); ok {
			x.problem = fmt.Sprintf("its client asks the user for %q", id)
			return ""
		}
		if secret, ok := strings.CutPrefix(name, "keyring:"); ok {
			return x.secret(secret, match)
		}
		name, otherwise, has := strings.Cut(strings.TrimPrefix(name, "env:"), ":-")
		value, set := os.LookupEnv(name)
		switch {
		case set:
			x.found = append(x.found, name)
			return value
		case has:
			return otherwise
		}
		x.problem = fmt.Sprintf("the environment variable %s is not set", name)
		return ""
	})
}

func (x *expander) list(texts []string) []string {
	var list []string
	for _, text := range texts {
		list = append(list, x.text(text))
	}
	return list
}
