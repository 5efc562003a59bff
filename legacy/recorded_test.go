package legacy_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/app"
	"github.com/toolfold/toolfold/surface"
)

// recordedTool is a tool of the old server. No flag rewrites the file: the legacy surface follows the
// recording, never the other way round.
type recordedTool struct {
	Name       string         `json:"name"`
	Required   []string       `json:"required"`
	Properties map[string]any `json:"properties"`
}

// otherDefaults are parameters whose recorded default would disable something else.
var otherDefaults = map[string][]string{
	"task_submit":    {"priority"}, // a queue's defaultPriority applies
	"metrics_record": {"type"},     // the metric's type applies
}

// addedBounds are parameters that had no limit, or not in their schema. Stored and requested data
// is limited now.
var addedBounds = map[string][]string{
	"agent_register":   {"capabilities", "tags"},
	"ability_register": {"applicableTo", "excludeFrom"},
	"ability_list":     {"category", "tags"},
	"ability_inject":   {"agentId", "coreAbilities"},
}

// widerBounds are parameters that take more now than was recorded, also as their default.
var widerBounds = map[string][]string{
	"bugfix_scan":   {"maxFiles"},
	"refactor_scan": {"maxFiles"},
}

// addedDefaults are parameters with a new default.
var addedDefaults = map[string][]string{"bugfix_scan": {"minSeverity"}}

// moreValues are parameters that take more values now than were recorded.
var moreValues = map[string][]string{"design_schema": {"format"}}

// moreTypes are lists of steps, which have more types now than were recorded.
var moreTypes = map[string]string{"agent_register": "workflow"}

// typeOf is the declaration of the type of a step in a list.
func typeOf(list any) map[string]any {
	step := list.(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)
	return step["type"].(map[string]any)
}

// widened are parameters that take any JSON value now.
var widened = map[string][]string{"config_set": {"value"}}

func TestSurfaceIsAsRecorded(t *testing.T) {
	t.Parallel()
	var want []recordedTool
	raw, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]recordedTool{}
	for _, tool := range surface.List(app.Families(), surface.Options{Mode: surface.Legacy}) {
		got[tool.Name] = record(t, tool.Name, tool.InputSchema)
	}
	for _, w := range want {
		for _, name := range otherDefaults[w.Name] {
			delete(w.Properties[name].(map[string]any), "default")
		}
		for _, name := range addedBounds[w.Name] {
			bounded := got[w.Name].Properties[name].(map[string]any)
			delete(bounded, "maxItems")
			delete(bounded, "maxLength")
		}
		for _, name := range widerBounds[w.Name] {
			recorded, now := w.Properties[name].(map[string]any), got[w.Name].Properties[name].(map[string]any)
			for _, bound := range []string{"maximum", "default"} {
				if now[bound].(float64) < recorded[bound].(float64) {
					t.Errorf("%s: the %s of %s is %v, less than was recorded", w.Name, bound, name, now[bound])
				}
				now[bound] = recorded[bound]
			}
		}
		for _, name := range moreValues[w.Name] {
			recorded, now := w.Properties[name].(map[string]any), got[w.Name].Properties[name].(map[string]any)
			recordedValues, values := recorded["enum"].([]any), now["enum"].([]any)
			now["enum"] = values[:min(len(recordedValues), len(values))]
		}
		if name, more := moreTypes[w.Name]; more {
			recorded, now := typeOf(w.Properties[name]), typeOf(got[w.Name].Properties[name])
			values := now["enum"].([]any)
			now["enum"] = values[:min(len(recorded["enum"].([]any)), len(values))]
		}
		for _, name := range addedDefaults[w.Name] {
			delete(got[w.Name].Properties[name].(map[string]any), "default")
		}
		for _, name := range widened[w.Name] {
			got[w.Name].Properties[name] = w.Properties[name]
		}
		if diff := cmp.Diff(w, got[w.Name]); diff != "" {
			t.Errorf("%s differs from the recording (-recorded +now):\n%s", w.Name, diff)
		}
		delete(got, w.Name)
	}
	for name := range got {
		t.Errorf("%s is not recorded", name)
	}
}

// record reduces a schema to the content of the recording. Texts, and the keyword for open objects,
// are ours. The recording has no lengths inside parameters.
func record(t *testing.T, name string, schema []byte) recordedTool {
	t.Helper()
	r := recordedTool{Name: name, Required: []string{}}
	if err := json.Unmarshal(schema, &r); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Properties {
		reduce(p)
		eachInside(p, dropLengths)
	}
	return r
}

func reduce(schema any) {
	object, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if _, isText := object["description"].(string); isText {
		delete(object, "description")
	}
	if object["additionalProperties"] == true {
		delete(object, "additionalProperties")
	}
	eachInside(object, reduce)
}

func dropLengths(schema any) {
	object, ok := schema.(map[string]any)
	if !ok {
		return
	}
	delete(object, "minLength")
	delete(object, "maxLength")
	eachInside(object, dropLengths)
}

// eachInside visits the schemas of the items and members of a schema.
func eachInside(schema any, visit func(any)) {
	object, _ := schema.(map[string]any)
	visit(object["items"])
	properties, _ := object["properties"].(map[string]any)
	for _, p := range properties {
		visit(p)
	}
}
