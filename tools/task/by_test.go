package task_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/tools/task"
)

// Only a call that toolfold keeps names its caller: the submitter of a task for an agent or a workflow cannot name another one.
func TestCallerOf(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"tool":"note.store","called":{"tool":"note","arguments":{}},"by":{"caller":"ada"},"as":"pen"}`)
	if by, as := task.CallerOf(task.Task{Input: input}); string(by) != `{"caller":"ada"}` || as != "pen" {
		t.Errorf("of a kept call: %s, %s", by, as)
	}
	for name, submitted := range map[string]task.Task{
		"agent": {AgentID: "a", Input: input}, "workflow": {WorkflowID: "w", Input: input},
		"action": {Input: json.RawMessage(`{"tool":"note.store","by":{"caller":"ada"},"as":"pen"}`)},
	} {
		if by, as := task.CallerOf(submitted); by != nil || as != "" {
			t.Errorf("%s: %s, %s", name, by, as)
		}
	}
}
