package config

import (
	"context"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/engine"
)

// Only the user makes the user's settings: not a file that came with a
// workspace, and not a call of a client, in whatever scope.
func TestUserOnlySettings(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	for _, args := range []string{
		`{"path":"httpTokenFile","value":"secret","scope":"local"}`,
		`{"path":"httpTokenFile","value":"secret"}`,
		`{"path":"providers.x","value":{"type":"command","command":["sh"]}}`,
		`{"path":"providers.x.command.0","value":"sh"}`,
	} {
		refusal := failure(t, call(t, files, "set", args))
		if refusal.Code != PermissionDenied || !strings.Contains(refusal.Hint, "ask the user") {
			t.Errorf("%s is refused with %v", args, refusal)
		}
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
}

// The user may, from the shell; a step of what the user runs may not.
func TestUserSettings(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	set := func(ctx context.Context, scope string) error {
		_, err := New(files).Set(ctx, SetIn{Path: "httpTokenFile", Value: []byte(`"mine"`), Scope: scope})
		return err
	}
	user := ByUser(t.Context())
	step, refusal := engine.Enter(user, engine.AgentJob, "a", 5)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if set(step, Global) == nil || set(user, Local) == nil {
		t.Error("a step, or a workspace, may make it")
	}
	if err := set(user, Global); err != nil {
		t.Fatal(err)
	}
	layers, err := files.Load()
	if err != nil {
		t.Fatal(err)
	}
	if value, from, _ := layers.Lookup("httpTokenFile"); value != "mine" || from != Global {
		t.Errorf("the user's is %v from %s", value, from)
	}
}
