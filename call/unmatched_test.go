package call

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestUnmatched(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ result, field, want string }{ // want: the unmatched path and the members there
		{`{"a":1}`, "a", ""},
		{`{"a":null}`, "a", ""},
		{`{"a":1,"b":2}`, "c", "c: a b"},
		{`{}`, "a", "a: "},
		{`{"a":{"b":{"c":1}}}`, "a.b.c", ""},
		{`{"a":{"b":{"c":1}}}`, "a.b.d.e", "a.b.d: c"},
		{`{"a":[{"x":1},{"y":2,"x":3}]}`, "a.y", ""},
		{`{"a":[{"x":1},{"y":2,"x":3}]}`, "a.z", "a.z: x y"},
		{`{"a":[[{"x":1}],[]]}`, "a.z", "a.z: x"},
		{`{"a":[]}`, "a.z", ""},
		{`{"a":[null],"b":1}`, "a.z", ""},
		{`{"a":[null,{}]}`, "a.z", "a.z: "},
		{`{"a":"text"}`, "a.z", "a.z: "},
		{`{"a":"text"}`, "a[9:]", ""},
		{`{"a":[{"x":1},{"y":2}]}`, "a[1:].x", "a.x: y"},
		{`{"a":[{"x":1},{"y":2}]}`, "a[5:].x", ""},
		{`{"a":{"b.c":{"x":1}}}`, "a[0:1].y", "a.y: x"},
		{`{"a\u0062" : {"c" :1}}`, "ab.d", "ab.d: c"},
	} {
		steps, ok := parseField(test.field)
		if !ok {
			t.Fatal(test.field)
		}
		got := ""
		if i, there := findUnmatched(json.RawMessage(test.result), steps); i >= 0 {
			got = namesOf(steps[:i+1]) + ": " + strings.Join(there, " ")
		}
		if got != test.want {
			t.Errorf("%s of %s ends at %q, want %q", test.field, test.result, got, test.want)
		}
	}
}

// For any result, a field that selects something is matched.
func FuzzUnmatched(f *testing.F) {
	f.Add([]byte(`{"a":[{"x":"\\\"","y":[1,2]},{}],"b":{"c":null}}`), "a.x")
	f.Add([]byte(`{"a":[{"x":"\\\"","y":[1,2]},{}],"b":{"c":null}}`), "b[0:1].d")
	f.Fuzz(func(t *testing.T, raw []byte, field string) {
		steps, ok := parseField(field)
		var v map[string]any
		if !ok || json.Unmarshal(raw, &v) != nil {
			return
		}
		if i, there := findUnmatched(raw, steps); i >= 0 && (steps[i].part != nil || slices.Contains(there, steps[i].name)) {
			t.Errorf("%q of %s ends at %q, where %q are", field, raw, steps[i].name, there)
		}
	})
}
