package doctor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolfold/toolfold/doctor"
)

func TestUpstreams(t *testing.T) {
	t.Parallel()
	l := read(t, `{"tools":[{"name":"a","description":"Short.","inputSchema":{"type":"object"}},`+
		`{"name":"b","description":"A text of many more words than the other has.","inputSchema":{"type":"object"}}]}`)
	l.Server = "srv"
	got, err := doctor.Upstreams([]doctor.FoldedServer{
		{List: l, Cost: doctor.Cost{Tools: 1, Tokens: 9}, Actions: map[string]string{"a": "srv.a", "b": "srv.b"}},
		{List: doctor.List{Server: "gone", Problem: "it has not listed its tools yet"}},
	}, []doctor.Call{{Action: "srv.a"}, {Action: "srv.a"}, {Action: "memory.list"}})
	if err != nil {
		t.Fatal(err)
	}
	if u := got[0]; u.Raw.Tools != 2 || u.Folded.Tokens != 9 || u.Calls != 2 || !cmp.Equal(u.Never, []string{"b"}) ||
		u.Tools[0].Name != "b" || u.Tools[1].Calls != 2 || u.Tools[0].Tokens <= u.Tools[1].Tokens {
		t.Errorf("%+v", u)
	}
	if u := got[1]; u.Problem == "" || u.Raw.Tools != 0 || len(u.Tools) != 0 {
		t.Errorf("%+v", u)
	}
}
