package hosts

import (
	"encoding/json"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Rewrite describes how a host rewrites a server's tools for a model, as recorded from one version.
// The resulting token counts were compared with requests of this version.
type Rewrite struct {
	Version      string
	Instructions bool   // a model is shown the server's instructions
	MaxText      int    // characters of a description or of instructions, cut beyond; 0 = no limit
	Also         string // other changes; may be empty

	name       func(server, tool string) string
	schema     func(*ordered.Map) // edits a schema; nil = unchanged
	definition func(name, description string, schema json.RawMessage) ordered.Map
	line       func(name, description string) string // of a deferred tool; nil = no line

	// serverLine returns the line of a server whose tools are all deferred; nil = each tool has its
	// own line.
	serverLine func(server, instructions string) string

	// searches reports whether the host knows that a model can search for tools; nil = all models
	// can. Other models get every definition.
	searches func(model string) bool
}

// Defers reports whether the host, by default, shows a line for each tool or each server until a
// model searches for it.
func (s *Rewrite) Defers() bool { return s.line != nil || s.serverLine != nil }

// ByServer reports whether the host shows a line for each server instead of each tool.
func (s *Rewrite) ByServer() bool { return s.serverLine != nil }

// Line returns the line for a tool of a host that defers.
func (s *Rewrite) Line(server, tool, description string) string {
	return s.line(s.Name(server, tool), description)
}

// ServerLine returns the line for a server of a host that defers, see [Rewrite.ByServer].
func (s *Rewrite) ServerLine(server, instructions string) string {
	return s.serverLine(server, instructions)
}

// For returns the host as it treats a model: a model that it does not know to search gets every
// definition. An empty model is the host's default, which searches.
func (h *Host) For(model string) *Host {
	if model == "" || h.Rewrite == nil || h.Rewrite.searches == nil || h.Rewrite.searches(model) {
		return h
	}
	sends := *h.Rewrite
	sends.line, sends.serverLine = nil, nil
	other := *h
	other.Rewrite = &sends
	return &other
}

// Model returns the model in the text of the host's file. It is empty if there is no model, or if
// the host treats all models alike.
func (h *Host) Model(text []byte) string {
	if h.Rewrite == nil || h.Rewrite.searches == nil {
		return ""
	}
	all, _ := settings(text, h.format) // reading the servers returns the error
	model, _ := all["model"].(string)
	return model
}

// notInNames matches characters that hosts replace in names of servers.
var notInNames = regex.Lazy(`[^a-zA-Z0-9_-]`)

// Name returns the name of a server's tool for models.
func (s *Rewrite) Name(server, tool string) string {
	return s.name(notInNames().ReplaceAllString(server, "_"), tool)
}

// Definition returns the definition of a tool as the host sends it. The schema is compact JSON, or
// nil if there is no schema.
func (s *Rewrite) Definition(server, tool, description string, schema json.RawMessage) (json.RawMessage, error) {
	var parsed ordered.Map
	if s.schema != nil && json.Unmarshal(schema, &parsed) == nil {
		s.schema(&parsed)
		schema = ordered.MustJSON(parsed)
	}
	if schema == nil {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return ordered.JSON(s.definition(s.Name(server, tool), s.Cut(description), schema))
}

// Cut cuts a text to MaxText characters.
func (s *Rewrite) Cut(text string) string {
	if runes := []rune(text); s.MaxText > 0 && len(runes) > s.MaxText {
		return string(runes[:s.MaxText])
	}
	return text
}

// joined makes names such as mcp__memory__store.
func joined(prefix, separator string) func(server, tool string) string {
	return func(server, tool string) string { return prefix + server + separator + tool }
}

// alone returns the name of a tool unchanged.
func alone(_, tool string) string { return tool }

// The lines of hosts that defer.

func nameOnly(name, _ string) string { return name }

func boldName(name, description string) string {
	if runes := []rune(description); len(runes) > 160 {
		description = string(runes[:160]) + "…"
	}
	return "- **" + name + "**: " + description
}

// namespace is Codex's line for a server, with at most 250 characters of the first line of its
// instructions.
func namespace(server, instructions string) string {
	line := "- mcp__" + strings.ReplaceAll(notInNames().ReplaceAllString(server, "_"), "-", "_")
	first, _, _ := strings.Cut(strings.TrimSpace(instructions), "\n")
	if first = strings.TrimSpace(first); first == "" {
		return line
	}
	if runes := []rune(first); len(runes) > 250 {
		first = string(runes[:247]) + "..."
	}
	return line + ": " + first
}

// codexModel matches the models that Codex 0.171.0 knows to search: its list of models, and names
// that begin with them.
var codexModel = regex.Lazy(`^([^/]*/)?(gpt-5\.5|gpt-5\.6-(sol|terra|luna)|gpt-6-(astra|sol|luna)|gpt-6\.1-(sol|terra)|` +
	`gpt-6\.2-(sol|astra)|gpt-daybreak-(blue|red)-latest|codex-auto-review)`)

// The forms of definitions in the APIs of models.

func anthropic(name, description string, schema json.RawMessage) ordered.Map {
	return ordered.Map{{Key: "name", Value: name}, {Key: "description", Value: description}, {Key: "input_schema", Value: schema}}
}

func chat(name, description string, schema json.RawMessage) ordered.Map {
	return ordered.Map{{Key: "type", Value: "function"}, {Key: "function", Value: ordered.Map{
		{Key: "name", Value: name}, {Key: "description", Value: description}, {Key: "parameters", Value: schema},
	}}}
}

func responses(name, description string, schema json.RawMessage) ordered.Map {
	return ordered.Map{
		{Key: "type", Value: "function"}, {Key: "name", Value: name}, {Key: "description", Value: description},
		{Key: "strict", Value: false}, {Key: "parameters", Value: schema},
	}
}

func gemini(name, description string, schema json.RawMessage) ordered.Map {
	return ordered.Map{{Key: "name", Value: name}, {Key: "description", Value: description}, {Key: "parametersJsonSchema", Value: schema}}
}

// Edits of schemas.

// closed is OpenCode's edit: no undeclared members.
func closed(schema *ordered.Map) { schema.Set("additionalProperties", false) }

// addWait is Gemini CLI's edit: a parameter for whether a call waits for previous calls.
func addWait(schema *ordered.Map) {
	properties := member(*schema, "properties")
	properties.Set("wait_for_previous", ordered.Map{{Key: "type", Value: "boolean"},
		{Key: "description", Value: "Set to true to wait for all previously requested tools in this turn to complete before starting. Set to " +
			"false (or omit) to run in parallel. Use true when this tool depends on the output of previous tools."}})
	schema.Set("properties", properties)
}

// bare is Codex's edit: no formats and bounds, and every object has properties.
func bare(schema *ordered.Map) {
	members := ordered.Map{}
	for _, m := range *schema {
		switch m.Key {
		case "type", "description", "enum", "const", "required", "anyOf", "oneOf", "allOf", "$ref":
			members = append(members, m)
		case "items", "additionalProperties":
			members = append(members, ordered.Member{Key: m.Key, Value: bareOf(m.Value)})
		case "properties", "$defs", "definitions":
			all := member(*schema, m.Key)
			for i := range all {
				all[i].Value = bareOf(all[i].Value)
			}
			members = append(members, ordered.Member{Key: m.Key, Value: all})
		}
	}
	kind, _ := members.Get("type")
	raw, _ := kind.(json.RawMessage)
	if _, has := members.Get("properties"); !has && string(raw) == `"object"` {
		members = append(members, ordered.Member{Key: "properties", Value: ordered.Map{}})
	}
	*schema = members
}

func bareOf(value any) any {
	raw, _ := value.(json.RawMessage)
	var schema ordered.Map
	if json.Unmarshal(raw, &schema) != nil || string(raw) == "null" {
		return value
	}
	bare(&schema)
	return schema
}

// member returns a member that is an object, or nil if there is no such member.
func member(object ordered.Map, key string) ordered.Map {
	value, _ := object.Get(key)
	raw, _ := value.(json.RawMessage)
	var m ordered.Map
	_ = json.Unmarshal(raw, &m)
	return m
}
