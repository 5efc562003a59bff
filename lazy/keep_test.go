package lazy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/text/estimate"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/surface"
)

func withDiscovery(t *testing.T) *surface.Surface {
	t.Helper()
	s := surface.New(surface.Options{})
	if err := s.Put(lazy.Mount(s.Discovery)); err != nil {
		t.Fatal(err)
	}
	return s
}

// A kept answer is there for an hour, however many others are kept meanwhile, as long as they
// fit.
func TestAnswerStoredForAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := withDiscovery(t).Discovery
		id, _ := d.Keep(t.Context(), json.RawMessage(`{"n":1}`), false)
		for n := range 500 {
			d.Keep(t.Context(), fmt.Appendf(nil, `{"n":%d}`, n+2), false)
		}
		time.Sleep(59 * time.Minute)
		if answer, ok, _ := d.StoredRest(t.Context(), id); !ok || string(answer) != `{"n":1}` {
			t.Errorf("after 59 minutes: %s", answer)
		}
		time.Sleep(2 * time.Minute)
		if _, ok, _ := d.StoredRest(t.Context(), id); ok {
			t.Error("it is kept for more than an hour")
		}
		id, _ = d.Keep(t.Context(), json.RawMessage(`{"n":1}`), false)
		for n := range 3 {
			d.Keep(t.Context(), fmt.Appendf(nil, `"%d%s"`, n, strings.Repeat("x", 8<<20)), false)
		}
		if _, ok, _ := d.StoredRest(t.Context(), id); ok {
			t.Error("more is kept than fits")
		}
	})
}

// What is kept again takes no more room, has its first id, and is there for an hour from then.
func TestAnswerStoredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := withDiscovery(t).Discovery
		other, _ := d.Keep(t.Context(), json.RawMessage(`{"n":1}`), false)
		long := json.RawMessage(`"` + strings.Repeat("x", 7<<20) + `"`)
		first, _ := d.Keep(t.Context(), long, false)
		time.Sleep(50 * time.Minute)
		for range 3 {
			if id, usage := d.Keep(t.Context(), long, false); id != first || !strings.Contains(usage, id) {
				t.Errorf("kept again under %s, not %s: %s", id, first, usage)
			}
		}
		if _, ok, _ := d.StoredRest(t.Context(), other); !ok {
			t.Error("it takes the room of another")
		}
		time.Sleep(50 * time.Minute)
		if _, ok, _ := d.StoredRest(t.Context(), first); !ok {
			t.Error("it is gone within the hour")
		}
		if _, ok, _ := d.StoredRest(t.Context(), other); ok {
			t.Error("another is kept for more than an hour")
		}
	})
}

// What offers no tools is named with its reason, to callers with all rights.
func TestAbsent(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	s.Discovery.ListAbsent(func() []lazy.Row {
		return []lazy.Row{
			{Name: "gone", Reason: "it does not start", Absent: true},
			{Name: "idle", Reason: "it has not listed its tools yet", Absent: true, Idle: true},
		}
	}, nil)
	list := func(ctx context.Context) string {
		return string(s.Client.Call(ctx, "tools", json.RawMessage(`{"action":"list"}`)).Content)
	}
	want := `"enabled":false,"reason":"it does not start"`
	if got := list(t.Context()); !strings.Contains(got, `"name":"gone"`) || !strings.Contains(got, want) {
		t.Errorf("listed: %s", got)
	}
	if got := list(t.Context()); !strings.Contains(got, `"reason":"it has not listed its tools yet"`) {
		t.Errorf("an idle server is not listed with the reason: %s", got)
	}
	find := func(ctx context.Context) string {
		return string(s.Client.Call(ctx, "tools", json.RawMessage(`{"action":"find","query":"list tools"}`)).Content)
	}
	if got := find(t.Context()); !strings.Contains(got, `"away":"gone (it does not start)"`) {
		t.Errorf("found: %s", got)
	}
	answer := string(s.Client.Call(t.Context(), "tools", json.RawMessage(`{"action":"find","query":"list tools","server":"idle"}`)).Content)
	if !strings.Contains(answer, `"away":"idle (it has not listed its tools yet)"`) {
		t.Errorf("of an idle server: %s", answer)
	}
	limited := callctx.With(t.Context(), toolfold.Origin{Rights: &toolfold.Rights{Allows: func(*toolfold.Action) bool { return true }}})
	if got := list(limited); strings.Contains(got, "gone") {
		t.Errorf("listed to a caller with few rights: %s", got)
	}
	if got := find(limited); strings.Contains(got, "gone") {
		t.Errorf("find names it to a caller with few rights: %s", got)
	}
}

