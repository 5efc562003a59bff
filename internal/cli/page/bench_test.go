package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/internal/cli/env"
	"github.com/toolfold/toolfold/internal/cli/servers"
	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/tools/trace"
	"github.com/toolfold/toolfold/upstream"
)

// BenchmarkViews fetches each view of 50 servers with 2,000 tools and a store with 100,000 calls of the last 24 hours, and
// a file of the same size. The ratio compares their medians.
func BenchmarkViews(b *testing.B) {
	url := "sqlite://" + b.TempDir() + "/t.db"
	fillTraces(b, url)
	withWorkbench(b, url, 50, compareViews)
}

// withWorkbench runs do with a page over a store and some servers, as the command would serve it, in a sandbox.
func withWorkbench[T testing.TB](t T, url string, count int, do func(T, *Page)) {
	settingsHome := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", settingsHome)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	var entries []string
	for n := range count {
		entries = append(entries, fmt.Sprintf(`"s%d":{"url":"http://127.0.0.1:9/s%d"}`, n, n))
	}
	folder := filepath.Join(settingsHome, "toolfold")
	err := os.Mkdir(folder, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config.json"), []byte(`{"upstreams":{`+strings.Join(entries, ",")+"}}"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := Command()
	command.Action = func(c *cli.Context) error {
		o, err := settings.Load(c)
		if err == nil {
			err = learnServers(c, o)
		}
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
			process:     servers.Process,
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

// listed is a server with 40 tools.
type listed struct{ gateway.Session }

func (listed) List(context.Context) (upstream.Answer, error) {
	var tools []json.RawMessage
	for n := range 40 {
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":"%s_record_%d","description":"Takes a record of the archive by its id, `+
			`and says when it was changed.","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"fields":{"type":"array",`+
			`"items":{"type":"string"}}},"required":["id"]}}`, []string{"get", "list", "update", "remove"}[n%4], n/4)))
	}
	return upstream.Answer{Name: "archive", Tools: tools}, nil
}

func (listed) Gone() <-chan struct{} { return nil }
func (listed) Close()                {}

// learnServers keeps the lists of the servers in the settings.
func learnServers(c *cli.Context, o *settings.Options) error {
	list, err := servers.Upstreams(c, o)
	if err != nil {
		return err
	}
	g, err := servers.NewGateway(gateway.Options{Upstreams: list, Log: slog.New(slog.DiscardHandler),
		Connect: func(context.Context, gateway.Upstream, upstream.Client) (gateway.Session, error) {
			return listed{}, nil
		}})
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Learn(c.Context)
}

// views are paths of views that list.
var views = []string{"/", "/servers", "/servers/s7", "/tools", "/servers?find=record", "/tools?find=record", "/tools/memory.store",
	"/calls", "/calls?label=family.action7", "/charts", "/charts?over=month", "/tasks", "/notes", "/sessions", "/settings"}

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
