package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/tools/config"
)

func TestProviderTest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			http.Error(w, `{"error":{"message":"wrong key","type":"t"}}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"model":"tiny-1","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"ready\n"}}]}`)
	}))
	defer server.Close()
	settings := map[string]any{"providers": map[string]any{
		"good":   map[string]any{"type": "openai", "baseURL": server.URL + "/v1", "model": "tiny"},
		"locked": map[string]any{"type": "openai", "baseURL": server.URL + "/v1", "model": "tiny", "apiKeyEnv": "PATH"},
	}, "defaultProvider": "good"}
	b := workbench.New(t, surface.Options{})
	text, err := json.Marshal(settings)
	if err == nil {
		err = os.WriteFile(b.Settings, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ask := func(args string) config.TestOut {
		answer := b.Runner.Call(t.Context(), "config.test", json.RawMessage(args))
		var out config.TestOut
		if err := json.Unmarshal(answer.Content, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := ask(`{}`); !out.Success || out.Provider != "good" || out.Model != "tiny-1" || out.Answer != "ready" || out.Error != nil {
		t.Errorf("%+v", out)
	}
	if out := ask(`{"provider":"locked"}`); out.Success || out.Error == nil ||
		!strings.Contains(out.Error.Message, `provider "locked" answered 401 Unauthorized: wrong key`) {
		t.Errorf("%+v", out)
	}
	if out := ask(`{"provider":"god"}`); out.Success || out.Error == nil ||
		!strings.Contains(out.Error.Message, `no provider is called "god", did you mean good?`) {
		t.Errorf("%+v", out)
	}
}
