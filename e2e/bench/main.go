// Command bench starts toolfold and echo servers on plain MCP libraries, and loads them in turns.
// It prints our requests per second for each of theirs, and their processor time for each second of
// ours. With -write it writes the figures to docs/performance.md.
//
//	go run -C e2e ./bench -rounds 5 -write ../docs/performance.md
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver that toolfold uses

	"github.com/toolfold/toolfold/e2e/bench/plain"
	"github.com/toolfold/toolfold/e2e/product"
)

const (
	inFlight  = 16              // concurrent requests
	restAfter = 3 * time.Second // pause after a server starts
)

// bench is one run of the command.
type bench struct {
	binary, self, dir string
	rounds            int
	each              time.Duration // length of a turn
	only              string
	busy              string          // load averages of the machine before the run
	out               strings.Builder // the table
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{}
	var serve, tools, write string
	var listen bool
	flag.StringVar(&b.binary, "binary", "", "the toolfold to measure; empty builds one")
	flag.IntVar(&b.rounds, "rounds", 5, "turns of each server, of which the median counts")
	flag.DurationVar(&b.each, "each", time.Second, "how long a turn takes")
	flag.StringVar(&b.only, "only", "", "measure only rows that contain this")
	flag.StringVar(&write, "write", "", "the page to write")
	flag.StringVar(&serve, "serve", "", "be a plain server on this library: "+strings.Join(plain.Libraries, ", "))
	flag.StringVar(&tools, "tools", "", "the tools that it lists, in a JSON file")
	flag.BoolVar(&listen, "listen", false, "serve HTTP, not stdio")
	flag.Parse()
	if serve != "" {
		text, err := os.ReadFile(tools)
		if err != nil {
			return err
		}
		var list []plain.Tool
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		return plain.Serve(ctx, serve, list, listen)
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.binary == "" {
		b.binary = filepath.Join(b.dir, "toolfold")
		if err := product.Build(ctx, b.binary); err != nil {
			return err
		}
	}
	if err := b.measure(ctx); err != nil || write == "" {
		return err
	}
	return os.WriteFile(write, []byte(b.page()), 0o644)
}

// way is an era and a transport.
type way struct {
	name         string
	http, modern bool
}

var ways = []way{{"HTTP, 2025-11-25", true, false}, {"HTTP, 2026-07-28", true, true}, {"stdio, 2025-11-25", false, false}}

// goal is a call with the required ratio to a plain echo.
type goal struct {
	name string
	call request
	rate float64
}

// refused is the call that must fail.
const refused = "refused call"

var goals = []goal{
	{"memory.get", call("memory", `{"action":"get","key":"team/rules"}`), 0.85},
	{"tools.find", call("tools", `{"action":"find","query":"remember a note"}`), 0.7},
	{"tools.describe", call("tools", `{"action":"describe","name":"memory.store"}`), 1},
	{refused, call("memory", `{"action":"store","keey":"team/rules","value":{}}`), 0.8},
	{"task.list", call("task", `{"action":"list"}`), 0.5},
}

func (b *bench) measure(ctx context.Context) error {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.busy, _, _ = strings.Cut(string(text), " ")
	}
	b.print("| request | against | how | ours/s | theirs/s | rate | processor time | goal |\n|---|---|---|---:|---:|---:|---:|---:|\n")
	legacy, err := b.ours(ctx, ways[1], "legacy", "--tool-mode=legacy")
	if err != nil {
		return err
	}
	tools, err := legacy.tools()
	legacy.stop()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "tools.json"), tools, 0o600); err != nil {
		return err
	}
	for _, w := range ways {
		if err := b.compare(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if err := b.stores(ctx); err != nil {
		return err
	}
	if err := b.scripts(ctx); err != nil {
		return err
	}
	return b.withoutTraces(ctx)
}

// ours starts toolfold with its own store.
func (b *bench) ours(ctx context.Context, w way, name string, more ...string) (*peer, error) {
	dir, err := os.MkdirTemp(b.dir, "ours-")
	if err != nil {
		return nil, err
	}
	command := append([]string{b.binary, "serve", "--workspace", dir, "--store", "sqlite://" + filepath.Join(dir, "store.db")}, more...)
	if w.http {
		command = append(command, "--http", "127.0.0.1:0")
	}
	return start(ctx, name, w.http, w.modern,
		[]string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}, command...)
}

