package ordered_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/internal/text/ordered"
)

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for why, test := range map[string]struct {
		in   string
		want ordered.Map
	}{
		"the order stays":             {`{"b":1,"a":2}`, ordered.Map{{"b", raw("1")}, {"a", raw("2")}}},
		"nothing":                     {`{}`, ordered.Map{}},
		"nothing but space":           {" { \n } ", ordered.Map{}},
		"null":                        {`null`, nil},
		"the last of one name counts": {`{"a":1,"b":2,"a":3}`, ordered.Map{{"a", raw("3")}, {"b", raw("2")}}},
		"an escaped name":             {`{"\u0061\"":1}`, ordered.Map{{`a"`, raw("1")}}},
		"values of every type": {
			"{ \"a\" : [1, {\"x\":\"]\"}] ,\t\"b\":\"\\\"}\" , \"c\":null,\"d\":-1.5e+3 , \"e\":{\"f\":{}}}",
			ordered.Map{{"a", raw(`[1, {"x":"]"}]`)}, {"b", raw(`"\"}"`)}, {"c", raw("null")}, {"d", raw("-1.5e+3")}, {"e", raw(`{"f":{}}`)}},
		},
	} {
		var got ordered.Map
		if err := json.Unmarshal([]byte(test.in), &got); err != nil {
			t.Errorf("%s: %v", why, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
	}
	for _, in := range []string{`[]`, `1`, `"{}"`, `{"a":}`, `{"a"`, ``} {
		var got ordered.Map
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is read as %v", in, got)
		}
	}
}

// Scan finds the same members as encoding/json.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{`{"a":[{}],"b":"\\","c":1}`, `{"":{"":[]}}`, ` {"\u0000" : true , "x":1e5} `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var want map[string]json.RawMessage
		var got ordered.Map
		wantErr, err := json.Unmarshal(in, &want), json.Unmarshal(in, &got)
		if (wantErr == nil) != (err == nil) {
			t.Fatalf("%q: %v, where encoding/json says %v", in, err, wantErr)
		}
		found := map[string]json.RawMessage{}
		for _, m := range got {
			found[m.Key] = m.Value.(json.RawMessage)
		}
		if len(want) > 0 || len(found) > 0 {
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("%q: %s", in, diff)
			}
		}
	})
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`["a"]`: {"a"}, ` [ "a" , "b\"\\" ,"\u00e9" ] `: {"a", `b"\`, "é"}, `[]`: nil, `["","\\"]`: {"", `\`},
	} {
		if got, ok := ordered.Texts([]byte(in)); !ok || !slices.Equal(got, want) {
			t.Errorf("%s is %q, %t, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{`{"a":"b"}`, `"a"`, `["a",1]`, `[null]`, `null`, ``, `[["a"]]`} {
		if got, ok := ordered.Texts([]byte(in)); ok {
			t.Errorf("%s is %q", in, got)
		}
	}
}

// BenchmarkUnmarshal prints the cost per member in objects of growing size: equal figures mean
// linear time.
func BenchmarkUnmarshal(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,"member%d":%d`, i, i)
		}
		raw := []byte("{" + text.String()[1:] + "}")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var m ordered.Map
				if err := json.Unmarshal(raw, &m); err != nil || len(m) != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
		})
	}
}
