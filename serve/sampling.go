package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolfold/toolfold/engine"
)

// defaultSampleTokens is the most tokens of an answer when a prompt does not
// say: the protocol asks for a figure.
const defaultSampleTokens = 4096

// withSampler offers the model of the client that called to what runs under
// ctx. Clients of 2026-07-28 are asked between requests: see park.go.
func (s *Server) withSampler(ctx context.Context) context.Context {
	if server.IsModernRequest(ctx) || !samples(ctx) {
		return ctx
	}
	return engine.WithSampler(ctx, asking{s.mcp, ctx})
}

// samples tells whether the client of a request offers its model.
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
	mcp     *server.MCPServer
	request context.Context // of the call: it knows the client
}

// Sample implements [engine.Sampler].
func (a asking) Sample(ctx context.Context, p engine.Prompt) (engine.Completion, error) {
	ctx, cancel := joined(a.request, ctx)
	defer cancel()
	//lint:ignore SA1019 the clients that this is for know no other way
	result, err := a.mcp.RequestSampling(ctx, mcp.CreateMessageRequest{
		Request: mcp.Request{Method: string(mcp.MethodSamplingCreateMessage)}, CreateMessageParams: sampleParams(p),
	})
	if err != nil {
		return engine.Completion{}, fmt.Errorf("asking the client's model: %w", err)
	}
	return completion(result)
}

// joined is a context with the values of one that ends with either.
func joined(values, ends context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(values)
	stop := context.AfterFunc(ends, cancel)
	return ctx, func() { stop(); cancel() }
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
	return engine.Completion{Text: text, Model: result.Model}, nil
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
