package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

// chatServer is a server that speaks the OpenAI chat API.
type chatServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []map[string]any
	keys     []string
	tracer   trace.TracerProvider // of [chatServer.run]; nil is the global one
	answer   func(w http.ResponseWriter, r *http.Request)
}

const answered = `{"id":"1","object":"chat.completion","model":"m-2026","choices":[{"index":0,"finish_reason":"stop",` +
	`"message":{"role":"assistant","content":"four"}}],"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}`

func newEndpoint(t *testing.T) *chatServer {
	t.Helper()
	e := &chatServer{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request map[string]any
		if err := json.Unmarshal(body, &request); err != nil || r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
			http.Error(w, "not a chat completion", http.StatusTeapot)
			return
		}
		e.mu.Lock()
		e.requests = append(e.requests, request)
		e.keys = append(e.keys, r.Header.Get("Authorization"))
		e.mu.Unlock()
		if e.answer != nil {
			e.answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answered)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *chatServer) providers(more map[string]any) *Providers {
	config := map[string]any{"type": "openai", "baseURL": e.URL + "/v1/", "model": "m"}
	for k, v := range more {
		config[k] = v
	}
	return NewProviders(fixedSettings(map[string]any{"providers": map[string]any{"api": config}}), "")
}

func fixedSettings(settings map[string]any) func() (map[string]any, error) {
	return func() (map[string]any, error) { return settings, nil }
}

func askProvider(ctx context.Context, ps *Providers, name string, p callctx.Prompt) (callctx.Completion, error) {
	provider, err := ps.pick(ctx, name)
	if err != nil {
		return callctx.Completion{}, err
	}
	return provider.complete(ctx, p)
}

func TestOpenAI(t *testing.T) {
	t.Setenv("TOOLFOLD_TEST_KEY", "sk-secret")
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody-else")
	e := newEndpoint(t)
	done, err := askProvider(t.Context(), e.providers(nil), "", callctx.Prompt{Text: "two and two?"})
	if diff := cmp.Diff(callctx.Completion{Text: "four", Model: "m-2026", InputTokens: 7, OutputTokens: 1}, done); diff != "" || err != nil {
		t.Error(err, diff)
	}
	_, err = askProvider(t.Context(), e.providers(map[string]any{"apiKeyEnv": "TOOLFOLD_TEST_KEY", "maxTokens": json.Number("9")}), "api",
		callctx.Prompt{Text: "again?", System: "be short", Model: "n"})
	if err != nil {
		t.Error(err)
	}
	want := []map[string]any{
		{"model": "m", "stream": false, "messages": []any{map[string]any{"role": "user", "content": "two and two?"}}},
		{"model": "n", "stream": false, "max_tokens": 9.0, "messages": []any{
			map[string]any{"role": "system", "content": "be short"}, map[string]any{"role": "user", "content": "again?"},
		}},
	}
	if diff := cmp.Diff(want, e.requests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "Bearer sk-secret"}, e.keys); diff != "" {
		t.Error(diff)
	}
}

