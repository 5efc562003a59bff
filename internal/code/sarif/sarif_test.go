package sarif_test

import (
	"encoding/json"
	"testing"

	"github.com/toolfold/toolfold/internal/code/sarif"
)

// A log has the members that the standard requires, and those with which code hosts show findings
// and match them between runs.
func TestLog(t *testing.T) {
	t.Parallel()
	run := sarif.Run{
		Tool: "tool", Version: "1",
		Rules: []sarif.Rule{{ID: "unseen", Text: "is in no result"}, {ID: "a", Text: "of a"}, {ID: "b", Text: "of b"}},
		Results: []sarif.Result{
			{Rule: "b", Level: "error", Message: "wrong", Path: "src/a b#ü%.go", Line: 3, ID: "x1"},
			{Rule: "a", Level: "note", Message: "the file", Path: "c:d.txt"},
			{Rule: "undescribed", Level: "note", Message: "m", Path: "/etc/x", Line: 1},
		},
		Notes: []sarif.Note{{Text: "some were skipped"}, {Path: "x.vue", Text: "it is not read"}},
	}
	type location struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           *struct{ StartLine int }
		}
	}
	var log struct {
		Version string
		Schema  string `json:"$schema"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
					}
				}
			}
			Invocations []struct {
				ExecutionSuccessful        bool
				ToolExecutionNotifications []struct {
					Message   struct{ Text string }
					Locations []location
				}
			}
			Results []struct {
				RuleID, Level       string
				RuleIndex           *int
				Message             struct{ Text string }
				Locations           []location
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(run.Log(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || log.Schema == "" || len(log.Runs) != 1 {
		t.Fatalf("%+v", log)
	}
	got := log.Runs[0]
	if driver := got.Tool.Driver; driver.Name != "tool" || driver.Version != "1" || len(driver.Rules) != 2 {
		t.Fatalf("%+v", driver)
	}
	for i, want := range []struct {
		uri   string
		line  int
		index int
	}{{"src/a%20b%23%C3%BC%25.go", 3, 1}, {"./c:d.txt", 0, 0}, {"file:///etc/x", 1, -1}} {
		r, place, line, index := got.Results[i], got.Results[i].Locations[0].PhysicalLocation, 0, -1
		if place.Region != nil {
			line = place.Region.StartLine
		}
		if r.RuleIndex != nil {
			if index = *r.RuleIndex; got.Tool.Driver.Rules[index].ID != r.RuleID {
				t.Errorf("result %d has another's rule: %+v", i, r)
			}
		}
		if place.ArtifactLocation.URI != want.uri || line != want.line || index != want.index || r.Message.Text != run.Results[i].Message ||
			r.Level != run.Results[i].Level || r.PartialFingerprints["tool/v1"] != run.Results[i].ID {
			t.Errorf("result %d: %+v, want %+v", i, r, want)
		}
	}
	if len(got.Invocations) != 1 || !got.Invocations[0].ExecutionSuccessful {
		t.Fatalf("%+v", got.Invocations)
	}
	notes := got.Invocations[0].ToolExecutionNotifications
	if len(notes) != 2 || notes[0].Message.Text != "some were skipped" || len(notes[0].Locations) != 0 ||
		notes[1].Locations[0].PhysicalLocation.ArtifactLocation.URI != "x.vue" {
		t.Errorf("notes %+v", notes)
	}
	if empty := (sarif.Run{Tool: "tool", Version: "1"}).Log(); !json.Valid(empty) || json.Unmarshal(empty, &log) != nil ||
		log.Runs[0].Results == nil {
		t.Errorf("without results: %s", empty)
	}
}