// theirs starts a plain server.
func (b *bench) theirs(ctx context.Context, w way, library string) (*peer, error) {
	command := []string{b.self, "-serve", library, "-tools", filepath.Join(b.dir, "tools.json")}
	if w.http {
		command = append(command, "-listen")
	}
	return start(ctx, library, w.http, w.modern, nil, command...)
}

// compare measures one way against the plain servers.
func (b *bench) compare(ctx context.Context, w way) error {
	ours, err := b.ours(ctx, w, "toolfold")
	if err != nil {
		return err
	}
	defer ours.stop()
	time.Sleep(restAfter)
	atRest, own := ours.memory("VmRSS"), ours.memory("RssAnon")
	mcpGo, err := b.theirs(ctx, w, "mcp-go")
	if err != nil {
		return err
	}
	defer mcpGo.stop()
	for _, r := range []request{
		call("memory", `{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}`),
		call("task", `{"action":"submit","name":"one","input":{"tool":"memory.stats"}}`),
	} {
		answer, err := ours.ask(r)
		if err == nil && strings.Contains(answer, `"isError":true`) {
			err = fmt.Errorf("answered %.500s", answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.params, err)
		}
	}
	var names []struct{ Name string }
	text, err := os.ReadFile(filepath.Join(b.dir, "tools.json"))
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return err
	}
	echo := call(names[0].Name, `{"text":"hello"}`)
	for _, g := range goals {
		if err := b.row(g.name, w, ours, mcpGo, g.call, echo, g.rate); err != nil {
			return err
		}
	}
	if w.http {
		b.print(fmt.Sprintf("| memory | – | %s | %.0f MB at rest | %.0f MB at its peak | | | 36, 64 MB |\n", w.name, atRest,
			ours.memory("VmHWM")))
		b.print(fmt.Sprintf("| memory without pages of the binary | – | %s | %.0f MB at rest | %.0f MB at the end | | | |\n",
			w.name, own, ours.memory("RssAnon")))
	}
	lists, err := b.ours(ctx, w, "toolfold", "--tool-mode=legacy")
	if err != nil {
		return err
	}
	defer lists.stop()
	if err := b.row("tools/list, "+fmt.Sprint(len(names))+" tools", w, lists, mcpGo, list, list, 30); err != nil {
		return err
	}
	library := "go-sdk"
	if w.modern {
		library = "go-sdk-stateless" // its other handler does not speak 2026-07-28
	}
	goSDK, err := b.theirs(ctx, w, library)
	if err != nil {
		return err
	}
	defer goSDK.stop()
	if err := b.row("tools/list, "+fmt.Sprint(len(names))+" tools", w, lists, goSDK, list, list, 15); err != nil || !w.http {
		return err
	}
	ceiling, err := b.theirs(ctx, w, plain.NoLibrary)
	if err != nil {
		return err
	}
	defer ceiling.stop()
	return b.row("tools/list, "+fmt.Sprint(len(names))+" tools", w, lists, ceiling, list, list, 1)
}

