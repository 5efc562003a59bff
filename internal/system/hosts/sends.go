package hosts

import (
	"encoding/json"

	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
)

// Sends says how a host rewrites a server's tools before a model sees them, as
// one version of it was seen to do. The counts that the definitions
// lead to were compared with requests of that version.
type Sends struct {
	Version      string
	Instructions bool   // a model is shown the server's instructions
	MaxText      int    // characters of a description or of instructions, cut beyond; 0 = no limit
	Also         string // what else it does; may be empty

	name       func(server, tool string) string
	schema     func(*ordered.Map) // edits a schema; nil = it stays as it is
	definition func(name, description string, schema json.RawMessage) ordered.Map
	line       func(name, description string) string // of a tool that waits to be searched for; nil = all are sent
}

// Defers reports whether the host, unless told otherwise, shows a line for
// each tool until a model searches for it.
func (s *Sends) Defers() bool { return s.line != nil }

// Line returns the line for a tool of a host that defers.
func (s *Sends) Line(server, tool, description string) string {
	return s.line(s.Name(server, tool), description)
}

// notInNames matches what hosts replace in the names of servers.
var notInNames = regex.Lazy(`[^a-zA-Z0-9_-]`)

// Name returns the name of a server's tool that a model is shown.
func (s *Sends) Name(server, tool string) string {
	return s.name(notInNames().ReplaceAllString(server, "_"), tool)
}

// Definition returns the definition of a tool as the host sends it. The schema
// is compact JSON; nil stands for none.
func (s *Sends) Definition(server, tool, description string, schema json.RawMessage) (json.RawMessage, error) {
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

// Cut returns as much of a text as a model is shown.
func (s *Sends) Cut(text string) string {
	if runes := []rune(text); s.MaxText > 0 && len(runes) > s.MaxText {
		return string(runes[:s.MaxText])
	}
	return text
}

// joined makes names such as mcp__memory__store.
func joined(prefix, separator string) func(server, tool string) string {
	return func(server, tool string) string { return prefix + server + separator + tool }
}

// alone leaves the name of a tool as it is.
func alone(_, tool string) string { return tool }

// The lines of hosts that defer.

func nameOnly(name, _ string) string { return name }

func boldName(name, description string) string {
	if runes := []rune(description); len(runes) > 160 {
		description = string(runes[:160]) + "…"
	}
	return "- **" + name + "**: " + description
}

// The forms in which the interfaces of models take definitions.

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

// closed is OpenCode's: no members that are not declared.
func closed(schema *ordered.Map) { schema.Set("additionalProperties", false) }

// waiting is Gemini CLI's: a parameter that says whether calls wait for others.
func waiting(schema *ordered.Map) {
	properties := member(*schema, "properties")
	properties.Set("wait_for_previous", ordered.Map{{Key: "type", Value: "boolean"},
		{Key: "description", Value: "Set to true to wait for all previously requested tools in this turn to complete before starting. Set to " +
			"false (or omit) to run in parallel. Use true when this tool depends on the output of previous tools."}})
	schema.Set("properties", properties)
}

// bare is Codex's: schemas without formats and bounds, objects with properties.
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

// member returns a member that is an object; nil when there is none.
func member(object ordered.Map, key string) ordered.Map {
	value, _ := object.Get(key)
	raw, _ := value.(json.RawMessage)
	var m ordered.Map
	_ = json.Unmarshal(raw, &m)
	return m
}
