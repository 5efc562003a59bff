package offer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/regex"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/workflow"
)

// maxPrompts bounds the workflows that become prompts, because hosts show each as a command.
const maxPrompts = 50

const runWorkflow = "workflow.run"

// Prompts returns the active workflows of a trusted workspace, for callers who may run them.
//
// Names are run- and the id in lower case, with only letters, digits and hyphens, because in some
// hosts the commands of all servers share one namespace. There is no title, because hosts have made
// commands of titles. There is at most one argument, because some hosts pass arguments by position,
// split at spaces.
func (o Offer) Prompts(ctx context.Context) ([]serve.Prompt, error) {
	prompts := []serve.Prompt{}
	if !o.may(ctx, runWorkflow) || !o.may(ctx, "workflow.describe") {
		return prompts, nil
	}
	runnable, err := o.Workflows.Runnable(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, described := range runnable[:min(len(runnable), maxPrompts)] {
		name := commandName(described.ID)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", commandName(described.ID), n)
		}
		taken[name] = true
		prompts = append(prompts, o.prompt(name, described))
	}
	return prompts, nil
}

var notInCommands = regex.Lazy(`[^a-z0-9]+`)

// commandName returns the name of the prompt of a workflow.
func commandName(id string) string {
	return "run-" + strings.Trim(notInCommands().ReplaceAllString(strings.ToLower(id), "-"), "-")
}

// field describes a member of a workflow's input.
type field struct {
	Type        string
	Description string
	Enum        []any
}

// input describes a workflow's input.
type input struct {
	Properties ordered.Map
	Required   []string
}

// sole returns the input member that becomes the prompt's argument: the only required one, or the
// only one. It is false if there is no such member.
func (in input) sole() (name string, f field, ok bool) {
	switch {
	case len(in.Required) == 1:
		name = in.Required[0]
	case len(in.Required) == 0 && len(in.Properties) == 1:
		name = in.Properties[0].Key
	default:
		return "", f, false
	}
	raw, _ := in.Properties.Get(name)
	text, _ := raw.(json.RawMessage)
	_ = json.Unmarshal(text, &f) // any other schema counts as text
	return name, f, true
}

// prompt returns the prompt that asks the model to run a workflow.
func (o Offer) prompt(name string, w workflow.DescribeOut) serve.Prompt {
	var in input
	_ = json.Unmarshal(w.InputSchema, &in) // any other schema has no members
	p := serve.Prompt{Name: name, Doc: sentence(w.Name, w.Description)}
	argument, f, sole := in.sole()
	switch {
	case sole:
		p.Arguments = []serve.Argument{{Name: argument, Doc: f.Description, Required: len(in.Required) > 0, Complete: f.complete()}}
	case len(in.Properties) > 0:
		argument = "input"
		p.Arguments = []serve.Argument{{Name: argument, Required: len(in.Required) > 0,
			Doc: "In words, or as a JSON object with " + strings.Join(in.Properties.Keys(), ", ") + "."}}
	}
	p.Get = func(ctx context.Context, arguments map[string]string) ([]serve.Message, error) {
		call, typed := ordered.Map{{Key: "workflowId", Value: w.ID}}, arguments[argument]
		ask := ""
		switch whole := map[string]json.RawMessage{}; {
		case typed == "":
		case sole:
			call.Set("input", map[string]any{argument: valueOf(typed, f.Type)})
		case json.Unmarshal([]byte(typed), &whole) == nil:
			call.Set("input", json.RawMessage(typed))
		default:
			ask = fmt.Sprintf("\nGive it the input that these words ask for: %q\nThe schema of input: %s", typed, w.InputSchema)
		}
		text := fmt.Sprintf("Run the workflow %s and report its result to me.\nIt is: %s\nCall %s%s",
			w.ID, p.Doc, o.Discovery.StoredAnswer(ctx, runWorkflow, call), ask)
		return []serve.Message{{Content: content.Text(text)}}, nil
	}
	return p
}

// complete returns a completer for a field with a fixed set of values, or nil.
func (f field) complete() serve.Completer {
	values := f.Enum
	if f.Type == "boolean" {
		values = []any{true, false}
	}
	if values == nil {
		return nil
	}
	return starting(func(context.Context, map[string]string) (all []string, _ error) {
		for _, v := range values {
			all = append(all, fmt.Sprint(v))
		}
		return all, nil
	})
}

// Watch polls the workflows and calls changed when the runnable ones differ, until ctx is done.
func (o Offer) Watch(ctx context.Context, every time.Duration, changed func()) {
	look := func() string {
		runnable, err := o.Workflows.Runnable(ctx)
		if err != nil {
			return ""
		}
		return string(ordered.MustJSON(runnable))
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for known := look(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := look(); now != known {
			known = now
			changed()
		}
	}
}
