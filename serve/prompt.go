package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// listedPrompt is a prompt in prompts/list.
type listedPrompt struct {
	Name      string           `json:"name"`
	Title     string           `json:"title,omitempty"`
	Doc       string           `json:"description,omitempty"`
	Arguments []listedArgument `json:"arguments,omitempty"`
}

type listedArgument struct {
	Name     string `json:"name"`
	Doc      string `json:"description,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// listPrompts appends the result of prompts/list.
func (s *Server) listPrompts(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	prompts, err := s.prompts(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	list := make([]listEntry, len(prompts))
	for i, p := range prompts {
		entry := listedPrompt{Name: p.Name, Title: p.Title, Doc: p.Doc}
		for _, a := range p.Arguments {
			entry.Arguments = append(entry.Arguments, listedArgument{a.Name, a.Doc, a.Required})
		}
		list[i] = listEntry{p.Name, entry}
	}
	if s.others != nil {
		list = s.withOthers(list, s.others.Prompts(ctx), "name")
	}
	return appendPage(out, r, "prompts", list, listEntry.at)
}

// prompt finds a prompt of the caller by name.
func (s *Server) prompt(ctx context.Context, r *request, name string) (*Prompt, *protocolError) {
	prompts, err := s.prompts(ctx)
	if err != nil {
		return nil, s.handlerError(r, err)
	}
	for i := range prompts {
		if prompts[i].Name == name {
			return &prompts[i], nil
		}
	}
	return nil, &protocolError{code: mcp.INVALID_PARAMS, message: fmt.Sprintf("there is no prompt %.100q: prompts/list has all", name)}
}

// getPrompt appends the result of prompts/get.
func (s *Server) getPrompt(ctx context.Context, r *request, out []byte) ([]byte, *protocolError) {
	name := textOfJSON(r.params.name)
	prompt, unknown := s.prompt(ctx, r, name)
	if unknown != nil {
		return s.relay(ctx, r, out, name, unknown, func(ctx context.Context) (json.RawMessage, error) {
			return s.others.GetPrompt(ctx, name, r.params.arguments)
		})
	}
	arguments := map[string]string{}
	if raw := r.params.arguments; raw != nil && string(raw) != "null" && json.Unmarshal(raw, &arguments) != nil {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: "arguments must be an object of texts, such as {\"name\":\"value\"}"}
	}
	if problem := prompt.judge(arguments); problem != "" {
		return nil, &protocolError{code: mcp.INVALID_PARAMS, message: problem}
	}
	return s.run(r.withProgress(r.withCaller(ctx)), r, out, prompt.Name, func(ctx context.Context) (ordered.Map, error) {
		messages, err := prompt.Get(ctx, arguments)
		if err != nil {
			return nil, err
		}
		list := make([]ordered.Map, len(messages))
		for i, m := range messages {
			role := m.Role
			if role == "" {
				role = string(mcp.RoleUser)
			}
			list[i] = ordered.Map{{Key: "role", Value: role}, {Key: "content", Value: m.Content}}
		}
		return ordered.Map{{Key: "description", Value: prompt.Doc}, {Key: "messages", Value: list}}, nil
	})
}

// judge returns the problems of arguments, or an empty text.
func (p *Prompt) judge(arguments map[string]string) string {
	var missing, unknown, declared []string
	for _, a := range p.Arguments {
		declared = append(declared, a.Name)
		if a.Required && arguments[a.Name] == "" {
			missing = append(missing, a.Name)
		}
	}
	for name := range arguments {
		if !slices.Contains(declared, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	var names []string
	if missing != nil {
		names = append(names, "needs "+strings.Join(missing, ", "))
	}
	if unknown != nil {
		names = append(names, "takes no "+strings.Join(unknown, ", "))
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("prompt %s %s; its arguments: %s", p.Name, strings.Join(names, " and "), strings.Join(declared, ", "))
}

// run appends the members that do returns, once a slot is free. do may ask the client's model or
// user like a call.
func (s *Server) run(
	ctx context.Context, r *request, out []byte, name string, do func(context.Context) (ordered.Map, error),
) ([]byte, *protocolError) {
	answer, asks, failed := s.inTurn(ctx, r, name, func(ctx context.Context) toolfold.Answer {
		members, err := do(ctx)
		if err != nil {
			return s.answerable(err).Answer()
		}
		return toolfold.Answer{Content: ordered.MustJSON(members)}
	})
	switch {
	case failed != nil:
		return nil, failed
	case asks != nil:
		return r.appendAsks(out, asks)
	case answer.Err != nil:
		return nil, s.handlerError(r, answer.Err)
	}
	return r.admission.append(append(out, answer.Content[1:len(answer.Content)-1]...), nil), nil
}
