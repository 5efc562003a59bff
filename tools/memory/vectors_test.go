package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/embed"
	"github.com/toolfold/toolfold/internal/run/embed/embedtest"
	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/tools/memory"
)

// understanding returns a service that gets vectors from an endpoint.
func understanding(t *testing.T, store memory.Store, e *embedtest.Endpoint, model string) *memory.Service {
	s := memory.New(store, time.Now)
	s.Vectors = embed.New(embed.Settings{BaseURL: e.URL, Model: model}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	return s
}

func note(t *testing.T, s *memory.Service, key, text string) {
	t.Helper()
	value, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store(t.Context(), memory.StoreIn{Key: key, Value: value}); err != nil {
		t.Fatal(err)
	}
}

func foundKeys(t *testing.T, s *memory.Service, query string) (keys []string) {
	t.Helper()
	out, err := s.Search(t.Context(), memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Total < len(out.Results) {
		t.Errorf("%d results of %d", len(out.Results), out.Total)
	}
	last := 1.0
	for _, h := range out.Results {
		if h.Score > last {
			t.Errorf("the score rises to %v after %v", h.Score, last)
		}
		last = h.Score
		keys = append(keys, h.Key)
	}
	return keys
}

// first waits until a query finds a key first, because vectors are created in the background.
func first(t *testing.T, s *memory.Service, query, want string) {
	t.Helper()
	testwait.Until(t, fmt.Sprintf("%q finds %s first", query, want), func() bool {
		got := foundKeys(t, s, query)
		return len(got) > 0 && got[0] == want
	})
}

// Notes are found by meaning, after a change by the new text, and with another model too.
func TestSearchByMeaning(t *testing.T) {
	t.Parallel()
	e, store := embedtest.Serve(t), openStore(t)
	s := understanding(t, store, e, "m")
	note(t, s, "a", "The automobile needs new tyres.")
	note(t, s, "b", "Ask the physician about the results.")
	note(t, s, "c", "Soup on Friday.")
	first(t, s, "my car", "a")
	first(t, s, "doctor", "b")
	note(t, s, "a", "Vacation begins in July.")
	first(t, s, "holiday", "a")
	for _, key := range foundKeys(t, s, `"car"`) {
		t.Errorf("words in quotes find %s, which lacks them", key)
	}
	first(t, understanding(t, store, e, "m2"), "doctor", "b")
	if _, models := e.Requests(); models[0] != "m" || models[len(models)-1] != "m2" {
		t.Errorf("asked for the models %v", models)
	}
}

// All pages have one order. If the first was found by words only, so are the next ones. If vectors
// were used and are not available any more, the next page is an error.
func TestPagesHaveOneOrder(t *testing.T) {
	t.Parallel()
	e, store := embedtest.Serve(t), openStore(t)
	s := understanding(t, store, e, "m")
	note(t, s, "a", "Soup with noodles, and soup again.")
	note(t, s, "b", "A grobble, and soup.")
	note(t, s, "c", "The flumph needs new tyres.")
	note(t, s, "d", "A flumph for Friday.")
	first(t, s, "my grobble on Friday", "d")
	failing := embedtest.Serve(t)
	failing.Fail(http.StatusInternalServerError)
	words := understanding(t, store, failing, "m")
	page := func(s *memory.Service, query, cursor string) (memory.SearchOut, error) {
		return s.Search(t.Context(), memory.SearchIn{Query: query, Page: toolfold.Page{Limit: 1, Cursor: cursor}})
	}
	one, err := page(words, "grobble soup", "")
	if err != nil || !one.HasMore {
		t.Fatal(one, err)
	}
	two, err := page(s, "grobble soup", one.NextCursor)
	if err != nil || len(two.Results) != 1 || two.HasMore || two.Total != 2 {
		t.Errorf("after a page by words: %+v, %v", two, err)
	}
	testwait.Until(t, "notes are found by meaning too", func() bool { // words alone may satisfy the waits above
		if one, err = page(s, "grobble soup", ""); err != nil {
			t.Fatal(err)
		}
		return one.Total >= 3
	})
	var refused *toolfold.Error
	if two, err = page(words, "grobble soup", one.NextCursor); !errors.As(err, &refused) || refused.Hint == "" {
		t.Errorf("after a page by meaning, without the endpoint: %+v, %v", two, err)
	}
	if two, err = page(s, "grobble soup", one.NextCursor); err != nil || two.Total != one.Total {
		t.Errorf("after a page by meaning: %+v, %v", two, err)
	}
}

// If the endpoint fails, words are found as before, and vectors are created later.
func TestSearchWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	e, store := embedtest.Serve(t), openStore(t)
	e.Fail(http.StatusInternalServerError)
	s := understanding(t, store, e, "m")
	note(t, s, "a", "The automobile needs new tyres, postgres://ann:hunter2@db/x.")
	note(t, s, "b", "Soup on Friday.")
	if got := foundKeys(t, s, "soup"); len(got) != 1 || got[0] != "b" {
		t.Errorf("soup finds %v", got)
	}
	if got := foundKeys(t, s, "car"); len(got) > 0 {
		t.Errorf("car finds %v", got)
	}
	e.Fail(0)
	first(t, understanding(t, store, e, "m"), "car", "a") // another process, in which it did not fail
	texts, _ := e.Requests()
	if sent := strings.Join(texts, "\n"); strings.Contains(sent, "hunter2") || !strings.Contains(sent, "automobile") {
		t.Errorf("sent %q", sent)
	}
}
