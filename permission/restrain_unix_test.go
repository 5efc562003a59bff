//go:build unix

package permission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// If the server or the caller may only read, scans and checks are still offered. They then run no
// programs of the workspace, and report that.
func TestRestrainedActions(t *testing.T) {
	t.Parallel()
	readOnly := permission.Rules{ReadOnly: true}.Rights()
	for name, test := range map[string]struct {
		server, caller *toolfold.Rights
		runs           bool
	}{
		"all rights":      {runs: true},
		"a server":        {server: readOnly},
		"a caller":        {caller: readOnly},
		"a caller's rest": {caller: readOnly.And(permission.Rules{Deny: []string{"memory"}}.Rights())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := workbench.New(t, surface.Options{Rights: test.server})
			ran := filepath.Join(b.Workspace, "ran")
			for path, text := range map[string]string{
				"a.js":                            "if (a == NaN) b();\n",
				".toolfold/policies/touches.yaml": "gates: [contract_tests, sensitive_change]\ncontractTests: {command: [touch, ran]}\n",
				"node_modules/.bin/eslint":        "#!/bin/sh\ntouch ran\necho '[]'\n",
			} {
				path = filepath.Join(b.Workspace, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ctx := callctx.With(t.Context(), toolfold.Origin{Session: "s", Rights: test.caller})
			calls := map[string]string{
				"guard.check":   `{"policyId":"touches","changedPaths":["a.js"]}`,
				"bugfix.scan":   `{"paths":["a.js"]}`,
				"refactor.scan": `{"paths":["a.js"]}`,
			}
			for action, args := range calls {
				_ = os.Remove(ran)
				answer := b.Client.Call(ctx, action, json.RawMessage(args))
				if answer.IsError() {
					t.Errorf("%s: %s", action, answer.Content)
				}
				_, err := os.Stat(ran)
				if isRefused := strings.Contains(string(answer.Content), "only reads (readOnly)"); (err == nil) != test.runs || isRefused == test.runs {
					t.Errorf("%s: a program ran %t, want %t: %s", action, err == nil, test.runs, answer.Content)
				}
			}
			for _, action := range []string{"bugfix.run", "refactor.apply", "guard.apply"} {
				answer := b.Client.Call(ctx, action, json.RawMessage(`{}`))
				if denied := answer.Err != nil && answer.Err.Code == toolfold.PermissionDenied; denied == test.runs {
					t.Errorf("%s is denied %t: %s", action, denied, answer.Content)
				}
			}
		})
	}
}