// No error shows the key, even where the endpoint does.
func TestOpenAIThatFails(t *testing.T) {
	t.Setenv("TOOLFOLD_TEST_KEY", "sk-secret")
	for name, test := range map[string]struct {
		status int
		body   string
		code   string
		want   string
		final  bool
	}{
		"key": {401, `{"error":{"message":"Incorrect API key: sk-secret.","type":"invalid","code":"x"}}`, StepFailed,
			`answered 401 Unauthorized: Incorrect API key: [key].`, true},
		"busy":     {429, `{"error":{"message":"slow down","type":"t"}}`, StepFailed, `answered 429 Too Many Requests: slow down`, false},
		"broken":   {500, `oh no sk-secret`, StepFailed, `answered 500 Internal Server Error: oh no [key]`, false},
		"empty":    {200, `{"choices":[]}`, StepFailed, `without a choice`, false},
		"not json": {200, `hello`, StepFailed, `not one of the chat API`, false},
		"refusal":  {200, `{"choices":[{"message":{"role":"assistant","refusal":"I won't"}}]}`, StepFailed, `refused: I won't`, false},
		"key in refusal": {200, `{"choices":[{"message":{"role":"assistant","refusal":"not with sk-secret"}}]}`, StepFailed,
			`refused: not with [key]`, false},
		"cut off": {200, `{"choices":[{"finish_reason":"length","message":{"role":"assistant","content":"half an ans"}}]}`, StepFailed,
			`the answer was cut off at its longest length`, false},
		"filtered": {200, `{"choices":[{"finish_reason":"content_filter","message":{"role":"assistant","content":"half"}}]}`, StepFailed,
			`its content filter stopped the answer`, false},
		"no answer": {200, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":" \n"}}]}`, StepFailed,
			`the answer is empty`, false},
		"too long": {200, `{"choices":[{"message":{"content":"` + strings.Repeat("x", maxReply) + `"}}]}`, StepFailed,
			`the reply has more than`, true},
		"elsewhere": {302, ``, StepFailed, `the endpoint redirects (302)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/v1/other")
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}
			_, err := askProvider(t.Context(), e.providers(map[string]any{"apiKeyEnv": "TOOLFOLD_TEST_KEY"}), "", callctx.Prompt{Text: "x"})
			var f *Failure
			if !errors.As(err, &f) || f.Code != test.code || !strings.Contains(f.Message, test.want) || f.final != test.final {
				t.Fatalf("%+v, want %s %q", f, test.code, test.want)
			}
			if strings.Contains(f.Error()+f.Hint, "sk-secret") {
				t.Error("the key is in the error")
			}
		})
	}
}

// An endpoint that says when it has room again is asked again then; one that
// asks for too long a pause is not.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.answer = func(w http.ResponseWriter, _ *http.Request) {
		if len(e.requests) == 1 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error":{"message":"slow down","type":"t"}}`, http.StatusTooManyRequests)
			return
		}
		io.WriteString(w, answered)
	}
	start := time.Now()
	done, err := askProvider(t.Context(), e.providers(nil), "", callctx.Prompt{Text: "x"})
	if err != nil || done.Text != "four" || len(e.requests) != 2 || time.Since(start) < time.Second {
		t.Errorf("%+v, %v after %s and %d requests", done, err, time.Since(start), len(e.requests))
	}
	e.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		http.Error(w, `{"error":{"message":"slow down","type":"t"}}`, http.StatusTooManyRequests)
	}
	_, err = askProvider(t.Context(), e.providers(nil), "", callctx.Prompt{Text: "x"})
	var f *Failure
	if !errors.As(err, &f) || f.Hint != "it asks for a pause of 1h0m0s; try again later" || f.final || len(e.requests) != 3 {
		t.Errorf("%+v after %d requests", f, len(e.requests))
	}
	now := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": time.Second, "7": 7 * time.Second, "Tue, 28 Jul 2026 09:00:30 GMT": 30 * time.Second,
		"Tue, 28 Jul 2026 08:00:00 GMT": time.Second,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

func TestOpenAIUnreachable(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	e.Close()
	_, err := askProvider(t.Context(), e.providers(nil), "", callctx.Prompt{Text: "x"})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
	_, err = askProvider(t.Context(), e.providers(map[string]any{"apiKeyEnv": "TOOLFOLD_TEST_KEY_THAT_IS_NOT_SET"}), "",
		callctx.Prompt{Text: "x"})
	if err == nil || !strings.Contains(err.Error(), "TOOLFOLD_TEST_KEY_THAT_IS_NOT_SET is not set") {
		t.Error(err)
	}
}

// A cancelled prompt hangs up on the endpoint.
func TestOpenAIHangsUp(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	begun, gone := make(chan struct{}), make(chan struct{})
	e.answer = func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(gone)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Result)
	go func() {
		done <- (&Runner{Providers: e.providers(nil)}).
			Run(ctx, Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `[{stepId: p, type: prompt, config: {prompt: x}}]`)})
	}()
	<-begun
	cancel()
	if r := <-done; r.Failure == nil || r.Failure.Code != Cancelled {
		t.Errorf("%+v", r.Failure)
	}
	testwait.Receive(t, "the endpoint's request ends", gone)
	if _, err := askProvider(t.Context(), NewProviders(fixedSettings(map[string]any{"providers": map[string]any{
		"slow": map[string]any{"type": "openai", "baseURL": slowEndpoint(t), "model": "m", "timeoutMs": 30}}}), ""), "",
		callctx.Prompt{Text: "x"}); err == nil || !strings.Contains(err.Error(), TimedOut) {
		t.Error(err)
	}
}

func slowEndpoint(t *testing.T) string {
	e := newEndpoint(t)
	e.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	return e.URL + "/v1"
}

// fakeSampler is the model of a client.
type fakeSampler struct{ prompts []callctx.Prompt }

func (f *fakeSampler) Sample(_ context.Context, p callctx.Prompt) (callctx.Completion, error) {
	f.prompts = append(f.prompts, p)
	return callctx.Completion{Text: "sampled"}, nil
}

