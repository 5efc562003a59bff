// Package embed turns texts into vectors with an endpoint of OpenAI's embeddings API, to find texts
// with the same meaning in other words.
//
// Only the user names the endpoint. It gets the texts, at most 2,000 bytes of each with likely
// secrets masked, and the search queries. Nothing waits for the vectors of texts; a query waits for
// its own for half a second at most. If the endpoint fails or is slow, searches use words only.
package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/toolfold/toolfold/internal/run/provider"
	"github.com/toolfold/toolfold/internal/text/redact"
)

// Limits of requests.
const (
	Batch = 64 // texts per request

	maxText    = 2000 // bytes of a text
	maxReply   = 16 << 20
	maxParts   = 8192 // components of a vector
	patience   = 500 * time.Millisecond
	batchTime  = time.Minute
	pause      = 30 * time.Second // after a failure
	maxAnswers = 256              // queries whose vectors are cached
)

// Settings configure an endpoint.
type Settings struct {
	BaseURL   string `json:"baseURL"`   // up to /v1; empty = no endpoint
	Model     string `json:"model"`     // of the embeddings
	APIKeyEnv string `json:"apiKeyEnv"` // environment variable with the key; empty = no key is sent
}

// Vector is a direction, with components scaled so that the largest is 127. An empty vector is
// similar to nothing.
type Vector = []int8

// pack converts components to a Vector.
func pack(components []float32) Vector {
	greatest := 0.0
	for _, c := range components {
		greatest = max(greatest, math.Abs(float64(c)))
	}
	if greatest == 0 || math.IsNaN(greatest) || math.IsInf(greatest, 0) || len(components) > maxParts {
		return Vector{}
	}
	v := make(Vector, len(components))
	for i, c := range components {
		v[i] = int8(math.Round(float64(c) / greatest * 127))
	}
	return v
}

// Similarity returns the cosine of two vectors, or 0 if their lengths differ.
func Similarity(v, w Vector) float64 {
	if len(v) != len(w) {
		return 0
	}
	var both, one, other int64
	for i, a := range v {
		b := w[i]
		both += int64(a) * int64(b)
		one += int64(a) * int64(a)
		other += int64(b) * int64(b)
	}
	if one == 0 || other == 0 {
		return 0
	}
	return float64(both) / math.Sqrt(float64(one)*float64(other))
}

// Client sends requests to an endpoint. It is safe for concurrent use.
type Client struct {
	settings Settings
	log      *slog.Logger

	mu      sync.Mutex
	until   time.Time         // no requests before
	answers map[string]Vector // vectors of queries
}

// New returns a client of an endpoint, or nil if no endpoint is configured. A nil client returns no
// vectors.
func New(s Settings, log *slog.Logger) *Client {
	if s.BaseURL == "" {
		return nil
	}
	return &Client{settings: s, log: log, answers: map[string]Vector{}}
}

// Model returns the name of the model. Vectors of different models cannot be compared.
func (c *Client) Model() string { return c.settings.Model }

// errPaused is the error shortly after a failure of the endpoint.
var errPaused = errors.New("the embeddings endpoint failed and is left alone for a while")

// Embed returns the vectors of at most Batch texts, in order. A text that the endpoint rejects gets
// an empty one.
func (c *Client) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	vectors, err := c.ask(ctx, texts)
	if !isRejected(err) {
		return vectors, err
	}
	if len(texts) == 1 {
		return []Vector{{}}, nil
	}
	for _, text := range texts { // one of them is rejected
		one, err := c.Embed(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, one...)
	}
	return vectors, nil
}

// Ask requests the vector of a query. The returned function waits for it, for at most patience; ok
// is false if there is no vector by then.
func (c *Client) Ask(question string) (wait func() (v Vector, ok bool)) {
	if c == nil || strings.TrimSpace(question) == "" {
		return func() (Vector, bool) { return nil, false }
	}
	question = prepare(question)
	c.mu.Lock()
	known, ok := c.answers[question]
	c.mu.Unlock()
	if ok {
		return func() (Vector, bool) { return known, len(known) > 0 }
	}
	answered := make(chan Vector, 1)
	go func() {
		defer close(answered)
		ctx, cancel := context.WithTimeout(context.Background(), batchTime)
		defer cancel()
		vectors, err := c.ask(ctx, []string{question})
		if err != nil {
			return
		}
		c.mu.Lock()
		if len(c.answers) >= maxAnswers {
			clear(c.answers)
		}
		c.answers[question] = vectors[0]
		c.mu.Unlock()
		answered <- vectors[0]
	}()
	late := time.NewTimer(patience)
	return func() (Vector, bool) {
		defer late.Stop()
		select {
		case v := <-answered:
			return v, len(v) > 0
		case <-late.C:
			return nil, false
		}
	}
}

// prepare returns a text in the form that is sent.
func prepare(text string) string {
	return redact.Text(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
}

// ask sends texts, unless the endpoint failed recently.
func (c *Client) ask(ctx context.Context, texts []string) ([]Vector, error) {
	c.mu.Lock()
	paused := time.Now().Before(c.until)
	c.mu.Unlock()
	if paused {
		return nil, errPaused
	}
	vectors, err := c.request(ctx, texts)
	if err != nil && !isRejected(err) {
		c.mu.Lock()
		c.until = time.Now().Add(pause)
		c.mu.Unlock()
		c.log.Warn("the embeddings endpoint cannot be used; searches go by words only", "err", err, "pause", pause)
	}
	return vectors, err
}

func (c *Client) request(ctx context.Context, texts []string) ([]Vector, error) {
	key := ""
	if name := c.settings.APIKeyEnv; name != "" {
		if key = os.Getenv(name); key == "" {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
	}
	config := openai.DefaultConfig(key)
	config.BaseURL = strings.TrimSuffix(c.settings.BaseURL, "/")
	config.HTTPClient = provider.Client{MaxReply: maxReply}
	input := make([]string, len(texts))
	for i, text := range texts {
		if input[i] = prepare(text); input[i] == "" {
			input[i] = " " // some endpoints reject an empty text
		}
	}
	reply, err := openai.NewClientWithConfig(config).CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{
		Input: input, Model: openai.EmbeddingModel(c.settings.Model),
	})
	if err != nil {
		return nil, fmt.Errorf("asking for embeddings: %w", err)
	}
	vectors := make([]Vector, len(texts))
	for _, d := range reply.Data {
		if d.Index < 0 || d.Index >= len(vectors) {
			return nil, fmt.Errorf("the embeddings endpoint answers text %d of %d", d.Index, len(texts))
		}
		vectors[d.Index] = pack(d.Embedding)
	}
	for i, v := range vectors {
		if v == nil {
			return nil, fmt.Errorf("the embeddings endpoint leaves out text %d of %d", i, len(texts))
		}
	}
	return vectors, nil
}

// isRejected reports whether an endpoint rejected a text.
func isRejected(err error) bool {
	var answer *openai.APIError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.HTTPStatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
