package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/run/provider"
)

// maxReply bounds the bytes of an endpoint's reply.
const maxReply = 8 << 20

// A request is repeated after the wait in Retry-After, if it is at most maxWait. There are at most
// maxTries requests.
const (
	maxTries = 3
	maxWait  = MaxBackoff * time.Millisecond
)

// openAI asks an endpoint that speaks OpenAI's chat API. Its key is read from the environment for
// each prompt and never stored.
type openAI struct {
	config provider.Config
	name   string
}

// Complete implements [Provider].
func (o openAI) Complete(ctx context.Context, p callctx.Prompt) (callctx.Completion, error) {
	if p.Model == "" {
		return callctx.Completion{}, fatal(ProviderUnavailable, "provider %q has no model", o.name).hint("set providers.%s.model", o.name)
	}
	key := ""
	if o.config.APIKeyEnv != "" {
		if key = os.Getenv(o.config.APIKeyEnv); key == "" {
			return callctx.Completion{}, fatal(ProviderUnavailable, "provider %q: the environment variable %s is not set", o.name,
				o.config.APIKeyEnv).
				hint("start the server with it")
		}
	}
	config := openai.DefaultConfig(key)
	config.BaseURL = strings.TrimSuffix(o.config.BaseURL, "/")
	line := &waitRecorder{}
	config.HTTPClient = line
	client := openai.NewClientWithConfig(config)
	reply, err := client.CreateChatCompletion(ctx, o.request(p))
	for tries := 1; err != nil && line.wait > 0 && line.wait <= maxWait && tries < maxTries; tries++ {
		select {
		case <-time.After(line.wait):
		case <-ctx.Done():
			return callctx.Completion{}, o.failure(ctx, err, key)
		}
		reply, err = client.CreateChatCompletion(ctx, o.request(p))
	}
	var refused *openai.APIError
	if p.Schema != nil && errors.As(err, &refused) && refused.HTTPStatusCode == http.StatusBadRequest &&
		strings.Contains(err.Error(), "response_format") {
		p = inWords(p) // the endpoint does not know it
		p.Schema = nil
		reply, err = client.CreateChatCompletion(ctx, o.request(p))
	}
	if err != nil {
		failed := o.failure(ctx, err, key)
		var f *Failure
		if line.wait > 0 && errors.As(failed, &f) {
			f.hint("it asks for a pause of %s; try again later", line.wait.Round(time.Second))
		}
		return callctx.Completion{}, failed
	}
	if len(reply.Choices) == 0 {
		return callctx.Completion{}, failf(StepFailed, "provider %q answered without a choice", o.name)
	}
	message, reason := reply.Choices[0].Message, reply.Choices[0].FinishReason
	switch {
	case message.Refusal != "":
		return callctx.Completion{}, failf(StepFailed, "provider %q refused: %s", o.name, short(withoutKey(message.Refusal, key)))
	case reason == openai.FinishReasonContentFilter:
		return callctx.Completion{}, failf(StepFailed, "provider %q: its content filter stopped the answer", o.name)
	}
	var calls []callctx.UsedOffer
	for _, c := range message.ToolCalls {
		calls = append(calls, callctx.UsedOffer{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return callctx.Completion{
		Text: message.Content, Calls: calls, Model: reply.Model,
		InputTokens: reply.Usage.PromptTokens, OutputTokens: reply.Usage.CompletionTokens,
		Truncated: reason == openai.FinishReasonLength,
	}, nil
}

func (o openAI) request(p callctx.Prompt) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: p.Model}
	if p.System != "" {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: p.System})
	}
	r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: p.Text})
	for _, turn := range p.Turns {
		answer := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: turn.Text}
		var results []openai.ChatCompletionMessage
		for _, c := range turn.Calls {
			answer.ToolCalls = append(answer.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Name, Arguments: string(c.Arguments)},
			})
			results = append(results, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.ID, Content: string(c.Result)})
		}
		r.Messages = append(append(r.Messages, answer), results...)
		if turn.Reply != "" {
			r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: turn.Reply})
		}
	}
	for _, t := range p.Tools {
		r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	if p.Final && len(p.Tools) > 0 {
		r.ToolChoice = "none"
	}
	if p.Schema != nil {
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: p.Schema},
		}
	}
	// OpenAI itself refuses max_tokens for its newer models; the endpoints
	// that speak its API know only that.
	if u, err := url.Parse(o.config.BaseURL); err == nil && u.Hostname() == "api.openai.com" {
		r.MaxCompletionTokens = p.MaxTokens
	} else {
		r.MaxTokens = p.MaxTokens //lint:ignore SA1019 the only name that all endpoints know
	}
	return r
}

// withoutKey takes the key out of a text of the endpoint.
func withoutKey(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}

// failure converts the endpoint's error, without the key, which an endpoint may quote.
func (o openAI) failure(ctx context.Context, err error, key string) error {
	var api *openai.APIError
	var request *openai.RequestError
	var address *url.Error
	reason := ""
	code := 0
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return failf(TimedOut, "provider %q took longer than it may", o.name).hint("raise timeoutMs of the provider or the step")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, provider.ErrTooLong):
		return fatal(StepFailed, "provider %q: the reply has more than %d bytes", o.name, maxReply)
	case errors.As(err, &api):
		code, reason = api.HTTPStatusCode, api.Message
	case errors.As(err, &request):
		code, reason = request.HTTPStatusCode, string(request.Body)
	case errors.As(err, &address):
		reason = address.Err.Error()
	default:
		reason = "the reply is not one of the chat API"
	}
	reason = withoutKey(reason, key)
	if code == 0 {
		return failf(StepFailed, "provider %q: %s", o.name, short(reason))
	}
	f := failf(StepFailed, "provider %q answered %d %s: %s", o.name, code, http.StatusText(code), short(reason))
	// Too many requests, and faults of the endpoint, can pass.
	f.final = code < 500 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
	return f
}

// waitRecorder is an HTTP client that records the wait that an endpoint asks for. It is for sequential
// requests.
type waitRecorder struct {
	wait time.Duration // requested by the last reply; zero = no wait
}

// Do implements [openai.HTTPDoer].
func (w *waitRecorder) Do(r *http.Request) (*http.Response, error) {
	w.wait = 0
	reply, err := provider.Client{MaxReply: maxReply}.Do(r)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode == http.StatusTooManyRequests || reply.StatusCode == http.StatusServiceUnavailable {
		w.wait = retryAfter(reply.Header.Get("Retry-After"), time.Now())
	}
	return reply, nil
}

// retryAfter parses a Retry-After header: seconds or a date. It returns at least a second, or zero
// if the header is invalid.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(header), 10, 31); err == nil {
		return max(time.Duration(seconds)*time.Second, time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), time.Second)
	}
	return 0
}
