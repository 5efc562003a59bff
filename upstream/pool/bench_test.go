//go:build unix

package pool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolfold/toolfold/upstream"
)

// echo serves one tool by reading and writing lines, so that the cost of a call is the client's. It
// sends that many change notifications before it answers its first request.
func echo(news int) {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		for ; news > 0; news-- {
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		answer := `"result":{"content":[{"type":"text","text":"x"}]}`
		switch request.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},` +
				`"serverInfo":{"name":"echo","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`
		case "tools/call":
		default:
			answer = `"error":{"code":-32601,"message":"no such method"}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", request.ID, answer)
		_ = out.Flush()
	}
}

// BenchmarkShared prints how much longer a call through the host takes than a direct one, as the median
// of alternating calls.
func BenchmarkShared(b *testing.B) {
	p := newPool(b, "1")
	server := upstream.Server{Argv: []string{os.Args[0], "echo", "0"}, EnvOnly: true}
	own, err := upstream.Connect(b.Context(), server, upstream.Client{Name: "t"})
	if err != nil {
		b.Fatal(err)
	}
	defer own.Close()
	shared := connect(b, p, server, upstream.Client{Name: "t"})
	var direct, through []time.Duration
	c := upstream.Call{Tool: "x", Arguments: json.RawMessage(`{"a":1}`)}
	for b.Loop() {
		at := time.Now()
		if _, err := own.Call(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if _, err := shared.Call(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		direct, through = append(direct, between.Sub(at)), append(through, time.Since(between))
	}
	slices.Sort(direct)
	slices.Sort(through)
	middle := len(direct) / 2
	b.ReportMetric(float64(direct[middle].Microseconds()), "direct-µs")
	b.ReportMetric(float64(through[middle].Microseconds()), "shared-µs")
	b.ReportMetric(float64(through[middle])/float64(direct[middle]), "ratio")
}

// BenchmarkSharedCallers prints the share of the direct calls that sixteen callers make through the
// host in the same time.
func BenchmarkSharedCallers(b *testing.B) {
	p := newPool(b, "1")
	server := upstream.Server{Argv: []string{os.Args[0], "echo", "0"}, EnvOnly: true}
	own, err := upstream.Connect(b.Context(), server, upstream.Client{Name: "t"})
	if err != nil {
		b.Fatal(err)
	}
	defer own.Close()
	shared := connect(b, p, server, upstream.Client{Name: "t"})
	const callers, each = 16, 20
	took := func(call func(context.Context, upstream.Call) (json.RawMessage, error)) time.Duration {
		at := time.Now()
		var wait sync.WaitGroup
		for range callers {
			wait.Go(func() {
				for range each {
					if _, err := call(b.Context(), upstream.Call{Tool: "x", Arguments: json.RawMessage(`{"a":1}`)}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wait.Wait()
		return time.Since(at)
	}
	var direct, through time.Duration
	for b.Loop() {
		direct += took(own.Call)
		through += took(shared.Call)
	}
	calls := float64(b.N * callers * each)
	b.ReportMetric(calls/direct.Seconds(), "direct-calls/s")
	b.ReportMetric(calls/through.Seconds(), "shared-calls/s")
	b.ReportMetric(direct.Seconds()/through.Seconds(), "share")
}