// However many servers are away, and however long the reasons, an answer spends few tokens on them.
func TestUnavailableServersCostFewTokens(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	s.Discovery.ListAbsent(func() (rows []lazy.Row) {
		for i := range 50 {
			rows = append(rows, lazy.Row{Name: fmt.Sprintf("gone-%d", i), Reason: strings.Repeat("it does not start ", 50), Absent: true})
		}
		return rows
	}, nil)
	var out lazy.FindOut
	answer := s.Client.Call(t.Context(), "tools", json.RawMessage(`{"action":"find","query":"list tools"}`))
	if err := json.Unmarshal(answer.Content, &out); err != nil {
		t.Fatal(err)
	}
	cost := estimate.Tokens([]byte(out.Away))
	if cost > 65 || !strings.HasPrefix(out.Away, "gone-0 (it does") || !strings.HasSuffix(out.Away, " more") {
		t.Errorf("%d tokens: %s", cost, out.Away)
	}
}

// A name that is one of a server without tools is answered with the reason, in a call and where it
// is described, and not with the name of another tool. Callers with few rights learn nothing.
func TestNamedWhileAbsent(t *testing.T) {
	t.Parallel()
	s := withDiscovery(t)
	s.Discovery.ListAbsent(func() []lazy.Row {
		return []lazy.Row{{Name: "late", Reason: "it is still starting"}, {Name: "late-two", Reason: "it does not start"},
			{Name: "tools", Reason: "it is another"}}
	}, nil)
	for _, test := range []struct{ name, code, want string }{
		{"late", "UPSTREAM_ERROR", `there is no tool \"late\": the server late offers no tools now: it is still starting"`},
		{"late.tools", "UPSTREAM_ERROR", `the server late offers no tools now: it is still starting","hint":"tools.list shows late`},
		{"lateFind", "UPSTREAM_ERROR", `the server late offers no tools now`},
		{"late_two.find", "UPSTREAM_ERROR", `the server late-two offers no tools now: it does not start`},
		{"later.find", "UNKNOWN_TOOL", ``},
		{"tools.search", "UNKNOWN_TOOL", `call tools with action \"find\"`},
		{"tools.search", "UNKNOWN_TOOL", `"hint":"the server tools offers no tools now: it is another"`},
	} {
		named := json.RawMessage(fmt.Sprintf(`{"name":%q}`, test.name))
		for way, answer := range map[string]toolfold.Answer{
			"called": s.Client.Call(t.Context(), test.name, nil), "by tools.call": s.Client.Call(t.Context(), "tools.call", named),
		} {
			if answer.Err == nil || answer.Err.Code != test.code || !strings.Contains(string(answer.Content), test.want) {
				t.Errorf("%s %s: %s, want %s", test.name, way, answer.Content, test.want)
			}
		}
		described := s.Client.Call(t.Context(), "tools.describe", named)
		if absent := test.code == "UPSTREAM_ERROR"; described.Err == nil || described.Err.Code != test.code ||
			absent && !strings.Contains(string(described.Content), test.want) {
			t.Errorf("%s is described: %s, want %s", test.name, described.Content, test.want)
		}
	}
	limited := callctx.With(t.Context(), toolfold.Origin{Rights: &toolfold.Rights{Allows: func(*toolfold.Action) bool { return true }}})
	if got := string(s.Client.Call(limited, "late.tools", nil).Content); strings.Contains(got, "starting") {
		t.Errorf("a caller with few rights is told %s", got)
	}
}

// What can be called again makes room for what cannot.
func TestUnrepeatableAnswersAreKeptLonger(t *testing.T) {
	t.Parallel()
	d := withDiscovery(t).Discovery
	long := func(n int) json.RawMessage { return fmt.Appendf(nil, `"%d%s"`, n, strings.Repeat("x", 5<<20)) }
	once, _ := d.Keep(t.Context(), long(0), false)
	d.Keep(t.Context(), long(0), true)
	var last string
	for n := range 5 {
		last, _ = d.Keep(t.Context(), long(n+1), true)
	}
	for _, id := range []string{once, last} {
		if _, ok, _ := d.StoredRest(t.Context(), id); !ok {
			t.Errorf("%s is gone", id)
		}
	}
}

// An answer is read on with the token and the rights of the call that was answered, by no other caller.
func TestAnswerStoredForItsCaller(t *testing.T) {
	t.Parallel()
	d := withDiscovery(t).Discovery
	one := callctx.With(t.Context(), toolfold.Origin{Token: "one"})
	two := callctx.With(t.Context(), toolfold.Origin{Token: "two"})
	less := callctx.With(t.Context(), toolfold.Origin{Token: "one", Rights: &toolfold.Rights{
		Text: "less", Allows: func(*toolfold.Action) bool { return true },
	}})
	first, _ := d.Keep(one, json.RawMessage(`{"n":1}`), false)
	second, _ := d.Keep(two, json.RawMessage(`{"n":1}`), false)
	third, _ := d.Keep(less, json.RawMessage(`{"n":1}`), false)
	if first == second || first == third {
		t.Error("two callers have one id")
	}
	for _, c := range []struct {
		ctx  context.Context
		id   string
		want bool
	}{
		{one, first, true}, {two, second, true}, {two, first, false}, {one, second, false}, {t.Context(), first, false},
		{less, third, true}, {less, first, false}, {one, third, false},
	} {
		if _, ok, _ := d.StoredRest(c.ctx, c.id); ok != c.want {
			t.Errorf("%s is found: %v", c.id, ok)
		}
	}
}
