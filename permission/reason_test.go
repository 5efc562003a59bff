package permission_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/permission"
	"github.com/toolfold/toolfold/surface"
)

// Actions that the server forbids are reported as not permitted, with the reason, under every name.
// No other action is suggested.
func TestMissingRightIsReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rules permission.Rules
		why   string
	}{{permission.Rules{ReadOnly: true}, "only reads"}, {permission.Rules{Deny: []string{"memory.*", "*.remove"}}, "deny"}} {
		b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy, Rights: test.rules.Rights()})
		every := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy})
		refused := 0
		for _, f := range every.Families() {
			for _, a := range f.Actions {
				if setting, _ := test.rules.Reason(a); setting == "" {
					continue
				}
				refused++
				flat := workbench.Arguments(entry.New(a, a.FullName()))
				names := []string{a.FullName(), f.Name + "_" + a.Name}
				for _, old := range a.Legacy {
					names = append(names, old.Name)
				}
				for _, name := range names {
					for how, answer := range map[string]toolfold.Answer{
						"name": b.Client.Call(t.Context(), name, ordered.MustJSON(flat)),
						"tool_call": b.Client.Call(t.Context(), "tool_call",
							ordered.MustJSON(map[string]any{"name": name, "arguments": flat})),
					} {
						checkRefusal(t, how+" "+name, answer, a, test.why)
					}
				}
				if !f.Bare {
					flat[callctx.ArgAction] = a.Name
					checkRefusal(t, "action", b.Client.Call(t.Context(), f.Name, ordered.MustJSON(flat)), a, test.why)
				}
			}
		}
		if refused < 5 {
			t.Errorf("only %d actions are refused", refused)
		}
	}
}

func checkRefusal(t *testing.T, how string, answer toolfold.Answer, a *toolfold.Action, why string) {
	t.Helper()
	if answer.Err == nil || answer.Err.Code != toolfold.PermissionDenied ||
		!strings.Contains(answer.Err.Message, a.FullName()+" is not permitted") ||
		!strings.Contains(answer.Err.Message, why) {
		t.Errorf("%s of %s: %s", how, a.FullName(), answer.Content)
	}
}

// For callers with their own rights, excluded names get the same answer as unknown ones.
func TestExcludedNamesAreUnknown(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy})
	ctx := callctx.With(t.Context(), toolfold.Origin{Rights: permission.Rules{Allow: []string{"task.list"}}.Rights()})
	for _, args := range []string{`{}`, `{"key":"a","value":1}`} {
		for _, pair := range [][2]string{{"memory", "mammoth"}, {"task.cancel", "task.frobnicate"}, {"task_cancel", "task_frobnicate"}} {
			there := b.Client.Call(ctx, pair[0], []byte(args))
			absent := b.Client.Call(ctx, pair[1], []byte(args))
			if string(there.Content) != strings.ReplaceAll(string(absent.Content), pair[1], pair[0]) {
				t.Errorf("%s and %s", there.Content, absent.Content)
			}
		}
		there := b.Client.Call(ctx, "memory.store", []byte(args))
		absent := b.Client.Call(ctx, "mammoth.stare", []byte(args))
		if string(there.Content) != strings.ReplaceAll(string(absent.Content), "mammoth.stare", "memory.store") ||
			there.Err == nil || there.Err.Code != toolfold.PermissionDenied {
			t.Errorf("%s and %s", there.Content, absent.Content)
		}
	}
}

// The list of tools names forbidden actions if asked.
func TestListNamesRejectedEntries(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{Mode: surface.Consolidated, Level: lazy.Lazy,
		Rights: permission.Rules{ReadOnly: true, Deny: []string{"queue"}}.Rights()})
	type row struct {
		Name    string
		Enabled bool
		Refused []string
	}
	list := func(args string) map[string]row {
		var out struct{ Tools []row }
		if err := json.Unmarshal(b.Client.Call(t.Context(), "tools.list", []byte(args)).Content, &out); err != nil {
			t.Fatal(err)
		}
		rows := map[string]row{}
		for _, r := range out.Tools {
			rows[r.Name] = r
		}
		return rows
	}
	if brief := list(`{}`); brief["memory"].Refused != nil || brief["queue"].Name != "" {
		t.Errorf("without include_disabled: %+v", brief)
	}
	rows := list(`{"include_disabled":true}`)
	if m := rows["memory"]; !m.Enabled || !slices.Contains(m.Refused, "store: the server only reads (readOnly), it sets") ||
		len(m.Refused) != 6 {
		t.Errorf("memory: %+v", m)
	}
	if q := rows["queue"]; q.Enabled || !slices.Contains(q.Refused, `list: deny "queue"`) {
		t.Errorf("queue: %+v", q)
	}
}
