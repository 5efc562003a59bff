package servers

import (
	"testing"

	"github.com/toolfold/toolfold/internal/cli/settings"
	"github.com/toolfold/toolfold/tools/config"
)

// TestProcessHidesSecrets describes servers that are reached at a URL, or have a process for each session.
func TestProcessHidesSecrets(t *testing.T) {
	o := &settings.Options{Options: config.Options{Upstreams: map[string]config.Upstream{
		"far":    {URL: "https://user:secret@h.example:8443/secret?key=secret"},
		"filled": {URL: "${SECRET}"}, "own": {Command: "x", Isolate: "session"},
	}}}
	for name, want := range map[string]string{
		"far": "reached at https://h.example:8443", "filled": "reached at its url", "own": "one process for each session",
	} {
		if got, err := Process(t.Context(), o, name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
