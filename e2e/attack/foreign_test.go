package main

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if isForeign() || isAsking() {
		return
	}
	os.Exit(m.Run())
}

// A witness finds these faults and no others.
func TestWitness(t *testing.T) {
	t.Parallel()
	f := newForeigner(7)
	for name, test := range map[string]struct {
		line string
		want string // kind; empty = no fault
	}{
		"an answer":               {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + f.mark + `"}]}}`, ""},
		"an error with a reason":  {`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"too late","data":{"code":"TIMEOUT"}}}`, ""},
		"a list has changed":      {changed, ""},
		"half a message":          {`{"jsonrpc":"2.0","id":1,"result":{`, "no message"},
		"two members of a name":   {`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, "no message"},
		"a result and an error":   {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, "no message"},
		"bytes of no text":        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":\"\xff\"}}", "messages not in UTF-8"},
		"an id of nobody":         {`{"jsonrpc":"2.0","id":2,"result":{}}`, "answers to nothing"},
		"a forged question":       {forgedLines(f.forged)[0], "forged messages"},
		"a forged log message":    {forgedLines(f.forged)[1], "forged messages"},
		"a forged answer":         {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"` + f.forged + `"}]}}`, "forged messages"},
		"an unknown notification": {`{"jsonrpc":"2.0","method":"notifications/vendor"}`, "forged messages"},
		"progress of nothing":     {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9}}`, "progress of nothing"},
		"a member of a task":      {`{"jsonrpc":"2.0","id":1,"result":{"content":[],"taskId":"x"}}`, "unknown members"},
		"forged metadata":         {`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"toolfold/x":"` + f.forged + `"}}}`, "forged _meta"},
		"another server's answer": {`{"jsonrpc":"2.0","id":1,"result":{"isError":"` + newForeigner(8).mark + `"}}`, "answers of other servers"},
		"a result of no members":  {`{"jsonrpc":"2.0","id":1,"result":[]}`, "invalid results"},
		"an error without code":   {`{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, "invalid errors"},
		"an error of ours":        {`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}`, "internal errors"},
		"a Go type":               {`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"into mcp.Tool"}}`, "riddles"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := &trial{servers: []*foreigner{f}}
			w := trial.witness("test", false)
			w.open[1] = &exchange{method: "tools/call", of: f, answer: make(chan *answer, 1)}
			w.hear([]byte(test.line))
			var kinds []string
			for _, found := range trial.found {
				kinds = append(kinds, found.kind)
			}
			if got := strings.Join(kinds, ", "); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// A number determines its server, and every breakage comes first in turn.
func TestForeignersFollowFromTheirNumber(t *testing.T) {
	t.Parallel()
	for i, b := range breakages {
		number := uint64(i + len(breakages))
		f := newForeigner(number)
		if f.broken[0].name != b.name || f.String() != newForeigner(number).String() {
			t.Errorf("%s, then %s, want %q first", f, newForeigner(number), b.name)
		}
	}
}
