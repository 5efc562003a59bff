package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

// APICount holds the tokens of a server's list as counted by a model's API.
type APICount struct {
	Server string `json:"server"`
	Host   string `json:"host,omitempty"`
	Model  string `json:"model"`
	Tokens int    `json:"tokens"` // tokens that the tools add to a request, including the fixed part per request
}

// Anthropic counts with Anthropic's API, which is free of charge.
type Anthropic struct {
	URL   string // of the API, without a path
	Key   string
	Model string // empty = the newest that the key may use
}

// maxCount bounds an answer of the API, in bytes.
const maxCount = 1 << 20

// Count counts lists as the model does. It skips lists without tools.
func (a Anthropic) Count(ctx context.Context, lists []List) ([]APICount, error) {
	if a.Model == "" {
		var models struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if err := a.ask(ctx, http.MethodGet, "/v1/models?limit=1", nil, &models); err != nil {
			return nil, fmt.Errorf("asking for the newest model: %w", err)
		}
		if len(models.Data) == 0 {
			return nil, errors.New("the key may use no model: name one")
		}
		a.Model = models.Data[0].ID
	}
	bare, err := a.count(ctx, nil)
	if err != nil {
		return nil, err
	}
	counted := []APICount{}
	for _, l := range lists {
		if len(l.Tools) == 0 {
			continue
		}
		n, err := a.count(ctx, l.Tools)
		if err != nil {
			return nil, fmt.Errorf("counting %s: %w", l.Server, err)
		}
		counted = append(counted, APICount{Server: l.Server, Host: l.Host, Model: a.Model, Tokens: n - bare})
	}
	return counted, nil
}

// count counts a request with tools and a one-word message.
func (a Anthropic) count(ctx context.Context, list []Tool) (int, error) {
	request := ordered.Map{{Key: "model", Value: a.Model}, {Key: "messages", Value: []ordered.Map{
		{{Key: "role", Value: "user"}, {Key: "content", Value: "hi"}},
	}}}
	if len(list) > 0 {
		tools := make([]ordered.Map, len(list))
		for i, t := range list {
			if t.InputSchema == nil {
				t.InputSchema = json.RawMessage(`{"type":"object"}`)
			}
			tools[i] = ordered.Map{{Key: "name", Value: t.Name}, {Key: "description", Value: t.Description},
				{Key: "input_schema", Value: t.InputSchema}}
		}
		request.Set("tools", tools)
	}
	var answer struct {
		InputTokens *int `json:"input_tokens"`
	}
	if err := a.ask(ctx, http.MethodPost, "/v1/messages/count_tokens", ordered.MustJSON(request), &answer); err != nil {
		return 0, err
	}
	if answer.InputTokens == nil {
		return 0, errors.New("the API answered without input_tokens")
	}
	return *answer.InputTokens, nil
}

// ask sends a request to the API. Its errors contain neither the key nor the request.
func (a Anthropic) ask(ctx context.Context, method, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the API is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", a.Key)
	request.Header.Set("Anthropic-Version", "2023-06-01")
	// redirects would leak the key
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("the API cannot be reached: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCount))
	if err != nil {
		return fmt.Errorf("reading the answer of the API: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var refused struct{ Error struct{ Message string } }
		_ = json.Unmarshal(text, &refused) // without JSON there is no message
		return fmt.Errorf("the API answered %s %s", response.Status, strings.ReplaceAll(refused.Error.Message, a.Key, "xxxxx"))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("the answer of the API is not JSON")
	}
	return nil
}
