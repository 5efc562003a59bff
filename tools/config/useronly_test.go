package config

import (
	"strings"
	"testing"
)

// A workspace cannot make the settings that are the user's own, neither
// through the tool nor by a file that came with it.
func TestUserOnlySettings(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	refusal := failure(t, call(t, files, "set", `{"path":"httpTokenFile","value":"secret","scope":"local"}`))
	if !strings.Contains(refusal.Message, "only the user's own file") {
		t.Errorf("refused with %q", refusal.Message)
	}
	write(t, files, Local, `{"httpTokenFile": "theirs", "toolMode": "legacy"}`)
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	if value, _, ok := layers.Lookup("httpTokenFile"); ok {
		t.Errorf("the workspace set it to %v", value)
	}
	if value, from, _ := layers.Lookup("toolMode"); value != "legacy" || from != Local {
		t.Errorf("toolMode is %v from %s", value, from)
	}
	if len(layers.Unknown) != 1 || !strings.Contains(layers.Unknown[0].Text(), "left out") {
		t.Errorf("it is not pointed out: %v", layers.Unknown)
	}
	call(t, files, "set", `{"path":"httpTokenFile","value":"mine"}`)
	layers, err = files.Load()
	if err != nil {
		t.Fatal(err)
	}
	if value, from, _ := layers.Lookup("httpTokenFile"); value != "mine" || from != Global {
		t.Errorf("the user's is %v from %s", value, from)
	}
}
