package script_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/run/script"
)

// A run is looked at by its journal: what ended, what was cut off, and the lines that may have made it.
func TestLook(t *testing.T) {
	t.Parallel()
	b, steps := newBank(), newTable()
	const source = `await bank.pay({id: "1"}); await bank.get({id: "g"})
		try { await bank.half({id: "2"}) } catch {}
		await bank.lose({id: "3"})
		await bank.lose({id: "4"})`
	if out := run(t, b.runner(t), steps, source); len(out.Unknown) != 1 {
		t.Fatalf("%+v", out)
	}
	var seen []string
	for _, path := range []string{"/0", "/1", "/2", "/3", "/4", "/4/inner", "step"} {
		record, _ := steps.Lookup(path)
		s, ok := script.Look(path, record)
		if !ok {
			continue
		}
		if timed := !s.At.IsZero(); timed != s.Ended {
			t.Errorf("%s: at %v", path, s.At)
		}
		seen = append(seen, fmt.Sprintf("%d %t %s %t %q %q", s.Call, s.Ended, s.Name, s.Did, s.Value, s.Error))
		for cut := range record { // of no record more is known than it has
			part, _ := script.Look(path, record[:cut])
			if !strings.HasPrefix(s.Name, part.Name) || !strings.HasPrefix(s.Value, part.Value) {
				t.Errorf("%s cut after %d: %+v", path, cut, part)
			}
		}
	}
	want := []string{`1 true bank.pay false "{\"n\":1}" ""`, `2 true bank.get false "{\"n\":1}" ""`,
		`3 true bank.half true "" "SCRIPT_FAILED: {\"success\":false}"`, `4 false  false "" ""`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if s, _ := script.Look("/7", script.Settled(json.RawMessage(`1`))); !s.Settled || !s.Ended || s.Value != "1" {
		t.Errorf("a settled call: %+v", s)
	}

	header, _ := steps.Lookup("/0")
	places, err := script.Places(source, header)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string][]int{`{"id":"3"}`: {3}, `{"id":"4"}`: {4}, `{"id":"5"}`: nil, `"cut {…"`: {3, 4}, ``: {3, 4}} {
		var lines []int
		for _, p := range places["bank.lose"] {
			if p.May(json.RawMessage(arguments)) {
				lines = append(lines, p.Line)
			}
		}
		if !slices.Equal(lines, want) {
			t.Errorf("%s may be called at %v, want %v", arguments, lines, want)
		}
	}
	stored := []byte(`{"seed":"1","names":["bank.lose"],"stored":["scripts.confirm","scripts.count-notes"]}`)
	places, err = script.Places("await scripts.confirm('Pay?')\nreturn scripts.count_notes()", stored)
	counts := places["scripts.count-notes"]
	if err != nil || len(places["scripts.confirm"]) != 1 || len(counts) != 1 || counts[0].Line != 2 {
		t.Errorf("%v %v", places, err)
	}
	if places, err := script.Places(`return (`, header); len(places) > 0 || err != nil {
		t.Errorf("places of a text that is no script: %v, %v", places, err)
	}
}
