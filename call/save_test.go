package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/toolfoldtest"
)

// rack is a service with lists that go on at a cursor, and with calls whose results are saved.
type rack struct {
	saved []callctx.Whole
	fails error // of saving
	reads int
	gone  int // the page that cannot be read; zero = none
}

type rackIn struct {
	Kind string `json:"kind"`
	toolfold.Page
}

type rackOut struct {
	Owners  []string          `json:"owners" doc:"The same on each page."`
	Numbers []int             `json:"numbers,omitempty" doc:"A list."`
	Names   map[string]string `json:"names,omitempty" doc:"An object."`
	Count   int               `json:"count" doc:"On this page."`
	Total   int               `json:"total" doc:"On all pages."`
	toolfold.Paged
}

// List returns the numbers below 25, or names with them.
func (s *rack) List(_ context.Context, in rackIn) (rackOut, error) {
	s.reads++
	key, err := in.After("rack.list")
	if err != nil {
		return rackOut{}, err
	}
	first, _ := strconv.Atoi(key)
	if s.gone > 0 && first/in.Limit+1 == s.gone {
		return rackOut{}, toolfold.Errorf(toolfold.LimitReached, "page %d is gone", s.gone)
	}
	out := rackOut{Owners: []string{"ann", "bob"}, Total: 25, Names: map[string]string{}}
	for n := first; n < min(first+in.Limit, 25); n++ {
		if in.Kind == "names" {
			out.Names[fmt.Sprintf("n%02d", n)] = "x"
		} else {
			out.Numbers = append(out.Numbers, n)
		}
		out.Count++
	}
	if next := first + in.Limit; next < 25 {
		out.Paged = toolfold.Paged{HasMore: true, NextCursor: toolfold.CursorOf(strconv.Itoa(next))}
	}
	return out, nil
}

type saveIn struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Save calls an action and saves its result.
func (s *rack) Save(_ context.Context, in saveIn) (callctx.Forward, error) {
	return callctx.Forward{Name: in.Name, Arguments: in.Arguments, Save: func(_ context.Context, result callctx.Whole) (any, error) {
		if s.fails != nil {
			return nil, s.fails
		}
		s.saved = append(s.saved, result)
		return map[string]int{"items": result.Items}, nil
	}}, nil
}

func (s *rack) family(t *testing.T) *toolfold.Family {
	kind := toolfold.String{Name: "kind", Doc: "Kind."}
	limit := toolfold.Int{Name: "limit", Doc: "Most entries.", Min: 1, Max: 100}
	return toolfoldtest.Mount(t, toolfold.Family{Name: "rack", Summary: "A rack", Actions: []*toolfold.Action{{
		Name: "list", Summary: "List.", Optional: toolfold.Fields{kind, limit.With(toolfold.Default(10)), toolfold.Cursor},
		Effect: toolfold.Reads, Example: `{}`, Run: toolfold.Method((*rack).List),
	}, {
		Name: "save", Summary: "Save a result.", Required: toolfold.Fields{toolfold.String{Name: "name", Doc: "Name."}},
		Optional: toolfold.Fields{toolfold.Object{Name: "arguments", Doc: "Arguments."}}, Effect: toolfold.Runs,
		Example: `{"name": "rack.list"}`, Run: toolfold.Method((*rack).Save),
	}}}, s)
}

// A saved list has the entries of all pages. Members that do not go on are there once.
func TestSavedLists(t *testing.T) {
	t.Parallel()
	numbers := func(from, to int) string {
		var all []string
		for n := from; n < to; n++ {
			all = append(all, strconv.Itoa(n))
		}
		return "\"numbers\":[\n" + strings.Join(all, ",\n") + "\n]"
	}
	const owners = "{\n\"owners\":[\n\"ann\",\n\"bob\"\n],\n"
	for _, c := range []struct{ arguments, want, answer string }{
		{`{}`, owners + numbers(0, 25) + ",\n\"count\":25,\n\"total\":25,\n\"hasMore\":false\n}\n", `{"items":25}`},
		{`{"cursor":"AT 10"}`, owners + numbers(10, 25) + ",\n\"count\":15,\n\"total\":25,\n\"hasMore\":false\n}\n", `{"items":15}`},
		{`{"cursor":"AT 20"}`, owners + numbers(20, 25) + ",\n\"count\":5,\n\"total\":25,\n\"hasMore\":false\n}\n", `{"items":0}`},
		{`{"limit":3}`, owners + numbers(0, 3) + ",\n\"count\":3,\n\"total\":25,\n\"hasMore\":true,\n\"nextCursor\":", `{"items":0}`},
		{`{"include_fields":["numbers[8:12]","count"]}`, "{\n" + numbers(8, 12) + ",\n\"count\":25\n}\n", `{"items":25}`},
		{`{"kind":"names"}`, `"n00":"x","n01":"x"`, `{"items":25}`},
		{`{"kind":"names"}`, `"n23":"x","n24":"x"},` + "\n\"count\":25,", `{"items":25}`},
	} {
		s := &rack{}
		r := runnerOf(s.family(t)).Bounded(call.Bound{Bytes: 300})
		args := c.arguments
		if at, is := strings.CutPrefix(args, `{"cursor":"AT `); is { // the cursor of the list at an entry
			var page rackOut
			first := r.Call(t.Context(), "rack.list", json.RawMessage(`{"limit":`+strings.TrimSuffix(at, `"}`)+`,"include_fields":["nextCursor"]}`))
			if err := json.Unmarshal(first.Content, &page); err != nil {
				t.Fatal(err)
			}
			args = `{"cursor":"` + page.NextCursor + `"}`
		}
		answer := r.Call(t.Context(), "rack", json.RawMessage(`{"action":"save","params":{"name":"rack.list","arguments":`+args+`}}`))
		if string(answer.Content) != c.answer || len(s.saved) != 1 || !strings.Contains(string(s.saved[0].Data), c.want) {
			t.Errorf("%s answers %s and saves %+v, want %s", c.arguments, answer.Content, s.saved, c.want)
		}
	}
}

// If a list cannot be saved, its first page is the answer. If it cannot be read to its end, that is the
// error.
func TestSavedListFails(t *testing.T) {
	t.Parallel()
	s := &rack{fails: errors.New("the disk is full")}
	r := runnerOf(s.family(t)).Bounded(call.Bound{Bytes: 3000})
	args := json.RawMessage(`{"action":"save","params":{"name":"rack.list"}}`)
	answer := string(r.Call(t.Context(), "rack", args).Content)
	if !strings.Contains(answer, `"numbers":[0,1,2,3,4,5,6,7,8,9],"count":10`) || !strings.Contains(answer, `"hasMore":true`) ||
		!strings.Contains(answer, "not saved: the disk is full; this is the result as usual") {
		t.Error(answer)
	}
	s.gone, s.fails = 3, nil
	if failed := r.Call(t.Context(), "rack", args); failed.Err == nil || failed.Err.Message != "page 3 is gone" || len(s.saved) > 0 {
		t.Errorf("%s", failed.Content)
	}
}

// A result is saved once.
func TestSavedTwice(t *testing.T) {
	t.Parallel()
	s := &rack{}
	answer := runnerOf(s.family(t)).Call(t.Context(), "rack",
		json.RawMessage(`{"action":"save","params":{"name":"rack.save","arguments":{"name":"rack.list"}}}`))
	if answer.Err == nil || !strings.Contains(answer.Err.Message, "saved twice") || len(s.saved) > 0 || s.reads > 0 {
		t.Errorf("%s", answer.Content)
	}
}
