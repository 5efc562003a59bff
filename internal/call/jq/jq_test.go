package jq

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	const limited = "it " // time or memory: a slow machine may reach the time limit first
	for _, test := range []struct{ filter, value, want, failure string }{
		{".a.b", `{"a":{"b":1}}`, `1`, ""},
		{".a[] | .b", `{"a":[{"b":1},{"b":null}]}`, `1 null`, ""},
		{"empty", `{}`, ``, ""},
		{".n", `{"n":12345678901234567890.5}`, `12345678901234567890.5`, ""},
		{".n", `{"n":123456789012345678901}`, `123456789012345678901`, ""},
		{"halt", `{}`, ``, ""},
		{"env, $ENV", `{}`, `{} {}`, ""},
		{".a[]", `{"a":1}`, ``, "cannot iterate over: number (1)"},
		{`error("no")`, `{}`, ``, "error: no"},
		{"input", `{}`, ``, "input"},
		{"[range(1e12)]", `{}`, ``, limited},
		{"reduce range(60) as $i ([1]; . + .) | length", `{}`, ``, limited},
		{".[500000000] = 1 | length", `[]`, ``, "MB of memory"},
		{"reduce range(60) as $i (10; . * .) | 1", `{}`, ``, limited},
		{"def f: f; f", `{}`, ``, "it took longer than 5s"},
		{"range(1e9)", `{}`, ``, "bytes"},
		{`"a" * 10000000 | length`, `{}`, `10000000`, ""},
		{"length", `[1,2]`, `2`, ""},
	} {
		t.Run(test.filter, func(t *testing.T) {
			t.Parallel()
			values, err := Run(t.Context(), test.filter, json.RawMessage(test.value))
			var texts []string
			for _, value := range values {
				texts = append(texts, string(value))
			}
			if got := strings.Join(texts, " "); got != test.want {
				t.Errorf("made %s, want %s", got, test.want)
			}
			if (err != nil) != (test.failure != "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Errorf("error %v, want %q", err, test.failure)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		".a | select(.b > 1) | {c: .d}": "",
		".a[":                           "unexpected EOF at character 3",
		".a | }":                        `unexpected token "}" at character 6`,
		`"é" | }`:                       `unexpected token "}" at character 7`,
		"nosuch(1)":                     "function not defined: nosuch/1",
		`import "m" as m; .`:            "cannot load module",
		`include "/etc/passwd"; .`:      "cannot load module",
		"$secret":                       "variable not defined: $secret",
	} {
		err := Check(filter)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%s) = %v, want %q", filter, err, want)
		}
	}
}

// A call that ends also ends its filter, and the next filter runs.
func TestRunEndsWithItsCall(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(ctx, "def f: f; f", json.RawMessage(`1`)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if values, err := Run(t.Context(), ".", json.RawMessage(`1`)); err != nil || string(values[0]) != "1" {
		t.Errorf("made %s, %v", values, err)
	}
}

// If a process is killed, its filter is not reported as needing memory. Another process runs it,
// unless the process was new.
func TestProcessThatIsEnded(t *testing.T) {
	for _, used := range []bool{true, false} {
		if _, err := Run(t.Context(), ".", json.RawMessage(`1`)); err != nil {
			t.Fatal(err)
		}
		p := <-idleProcesses
		p.Kill()
		<-p.Ended
		p.used = used
		idleProcesses <- p
		values, err := Run(t.Context(), ".", json.RawMessage(`1`))
		if used && (err != nil || len(values) != 1) {
			t.Errorf("after a process was ended: made %s, %v", values, err)
		}
		if !used && (err == nil || !strings.Contains(err.Error(), p.State().String())) {
			t.Errorf("a first filter: made %s, %v, which ended with %s", values, err, p.State())
		}
	}
}

func BenchmarkRun(b *testing.B) {
	value := json.RawMessage(`{"entries":[` + strings.Repeat(`{"key":"a","n":1},`, 999) + `{"key":"b","n":2}]}`)
	for _, filter := range []string{".entries | length", ".entries[] | select(.n > 1)"} {
		b.Run(filter, func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(b.Context(), filter, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
