package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

const (
	steep  = "costs that grow faster than the number of things"
	uneven = "reads of one thing that grow"
)

// A cost is a fault if it grows with a larger exponent than this. A cost that grows by a tenth when
// the number grows tenfold has the exponent 0.04.
const (
	steepAbove  = 1.15
	unevenAbove = 0.25
)

// growthKind is a kind of entry, and the calls whose cost may grow with its number.
type growthKind struct {
	what  string
	sizes []int // ascending
	fill  func(from, to int) error
	calls []measuredCall
}

// measuredCall is a call with its measured costs.
type measuredCall struct {
	name, tool, arguments string
	one                   bool // reads a single entry
	costs                 []time.Duration
}

// growth measures the cost of calls while the server's entries grow in number.
func growth(ctx context.Context, p *place) error {
	p.settings = append(p.settings, "TOOLFOLD_MAX_SESSIONS=3000", "TOOLFOLD_WORKER=false", "TOOLFOLD_TRACE_CALLS=false")
	s, err := p.start(ctx)
	if err != nil {
		return err
	}
	c := s.client()
	warm, err := c.call(ctx, "memory", json.RawMessage(`{"action":"stats"}`)) // opens the store
	if err != nil || warm.code != "" {
		return fmt.Errorf("opening the store: %w %s", err, warm.code)
	}
	db, err := storage.Open(ctx, p.store)
	if err != nil {
		return err
	}
	defer db.Close()
	most, sessions := p.attack.growth, min(p.attack.growth, 2000)
	begin := time.Now().UTC().Truncate(time.Microsecond)
	for _, g := range []growthKind{
		{"notes", []int{most / 10, most, most * 10}, func(from, to int) error { return notes(ctx, c, from, to) }, []measuredCall{
			{name: "memory.get", tool: "memory", arguments: `{"action":"get","key":"note/1"}`, one: true},
			{name: "memory.store", tool: "memory", arguments: `{"action":"store","key":"again","value":{"text":"word1"}}`, one: true},
			{name: "memory.search", tool: "memory", arguments: `{"action":"search","query":"word17","limit":3}`},
			{name: "memory.list", tool: "memory", arguments: `{"action":"list","limit":20}`},
		}},
		{"open tasks", []int{most / 100, most / 10, most}, func(from, to int) error {
			for i := from; i < to && ctx.Err() == nil; i++ {
				t := task.Task{
					ID: numbered(i), QueueID: task.DefaultQueue, Name: "waits", Type: "action", Status: task.Pending, Attempt: 1, MaxAttempts: 1,
					CreatedAt: begin, ScheduledAt: begin.AddDate(1, 0, 0), Workspace: fmt.Sprint("growing ", i/500),
				}
				if made, err := db.Task().Submit(ctx, t, begin, 1000); err != nil || made.Full {
					return fmt.Errorf("submitting task %d: %w", i, err)
				}
			}
			return ctx.Err()
		}, []measuredCall{
			{name: "task.status", tool: "task", arguments: `{"action":"status","taskId":"` + numbered(1) + `"}`, one: true},
			{name: "task.list", tool: "task", arguments: `{"action":"list","limit":20}`},
		}},
		{"traces", []int{most / 10, most, most * 10}, func(from, to int) error {
			for at := from; at < to && ctx.Err() == nil; at += 1000 {
				var spans []trace.Span
				for i := at; i < min(to, at+1000); i++ {
					spans = append(spans, trace.Span{
						TraceID: traceID(i), ID: "0000000000000001", Root: true, Label: fmt.Sprint("grown.", i%50),
						Kind: trace.Call, Status: trace.Success, Start: begin, End: begin,
					})
				}
				if err := db.Trace().Put(ctx, spans, begin); err != nil {
					return err
				}
			}
			return ctx.Err()
		}, []measuredCall{
			{name: "trace.get", tool: "trace", arguments: `{"action":"get","traceId":"` + traceID(1) + `"}`, one: true},
			{name: "trace.list", tool: "trace", arguments: `{"action":"list","limit":20}`},
		}},
		{"sessions", []int{sessions / 100, sessions / 10, sessions}, func(from, to int) error {
			for range to - from {
				if _, err := c.initialized(ctx); err != nil {
					return err
				}
			}
			return nil
		}, []measuredCall{{name: "memory.get", tool: "memory", arguments: `{"action":"get","key":"note/1"}`, one: true}}},
	} {
		if err := p.grow(ctx, &g, s, c); err != nil {
			return fmt.Errorf("%s: %w", g.what, err)
		}
	}
	return catalogue(ctx, p)
}

