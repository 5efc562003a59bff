package embed_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/run/embed/embedtest"
	"github.com/toolfold/toolfold/internal/test/testwait"
)

func client(e *embedtest.Endpoint) *embed.Client {
	return embed.New(embed.Settings{BaseURL: e.URL, Model: "m"}, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func TestVectorsReflectMeaning(t *testing.T) {
	t.Parallel()
	e := embedtest.Serve(t)
	v, err := client(e).Embed(t.Context(), []string{"the red car", "a red automobile", "soup with noodles", ""})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := embed.Similarity(v[0], v[1]), embed.Similarity(v[0], v[2]); near < 0.9 || far > 0.5 {
		t.Errorf("car and automobile are %.2f near, car and soup %.2f", near, far)
	}
	if embed.Similarity(v[0], v[3]) != 0 || embed.Similarity(v[0], embed.Vector{1, 2}) != 0 {
		t.Error("a vector is near an empty one, or one of another model")
	}
}

// Sent texts are bounded and have no secrets.
func TestSentTexts(t *testing.T) {
	t.Parallel()
	e := embedtest.Serve(t)
	long := strings.Repeat("word ", 1000)
	if _, err := client(e).Embed(t.Context(), []string{"postgres://ann:hunter2@db/x", long}); err != nil {
		t.Fatal(err)
	}
	texts, models := e.Requests()
	if strings.Contains(texts[0], "hunter2") || len(texts[1]) > 2000 || models[0] != "m" {
		t.Errorf("sent %q and %d bytes to %v", texts[0], len(texts[1]), models)
	}
}

// A rejected text has no vector; the others of its batch do.
func TestRefusedText(t *testing.T) {
	t.Parallel()
	v, err := client(embedtest.Serve(t)).Embed(t.Context(), []string{"a car", "refuse this", "soup"})
	if err != nil || len(v) != 3 || len(v[0]) == 0 || len(v[1]) != 0 || len(v[2]) == 0 {
		t.Errorf("got %d vectors, %v", len(v), err)
	}
}

// Texts are only sent to the configured address, not to a redirect's.
func TestRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := embedtest.Serve(t)
	named := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/embeddings", http.StatusTemporaryRedirect))
	t.Cleanup(named.Close)
	c := embed.New(embed.Settings{BaseURL: named.URL, Model: "m"}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	_, err := c.Embed(t.Context(), []string{"a car"})
	if err == nil || !strings.Contains(err.Error(), "redirects (307): set its real baseURL") {
		t.Errorf("got %v", err)
	}
	if texts, _ := elsewhere.Requests(); len(texts) != 0 {
		t.Errorf("sent %v elsewhere", texts)
	}
}

// A failing endpoint is not used for a while, and nobody waits for it.
func TestFailingEndpoint(t *testing.T) {
	t.Parallel()
	e := embedtest.Serve(t)
	e.Fail(http.StatusServiceUnavailable)
	c := client(e)
	for range 3 {
		if _, err := c.Embed(t.Context(), []string{"a car"}); err == nil {
			t.Fatal("a failing endpoint made vectors")
		}
		if _, ok := c.Ask("a car")(); ok {
			t.Fatal("a failing endpoint answered a question")
		}
	}
	if texts, _ := e.Requests(); len(texts) != 1 {
		t.Errorf("the endpoint was asked %d times", len(texts))
	}
	if _, ok := (*embed.Client)(nil).Ask("a car")(); ok {
		t.Error("no endpoint answered a question")
	}
}

func TestNearestStandOut(t *testing.T) {
	t.Parallel()
	list := embed.Nearest([]embed.Neighbour{{1, 0.70}, {2, 0.71}, {3, 0.95}, {4, 0.69}, {5, 0.9}})
	if len(list) != 2 || list[0].ID != 3 || list[1].ID != 5 {
		t.Errorf("got %v, want 3 and 5", list)
	}
	if list := embed.Nearest([]embed.Neighbour{{7, 0.3}}); len(list) != 1 {
		t.Errorf("the only text is not the nearest: %v", list)
	}
}

// Texts are found by meaning once the endpoint has answered, also after a change. Removed texts are
// not found.
func TestTexts(t *testing.T) {
	t.Parallel()
	e := embedtest.Serve(t)
	texts := embed.NewTexts(client(e))
	all := func(string) bool { return true }
	soon := func(question, want string) {
		t.Helper()
		testwait.Until(t, fmt.Sprintf("%q finds %s first", question, want), func() bool {
			got := texts.Search(question)(all)
			return len(got) > 0 && got[0] == want
		})
	}
	texts.Follow(map[string]string{"a": "an automobile", "b": "a physician", "c": "soup"})
	soon("my car", "a")
	if got := texts.Search("my car")(func(id string) bool { return id != "a" }); slices.Contains(got, "a") {
		t.Errorf("finds what may not be found: %v", got)
	}
	sent, _ := e.Requests()
	texts.Follow(map[string]string{"b": "a physician", "c": "soup", "d": "vacation"})
	soon("holiday", "d")
	if got := texts.Search("my car")(all); slices.Contains(got, "a") {
		t.Errorf("finds a text that is gone: %v", got)
	}
	again, _ := e.Requests()
	for _, text := range again[len(sent):] {
		if text == "soup" {
			t.Error("a text that did not change was sent again")
		}
	}
}
