package gateway

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/gateway/fold"
)

// A plan is read back unchanged, for any tool names.
func TestStoredPlan(t *testing.T) {
	t.Parallel()
	var tools []fold.Tool
	for i := range 60 {
		tools = append(tools, fold.Tool{Name: fmt.Sprintf("get_noun%d\"\\\x1b日%d", i%7, i), Reads: i%3 == 0})
	}
	for _, s := range []fold.Server{{Name: "srv"}, {Name: "srv", Alone: true}} {
		plan := fold.Make(s, tools)
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		read := recordPlan{Families: []fold.Family{{Name: "former"}}}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan, fold.Plan(read)); diff != "" {
			t.Errorf("(-kept +read)\n%s", diff)
		}
	}
}
