package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/doctor"
)

// fakeAnthropic counts ten tokens per request and a hundred per tool, and validates requests as
// strictly as the API.
func fakeAnthropic(t *testing.T, key string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"type":"model","id":"claude-newest"}]}`)
	})
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string
			Messages []struct{ Role, Content string }
			Tools    []struct {
				Name, Description string
				InputSchema       struct{ Type string } `json:"input_schema"`
			}
		}
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&request); err != nil && !strings.Contains(err.Error(), "properties") {
			t.Error(err)
		}
		if r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":"%s is no key"}}`, r.Header.Get("X-Api-Key"))
			return
		}
		if request.Model == "" || len(request.Messages) != 1 || request.Messages[0].Role != "user" || request.Messages[0].Content == "" {
			t.Errorf("%+v", request)
		}
		fmt.Fprintf(w, `{"input_tokens":%d}`, 10+100*len(request.Tools))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestAnthropicCounts(t *testing.T) {
	t.Parallel()
	api := fakeAnthropic(t, "right")
	two := read(t, `[{"name":"a","description":"Get."},{"name":"b"}]`)
	lists := []doctor.List{two, read(t, `[]`), {Server: "broken", Problem: "it does not start"}}
	for given, want := range map[string]string{"": "claude-newest", "claude-x": "claude-x"} {
		got, err := doctor.Anthropic{URL: api.URL + "/", Key: "right", Model: given}.Count(context.Background(), lists)
		if diff := cmp.Diff([]doctor.APICount{{Server: "notes", Model: want, Tokens: 200}}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	_, err := doctor.Anthropic{URL: api.URL, Key: "wrong-secret", Model: "m"}.Count(context.Background(), lists)
	if err == nil || err.Error() != "the API answered 401 Unauthorized xxxxx is no key" {
		t.Error(err)
	}
	api.Close()
	if _, err := (doctor.Anthropic{URL: api.URL, Key: "right"}).Count(context.Background(), lists); err == nil ||
		!strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}
