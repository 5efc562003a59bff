package workbench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/surface"
)

// CrammedEntries is the number of objects of each kind in a crammed workbench.
const CrammedEntries = 22

// Crammed returns a workbench whose data is as long as possible everywhere.
func Crammed(t *testing.T, o surface.Options) *Bench {
	t.Helper()
	b := New(t, o)
	do := func(name, args string, filling ...any) {
		t.Helper()
		if answer := b.Runner.Call(t.Context(), name, json.RawMessage(fmt.Sprintf(args, filling...))); answer.Err != nil {
			t.Fatalf("%s: %s", name, answer.Content)
		}
	}
	for i := range CrammedEntries {
		do("memory.store", `{"key":"entry %02d","value":{"text":%q,"list":[%s1]}}`, i, LongText(i, 20_000), strings.Repeat("1,", 2000))
		do("session.create", `{"initiator":"a","task":%q,"metadata":{"x":%q}}`, LongText(i, 4900), LongText(i, 20_000))
		do("task.submit", `{"name":%q,"description":%q,"type":"wait","scheduledAt":"2099-01-01T00:00:00Z","input":{"x":%q}}`, LongText(i, 190),
			LongText(i, 1900), LongText(i, 50_000))
		do("ability.register", `{"abilityId":"ability-%d","content":%q,"description":%q,"tags":["x"]}`, i, LongText(i, 20_000), LongText(i, 1900))
		do("agent.register", `{"agentId":"agent-%d","description":%q,"systemPrompt":%q,"capabilities":[%q]}`, i, LongText(i, 900),
			LongText(i, 9000), LongText(i, 190))
		do("queue.create", `{"name":"queue %d","description":%q}`, i, LongText(i, 400))
	}
	do("memory.store", `{"key":"text","value":%q}`, LongText(7, 100_000))
	return b
}

// LongText returns a text of n characters, many of which take more than a byte.
func LongText(seed, n int) string {
	var s strings.Builder
	for i := 0; i < n; i++ {
		s.WriteRune([]rune("abcdefghij \"\nßé漢")[(i*i+seed*7+i/16)%16])
	}
	return s.String()
}
