package call

import (
	"encoding/json"
	"testing"
)

func TestProject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		result, want string
		fields       []string
	}{
		{`{"a":1,"b":2}`, `{"a":1,"b":2}`, nil},
		{`{"a":1,"b":2}`, `{"b":2}`, []string{"b"}},
		{`{"a":1,"b":2}`, `{}`, []string{"c"}},
		{`{}`, `{}`, []string{"a"}},
		{`{"a":[],"b":{}}`, `{"a":[],"b":{}}`, []string{"a.x", "b.x"}},
		{`{"a":{"b":{"c":1,"d":2}},"e":3}`, `{"a":{"b":{"d":2}}}`, []string{"a.b.d"}},
		{`{"a":[{"x":1,"y":[1,2]},{"x":"s"},3,null]}`, `{"a":[{"y":[1,2]},{},3,null]}`, []string{"a.y"}},
		{`{"a":[[{"x":1,"y":2}]]}`, `{"a":[[{"x":1}]]}`, []string{"a.x"}},
		{`{"a":"\\\"}]","b":true,"c":-1.5e9}`, `{"b":true,"c":-1.5e9}`, []string{"b", "c"}},
		{`{"a":"ends in \\","b":"\\\\","c":"x"}`, `{"b":"\\\\"}`, []string{"b"}},
		{`{"quo\"te":1,"b":{"":2}}`, `{"quo\"te":1}`, []string{`quo"te`}},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":2}}`, []string{"a.b", "a"}},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":2}}`, []string{"a", "a.b"}},
		{`{"a":"héllo"}`, `{"a":"éll"}`, []string{"a[1:4]"}},
		{`{"a":"hello"}`, `{"a":"lo"}`, []string{"a[3:]"}},
		{`{"a":"hello"}`, `{"a":""}`, []string{"a[9:]"}},
		{`{"a":[1,2,3,4],"b":1}`, `{"a":[2,3]}`, []string{"a[1:3]"}},
		{`{"a":[1,2,3,4]}`, `{"a":[1,4]}`, []string{"a[:1]", "a[3:]"}},
		{`{"a":[{"x":"one","y":1},{"x":"two","y":2}]}`, `{"a":[{"x":"wo"}]}`, []string{"a[1:2].x[1:]"}},
		{`{"a":[{"x":1,"y":1},{"x":2,"y":2}]}`, `{"a":[{"x":1},{"x":2,"y":2}]}`, []string{"a.x", "a[1:2]"}},
		{`{"a":{"o.k":"text","b":2}}`, `{"a":{"o.k":"xt"}}`, []string{"a[0:1][2:]"}},
		{`{"a":{"o.k":{"b":1,"c":2},"b":2}}`, `{"a":{"o.k":{"b":1}}}`, []string{"a[0:1].b"}},
		{`{"a":7}`, `{"a":7}`, []string{"a[1:2]"}},
	} {
		if got := string(Project(json.RawMessage(test.result), test.fields)); got != test.want {
			t.Errorf("Project(%s, %v) = %s, want %s", test.result, test.fields, got, test.want)
		}
	}
}

// A projection of any result is valid JSON.
func FuzzProject(f *testing.F) {
	f.Add([]byte(`{"a":[{"x":"\\\"","y":[1,2]},{}],"b":{"c":null}}`), "a.x", "b")
	f.Fuzz(func(t *testing.T, raw []byte, one, two string) {
		var v map[string]any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		compact, err := json.Marshal(v)
		if err != nil {
			return
		}
		if got := Project(compact, []string{one, two}); !json.Valid(got) {
			t.Errorf("keeping %q and %q of %s gives %s", one, two, compact, got)
		}
	})
}
