package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// maxCompletions is the protocol's limit of values in a completion.
const maxCompletions = 100

// completionParams holds the parameters of completion/complete.
type completionParams struct {
	Ref struct {
		Type, Name, URI string
	}
	Argument struct{ Name, Value string }
	Context  struct{ Arguments map[string]string }
}

// complete appends the result of completion/complete. An argument without a completer has no
// values.
func (s *Server) complete(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	var params completionParams
	if json.Unmarshal(r.rawParams, &params) != nil {
		return nil, &protocolError{code: mcp.INVALID_PARAMS,
			message: `params must be such as {"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"path","value":"int"}}`}
	}
	completer, failed := s.completer(ctx, r, params)
	if failed != nil {
		return s.relay(ctx, r, out, params.Ref.Name+params.Ref.URI, failed, func(ctx context.Context) (json.RawMessage, error) {
			return s.others.Complete(ctx, r.rawParams)
		})
	}
	values := []string{}
	if completer != nil {
		found, err := completer(ctx, params.Argument.Value, params.Context.Arguments)
		if err != nil {
			return nil, s.handlerError(r, err)
		}
		values = append(values, found...)
	}
	total := len(values)
	values = values[:min(total, maxCompletions)]
	text := ordered.MustJSON(ordered.Map{{Key: "completion", Value: ordered.Map{
		{Key: "values", Value: values}, {Key: "total", Value: total}, {Key: "hasMore", Value: total > len(values)},
	}}})
	return r.admission.append(append(out, text[1:len(text)-1]...), nil), nil
}

// completer returns the completer of an argument; nil if it has no completer.
func (s *Server) completer(ctx context.Context, r *request, params completionParams) (Completer, *protocolError) {
	ref, name := params.Ref, params.Argument.Name
	switch {
	case ref.Type == "ref/prompt" && s.prompts != nil:
		prompt, unknown := s.prompt(ctx, r, ref.Name)
		if unknown != nil {
			return nil, unknown
		}
		for _, a := range prompt.Arguments {
			if a.Name == name {
				return a.Complete, nil
			}
		}
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("prompt %s takes no %.100q", prompt.Name, name)}
	case ref.Type == "ref/resource" && s.resources != nil:
		resources, err := s.resources(ctx)
		if err != nil {
			return nil, s.handlerError(r, err)
		}
		for _, x := range resources {
			if x.URI != ref.URI {
				continue
			}
			if t := x.template(); t == nil || !slices.Contains(t.Varnames(), name) {
				return nil, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("%s has no variable %.100q", x.URI, name)}
			}
			return x.Complete[name], nil
		}
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("there is no template %.200q", ref.URI)}
	}
	return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "ref.type must be ref/prompt or ref/resource, and the server must have such"}
}
