package design

import (
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
	"github.com/toolfold/toolfold/toolfoldtest"
)

func TestArchitectureOfImports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("go.mod", "module m\n")
	b.write("src/domain/a.go", "package domain\n\nimport _ \"m/src/db\"\n")
	b.write("src/db/a.go", "package db\n")
	b.write("docs/a.md", "# None\n")
	const drawn = `{"name":"Shop","description":"As it is.","pattern":"clean","path":"src","outputPath":"docs/shop.md","format":"markdown"}`
	out := b.get("architecture", drawn)
	b.expectFile("docs/shop.md", b.readBack(out)["documentation"].(string))
	found := out["breaks"].([]any)[0].(map[string]any)
	if found["from"] != "domain" || found["to"] != "db" || found["at"] != "src/domain/a.go:3" {
		t.Errorf("%v", found)
	}
	if notes := out["notes"].([]any); !strings.HasPrefix(notes[0].(string), "2 files read") {
		t.Errorf("%v", notes)
	}
	if again := b.get("architecture", drawn); again["designId"] != out["designId"] {
		t.Error("the same imports gave another design")
	}
	const start = `{"name":"Shop","description":"As it is.","pattern":"clean"`
	answer := b.get("architecture", start+`,"path":"src","components":[{"id":"db","name":"Tables","type":"domain"}]}`)
	if answer["breaks"] != nil || !strings.Contains(answer["diagram"].(string), "Tables") {
		t.Errorf("%v", answer)
	}
	b.Refuse("architecture", start+`}`, toolfold.InvalidInput, "neither components nor path is given", "give components, or a folder")
	b.Refuse("architecture", start+`,"path":"docs"}`, NotReadable, "has no sources", "name a folder of Go")
	b.Refuse("architecture", start+`,"path":"src/db/a.go"}`, workspace.PathNotUsable, "is no folder", "name the folder")
	b.Refuse("architecture", start+`,"path":"../x"}`, workspace.PathNotUsable, "outside of the workspace", "")
	b.Refuse("architecture", start+`,"path":"src","components":[{"id":"gone","name":"x","type":"domain"}]}`,
		toolfold.InvalidInput, "components/0/id must be a folder", "")
	b.runner = toolfoldtest.Runner(toolfoldtest.Mount(t, Family, New(b.store, "", b.now)))
	b.Refuse("architecture", drawn, workspace.PathNotUsable, "no workspace", "--workspace")
}
