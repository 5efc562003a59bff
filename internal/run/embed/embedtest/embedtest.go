// Package embedtest serves embeddings to tests.
package embedtest

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolfold/toolfold/internal/text/words"
)

// parts is the number of components of a vector; the first ones stand for meanings.
const parts = 256

// meanings are groups of synonyms.
var meanings = []string{
	"car automobile vehicle", "holiday vacation leave", "money budget funds", "doctor physician surgeon", "diary notebook memory",
	"grobble flumph", // in no table of synonyms
}

// Endpoint is an embeddings endpoint: texts are similar if they share words or synonyms. Its
// vectors are the same in every run.
type Endpoint struct {
	URL string // up to /v1

	mu     sync.Mutex
	status int // of all answers; zero = success
	texts  []string
	models []string
}

// Serve runs an endpoint until the test ends.
func Serve(t testing.TB) *Endpoint {
	t.Helper()
	e := &Endpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.URL = server.URL + "/v1"
	return e
}

// Fail makes the endpoint answer with a status; 0 restores success.
func (e *Endpoint) Fail(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// Requests returns the texts and the models of all requests so far.
func (e *Endpoint) Requests() (texts, models []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.texts), slices.Clone(e.models)
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" {
		http.Error(w, "no such request", http.StatusNotFound)
		return
	}
	e.mu.Lock()
	status := e.status
	e.texts, e.models = append(e.texts, body.Input...), append(e.models, body.Model)
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refused := slices.ContainsFunc(body.Input, func(text string) bool { return strings.Contains(text, "refuse this") })
	if refused {
		status = http.StatusBadRequest
	}
	if status != 0 {
		w.WriteHeader(status)
		w.Write([]byte(`{"error":{"message":"not now","type":"server_error"}}`))
		return
	}
	type item struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var data []item
	for i, text := range body.Input {
		data = append(data, item{i, vector(body.Model, text)})
	}
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": body.Model, "data": data})
}

// vector returns the vector of a text, which depends on the model.
func vector(model, text string) []float32 {
	v := make([]float32, parts)
	for w := range words.Split(text) {
		if words.IsStop(w.Text) {
			continue
		}
		part := slices.IndexFunc(meanings, func(m string) bool { return slices.Contains(strings.Fields(m), w.Text) })
		if part < 0 {
			sum := fnv.New32a()
			sum.Write([]byte(model + words.Stem(w.Text)))
			part = len(meanings) + int(sum.Sum32())%(parts-len(meanings))
			v[part]++
			continue
		}
		v[part] += 3
	}
	return v
}