// row measures one of our requests against one of theirs, in turns, and prints the medians.
func (b *bench) row(name string, w way, ours, theirs *peer, our, their request, goal float64) error {
	if title := name + " " + theirs.name + " " + w.name; !strings.Contains(title, b.only) {
		return nil
	}
	for i, p := range []*peer{ours, theirs} {
		answer, err := p.ask([]request{our, their}[i])
		if err == nil && (!strings.Contains(answer, `"result"`) || strings.Contains(answer, `"isError":true`) != (i == 0 && name == refused)) {
			err = fmt.Errorf("answered %.500s", answer)
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", name, p.name, err)
		}
	}
	var rates, costs [2][]float64
	for range b.rounds {
		for i, p := range []*peer{ours, theirs} {
			t, err := p.load([]request{our, their}[i], inFlight, b.each)
			if err != nil {
				return fmt.Errorf("%s of %s: %w", name, p.name, err)
			}
			rates[i], costs[i] = append(rates[i], t.rate), append(costs[i], t.cpu)
		}
	}
	b.print(fmt.Sprintf("| %s | %s | %s | %.0f | %.0f | %.2f | %.2f | %.4g |\n", name, theirs.name, w.name,
		median(rates[0]), median(rates[1]), median(rates[0])/median(rates[1]), median(costs[1])/median(costs[0]), goal))
	return nil
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

// stores measures memory.store against an equally durable SQL statement.
func (b *bench) stores(ctx context.Context) error {
	if !strings.Contains("memory.store", b.only) {
		return nil
	}
	w := ways[0]
	ours, err := b.ours(ctx, w, "toolfold")
	if err != nil {
		return err
	}
	defer ours.stop()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.dir, "bare.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, `CREATE TABLE notes (id TEXT PRIMARY KEY, value TEXT NOT NULL, stored INTEGER NOT NULL)`); err != nil {
		return err
	}
	bare := func() (float64, error) {
		start := time.Now()
		var count atomic.Int64
		var failed atomic.Pointer[error]
		var all sync.WaitGroup
		for i := range inFlight {
			all.Go(func() {
				for time.Since(start) < b.each {
					_, err := db.ExecContext(ctx, `INSERT INTO notes VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value,`+
						` stored = excluded.stored`,
						fmt.Sprint("team/rules/", i), `{"freeze":"Friday"}`, time.Now().UnixMicro())
					if err != nil {
						failed.Store(&err)
						return
					}
					count.Add(1)
				}
			})
		}
		all.Wait()
		if err := failed.Load(); err != nil {
			return 0, *err
		}
		return float64(count.Load()) / time.Since(start).Seconds(), nil
	}
	var our, their []float64
	for range b.rounds {
		t, err := ours.load(call("memory", `{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}`), inFlight, b.each)
		if err != nil {
			return err
		}
		rate, err := bare()
		if err != nil {
			return err
		}
		our, their = append(our, t.rate), append(their, rate)
	}
	b.print(fmt.Sprintf("| memory.store | SQL | %s | %.0f | %.0f | %.2f | – | 0.6 |\n", w.name, median(our), median(their),
		median(our)/median(their)))
	return nil
}

// withoutTraces measures what tracing adds to a call.
func (b *bench) withoutTraces(ctx context.Context) error {
	w := ways[0]
	with, err := b.ours(ctx, w, "toolfold")
	if err != nil {
		return err
	}
	defer with.stop()
	without, err := b.ours(ctx, w, "toolfold without traces of calls", "--trace-calls=false")
	if err != nil {
		return err
	}
	defer without.stop()
	for _, p := range []*peer{with, without} {
		if _, err := p.ask(call("memory", `{"action":"store","key":"team/rules","value":{"freeze":"Friday"}}`)); err != nil {
			return err
		}
	}
	get := goals[0]
	return b.row(get.name, w, with, without, get.call, get.call, 0.9)
}

func (b *bench) print(line string) {
	fmt.Print(line)
	b.out.WriteString(line)
}

// page returns the documentation page.
func (b *bench) page() string {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	processor := "an unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				processor = strings.TrimSpace(strings.TrimLeft(name, " \t:"))
				break
			}
		}
	}
	return fmt.Sprintf(`# Performance

<!-- Written by make bench. -->

How many requests toolfold answers for each request that a server on a plain MCP library answers
with an echo, in turns of %s, %d at a time on loopback, tracing, counting and
permissions on: the median of %d turns. *rate* is requests a second, ours over theirs;
*processor time* is theirs over ours for one request, which other work on the machine
moves less. More than 1 is faster than plain. *net/http* reads a request, knows nothing of
it, and writes the list: no list can be answered much faster than that. *SQL* is a bare
statement into SQLite, as durable as ours.

%s
Measured at commit %s with %s on %s, %d cores, %s; the load
average before it was %s, and figures of a machine that does other things are worse.
Repeat it with %s on Linux; %s
measures less. How costs grow with notes, tasks, traces, sessions and tools is stated by
%s.
`, b.each, inFlight, b.rounds, b.out.String(), strings.TrimSpace(string(commit)), runtime.Version(), processor, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly), b.busy,
		"`make bench`", "`go run -C e2e ./bench -only memory.get -rounds 1`",
		"`go run -C e2e ./attack -only growth`")
}
