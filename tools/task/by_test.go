package task_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/tools/task"
)

// Only a call that toolfold keeps names its caller: the submitter of a task for an agent or a workflow cannot name another one.
func TestByOf(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"tool":"note.store","called":{"tool":"note","arguments":{}},"by":{"caller":"ada"}}`)
	if by := task.ByOf(task.Task{Input: input}); string(by) != `{"caller":"ada"}` {
		t.Errorf("of a kept call: %s", by)
	}
	for name, submitted := range map[string]task.Task{
		"agent": {AgentID: "a", Input: input}, "workflow": {WorkflowID: "w", Input: input},
		"action": {Input: json.RawMessage(`{"tool":"note.store","by":{"caller":"ada"}}`)},
	} {
		if by := task.ByOf(submitted); by != nil {
			t.Errorf("%s: %s", name, by)
		}
	}
}
