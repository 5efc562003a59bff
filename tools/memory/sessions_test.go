package memory_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/tools/memory"
)

// sessionCaller answers session.list and records the queries.
type sessionCaller struct {
	answer  toolfold.Answer
	queries []string
}

func (c *sessionCaller) Call(_ context.Context, name string, args json.RawMessage) toolfold.Answer {
	var in struct{ Query string }
	if err := json.Unmarshal(args, &in); err != nil || name != "session.list" {
		return toolfold.Answer{Err: toolfold.Errorf(toolfold.InvalidInput, "%s %s: %v", name, args, err)}
	}
	c.queries = append(c.queries, in.Query)
	return c.answer
}

func TestSearchNamesSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	store(t, s, "", "deploy/a", `"deploy freeze"`)
	store(t, s, "", "deploy/b", `"deploy on Monday"`)
	alone := call(t, s.Search, memory.SearchIn{Query: "the \"deploy\" freeze?", Page: toolfold.Page{Limit: 1}})
	long := strings.Repeat("ü\\\"</script> ", 400)
	content, err := json.Marshal(map[string]any{"total": 5, "sessions": []any{
		map[string]any{"sessionId": "1", "task": long, "status": "active", "workspace": "w",
			"handover": map[string]any{"note": strings.Repeat("x", 5000)}},
		map[string]any{"sessionId": "2", "task": "Ship", "status": "failed"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	caller := &sessionCaller{answer: toolfold.Answer{Content: content}}
	s.Caller = caller
	in := memory.SearchIn{Query: "the \"deploy\" freeze?", Page: toolfold.Page{Limit: 1}}
	out := call(t, s.Search, in)
	equal(t, caller.queries, []string{"deploy freeze"})
	second := memory.FoundSession{SessionID: "2", Task: "Ship", Status: "failed"}
	if len(out.Sessions) != 2 || out.Sessions[0].Workspace != "w" || out.Sessions[1] != second {
		t.Fatalf("got sessions %+v", out.Sessions)
	}
	for _, text := range []string{out.Sessions[0].Task, out.Sessions[0].Note} {
		if n := utf8.RuneCountInString(text); n > 170 || n < 80 || !strings.Contains(text, "…") {
			t.Errorf("%d characters, without a mark or too long: %s", n, text)
		}
	}
	if want := "session.list with query shows all 5 sessions"; out.Message != want {
		t.Errorf("got message %q, want %q", out.Message, want)
	}
	next := out.NextCursor
	out.Sessions, out.Message = nil, ""
	equal(t, out, alone)

	for _, filtered := range []memory.SearchIn{
		{Query: "deploy", Page: toolfold.Page{Limit: 1, Cursor: next}}, {Query: "deploy", Namespace: "default"},
		{Query: "deploy", Prefix: "deploy/"}, {Query: "deploy", Tags: []string{"x"}}, {Query: "deploy", Workspace: "user"},
		{Query: "the"}, {Query: "a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11"}, {Query: strings.Repeat("y", 201)},
	} {
		filtered.Limit = 1
		if out := call(t, s.Search, filtered); out.Sessions != nil {
			t.Errorf("%+v: got sessions %+v", filtered, out.Sessions)
		}
	}
	if len(caller.queries) != 1 {
		t.Errorf("session.list was called for %q", caller.queries[1:])
	}
}

func TestSearchWithoutSessions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, code := range []string{toolfold.PermissionDenied, toolfold.UnknownTool} {
		s.Caller = &sessionCaller{answer: toolfold.Answer{Err: toolfold.Errorf(code, "no")}}
		if out := call(t, s.Search, memory.SearchIn{Query: "deploy", Page: toolfold.Page{Limit: 1}}); out.Sessions != nil {
			t.Errorf("%s: got sessions %+v", code, out.Sessions)
		}
	}

	s.Caller = &sessionCaller{answer: toolfold.Answer{Err: toolfold.Errorf("STORE_BROKEN", "no")}}
	var warnings []string
	ctx := callctx.With[callctx.Warning](t.Context(), func(text string) { warnings = append(warnings, text) })
	out, err := s.Search(ctx, memory.SearchIn{Query: "deploy", Page: toolfold.Page{Limit: 1}})
	if err != nil || out.Sessions != nil {
		t.Errorf("got %+v, %v", out.Sessions, err)
	}
	equal(t, warnings, []string{"sessions were not searched: STORE_BROKEN: no"})
}
