// Package notetest has a family with a bit of everything, for tests of mechanisms.
package notetest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolfold/toolfold"
)

// The parameters and results of [Family].
var (
	id       = toolfold.UUID("id", "Note ID.")
	text     = toolfold.String{Name: "text", Doc: "Text of the note.", MinLen: 1, MaxLen: 20}
	tags     = toolfold.List{Name: "tags", Doc: "Labels.", Of: toolfold.String{}, MaxItems: 3}
	limit    = toolfold.Int{Name: "limit", Doc: "Most notes.", Min: 1, Max: 100}
	priority = toolfold.String{Name: "priority", Doc: "How urgent.", Enum: []string{"high", "medium", "low"}}
	pinned   = toolfold.Bool{Name: "pinned", Doc: "Keep on top."}
	owner    = toolfold.Object{
		Name: "owner", Doc: "Whose it is.",
		Required: toolfold.Fields{toolfold.String{Name: "name", Doc: "Name."}},
		Optional: toolfold.Fields{toolfold.Int{Name: "age", Doc: "Age."}.With(toolfold.Default(1))},
	}
	meta = toolfold.Object{Name: "meta", Doc: "Anything."}
)

type saveIn struct {
	Text     string          `json:"text"`
	Tags     []string        `json:"tags"`
	Priority string          `json:"priority"`
	Pinned   bool            `json:"pinned"`
	Owner    *person         `json:"owner"`
	Meta     json.RawMessage `json:"meta"`
}

type person struct {
	Name string `json:"name" doc:"Name."`
	Age  int    `json:"age" doc:"Age."`
}

type saveOut struct {
	Meta  json.RawMessage `json:"meta" doc:"Anything."`
	Text  string          `json:"text" doc:"Text of the note."`
	Tags  []string        `json:"tags" doc:"Labels."`
	Owner *person         `json:"owner" doc:"Whose it is."`
}

type listIn struct {
	Limit    int      `json:"limit"`
	Priority []string `json:"priority"`
}

type entry struct {
	ID   string          `json:"id" doc:"Note ID."`
	Text string          `json:"text" doc:"Text of the note."`
	Meta json.RawMessage `json:"meta" doc:"Anything."`
}

type listOut struct {
	Notes []entry `json:"notes" doc:"Notes."`
	Count int     `json:"count" doc:"How many."`
}

// GetIn are the arguments of note.get.
type GetIn struct {
	ID string `json:"id"`
}

// Service runs the actions of [Family].
type Service struct{}

var errDisk = errors.New("disk /dev/sda1 is gone")

// Save returns its arguments; the texts "boom" and "disk" make it panic and fail.
func (*Service) Save(_ context.Context, in saveIn) (saveOut, error) {
	switch in.Text {
	case "boom":
		panic("boom")
	case "disk":
		return saveOut{}, errDisk
	}
	return saveOut{Meta: in.Meta, Text: in.Text, Tags: in.Tags, Owner: in.Owner}, nil
}

// List returns two notes, and its limit as count.
func (*Service) List(_ context.Context, in listIn) (listOut, error) {
	all := []entry{
		{ID: "1", Text: "one", Meta: json.RawMessage(`{"a":{"b":1},"c":2}`)},
		{ID: "2", Text: "two", Meta: json.RawMessage(`{}`)},
	}
	return listOut{Notes: all, Count: in.Limit}, nil
}

// Get always fails, because there is no note.
func (*Service) Get(_ context.Context, in GetIn) (entry, error) {
	return entry{}, toolfold.Errorf("NOTE_NOT_FOUND", "there is no note %s", in.ID).WithHint("list shows the notes")
}

// Family is mounted on a [Service].
var Family = toolfold.Family{
	Name: "note", Summary: "Notes", Category: "memory", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name:     "save",
		Legacy:   toolfold.Was("save_note", toolfold.Rename{Field: text, Was: "body"}),
		Summary:  "Save a note.",
		Required: toolfold.Fields{text},
		Optional: toolfold.Fields{tags, priority, pinned, owner, meta},
		Effect:   toolfold.Adds,
		Example:  `{"text": "Freeze on Friday", "tags": ["ops"], "priority": "high", "owner": {"name": "Ada"}}`,
		Run:      toolfold.Method((*Service).Save),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("list_notes"),
		Summary:  "List notes.",
		Optional: toolfold.Fields{limit.With(toolfold.Default(10)), priority.With(toolfold.Many())},
		Effect:   toolfold.Reads,
		Example:  `{"limit": 5, "priority": ["high", "low"]}`,
		Related:  []string{"note.save"},
		Run:      toolfold.Method((*Service).List),
	}, {
		Name:     "get",
		Summary:  "Read a note.",
		Required: toolfold.Fields{id},
		Effect:   toolfold.Reads,
		Example:  `{"id": "7f0c2a34-0000-4000-8000-000000000001"}`,
		Run:      toolfold.Method((*Service).Get),
	}},
}
