package work_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolfold/toolfold/internal/run/work"
)

// Steps name the stored scripts and agents that they run, also within other steps. Computed names are left out.
func TestNamed(t *testing.T) {
	t.Parallel()
	var steps []work.Step
	err := json.Unmarshal([]byte(`[{"type":"script","config":{"name":"a"}},{"type":"script","config":{"code":"return 1"}},
		{"type":"script","config":{"name":"{{ input.name }}"}},{"type":"prompt","config":{"name":"x"}},
		{"type":"loop","config":{"steps":[{"type":"script","config":{"name":"b"}},{"type":"delegate","config":{"agentId":"c"}}]}}]`), &steps)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(work.Named(nil, steps)), "[script a script b agent c]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
