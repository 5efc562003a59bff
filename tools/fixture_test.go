package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/toolfold/toolfold/consolidate"
	"github.com/toolfold/toolfold/tools"
)

// The fixture is a family that has a bit of everything.
var (
	id       = tools.UUID("id", "Note ID.")
	text     = tools.String{Name: "text", Doc: "Text of the note.", MinLen: 1, MaxLen: 20}
	tags     = tools.List{Name: "tags", Doc: "Labels.", Of: tools.String{}, MaxItems: 3}
	limit    = tools.Int{Name: "limit", Doc: "Most notes.", Min: 1, Max: 100}
	priority = tools.String{Name: "priority", Doc: "How urgent.", Enum: []string{"high", "medium", "low"}}
	pinned   = tools.Bool{Name: "pinned", Doc: "Keep on top."}
	owner    = tools.Object{
		Name: "owner", Doc: "Whose it is.",
		Required: tools.Fields{tools.String{Name: "name", Doc: "Name."}},
		Optional: tools.Fields{tools.Int{Name: "age", Doc: "Age."}.With(tools.Default(1))},
	}
	meta  = tools.Object{Name: "meta", Doc: "Anything."}
	notes = tools.List{Name: "notes", Doc: "Notes.", Of: tools.Object{Required: tools.Fields{id, text, meta}}}
	count = tools.Int{Name: "count", Doc: "How many."}
)

type saveIn struct {
	Text     string          `json:"text"`
	Tags     []string        `json:"tags"`
	Priority string          `json:"priority"`
	Pinned   bool            `json:"pinned"`
	Owner    *ownerIn        `json:"owner"`
	Meta     json.RawMessage `json:"meta"`
}

type ownerIn struct {
	Name string `json:"name"`
	Age  int    `json:"age"`
}

type saveOut struct {
	Meta  json.RawMessage `json:"meta"`
	Text  string          `json:"text"`
	Tags  []string        `json:"tags"`
	Owner *ownerIn        `json:"owner"`
}

type listIn struct {
	Limit    int      `json:"limit"`
	Priority []string `json:"priority"`
}

type note struct {
	ID   string          `json:"id"`
	Text string          `json:"text"`
	Meta json.RawMessage `json:"meta"`
}

type listOut struct {
	Notes []note `json:"notes"`
	Count int    `json:"count"`
}

type getIn struct {
	ID string `json:"id"`
}

type service struct{}

var errDisk = errors.New("disk /dev/sda1 is gone")

func (*service) Save(_ context.Context, in saveIn) (saveOut, error) {
	switch in.Text {
	case "boom":
		panic("boom")
	case "disk":
		return saveOut{}, errDisk
	}
	return saveOut{Meta: in.Meta, Text: in.Text, Tags: in.Tags, Owner: in.Owner}, nil
}

func (*service) List(_ context.Context, in listIn) (listOut, error) {
	all := []note{
		{ID: "1", Text: "one", Meta: json.RawMessage(`{"a":{"b":1},"c":2}`)},
		{ID: "2", Text: "two", Meta: json.RawMessage(`{}`)},
	}
	return listOut{Notes: all, Count: in.Limit}, nil
}

func (*service) Get(_ context.Context, in getIn) (note, error) {
	return note{}, tools.Errorf("NOTE_NOT_FOUND", "there is no note %s", in.ID).WithHint("list shows the notes")
}

var family = tools.Family[*service]{
	Name: "note", Summary: "Notes", Category: tools.Memory, Tier: tools.Core,
	Actions: []tools.Action[*service]{{
		Name:     "save",
		Legacy:   tools.Was("save_note", tools.Rename{Field: text, Was: "body"}),
		Summary:  "Save a note.",
		Required: tools.Fields{text},
		Optional: tools.Fields{tags, priority, pinned, owner, meta},
		Returns:  tools.Fields{meta, text, tags, owner},
		Effect:   tools.Adds,
		Example:  `{"text": "Freeze on Friday", "tags": ["ops"], "priority": "high", "owner": {"name": "Ada"}}`,
		Run:      tools.Method((*service).Save),
	}, {
		Name:     "list",
		Legacy:   tools.Was("list_notes"),
		Summary:  "List notes.",
		Optional: tools.Fields{limit.With(tools.Default(10)), priority.With(tools.Many())},
		Returns:  tools.Fields{notes, count},
		Effect:   tools.Reads,
		Example:  `{"limit": 5, "priority": ["high", "low"]}`,
		Related:  []string{"note.save"},
		Run:      tools.Method((*service).List),
	}, {
		Name:     "get",
		Summary:  "Read a note.",
		Required: tools.Fields{id},
		Returns:  tools.Fields{id, text, meta},
		Effect:   tools.Reads,
		Example:  `{"id": "7f0c2a34-0000-4000-8000-000000000001"}`,
		Run:      tools.Method((*service).Get),
	}},
}

// caller serves the fixture family.
func caller(t *testing.T) *consolidate.Caller {
	t.Helper()
	var catalogue tools.Catalogue
	if err := catalogue.Put(family.Mount(func(context.Context) (*service, error) { return &service{}, nil })); err != nil {
		t.Fatal(err)
	}
	registry := tools.NewRegistry(nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	return consolidate.NewCaller(&catalogue, registry, nil)
}

// answer calls and returns the content as text.
func answer(t *testing.T, c *consolidate.Caller, name, args string) (content string, failed bool) {
	t.Helper()
	a := c.Call(t.Context(), name, json.RawMessage(args))
	return string(a.Content), a.IsError()
}
