package main

import (
	"context"
	"strings"

	"github.com/toolfold/toolfold/ask"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/serve"
)

// prompts returns the prompts of the suite.
func prompts(context.Context) ([]serve.Prompt, error) {
	return []serve.Prompt{{
		Name: "test_simple_prompt", Doc: "A prompt without arguments.",
		Get: func(context.Context, map[string]string) ([]serve.Message, error) {
			return promptMessages(content.Text("This is a simple prompt for testing.")), nil
		},
	}, {
		Name: "test_prompt_with_arguments", Doc: "A prompt with two arguments.",
		Arguments: []serve.Argument{
			{Name: "arg1", Doc: "First test argument.", Required: true, Complete: cities},
			{Name: "arg2", Doc: "Second test argument.", Required: true},
		},
		Get: func(_ context.Context, arguments map[string]string) ([]serve.Message, error) {
			return promptMessages(content.Text("Prompt with arguments: arg1='" + arguments["arg1"] + "', arg2='" + arguments["arg2"] + "'")), nil
		},
	}, {
		Name: "test_prompt_with_embedded_resource", Doc: "A prompt that holds a resource.",
		Arguments: []serve.Argument{{Name: "resourceUri", Doc: "URI of the resource.", Required: true}},
		Get: func(_ context.Context, arguments map[string]string) ([]serve.Message, error) {
			data := content.Data{MIME: "text/plain", Text: "Embedded resource content for testing."}
			return promptMessages(content.Embed(arguments["resourceUri"], data), content.Text("Please process the embedded resource above.")), nil
		},
	}, {
		Name: "test_prompt_with_image", Doc: "A prompt that holds an image.",
		Get: func(context.Context, map[string]string) ([]serve.Message, error) {
			return promptMessages(content.Image("image/png", png), content.Text("Please analyze the image above.")), nil
		},
	}, {
		Name: "test_input_required_result_prompt", Doc: "A prompt that asks its user.",
		Get: func(ctx context.Context, _ map[string]string) ([]serve.Message, error) {
			filled, err := ask.User(ctx, textForm("user_context", "What context should the prompt use?", "context"))
			if err != nil {
				return nil, err
			}
			return promptMessages(content.Text("Use this context: " + string(filled.Content))), nil
		},
	}}, nil
}

func promptMessages(blocks ...content.Block) []serve.Message {
	messages := make([]serve.Message, len(blocks))
	for i, b := range blocks {
		messages[i] = serve.Message{Content: b}
	}
	return messages
}

func cities(_ context.Context, typed string, _ map[string]string) (found []string, _ error) {
	for _, city := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(city, typed) {
			found = append(found, city)
		}
	}
	return found, nil
}
