package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/serve"
)

// TestMain serves as the other server if its argument is pears.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "pears" {
		if err := pears(); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// pears serves its own list, each tool under its name.
func pears() error {
	long := strings.Repeat(" It takes the pears that are there into account.", 10) // short lists cost less unfolded
	var families []*toolfold.Family
	for name, reads := range map[string]bool{"list_pears": true, "count_pears": true, "eat_pear": false, "buy_pear": false} {
		effect := toolfold.Deletes
		if reads {
			effect = toolfold.Reads
		}
		f, err := toolfold.External{Name: name, Description: "Does " + name + "." + long, Effect: effect, Category: "pears",
			Run: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"pears":3}`), nil
			}}.Family()
		if err != nil {
			return err
		}
		families = append(families, f)
	}
	server, err := serve.New(serve.Options{Name: "pears", Families: families})
	if err != nil {
		return err
	}
	return server.Stdio(context.Background(), os.Stdin, os.Stdout)
}

func TestRun(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		err := run(t.Context(), []string{os.Args[0], "pears"}, in, &out)
		in.CloseWithError(err)
		done <- err
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"other.count_pears","arguments":{}}}`,
	} {
		if _, err := io.WriteString(feed, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	feed.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"readOnlyHint":true`, `"pears":3`} {
		if !strings.Contains(strings.ReplaceAll(out.String(), `\"`, `"`), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
}

// Without a program there is nothing to serve.
func TestUsage(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), nil, nil, nil); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("%v", err)
	}
}
