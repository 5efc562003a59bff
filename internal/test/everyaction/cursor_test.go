package everyaction_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/entry"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/test/workbench"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/surface"
)

// Every action with a cursor rejects a cursor that no list issued. It does not return an empty
// page.
func TestGarbageCursors(t *testing.T) {
	t.Parallel()
	b := workbench.New(t, surface.Options{})
	tried := 0
	for _, spec := range b.Families() {
		for _, a := range spec.Actions {
			if !entry.New(a, a.FullName()).Takes(toolfold.Cursor.Name) {
				continue
			}
			tried++
			var args ordered.Map
			if err := args.UnmarshalJSON([]byte(a.Example)); err != nil {
				t.Fatal(err)
			}
			for _, cursor := range []string{"garbage", "%%%", "bm90aGluZw"} {
				args.Set(toolfold.Cursor.Name, cursor)
				answer := b.Runner.Call(t.Context(), a.FullName(), ordered.MustJSON(args))
				if answer.Err == nil {
					t.Errorf("%s takes the cursor %q: %.200s", a.FullName(), cursor, answer.Content)
				}
			}
		}
	}
	if tried < 8 {
		t.Errorf("only %d actions take a cursor", tried)
	}
}

// A cursor works in the list that issued it, with the same filters. All other lists reject it, and
// so does the same list with other filters, because another page would follow.
func TestCursorsBelongToTheirList(t *testing.T) {
	t.Parallel()
	b := workbench.Crammed(t, surface.Options{})
	type list struct {
		name   string
		action *toolfold.Action
		args   ordered.Map
		cursor string
	}
	call := func(l list, cursor string, more ...toolfold.Param) toolfold.Answer {
		args := ordered.Map{}
		for _, m := range l.args {
			args.Set(m.Key, m.Value)
		}
		args.Set(toolfold.Cursor.Name, cursor)
		for _, p := range more {
			value := "x"
			for _, allowed := range p.Enum {
				if allowed != p.Default {
					value = allowed
				}
			}
			args.Set(p.Name, value)
		}
		return b.Client.Call(t.Context(), l.name, ordered.MustJSON(args))
	}
	var lists []list
	for _, f := range b.Families() {
		for _, a := range f.Actions {
			e := entry.New(a, a.FullName())
			if !e.Takes(toolfold.Cursor.Name) || !e.Takes(callctx.ArgLimit) {
				continue
			}
			l := list{name: a.FullName(), action: a, args: ordered.Map{}}
			for _, p := range a.Required.Params() {
				l.args.Set(p.Name, map[string]string{"uuid": "00000000-0000-4000-8000-00000000000f", "": "entry"}[p.Format])
			}
			l.args.Set(callctx.ArgLimit, 1)
			var page struct{ NextCursor string }
			answer := call(l, "")
			if err := json.Unmarshal(answer.Content, &page); err != nil {
				t.Fatal(err)
			}
			l.cursor = page.NextCursor
			lists = append(lists, l)
		}
	}
	issuers := 0
	for _, from := range lists {
		if from.cursor == "" {
			continue
		}
		issuers++
		if answer := call(from, from.cursor); answer.Err != nil {
			t.Errorf("%s refuses its own cursor: %s", from.name, answer.Content)
		}
		for _, to := range lists {
			if answer := call(to, from.cursor); to.name != from.name && !refusesCursor(answer) {
				t.Errorf("%s takes a cursor of %s: %.200s", to.name, from.name, answer.Content)
			}
		}
		for _, p := range from.action.Params() {
			if p.Kind == toolfold.KindString && p.Format == "" && p.Name != toolfold.Cursor.Name {
				if answer := call(from, from.cursor, p); !refusesCursor(answer) {
					t.Errorf("%s takes its cursor with another %s: %.200s", from.name, p.Name, answer.Content)
				}
			}
		}
	}
	t.Logf("%d of %d lists issued a cursor", issuers, len(lists))
	if issuers < 7 {
		t.Errorf("only %d lists issued a cursor", issuers)
	}
}

func refusesCursor(a toolfold.Answer) bool {
	return a.Err != nil && a.Err.Code == toolfold.InvalidInput && strings.Contains(a.Err.Message, "cursor must be a nextCursor of ")
}
