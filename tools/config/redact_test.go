package config

import (
	"strings"
	"testing"
)

// No answer contains a password in a setting; the file keeps it.
func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	files := tempFiles(t)
	const stored = "postgres://me:hunter2@db.example/work?sslpassword=hunter3"
	for _, c := range []struct{ action, args string }{
		{"set", `{"path":"store","value":"` + stored + `"}`},
		{"set", `{"path":"store","value":"` + stored + `"}`},
		{"get", `{"path":"store"}`},
		{"show", `{}`},
	} {
		answer := callAs(t, ByUser(t.Context()), files, c.action, c.args)
		if strings.Contains(answer, "hunter") || !strings.Contains(answer, "postgres://me:xxxxx@db.example/work?sslpassword=xxxxx") {
			t.Errorf("%s answered %s", c.action, answer)
		}
	}
	if text := content(t, files, Global); !strings.Contains(text, stored) {
		t.Errorf("the file has %s", text)
	}
}
