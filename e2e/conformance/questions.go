package main

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/content"
)

// questionTools returns the tools of the suite that ask their client.
func questionTools() []toolfold.External {
	confirm := ask.Form{Name: "confirm", Text: "Please confirm",
		Schema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)}
	name := textForm("user_name", "What is your name?", "name")
	capital := toolfold.Prompt{Text: "What is the capital of France?", MaxTokens: 100}
	return []toolfold.External{
		with("test_sampling", "Asks the model of the client.", "prompt", func(ctx context.Context, text string) ([]content.Block, error) {
			return sample(ctx, toolfold.Prompt{Text: text, MaxTokens: 100})
		}),
		with("test_elicitation", "Asks the user of the client.", "message", func(ctx context.Context, text string) ([]content.Block, error) {
			return fillForm(ctx, ask.Form{Text: text, Schema: user})
		}),
		form("test_elicitation_sep1034_defaults", ask.Form{Text: "Please review the defaults", Schema: defaults}),
		form("test_elicitation_sep1330_enums", ask.Form{Text: "Please choose", Schema: enums}),
		form("test_input_required_result_elicitation", name),
		form("test_input_required_result_tampered_state", confirm),
		form("test_streaming_elicitation", confirm),
		tool("test_input_required_result_request_state", "Asks for a confirmation.", func(ctx context.Context) ([]content.Block, error) {
			_, err := fillForm(ctx, confirm)
			return []content.Block{content.Text("state-ok")}, err
		}),
		tool("test_input_required_result_multi_round", "Asks two forms, one after the other.",
			func(ctx context.Context) ([]content.Block, error) {
				first, err := fillForm(ctx, textForm("step1", "Step 1: What is your name?", "name"))
				if err != nil {
					return nil, err
				}
				second, err := fillForm(ctx, textForm("step2", "Step 2: What is your favorite color?", "color"))
				return append(first, second...), err
			}),
		tool("test_input_required_result_sampling", "Asks for a capital.", func(ctx context.Context) ([]content.Block, error) {
			return sample(ctx, capital)
		}),
		tool("test_missing_capability", "Needs the model of the client.", func(ctx context.Context) ([]content.Block, error) {
			return sample(ctx, capital)
		}),
		tool("test_input_required_result_capabilities", "Asks the kinds of questions that the client supports.", askUserOrModel),
		tool("test_input_required_result_list_roots", "Asks for the folders of the client.", roots),
		tool("test_input_required_result_multiple_inputs", "Asks three things at once.", askAtOnce),
	}
}

// with returns a tool with one text argument.
func with(name, doc, argument string, run func(ctx context.Context, text string) ([]content.Block, error)) toolfold.External {
	return toolfold.External{
		Name: name, Description: doc, Category: "conformance", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{%q:{"type":"string","description":"The question."}},"required":[%q]}`, argument, argument)),
		Relay: func(ctx context.Context, args json.RawMessage) (toolfold.Reply, error) {
			var values map[string]string
			if err := json.Unmarshal(args, &values); err != nil {
				return toolfold.Reply{}, err
			}
			blocks, err := run(ctx, values[argument])
			return content.Reply(blocks...), err
		},
	}
}

// form returns a tool that asks its user.
func form(name string, f ask.Form) toolfold.External {
	return tool(name, "Asks the user of the client.", func(ctx context.Context) ([]content.Block, error) { return fillForm(ctx, f) })
}

// textForm returns a form for one text.
func textForm(name, asks, field string) ask.Form {
	return ask.Form{Name: name, Text: asks, Schema: json.RawMessage(
		fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, field, field))}
}

// fillForm returns the user's answer to a form as text.
func fillForm(ctx context.Context, f ask.Form) ([]content.Block, error) {
	filled, err := ask.User(ctx, f)
	return []content.Block{content.Text(fmt.Sprintf("Elicitation completed: action=%s, content=%s", filled.Action, filled.Content))}, err
}

// sample returns the answer of the client's model as text.
func sample(ctx context.Context, p toolfold.Prompt) ([]content.Block, error) {
	done, err := toolfold.Sample(ctx, p)
	return []content.Block{content.Text("LLM response: " + done.Text)}, err
}

func roots(ctx context.Context) ([]content.Block, error) {
	roots, err := ask.Roots(ctx)
	return []content.Block{content.Text(fmt.Sprintf("Roots: %v", roots))}, err
}

// askAtOnce asks three independent questions.
func askAtOnce(ctx context.Context) ([]content.Block, error) {
	answers := make([][]content.Block, 3)
	var all errgroup.Group
	for i, one := range []func() ([]content.Block, error){
		func() ([]content.Block, error) {
			return fillForm(ctx, textForm("user_name", "What is your name?", "name"))
		},
		func() ([]content.Block, error) {
			return sample(ctx, toolfold.Prompt{Text: "Generate a greeting", MaxTokens: 50})
		},
		func() ([]content.Block, error) { return roots(ctx) },
	} {
		all.Go(func() (err error) {
			answers[i], err = one()
			return err
		})
	}
	err := all.Wait()
	return append(append(answers[0], answers[1]...), answers[2]...), err
}

// askUserOrModel asks the user, or the model if the client cannot ask its user.
func askUserOrModel(ctx context.Context) ([]content.Block, error) {
	blocks, err := fillForm(ctx, textForm("user_name", "What is your name?", "name"))
	if lacking, ok := err.(*toolfold.Error); ok && lacking.Code == toolfold.ClientLacks {
		return sample(ctx, toolfold.Prompt{Text: "Guess the name of the user.", MaxTokens: 100})
	}
	return blocks, err
}

// The forms of the suite.
var (
	user = json.RawMessage(`{"type":"object","properties":{"username":{"type":"string","description":"User's response"},` +
		`"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)
	defaults = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},` +
		`"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},` +
		`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)
	enums = json.RawMessage(`{"type":"object","properties":{` +
		`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},` +
		`{"const":"value3","title":"Third Option"}]},` +
		`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},` +
		`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},` +
		`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},` +
		`{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)
)
