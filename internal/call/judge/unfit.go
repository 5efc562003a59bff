package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unfit returns why no object can be checked against a schema compiled at address: it allows no
// object, or a part of it refers only to itself. It is empty for other schemas.
func unfit(s *jsonschema.Schema, address string) string {
	none := s.Bool != nil && !*s.Bool
	if none || s.Types != nil && !s.Types.IsEmpty() && !slices.Contains(s.Types.ToStrings(), "object") {
		return "it allows no object"
	}
	looks := map[*jsonschema.Schema]look{}
	for _, part := range reachable(s) {
		if at := loop(part, looks); at != nil {
			_, path, _ := strings.Cut(strings.TrimPrefix(at.Location, address), "#")
			return fmt.Sprintf("#%s refers only to itself", path)
		}
	}
	return ""
}

// look is the state of a schema in the search for loops.
type look int

const (
	open look = iota + 1 // on the path from the start of the search
	done                 // no loop begins here
)

// loop returns a schema that, starting at s, is applied to the same value endlessly; nil if there
// is no such loop.
func loop(s *jsonschema.Schema, looks map[*jsonschema.Schema]look) *jsonschema.Schema {
	switch looks[s] {
	case open:
		return s
	case done:
		return nil
	}
	looks[s] = open
	for _, next := range alike(s) {
		if at := loop(next, looks); at != nil {
			return at
		}
	}
	looks[s] = done
	return nil
}

// reachable lists a schema and all schemas that it applies, each once.
func reachable(s *jsonschema.Schema) []*jsonschema.Schema {
	list, seen := []*jsonschema.Schema{s}, map[*jsonschema.Schema]bool{s: true}
	for i := 0; i < len(list); i++ {
		for _, next := range slices.Concat(alike(list[i]), within(list[i])) {
			if !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		}
	}
	return list
}

// alike lists the schemas that a schema applies to the same value.
func alike(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	for _, part := range s.DependentSchemas {
		list = append(list, part)
	}
	for _, part := range s.Dependencies {
		list = append(list, schemas(part)...)
	}
	return present(list)
}

// within lists the schemas that a schema applies to parts of the value.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	list = slices.Concat(list, s.PrefixItems, schemas(s.AdditionalProperties), schemas(s.Items), schemas(s.AdditionalItems))
	for _, part := range s.Properties {
		list = append(list, part)
	}
	for _, part := range s.PatternProperties {
		list = append(list, part)
	}
	return present(list)
}

// schemas returns the schema or the list of schemas in a keyword's value; nil for other values,
// such as a map.
func schemas(value any) []*jsonschema.Schema {
	switch value := value.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{value}
	case []*jsonschema.Schema:
		return value
	}
	return nil
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}
