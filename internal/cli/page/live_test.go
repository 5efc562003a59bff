package page

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// stream is an open stream of changes.
type stream struct {
	*testing.T
	lines *bufio.Reader
	leave context.CancelFunc
}

func listening(t *testing.T, browser *http.Client, base string) stream {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	answer, err := browser.Do(get(t, base+"/changes").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream: %d %s", answer.StatusCode, answer.Header)
	}
	return stream{t, bufio.NewReader(answer.Body), leave}
}

// next waits for the next event, or the end of the stream.
func (s stream) next() error {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "data: changed") {
			return err
		}
	}
}

// TestPagesAreToldOfChanges opens streams, and changes what the mark describes.
func TestPagesAreToldOfChanges(t *testing.T) {
	p, base, browser := served(t, running)
	var mark, looks atomic.Int64
	var fails atomic.Bool
	p.storeMark = func(context.Context) (string, error) {
		looks.Add(1)
		if fails.Load() {
			return "", errors.New("the store is locked")
		}
		return fmt.Sprint(mark.Load()), nil
	}
	p.live.every = time.Millisecond
	if status, _ := fetch(t, &http.Client{}, get(t, base+"/changes")); status != http.StatusForbidden {
		t.Errorf("a stranger's stream: %d", status)
	}
	fetch(t, browser, get(t, p.access.address()))
	first := listening(t, browser, base)
	if err := first.next(); err != nil {
		t.Fatal(err)
	}
	second := listening(t, browser, base)
	if err := second.next(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		fails.Store(i == 1)
		looked := looks.Load()
		testwait.Until(t, "it looks again", func() bool { return looks.Load() > looked+2 })
		mark.Add(1)
		fails.Store(false)
		for _, s := range []stream{first, second} {
			if err := s.next(); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
		}
	}

	// Nothing looks once no page listens, and a later page is told again.
	first.leave()
	second.leave()
	testwait.Until(t, "both have left", func() bool {
		p.live.mu.Lock()
		defer p.live.mu.Unlock()
		return len(p.live.pages) == 0
	})
	p.live.looking.Wait()
	before := looks.Load()
	third := listening(t, browser, base)
	if err := third.next(); err != nil || looks.Load() == before {
		t.Errorf("a later page is told %v after %d looks", err, looks.Load()-before)
	}

	// A stream ends with the server.
	last := listening(t, browser, base)
	if err := last.next(); err != nil {
		t.Fatal(err)
	}
	p.live.close()
	if err := last.next(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream of a page that has ended: %v", err)
	}
}

func TestStreamsAreLimited(t *testing.T) {
	p, base, browser := served(t, running)
	fetch(t, browser, get(t, p.access.address()))
	for range maxListeners {
		if _, leave, ok := p.live.listen(); ok {
			defer leave()
		}
	}
	if status, _ := fetch(t, browser, get(t, base+"/changes")); status != http.StatusServiceUnavailable {
		t.Errorf("one more stream: %d", status)
	}
}

// TestMarkHasFilesAndStore reads the mark of a page without and with a store.
func TestMarkHasFilesAndStore(t *testing.T) {
	p, _, _ := served(t, running)
	files, store, stored := "a", "1", false
	p.machine.files = func() (string, error) { return files, nil }
	p.storeMark, p.stored = func(context.Context) (string, error) { return store, nil }, func() bool { return stored }
	seen := map[string]bool{}
	for _, change := range []func(){func() {}, func() { files = "b" }, func() { stored = true }, func() { store = "2" }} {
		change()
		mark, err := p.mark(t.Context())
		if err != nil || seen[mark] {
			t.Errorf("the mark is %q again, %v", mark, err)
		}
		seen[mark] = true
	}
	stored = false
	p.storeMark = func(context.Context) (string, error) { return "", errors.New("it makes a store") }
	if _, err := p.mark(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestViewsChangeNothing loads every list: if that changed the mark, open pages would load for ever.
func TestViewsChangeNothing(t *testing.T) {
	withWorkbench(t, "sqlite://"+t.TempDir()+"/t.db", 8, func(t *testing.T, p *Page) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.ServeHTTP(w, r) }))
		defer server.Close()
		p.access = newAccess(server.Listener.Addr().String())
		p.routes()
		jar, _ := cookiejar.New(nil)
		browser := &http.Client{Jar: jar}
		load := func() (mark string) {
			for _, path := range views {
				if status, text := fetch(t, browser, get(t, server.URL+path)); status != http.StatusOK {
					t.Fatalf("%s: %d %s", path, status, text)
				}
			}
			mark, err := p.mark(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return mark
		}
		fetch(t, browser, get(t, p.access.address()))
		if first, second := load(), load(); first != second {
			t.Errorf("loading the views changes the mark %q to %q", first, second)
		}
	})
}
