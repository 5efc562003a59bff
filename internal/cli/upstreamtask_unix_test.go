//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// slow is a server whose only upstream is [slowServer].
type slow struct {
	process
	lastID int
}

func (m sandbox) slow(t *testing.T) *slow {
	t.Helper()
	return &slow{process: start(t, m.command(t, "serve", "--tier=core"), nil)}
}

// ask returns the result of a request from a client that accepts tasks.
func (s *slow) ask(t *testing.T, method, params string) (result map[string]json.RawMessage) {
	t.Helper()
	s.lastID++
	_, _ = fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":`+
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`+"\n", s.lastID, method, params)
	var answer struct {
		Result map[string]json.RawMessage
		Error  json.RawMessage
	}
	testwait.Until(t, method+" is answered", func() bool {
		_, rest, _ := strings.Cut(s.stdout.String(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, s.lastID))
		line, _, whole := strings.Cut(rest, "\n")
		return whole && json.Unmarshal([]byte("{"+line), &answer) == nil
	})
	if answer.Error != nil {
		t.Fatalf("%s: %s\n%s", method, answer.Error, s.stderr.String())
	}
	return answer.Result
}

// call calls a tool that answers once a file exists, or at once if until is empty.
func (s *slow) call(t *testing.T, tool, until string) map[string]json.RawMessage {
	t.Helper()
	return s.ask(t, "tools/call", fmt.Sprintf(`"name":"up.%s","arguments":{"until":%q}`, tool, until))
}

// ended returns a task once it has ended. Tasks of a killed process wait until its lease ends.
func (s *slow) ended(t *testing.T, id json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	var task map[string]json.RawMessage
	testwait.Until(t, "task "+string(id)+" ends", func() bool {
		task = s.ask(t, "tasks/get", `"taskId":`+string(id))
		return string(task["status"]) != `"working"`
	})
	return task
}

// sameResult compares a task's result with the answer of the upstream's tool.
func sameResult(t *testing.T, tool string, result json.RawMessage) {
	t.Helper()
	var got, want map[string]json.RawMessage
	if json.Unmarshal(result, &got) != nil || json.Unmarshal([]byte(slowResult(tool)), &want) != nil {
		t.Fatalf("the result of %s is %s", tool, result)
	}
	for _, member := range []string{"content", "structuredContent", "isError"} {
		if string(got[member]) != string(want[member]) {
			t.Errorf("%s of %s is %s, want %s", member, tool, got[member], want[member])
		}
	}
	if !strings.Contains(string(got["_meta"]), `"z":1.0`) {
		t.Errorf("_meta of %s is %s", tool, got["_meta"])
	}
}

// A slow call of an upstream becomes a task with the unchanged answer. If the server is killed,
// idempotent calls are repeated. For other calls the answer is that it is unknown whether they were
// done.
func TestCallsOfUpstreamsAsTasks(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store string) {
		m := newSandbox(t)
		m.store = store
		calls := filepath.Join(m.home, "calls")
		m.write(t, filepath.Join(m.home, "config", "toolfold", "config.json"), fmt.Sprintf(
			`{"upstreams":{"up":{"command":"slow-mcp","args":[%q],"repeat":["se*"]}}}`, calls))
		m.learn(t)
		s := m.slow(t)
		for _, tool := range []string{"pay", "fail"} {
			quick := s.call(t, tool, "")
			whole, _ := json.Marshal(quick)
			if string(quick["resultType"]) == `"task"` { // the machine is slow
				whole = s.ended(t, quick["taskId"])["result"]
			}
			sameResult(t, tool, whole)
		}
		release := filepath.Join(m.home, "release")
		taken := s.call(t, "fail", release)
		if string(taken["resultType"]) != `"task"` {
			t.Fatalf("a slow call is answered %s", taken)
		}
		m.write(t, release, "")
		done := s.ended(t, taken["taskId"])
		if string(done["status"]) != `"completed"` {
			t.Errorf("it ended as %s", done)
		}
		sameResult(t, "fail", done["result"])
		if err := os.Remove(release); err != nil {
			t.Fatal(err)
		}

		ids := map[string]json.RawMessage{}
		for _, tool := range []string{"report", "pay", "send"} {
			ids[tool] = s.call(t, tool, release)["taskId"]
		}
		testwait.Until(t, "the upstream has all calls", func() bool {
			made, _ := os.ReadFile(calls)
			return bytes.Count(made, []byte("\n")) == 6 // including earlier calls of pay and fail
		})
		s.signal(t, syscall.SIGKILL)
		<-s.process.ended
		m.write(t, release, "")
		s = m.slow(t)
		for _, tool := range []string{"report", "send"} {
			done := s.ended(t, ids[tool])
			if string(done["status"]) != `"completed"` {
				t.Errorf("%s ended as %s", tool, done)
			}
			sameResult(t, tool, done["result"])
		}
		lost := s.ended(t, ids["pay"])
		if text := string(lost["result"]) + string(lost["error"]); !strings.Contains(text, "is not known to be done") {
			t.Errorf("pay ended as %s", lost)
		}
		made, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		for tool, want := range map[string]int{"report": 2, "send": 2, "pay": 2} { // pay was called once before
			if n := strings.Count(string(made), tool+"\n"); n != want {
				t.Errorf("%s was called %d times", tool, n)
			}
		}
	})
}
