package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// unfit says why no object can be held to a schema, which is compiled at an address: it allows none,
// or a part of it refers only to itself. It is empty for other schemas.
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

// look says how far a schema was looked at.
type look int

const (
	open look = iota + 1 // it is on the way from the schema where the search began
	done                 // no loop begins at it
)

// loop returns a schema that is applied to the same value again and again, starting at s; nil for none.
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

// reachable lists a schema and all that it applies, each once.
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

// schemas returns those of a keyword that may have something else.
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
