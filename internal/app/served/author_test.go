package served_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/permission"
)

// What a run stores has the client as its author, and the name of the script, also if a task makes the run.
func TestAuthorOfRuns(t *testing.T) {
	eachDurable(t, func(t *testing.T, store string) {
		m := newMachine(t, store, permission.Rules{}, 0)
		author := func() string {
			t.Helper()
			replaced, _ := m.does("memory", `{"action":"store","key":"k","value":0}`)["previous"].(map[string]any)
			return fmt.Sprint(replaced["author"])
		}
		m.does("memory", `{"action":"store","key":"k","value":0}`)
		client := author()
		const code = `await memory.store({key: 'k', value: Math.random()})`
		m.does("script", `{"action":"save","name":"writes","code":"`+code+`"}`)
		for _, c := range [][3]string{
			{"script", runs(code), client},
			{"script", `{"action":"run","name":"writes"}`, client + ", script writes"},
			{"script", runs(`await scripts.writes()`), client},
			{"task", `{"action":"submit","name":"t","input":{"tool":"script.run","arguments":{"name":"writes"}}}`, "a task, script writes"},
		} {
			answer := m.does(c[0], c[1])
			if id, submitted := answer["taskId"].(string); submitted {
				m.does("task", fmt.Sprintf(`{"action":"wait","taskId":%q}`, id))
			}
			if got := author(); got != c[2] || client == "<nil>" {
				t.Errorf("%s: %q, want %q", c[1], got, c[2])
			}
		}
		taken := m.call(takes(""), "script", `{"action":"run","name":"writes"}`)
		if id, kept := taken["taskId"].(string); kept {
			m.ended(id)
		}
		if got := author(); !strings.HasSuffix(got, ", script writes") || strings.HasPrefix(got, "a task") {
			t.Errorf("%q", got)
		}
	})
}