// numbered returns an id.
func numbered(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func traceID(n int) string { return strings.ReplaceAll(numbered(n), "-", "") }

// notes stores notes.
func notes(ctx context.Context, c *client, from, to int) error {
	for at := from; at < to; at += 1000 {
		var data []map[string]any
		for i := at; i < min(to, at+1000); i++ {
			data = append(data, map[string]any{"key": fmt.Sprint("note/", i), "value": map[string]any{
				"text": fmt.Sprintf("word%d word%d id%08x", i%1000, i%97, rand.Uint32())}})
		}
		got, err := c.call(ctx, "memory", map[string]any{"action": "import", "data": data})
		if err != nil || got.code != "" {
			return errors.Join(err, fmt.Errorf("importing notes: %s", shorten(string(got.raw), 400)))
		}
	}
	return nil
}

// grow measures calls at each size, and judges how their costs grow.
func (p *place) grow(ctx context.Context, g *growthKind, s *server, c *client) error {
	before := 0
	for _, size := range g.sizes {
		if err := g.fill(before, size); err != nil {
			return err
		}
		before = size
		for i := range g.calls {
			k := &g.calls[i]
			cost, err := p.cost(func() error {
				got, err := c.call(ctx, k.tool, json.RawMessage(k.arguments))
				if p.report.judge(c, k.arguments, got, err) && got.code != "" {
					err = fmt.Errorf("%s answered %s", k.name, shorten(string(got.raw), 400))
				}
				return err
			}, s.worked)
			if err != nil {
				return err
			}
			k.costs = append(k.costs, cost)
		}
	}
	p.report.judgeGrowth(g, p.attack.timed)
	return nil
}

// cost returns the lowest cost of a call in several rounds: other work on the machine only adds to
// it.
func (p *place) cost(call func() error, clock func() time.Duration) (least time.Duration, err error) {
	const rounds, calls = 5, 20
	for round := range rounds + 1 {
		before := clock()
		for range calls {
			if err := call(); err != nil {
				return 0, err
			}
		}
		if passed := (clock() - before) / calls; round == 1 || round > 1 && passed < least { // the first round warms up
			least = passed
		}
	}
	return least, nil
}

// judgeGrowth notes the costs and their exponents. If judged is true, it reports exponents that are
// too large.
func (r *report) judgeGrowth(g *growthKind, judged bool) {
	first, last := 0, len(g.sizes)-1
	for _, k := range g.calls {
		times := float64(max(k.costs[last], 1)) / float64(max(k.costs[first], 1))
		exponent := math.Log(times) / math.Log(float64(g.sizes[last])/float64(g.sizes[first]))
		var costs []string
		for i, cost := range k.costs {
			costs = append(costs, fmt.Sprintf("%s at %d", cost.Round(time.Microsecond), g.sizes[i]))
		}
		text := fmt.Sprintf("%s: %s %s, exponent %.2f", g.what, k.name, strings.Join(costs, ", "), exponent)
		r.note("%s", text)
		if !judged {
			continue
		}
		if k.one && exponent > unevenAbove {
			r.bad(uneven, "%s", text)
		}
		if exponent > steepAbove {
			r.bad(steep, "%s", text)
		}
	}
}

// catalogue measures servers with a growing number of tools, in this process.
func catalogue(ctx context.Context, p *place) error {
	most := min(10*p.attack.growth, 10_000)
	g := growthKind{what: "tools", sizes: []int{most / 100, most / 10, most}, calls: []measuredCall{
		{name: "tools/list", tool: "tools/list", arguments: `{}`},
		{name: "find", tool: "tools", arguments: `{"action":"find","query":"count the pears"}`},
		{name: "describe", tool: "tools", arguments: `{"action":"describe","name":"count_17"}`, one: true},
		{name: "call", tool: "count_17", arguments: `{"of":"pears"}`, one: true},
	}}
	for _, size := range g.sizes {
		var families []*toolfold.Family
		for i := range size {
			f, err := toolfold.External{
				Name: fmt.Sprint("count_", i), Description: fmt.Sprintf("Counts fruit of kind %d, such as pears.", i),
				Category: "counts", Effect: toolfold.Reads, InputSchema: json.RawMessage(`{"type":"object","properties":{"of":{"type":"string"}}}`),
				Run: func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"count":3}`), nil
				},
			}.Family()
			if err != nil {
				return err
			}
			families = append(families, f)
		}
		served, err := serve.New(serve.Options{Families: families, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		handler := served.Handler("", "attacked")
		for i := range g.calls {
			k := &g.calls[i]
			cost, err := p.cost(func() error { return post(ctx, handler, k.tool, k.arguments) }, passed)
			if err != nil {
				return err
			}
			k.costs = append(k.costs, cost)
		}
	}
	p.report.judgeGrowth(&g, p.attack.timed)
	return nil
}

// post sends a call, or tools/list, to a handler.
func post(ctx context.Context, handler http.Handler, tool, arguments string) error {
	method, params := "tools/call", `"name":"`+tool+`","arguments":`+arguments+`,`
	if tool == "tools/list" {
		method, params = tool, ""
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernEra + `",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"attack","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://attacked/mcp", strings.NewReader(body))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": modernEra, "Mcp-Method": method} {
		request.Header.Set(name, value)
	}
	if method != tool {
		request.Header.Set("Mcp-Name", tool)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if body := answer.Body.Bytes(); !bytes.Contains(body, []byte(`"result"`)) || bytes.Contains(body, []byte(`"isError":true`)) {
		return fmt.Errorf("%s answered %d %s", tool, answer.Code, shorten(string(body), 400))
	}
	return nil
}

// passed returns the time.
func passed() time.Duration { return time.Duration(time.Now().UnixNano()) }

// worked returns the processor time of the server, or the wall time on systems without /proc.
func (s *server) worked() time.Duration {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	var sum time.Duration
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		on, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(on, 10, 64)
		sum += time.Duration(n)
	}
	if sum == 0 {
		return passed()
	}
	return sum
}
