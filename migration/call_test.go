package migration_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/migration"
)

// Arguments in params count as the server reads them. A call that the server would reject is not
// rewritten.
func TestRewriteParams(t *testing.T) {
	t.Parallel()
	r := migration.NewRewriter(app.Families())
	for _, c := range []struct{ name, arguments, want string }{
		{"memory_list", `{"params":{"namespace":"n1"}}`, `{"action":"list","params":{"namespace":"n1"}}`},
		{"memory_list", `{"params":"{\"namespace\":\"n1\"}"}`, `{"action":"list","params":{"namespace":"n1"}}`},
		{"memory_list", `{"params":null}`, `{"action":"list"}`},
		{"memory_list", `{"params":""}`, `{"action":"list"}`},
		{"memory_list", `{"limit":2,"params":{"prefix":"n","limit":2}}`, `{"action":"list","params":{"limit":2,"prefix":"n"}}`},
		{"memory_list", `{"limit":null,"params":{"limit":3}}`, `{"action":"list","params":{"limit":3}}`},
		{"memory_list", `null`, `{"action":"list"}`},
		{"memory_list", `{"limit":2,"params":{"limit":3}}`, "limit is given twice"},
		{"memory_list", `{"params":[1]}`, "params is no JSON object"},
		{"memory_list", `{"params":"x"}`, "params is no JSON object"},
		{"memory_list", `{"limit":1,"limit":2}`, "a member twice"},
		{"memory_list", `[1]`, "arguments of memory_list"},
		{"memory.delete", `{"key":"a","zz":1}`, `{"action":"delete","params":{"key":"a","zz":1}}`}, // rejected before and after
		{"memory", `{"action":"list","zz":1}`, `{"action":"list","zz":1}`},
		{
			"tool_call", `{"name":"memory_delete","arguments":{"key":"a"}}`,
			`{"name":"memory","arguments":{"action":"delete","params":{"key":"a"}}}`,
		},
		{"tool_call", `{"name":"memory.delete","arguments":{"key":"a"}}`, `{"name":"memory.delete","arguments":{"key":"a"}}`},
		{"tool_call", `{"name":7}`, `{"name":7}`},
	} {
		now, _, err := r.Rewrite(migration.Call{Name: c.name, Arguments: json.RawMessage(c.arguments)})
		switch {
		case strings.HasPrefix(c.want, "{"):
			if err != nil || string(now.Arguments) != c.want {
				t.Errorf("%s %s became %s, %v, want %s", c.name, c.arguments, now.Arguments, err, c.want)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %s became %s, %v, want an error with %q", c.name, c.arguments, now.Arguments, err, c.want)
		}
	}
}

// In model logs, the arguments are in the member input.
func TestRewriteLine(t *testing.T) {
	t.Parallel()
	r := migration.NewRewriter(app.Families())
	for line, want := range map[string]string{
		`{"type":"tool_use","name":"memory_retrieve","input":{"key":"a"}}`: `{"type":"tool_use","name":"memory","input":` +
			`{"action":"get","params":{"key":"a"}}}`,
		`{"name":"memory_list","name":"memory_clear"}`: "a member twice",
		`{"NAME":"memory_list"}`:                       `no "name"`,
	} {
		now, _, err := r.RewriteLine([]byte(line))
		if err == nil && string(now) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s became %s, %v", line, now, err)
		}
	}
}
