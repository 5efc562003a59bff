package doctor_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/doctor"
	"github.com/toolfold/toolfold/lazy"
)

// The parts of the served list add up to its total cost.
func TestCountServed(t *testing.T) {
	t.Parallel()
	list := []lazy.ListedTool{
		{Name: "memory", Description: "Key-value notebook", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "git", Description: "Commits", InputSchema: json.RawMessage(`{"type":"object"}`), External: true},
		{Name: "git_write", Description: "Commits, changes", InputSchema: json.RawMessage(`{"type":"object"}`), External: true},
	}
	action := []*toolfold.Action{{Name: "list"}}
	got, err := doctor.CountSurface(list, []*toolfold.Family{
		{Name: "memory", Actions: action}, {Name: "git", Server: "git", Actions: action}, {Name: "git_write", Server: "git", Actions: action},
		{Name: "hidden", Server: "hidden"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := doctor.Count(list)
	if err != nil {
		t.Fatal(err)
	}
	if got.Cost != want || got.Own.Add(got.Folded) != want || got.Own.Tools != 1 || got.Folded.Tools != 2 || got.Servers != 1 {
		t.Errorf("%+v, want the parts of %+v", got, want)
	}
}

func TestServedInALine(t *testing.T) {
	t.Parallel()
	own := doctor.SurfaceCost{Cost: doctor.Cost{Tools: 18, Tokens: 1045}, Own: doctor.Cost{Tools: 18, Tokens: 1045}}
	all := doctor.SurfaceCost{
		Cost: doctor.Cost{Tools: 56, Tokens: 3531}, Own: doctor.Cost{Tools: 18}, Folded: doctor.Cost{Tools: 38}, Servers: 14,
		Raw: &doctor.Cost{Tokens: 1062716}, Fails: []string{"acme"},
	}
	partial := doctor.SurfaceCost{Cost: doctor.Cost{Tools: 3, Tokens: 999}, Servers: 1, HeldTools: 1, Fails: []string{"a", "b"},
		Unasked: []string{"c"}}
	set := all
	set.Set, set.Fails = "dev", nil
	for want, s := range map[string]doctor.SurfaceCost{
		"56 tools, 3,531 tokens: 18 of toolfold, 38 of 14 servers of the set dev (1,062,716 as they are)": set,
		"18 tools, 1,045 tokens": own,
		"56 tools, 3,531 tokens: 18 of toolfold, 38 of 14 servers (1,062,716 as they are); 1 server fails: acme": all,
		"3 tools, 999 tokens: 0 of toolfold, 0 of 1 server; 1 tool is held back; 2 servers fail: a, b; " +
			"1 server has not listed tools yet: c": partial,
	} {
		if got := s.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
