package serve

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/foreign"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
)

// extensionName names the lazy-describe extension in the capabilities.
const extensionName = "io.github.toolfold/lazy-describe"

// extensions returns the extensions in the capabilities.
func (o Options) extensions() map[string]any {
	announced := map[string]any{
		extensionName: map[string]any{
			"methods":    []string{methodDescribe, methodDescribeBatch},
			"toolsList":  "lazy",
			"toolsMeta":  lazyMeta,
			"maxPerCall": maxDescribed,
		},
	}
	if o.Skills != nil {
		announced[skillsExtension] = map[string]any{"directoryRead": true}
	}
	if o.Tasks != nil {
		announced[tasksExtension] = map[string]any{}
	}
	return announced
}

// maxDescribed limits the names in one batch.
const maxDescribed = 200

// describe appends the result of tools/describe or tools/describe_batch.
func (s *Server) describe(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	structured, err := s.wantsStructured(r)
	var result ordered.Map
	if err == nil {
		view := s.surface.Discovery.View(ctx)
		if r.method == methodDescribe {
			result, err = s.describeOne(view, r.params.toolName, structured)
		} else {
			result, err = s.describeBatch(view, r.params.toolNames, structured)
		}
	}
	if err != nil {
		text := err.Message
		if err.Hint != "" {
			text += "; " + err.Hint
		}
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: text}
	}
	members, invalid := foreign.JSON(ordered.MustJSON(result)) // definitions of other servers may have a member twice
	if invalid != nil {
		return nil, s.handlerError(r, fmt.Errorf("encoding a definition: %w", invalid))
	}
	return r.admission.append(append(out, members[1:len(members)-1]...), nil), nil
}

func (s *Server) describeOne(view *lazy.View, names json.RawMessage, structured bool) (ordered.Map, *toolfold.Error) {
	name := textOfJSON(names)
	if name == "" {
		return nil, toolfold.Errorf(toolfold.InvalidInput, `tool_name must be a text, such as {"tool_name":"memory.store"}`)
	}
	return s.schemaOf(view, name, structured)
}

// schemaOf returns the definition of a tool. If structured is set, it has the schema of results.
func (s *Server) schemaOf(view *lazy.View, name string, structured bool) (ordered.Map, *toolfold.Error) {
	definition, err := view.Define(name, structured)
	if err != nil {
		return nil, err
	}
	s.metrics.countDescription(definition)
	return ordered.Map{{Key: "tool_name", Value: name}, {Key: "schema", Value: definition}}, nil
}

func (s *Server) describeBatch(view *lazy.View, list json.RawMessage, structured bool) (ordered.Map, *toolfold.Error) {
	var names []string
	if json.Unmarshal(list, &names) != nil || names == nil {
		return nil, toolfold.Errorf(toolfold.InvalidInput, `tool_names must be a list of texts, such as {"tool_names":["memory.store"]}`)
	}
	if len(names) > maxDescribed {
		return nil, toolfold.Errorf(toolfold.InvalidInput, "%d names are too many: at most %d a call", len(names), maxDescribed)
	}
	described, failed := []ordered.Map{}, []ordered.Map{}
	for _, name := range names {
		schema, err := s.schemaOf(view, name, structured)
		if err != nil {
			failed = append(failed, ordered.Map{
				{Key: "tool_name", Value: name}, {Key: "message", Value: err.Message}, {Key: "hint", Value: err.Hint},
			})
			continue
		}
		described = append(described, schema)
	}
	return ordered.Map{{Key: "tools", Value: described}, {Key: "errors", Value: failed}}, nil
}
