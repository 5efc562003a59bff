package page

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/trace"
)

// BenchmarkViews fetches each view of a store with 100,000 calls of the last 24 hours, and a file of the same size. The
// ratio compares their medians.
func BenchmarkViews(b *testing.B) {
	url := "sqlite://" + b.TempDir() + "/t.db"
	fillTraces(b, url)
	withWorkbench(b, url, compareViews)
}

// withWorkbench runs do with a page over a store, as the command would serve it, in a sandbox.
func withWorkbench[T testing.TB](t T, url string, do func(T, *Page)) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	command := Command()
	command.Action = func(c *cli.Context) error {
		o, err := settings.Load(c)
		if err != nil {
			return err
		}
		o.Tier, o.TraceCalls = toolfold.Extended.String(), false
		bench, err := workbench.Open(c, o)
		if err != nil {
			return err
		}
		defer bench.Close()
		p := &Page{
			machine: newMachine(c, nil), call: caller(bench), version: "bench", log: slog.New(slog.DiscardHandler), now: time.Now,
			stored: func() bool { return true }, activity: bench.Activity, called: bench.Called, asks: bench, storeMark: bench.Mark,
			definitions: bench.Definitions, record: bench.Change, tools: func() (toolbox, error) { return bench, nil },
		}
		p.live = newLive(p.log, p.mark)
		defer p.live.close()
		defer p.machine.close()
		do(t, p)
		return nil
	}
	app := env.New().App()
	app.Commands = []*cli.Command{command}
	if err := app.RunContext(t.Context(), []string{"toolfold", "page", "--store", url}); err != nil {
		t.Fatal(err)
	}
}

// views are paths of views that list.
var views = []string{"/", "/servers", "/tools", "/tools/memory.store", "/calls", "/calls?label=family.action7", "/charts",
	"/charts?over=month", "/tasks", "/notes", "/sessions", "/settings"}

// fillTraces stores 100,000 calls of 40 actions in the 24 hours before now.
func fillTraces(b *testing.B, url string) {
	db, err := storage.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const calls = 100_000
	now := time.Now()
	for part := range 20 {
		spans := make([]trace.Span, calls/20)
		for i := range spans {
			n := part*len(spans) + i
			spans[i] = trace.Span{
				TraceID: fmt.Sprintf("%032x", n*2654435761%4294967296), ID: fmt.Sprintf("%016x", n), Root: true, Kind: trace.Call,
				Label: fmt.Sprint("family.action", n%40), Status: trace.Success, Start: now.Add(-23 * time.Hour * time.Duration(calls-n) / calls),
			}
			spans[i].End = spans[i].Start.Add(time.Duration(n%1000) * time.Millisecond)
			if n%100 == 0 {
				spans[i].Status = trace.Failure
			}
		}
		if err := db.Trace().Put(b.Context(), spans, now); err != nil {
			b.Fatal(err)
		}
	}
}

// compareViews measures the views of a page, each beside a file of its size.
func compareViews(b *testing.B, p *Page) {
	var file []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/file" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(file)
			return
		}
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	p.access = newAccess(server.Listener.Addr().String())
	p.routes()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	load := func(path string) []byte {
		answer, err := browser.Get(path)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatalf("%s: %d %s %v", path, answer.StatusCode, text, err)
		}
		return text
	}
	load(p.access.address())
	median := func(took []time.Duration) time.Duration {
		slices.Sort(took)
		return took[len(took)/2]
	}
	for _, path := range views {
		b.Run(path, func(b *testing.B) {
			file = load(server.URL + path)
			var views, files []time.Duration
			for b.Loop() {
				start := time.Now()
				load(server.URL + path)
				shown := time.Now()
				load(server.URL + "/file")
				views, files = append(views, shown.Sub(start)), append(files, time.Since(shown))
			}
			view, static := median(views), median(files)
			b.ReportMetric(view.Seconds()*1000, "view-ms")
			b.ReportMetric(static.Seconds()*1000, "file-ms")
			b.ReportMetric(view.Seconds()/static.Seconds(), "ratio")
		})
	}
}
