package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/gateway"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
	"github.com/toolfold/toolfold/upstream"
)

// BenchmarkCall prints how much longer a folded call of a local server takes than a direct one. The two
// alternate.
func BenchmarkCall(b *testing.B) {
	u, _ := playedServer(b, "srv", `{"tools":[{"name":"do","description":"`+long+`","inputSchema":{"type":"object"}}]}`)
	s, _ := offering(b, b.TempDir(), surface.Options{}, u)
	direct, err := upstream.Connect(b.Context(), u.Server, upstream.Client{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer direct.Close()
	arguments := json.RawMessage(`{"action":"do","params":{"a":[1,2,3]}}`)
	var took [2]time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := direct.Call(context.Background(), upstream.Call{Tool: "do", Arguments: json.RawMessage(`{"a":[1,2,3]}`)}); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if answer := s.Client.Call(context.Background(), "srv", arguments); answer.Err != nil {
			b.Fatal(answer.Err)
		}
		took[0] += middle.Sub(start)
		took[1] += time.Since(middle)
	}
	b.ReportMetric(float64(took[1]-took[0])/float64(b.N), "ns/overhead")
	b.ReportMetric(float64(took[1])/float64(took[0]), "folded/direct")
}

// BenchmarkCallers prints the rate of calls that fifty callers reach through the gateway, relative to
// direct calls of a local server. The two alternate.
func BenchmarkCallers(b *testing.B) {
	u, _ := playedServer(b, "srv", `{"tools":[{"name":"do","description":"`+long+`","inputSchema":{"type":"object"}}]}`)
	u.MaxConcurrency = 50
	s, _ := offering(b, b.TempDir(), surface.Options{}, u)
	direct, err := upstream.Connect(b.Context(), u.Server, upstream.Client{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer direct.Close()
	ways := []func() error{
		func() error {
			_, err := direct.Call(context.Background(), upstream.Call{Tool: "do", Arguments: json.RawMessage(`{"a":[1,2,3]}`)})
			return err
		},
		func() error {
			if answer := s.Client.Call(context.Background(), "srv", json.RawMessage(`{"action":"do","params":{"a":[1,2,3]}}`)); answer.Err != nil {
				return answer.Err
			}
			return nil
		},
	}
	var took [2]time.Duration
	for b.Loop() {
		for way, call := range ways {
			start := time.Now()
			var callers sync.WaitGroup
			for range 50 {
				callers.Go(func() {
					for range 20 {
						if err := call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			took[way] += time.Since(start)
		}
	}
	b.ReportMetric(float64(took[0])/float64(took[1]), "folded/direct-rate")
}

// wide is a schema as large as those of large servers.
var wide = func() string {
	var members []string
	for i, kind := range strings.Fields("string integer boolean string string number string boolean") {
		text := fmt.Sprintf("What the tool is told about the %dth thing that it does.", i)
		members = append(members, fmt.Sprintf(`"member%d":{"type":%q,"description":%q}`, i, kind, text))
	}
	members = append(members, `"labels":{"type":"array","items":{"type":"string","minLength":1,"pattern":"^[a-z]+$"}},`+
		`"state":{"type":"string","enum":["open","closed","all"]},`+
		`"range":{"type":"object","required":["from"],"properties":{`+
		`"from":{"type":"string","format":"date"},"to":{"type":"string","format":"date"}}}`)
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `},"required":["member0","member1"]}`
}()

// BenchmarkMany starts a gateway to twenty servers with 2,000 tools, one of which hangs. It prints the
// time until the stored list is ready, the allocations for that, and the time of a search.
func BenchmarkMany(b *testing.B) {
	nouns := strings.Fields("issue branch release invoice page ticket chart device recipe parcel")
	verbs := strings.Fields("get list search create update delete merge close export count")
	var list []gateway.Upstream
	var hanging string
	for n := range 20 {
		var tools []string
		for i := range 100 {
			noun, verb := nouns[i/10], verbs[i%10]
			tools = append(tools, fmt.Sprintf(`{"name":"%s_%s%d","description":"%s %ss of service %d. %s","inputSchema":%s,`+
				`"annotations":{"readOnlyHint":%t}}`, verb, noun, n, verb, noun, n, long, wide, i%10 < 3))
		}
		u, file := playedServer(b, fmt.Sprint("service", n), `{"tools":[`+strings.Join(tools, ",")+`]}`)
		list, hanging = append(list, u), file+".hang"
	}
	dir := b.TempDir()
	if _, g := offering(b, dir, surface.Options{}, list...); len(g.Families()) < 20 {
		b.Fatalf("%d families", len(g.Families()))
	}
	if err := os.WriteFile(hanging, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	var started, found []time.Duration
	var objects uint64
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		s, g := offering(b, dir, surface.Options{}, list...)
		if tools := s.Discovery.List(b.Context()); len(tools) < 20 {
			b.Fatalf("%d tools are listed", len(tools))
		}
		started = append(started, time.Since(start))
		runtime.ReadMemStats(&after)
		objects += after.Mallocs - before.Mallocs
		if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
			b.Fatal(err)
		}
		for i, noun := range nouns {
			start := time.Now()
			arguments := fmt.Sprintf(`{"action":"find","query":"which %ss are there in service %d"}`, noun, i)
			if answer := s.Client.Call(b.Context(), "tools", json.RawMessage(arguments)); answer.Err != nil {
				b.Fatal(answer.Err)
			}
			if i > 0 { // the first search builds the index
				found = append(found, time.Since(start))
			}
		}
		g.Close()
	}
	slices.Sort(started)
	slices.Sort(found)
	b.ReportMetric(float64(started[len(started)/2].Milliseconds()), "ms/list")
	b.ReportMetric(float64(objects)/float64(b.N)/2000, "allocs/tool")
	b.ReportMetric(float64(found[len(found)/2].Microseconds()), "µs/find-p50")
	b.ReportMetric(float64(found[len(found)*99/100].Microseconds()), "µs/find-p99")
}
