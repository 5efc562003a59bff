package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdopt(t *testing.T) {
	t.Parallel()
	u := Upstream{Command: "a", TimeoutMs: 5}
	others, err := u.Adopt(map[string]any{"timeoutMs": int64(3000), "resultLimit": json.Number("5000"), "changes": "warn",
		"command": "b", "type": "sse", "isolate": "session", "include": []any{"x"}, "startup": 1.5})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"command", "startup", "type"}, others); diff != "" {
		t.Error(diff)
	}
	want := Upstream{Command: "a", TimeoutMs: 3000, ResultLimit: 5000, Changes: "warn", Isolate: "session", Include: []string{"x"}}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error(diff)
	}
	for value, message := range map[any]string{
		"3 s": `timeoutMs must be integer, got string`, 0: "timeoutMs must be 1 to 3600000, got 0",
	} {
		if _, err := u.Adopt(map[string]any{"timeoutMs": value}); err == nil || err.Error() != message {
			t.Errorf("%v: %v, want %s", value, err, message)
		}
	}
	if u.TimeoutMs != 3000 {
		t.Errorf("a value that is refused is taken over: %d", u.TimeoutMs)
	}
}
