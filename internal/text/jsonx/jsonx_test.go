package jsonx

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why, text string
		want      any // nil = rejected
	}{
		{"digits are kept", ` {"a": 12345678901234567890.10} `, map[string]any{"a": json.Number("12345678901234567890.10")}},
		{"list", `[1, null]`, []any{json.Number("1"), nil}},
		{"empty", ``, nil},
		{"space only", ` `, nil},
		{"two values", `{} {}`, nil},
		{"a bracket too many", `{}}`, nil},
		{"cut off", `{"a":`, nil},
	} {
		var got any
		err := Decode([]byte(test.text), &got)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v, %v", test.why, got, err)
		}
		if diff := cmp.Diff(test.want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.why, diff)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a": "/x/a", "": "/x/", "a/b": "/x/a~1b", "~1": "/x/~01", "~": "/x/~0"} {
		got := Pointer("/x", name)
		if back := UnescapePointer(got[len("/x/"):]); got != want || back != name {
			t.Errorf("%q is %q and comes back as %q, want %q", name, got, back, want)
		}
	}
	if got := Index(Pointer("", "a"), 3); got != "/a/3" {
		t.Error(got)
	}
}
