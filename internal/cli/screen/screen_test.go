package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/toolfold/toolfold/internal/test/golden"
)

// results are typical answers of actions.
var results = []struct{ name, json string }{
	{"a list", `{"tasks":[
		{"taskId":"0198d1c2-7f0e-7c3a-9b1e-1c7d5e0f9a11","name":"Nightly note","status":"completed","priority":5,"attempts":1,
			"createdAt":"2026-03-01T02:00:00Z","tags":["night","notes"]},
		{"taskId":"0198d1c2-7f0e-7c3a-9b1e-1c7d5e0f9a12","name":"Review what changed since the last release, file by file","status":"failed",
			"priority":10,"attempts":3,"createdAt":"2026-03-01T02:05:00Z","error":"UPSTREAM_FAILED: the model's endpoint did not answer"},
		{"taskId":"0198d1c2-7f0e-7c3a-9b1e-1c7d5e0f9a13","name":"夜のノート","status":"running","priority":1,"attempts":1,
			"createdAt":"2026-03-01T02:06:00Z"}],"total":3,"hasMore":false}`},
	{"one thing", `{"found":true,"key":"team/rules","value":{"freeze":"Friday"},"note":"first line\nsecond line"}`},
	{"two lists", `{"summary":"2 findings","findings":[{"file":"a.go","line":7,"severity":"high"}],
		"skipped":[{"file":"b.vue","reason":"not read"}]}`},
	{"nothing", `{"keys":[],"total":0,"message":"nothing is stored there"}`},
	{"a text", `"plain\u001b[2J"`},
}

// TestScreens records what users see: narrow, wide, and in colours.
func TestScreens(t *testing.T) {
	t.Parallel()
	var screens bytes.Buffer
	for _, color := range []bool{false, true} {
		for _, width := range []int{80, 120, 0} {
			for _, result := range results {
				var out bytes.Buffer
				s := Screen{Out: &out, Width: width, Color: color}
				if err := s.Result(json.RawMessage(result.json)); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.String(), "\x1b[2J") {
					t.Errorf("%s: the text steers the terminal", result.name)
				}
				for line := range strings.Lines(out.String()) {
					if plain := strings.TrimRight(line, "\n"); width > 0 && !color && result.name == "a list" &&
						!strings.HasPrefix(plain, "not shown") && runewidth.StringWidth(plain) > width {
						t.Errorf("%s: wider than %d: %s", result.name, width, plain)
					}
				}
				fmt.Fprintf(&screens, "-- %s, %d columns, colours %t --\n%s", result.name, width, color,
					strings.ReplaceAll(out.String(), "\x1b", "ESC"))
			}
		}
	}
	golden.Compare(t, "testdata/screens.txt", screens.String())
}

// For every member of a list, a table shows the cell or names the column as left out.
func TestTablesNameHiddenColumns(t *testing.T) {
	t.Parallel()
	var row []string
	for i := range 30 {
		row = append(row, fmt.Sprintf(`"member%d":"value number %d"`, i, i))
	}
	list := json.RawMessage("[{" + strings.Join(row, ",") + "}]")
	for width := 1; width < 400; width += 7 {
		var out bytes.Buffer
		if err := (Screen{Out: &out, Width: width}).Result(list); err != nil {
			t.Fatal(err)
		}
		_, named, _ := strings.Cut(out.String(), "not shown")
		shown := len(strings.Fields(strings.SplitN(out.String(), "\n", 2)[0]))
		if left := strings.Count(named, "member"); shown+left != 30 {
			t.Errorf("%d columns: %d are shown and %d named", width, shown, left)
		}
	}
}
