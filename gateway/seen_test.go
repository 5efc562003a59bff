package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
)

// What lists are made of has no character that a reader does not see; the definition stays as it came.
func TestSeen(t *testing.T) {
	t.Parallel()
	l := newLink(&Gateway{}, Upstream{})
	const raw = `{"name":"add","title":"A\u202e","description":"Adds ✔️.\u200b","inputSchema":` +
		`{"type":"object","properties":{"a":{"type":"number","description":"left\u202e"}}}}`
	d := definition{Name: "add", Title: "A\u202e", Description: "Adds ✔️.\u200b", raw: json.RawMessage(raw),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number","description":"left\u202e"}}}`)}
	a, err := l.action("add", d, false)
	if err != nil {
		t.Fatal(err)
	}
	family := (&toolfold.Family{Name: "x", Actions: []*toolfold.Action{a}}).Declared()
	for _, text := range []string{family.Actions[0].Summary, family.Actions[0].Doc, string(family.Actions[0].Input)} {
		if strings.Contains(text, "u202e") || strings.Contains(text, "u200b") || strings.ContainsAny(text, "\u202e\u200b") {
			t.Errorf("%+q hides something", text)
		}
	}
	if !strings.Contains(family.Actions[0].Summary, "✔\ufe0f") {
		t.Errorf("%+q has lost a selector", family.Actions[0].Summary)
	}
	if string(family.Actions[0].Definition) != raw {
		t.Errorf("the definition is %s", family.Actions[0].Definition)
	}
}