func TestWhichProvider(t *testing.T) {
	t.Parallel()
	sampler := &fakeSampler{}
	offering := callctx.WithSampler(t.Context(), sampler)
	one := map[string]any{"a": map[string]any{"type": "sampling", "model": "big"}}
	two := map[string]any{"a": map[string]any{"type": "sampling"}, "b": map[string]any{"type": "sampling", "maxTokens": 5}}
	for name, test := range map[string]struct {
		ctx      context.Context
		settings map[string]any
		ask      string
		want     string
	}{
		"client":   {offering, nil, "", "client"},
		"nothing":  {t.Context(), nil, "", `no model is configured for prompts`},
		"only one": {offering, map[string]any{"providers": one}, "", "a"},
		"default":  {offering, map[string]any{"providers": two, "defaultProvider": "b"}, "", "b"},
		"named":    {offering, map[string]any{"providers": two, "defaultProvider": "b"}, "a", "a"},
		"choice":   {offering, map[string]any{"providers": two}, "", `several providers are configured`},
		"unknown": {offering, map[string]any{"providers": map[string]any{"claude": map[string]any{"type": "sampling"}}}, "claud",
			`no provider is called "claud", did you mean claude?`},
		"unknown default": {offering, map[string]any{"defaultProvider": "x"}, "", `no provider is called "x"`},
		"no client":       {t.Context(), map[string]any{"providers": one}, "", `no client that offers it is connected`},
		"no object":       {offering, map[string]any{"providers": map[string]any{"a": 7}}, "", `providers/a must be object`},
		"no type": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{}}}, "",
			`providers/a/type must be one of command, openai, sampling`},
		"no command": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "command"}}}, "",
			`providers/a/command is missing`},
		"shell line": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "command", "command": "claude -p"}}},
			"", `providers/a/command must be array, got string`},
		"no url": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "openai"}}}, "",
			`providers/a/baseURL is missing`},
		"bad url": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "openai", "baseURL": "ftp://x"}}},
			"", `providers/a/baseURL must be a http or https URL`},
		"password": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "openai",
			"baseURL": "http://u:p@x/v1"}}}, "", `without a password`},
		"key in settings": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "openai", "baseURL": "http://x/v1",
			"apiKey": "sk"}}}, "", `"providers/a/apiKey" is unknown, did you mean "apiKeyEnv"?`},
		"no model": {offering, map[string]any{"providers": map[string]any{"a": map[string]any{"type": "sampling", "command": []any{"x"}}}}, "",
			`"providers/a/command" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := NewProviders(fixedSettings(test.settings), "").pick(test.ctx, test.ask)
			if err == nil && p.name == test.want {
				return
			}
			var f *Failure
			if !errors.As(err, &f) || f.Code != ProviderUnavailable || !strings.Contains(f.Message, test.want) || f.Hint == "" {
				t.Errorf("%q, %+v, want %s", p.name, f, test.want)
			}
		})
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	sampler := &fakeSampler{}
	r := &Runner{Providers: NewProviders(fixedSettings(
		map[string]any{"providers": map[string]any{"a": map[string]any{"type": "sampling", "model": "big", "maxTokens": 5}}}), "")}
	result := r.Run(callctx.WithSampler(t.Context(), sampler), Job{Kind: WorkflowJob, ID: "w", Program: compiled(t, `
- {stepId: a, type: prompt, config: {prompt: "say {{ input.x ?? 1 }}"}}
- {stepId: b, type: prompt, config: {prompt: "{{ steps.a }}?", system: s, model: small, maxTokens: 2}}
`)})
	expect(t, result, `{"a":"sampled","b":"sampled"}`)
	want := []callctx.Prompt{{Text: "say 1", Model: "big", MaxTokens: 5}, {Text: "sampled?", System: "s", Model: "small", MaxTokens: 2}}
	if diff := cmp.Diff(want, sampler.prompts); diff != "" {
		t.Error(diff)
	}
}

// The system prompt of the job, and what is injected into it.
func TestSystemPrompts(t *testing.T) {
	t.Parallel()
	sampler := &fakeSampler{}
	program, faults := Compile(Definition{
		System: "I am {{ agent.name }}.", AgentFields: []string{"name"},
		Steps: steps(t, `[{stepId: a, type: prompt, config: {prompt: one}}, {stepId: b, type: prompt, config: {prompt: two, system: other}},`+
			` {stepId: c, type: prompt, config: {prompt: broken}}]`),
	}, nil)
	if faults != nil {
		t.Fatal(faults)
	}
	r := (&Runner{}).Run(callctx.WithSampler(t.Context(), sampler), Job{
		Kind: AgentJob, ID: "x", Program: program, Agent: map[string]any{"name": "X"},
		Inject: func(_ context.Context, prompt string) (string, error) {
			if prompt == "broken" {
				return "", errors.New("no luck")
			}
			return "know " + prompt, nil
		},
	})
	expectFailure(t, r, "c", StepFailed, "no luck")
	want := []callctx.Prompt{{Text: "one", System: "I am X.\n\nknow one"}, {Text: "two", System: "other\n\nknow two"}}
	if diff := cmp.Diff(want, sampler.prompts); diff != "" {
		t.Error(diff)
	}
}

func TestPromptsWithHoles(t *testing.T) {
	t.Parallel()
	r := do(t, nil, `[{stepId: a, type: prompt, config: {prompt: "hello {{ input.name }}"}}]`, `{}`)
	expectFailure(t, r, "a", StepFailed, `prompt: {{ input.name }}: it has no value`)
}
