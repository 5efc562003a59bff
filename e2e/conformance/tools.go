package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/serve"
)

// step is the time between two reports of a tool.
const step = 50 * time.Millisecond

// tool returns a tool of the suite without arguments.
func tool(name, doc string, run func(ctx context.Context) ([]content.Block, error)) toolfold.External {
	return toolfold.External{
		Name: name, Description: doc, Category: "conformance", Effect: toolfold.Reads,
		InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		Relay: func(ctx context.Context, _ json.RawMessage) (toolfold.Reply, error) {
			blocks, err := run(ctx)
			return content.Reply(blocks...), err
		},
	}
}

// text returns a tool of the suite with a constant answer.
func text(name, doc string, blocks ...content.Block) toolfold.External {
	return tool(name, doc, func(context.Context) ([]content.Block, error) { return blocks, nil })
}

// tools returns the tools of the suite.
func (f *fixtures) tools() []toolfold.External {
	embedded := content.Embed("test://embedded-resource",
		content.Data{MIME: "text/plain", Text: "This is an embedded resource content."})
	mixed := content.Embed("test://mixed-content-resource",
		content.Data{MIME: "application/json", Text: `{"test":"data","value":123}`})
	all := []toolfold.External{
		text("test_simple_text", "Returns a text.", content.Text("This is a simple text response for testing.")),
		text("test_image_content", "Shows an image.", content.Image("image/png", png)),
		text("test_audio_content", "Plays a sound.", content.Audio("audio/wav", wav)),
		text("test_embedded_resource", "Holds a resource.", embedded),
		text("test_multiple_content_types", "Returns a text, an image and a resource.",
			content.Text("Multiple content types test:"), content.Image("image/png", png), mixed),
		tool("test_error_handling", "Always fails.", func(context.Context) ([]content.Block, error) {
			return nil, toolfold.Errorf(toolfold.UpstreamError, "This tool intentionally returns an error for testing")
		}),
		tool("test_tool_with_progress", "Reports its progress.", reports),
		tool("test_tool_with_logging", "Logs as it goes.", logs),
		tool("test_logging_tool", "Logs as it goes.", logs),
		schema,
		tool("test_trigger_tool_change", "Adds a tool.", func(context.Context) ([]content.Block, error) {
			family, err := text("test_added_tool", "Was added.", content.Text("Here I am.")).Family()
			if err != nil {
				return nil, err
			}
			return done, f.surface.Put(family)
		}),
		tool("test_trigger_prompt_change", "Notifies that the prompts changed.", func(context.Context) ([]content.Block, error) {
			f.server.PromptsChanged()
			return done, nil
		}),
	}
	return append(all, questionTools()...)
}

var done = []content.Block{content.Text("Done.")}

func reports(ctx context.Context) ([]content.Block, error) {
	for _, n := range []float64{0, 50, 100} {
		toolfold.Report(ctx, toolfold.Progress{Done: n, Total: 100, Message: fmt.Sprintf("Completed step %v of 100", n)})
		time.Sleep(step)
	}
	return done, nil
}

func logs(ctx context.Context) ([]content.Block, error) {
	for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		serve.Log(ctx).Info(message)
		time.Sleep(step)
	}
	return done, nil
}

// schema uses keywords of JSON Schema 2020-12.
var schema = toolfold.External{
	Name: "json_schema_2020_12_tool", Description: "Tool with JSON Schema 2020-12 features", Category: "conformance", Effect: toolfold.Reads,
	InputSchema: contact, Definition: json.RawMessage(`{"name":"json_schema_2020_12_tool",` +
		`"description":"Tool with JSON Schema 2020-12 features","inputSchema":` + string(contact) + `}`),
	Run: func(_ context.Context, args json.RawMessage) (json.RawMessage, error) { return args, nil },
}

var contact = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},` +
	`"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},` +
	`"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`)
