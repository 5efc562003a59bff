package gateway_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/gateway/fold"
	"github.com/toolfold/toolfold/surface"
)

// Another process sees what was accepted beside what is listed now, approves it, and
// plans otherwise; the one that serves takes that over.
func TestReviewedElsewhere(t *testing.T) {
	t.Parallel()
	first := `{"tools":[` +
		`{"name":"get_a","description":"A. ` + long + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
		`{"name":"set_a","description":"` + long + `","inputSchema":{"type":"object"}}]}`
	u, file := playing(t, "srv", first)
	dir := t.TempDir()
	s, serving := offering(t, dir, surface.Options{}, u)
	if err := os.WriteFile(file, []byte(strings.Replace(first, `"A. `, `"B. `, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, other := offering(t, dir, surface.Options{}, u)
	if err := other.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	held, err := other.Held("srv")
	if err != nil || len(held) != 1 || held[0].Name != "get_a" || !strings.Contains(string(held[0].Was), `"A. `) ||
		!strings.Contains(string(held[0].Now), `"B. `) {
		t.Fatalf("held %s, %v", held, err)
	}
	if err := serving.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	if answer := s.Client.Call(t.Context(), "srv.get_a", nil); answer.Err == nil {
		t.Errorf("a tool that changed is called: %s", answer.Content)
	}
	if _, err := other.Approve("srv", "get_a"); err != nil {
		t.Fatal(err)
	}
	if held, err := other.Held("srv"); len(held) > 0 || err != nil {
		t.Errorf("still held: %v, %v", held, err)
	}
	waitFor(t, func() bool { return s.Client.Call(t.Context(), "srv.get_a", nil).Err == nil })

	plan, _ := other.Plan("srv")
	plan.Families[1].Name = "changes"
	if err := other.UsePlan("srv", plan); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		return slices.ContainsFunc(serving.Families(), func(f *toolfold.Family) bool { return f.Name == "changes" })
	})
	if err := serving.Refresh(t.Context(), "srv"); err != nil {
		t.Fatal(err)
	}
	if now, _ := serving.Plan("srv"); now.Families[1].Name != "changes" {
		t.Errorf("the plan is forgotten: %+v", now)
	}
	for name, wrong := range map[string]func(*fold.Plan){
		`tool "set_a" is in no family`: func(p *fold.Plan) { p.Families = p.Families[:1] },
		"is there twice":               func(p *fold.Plan) { p.Families[0].Actions = append(p.Families[0].Actions, p.Families[1].Actions...) },
		"does more than read":          func(p *fold.Plan) { p.Families[1].Reads = true },
		"a name has small letters":     func(p *fold.Plan) { p.Families[0].Name = "A b" },
	} {
		p := fold.Plan{Families: slices.Clone(plan.Families)}
		wrong(&p)
		if err := other.UsePlan("srv", p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
	again, err := other.Replan("srv")
	if err != nil || again.Families[1].Name == "changes" {
		t.Errorf("planned anew: %+v, %v", again, err)
	}
	if _, err := other.Held("nobody"); err == nil {
		t.Error("a server that is not there is answered")
	}
}
