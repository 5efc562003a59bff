package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/internal/engine"
)

// defaultSampleTokens is the most tokens of an answer when a prompt does not
// say: the protocol asks for a figure.
const defaultSampleTokens = 4096

// samples reports whether the client of a request offers its model.
func samples(ctx context.Context) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.ClientCapabilities != nil && info.ClientCapabilities.Sampling != nil
	}
	client, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	return ok && client.GetClientCapabilities().Sampling != nil
}

// asking sends sampling/createMessage to the client, as protocols up to
// 2025-11-25 have it.
type asking struct {
	server  *Server
	request context.Context // of the call: it knows the client
}

// Sample implements [engine.Sampler].
func (a asking) Sample(ctx context.Context, p engine.Prompt) (engine.Completion, error) {
	ctx, done, err := a.server.parking.prompts.wait(ctx, clientOf(a.request))
	if err != nil {
		return engine.Completion{}, err
	}
	defer done()
	defer pause(ctx)()
	// The request's context knows the client.
	asking, cancel := context.WithCancelCause(a.request)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	defer cancel(nil)
	//lint:ignore SA1019 the clients that this is for know no other way
	result, err := a.server.mcp.RequestSampling(asking, mcp.CreateMessageRequest{
		Request: mcp.Request{Method: string(mcp.MethodSamplingCreateMessage)}, CreateMessageParams: sampleParams(p),
	})
	if cause := context.Cause(asking); cause != nil {
		return engine.Completion{}, cause
	}
	if err != nil {
		return engine.Completion{}, fmt.Errorf("asking the client's model: %w", err)
	}
	return completion(result)
}

func sampleParams(p engine.Prompt) mcp.CreateMessageParams {
	params := mcp.CreateMessageParams{
		Messages:     []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(p.Text)}},
		SystemPrompt: p.System,
		MaxTokens:    p.MaxTokens,
	}
	if params.MaxTokens == 0 {
		params.MaxTokens = defaultSampleTokens
	}
	if p.Model != "" {
		params.ModelPreferences = &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: p.Model}}}
	}
	return params
}

// completion takes the text out of a client's answer.
func completion(result *mcp.CreateMessageResult) (engine.Completion, error) {
	if result == nil {
		return engine.Completion{}, errors.New("the client's model gave no answer")
	}
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return engine.Completion{}, fmt.Errorf("reading the client's answer: %w", err)
	}
	text := textOf(content)
	if text == "" {
		return engine.Completion{}, errors.New("the client's model answered without text")
	}
	return engine.Completion{Text: text, Model: result.Model, Truncated: result.StopReason == "maxTokens"}, nil
}

// textOf is the text in one content block or in a list of them.
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
