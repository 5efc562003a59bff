package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/ordered"
)

// defaultSampleTokens is the maximum length of an answer if the prompt sets no limit: the protocol
// requires one.
const defaultSampleTokens = 4096

// checkTools rejects a prompt with tools if the client does not support tools: the client would
// have to return an error.
func checkTools(client *mcp.SamplingCapability, p callctx.Prompt) error {
	if len(p.Tools) == 0 || client.Tools != nil {
		return nil
	}
	return callctx.ErrNoTools
}

// clientSampler is the model that a client lends to a call.
type clientSampler struct {
	client callctx.Client
	offers *mcp.SamplingCapability
}

// Sample implements [callctx.Sampler].
func (l clientSampler) Sample(ctx context.Context, p callctx.Prompt) (callctx.Completion, error) {
	if err := checkTools(l.offers, p); err != nil {
		return callctx.Completion{}, err
	}
	raw, err := l.client.Ask(ctx, callctx.Question{Method: callctx.MethodSample, Params: sampleParams(p)})
	if err != nil {
		return callctx.Completion{}, err
	}
	var result *mcp.CreateMessageResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return callctx.Completion{}, fmt.Errorf("reading the client's answer: %w", err)
	}
	return completion(result)
}

func sampleParams(p callctx.Prompt) mcp.CreateMessageParams {
	params := mcp.CreateMessageParams{
		Messages:     []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(p.Text)}},
		SystemPrompt: p.System,
		MaxTokens:    p.MaxTokens,
	}
	for _, turn := range p.Turns {
		var answer, results []mcp.Content
		if turn.Text != "" {
			answer = append(answer, mcp.NewTextContent(turn.Text))
		}
		for _, c := range turn.Calls {
			answer = append(answer, mcp.NewToolUseContent(c.ID, c.Name, c.Arguments))
			results = append(results, mcp.NewToolResultContent(c.ID, []mcp.Content{mcp.NewTextContent(string(c.Result))}, c.Failed))
		}
		params.Messages = append(params.Messages, mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: answer})
		if results != nil {
			params.Messages = append(params.Messages, mcp.SamplingMessage{Role: mcp.RoleUser, Content: results})
		}
		if turn.Reply != "" {
			params.Messages = append(params.Messages, mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.NewTextContent(turn.Reply)})
		}
	}
	for _, t := range p.Tools {
		params.Tools = append(params.Tools, mcp.NewToolWithRawSchema(t.Name, t.Description, t.Schema))
	}
	if p.Final && len(p.Tools) > 0 {
		params.ToolChoice = &mcp.ToolChoice{Mode: mcp.ToolChoiceModeNone}
	}
	if params.MaxTokens == 0 {
		params.MaxTokens = defaultSampleTokens
	}
	if p.Model != "" {
		params.ModelPreferences = &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: p.Model}}}
	}
	return params
}

// completion returns the text and the calls in a client's answer.
func completion(result *mcp.CreateMessageResult) (callctx.Completion, error) {
	if result == nil {
		return callctx.Completion{}, errors.New("the client's model gave no answer")
	}
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return callctx.Completion{}, fmt.Errorf("reading the client's answer: %w", err)
	}
	done := callctx.Completion{Text: textOf(content), Model: result.Model, Truncated: result.StopReason == "maxTokens"}
	blocks, several := content.([]mcp.Content)
	if single, ok := content.(mcp.Content); ok && !several {
		blocks = []mcp.Content{single}
	}
	for _, block := range blocks {
		if use, ok := block.(mcp.ToolUseContent); ok {
			arguments, err := ordered.JSON(use.Input)
			if err != nil {
				return callctx.Completion{}, fmt.Errorf("reading the client's call of %s: %w", use.Name, err)
			}
			done.Calls = append(done.Calls, callctx.UsedOffer{ID: use.ID, Name: use.Name, Arguments: arguments})
		}
	}
	if done.Text == "" && done.Calls == nil {
		return callctx.Completion{}, errors.New("the client's model answered without text")
	}
	return done, nil
}

// textOf returns the text in a content block or in a list of blocks.
func textOf(content any) string {
	switch content := content.(type) {
	case mcp.TextContent:
		return content.Text
	case []mcp.Content:
		var texts []string
		for _, block := range content {
			if text := textOf(block); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}
