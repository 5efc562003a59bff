package toolfoldtest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolfold/toolfold"
)

// The vocabulary of [Note].
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

type noteSaveIn struct {
	Text     string          `json:"text"`
	Tags     []string        `json:"tags"`
	Priority string          `json:"priority"`
	Pinned   bool            `json:"pinned"`
	Owner    *noteOwner      `json:"owner"`
	Meta     json.RawMessage `json:"meta"`
}

type noteOwner struct {
	Name string `json:"name" doc:"Name."`
	Age  int    `json:"age" doc:"Age."`
}

type noteSaveOut struct {
	Meta  json.RawMessage `json:"meta" doc:"Anything."`
	Text  string          `json:"text" doc:"Text of the note."`
	Tags  []string        `json:"tags" doc:"Labels."`
	Owner *noteOwner      `json:"owner" doc:"Whose it is."`
}

type noteListIn struct {
	Limit    int      `json:"limit"`
	Priority []string `json:"priority"`
}

type noteEntry struct {
	ID   string          `json:"id" doc:"Note ID."`
	Text string          `json:"text" doc:"Text of the note."`
	Meta json.RawMessage `json:"meta" doc:"Anything."`
}

type noteListOut struct {
	Notes []noteEntry `json:"notes" doc:"Notes."`
	Count int         `json:"count" doc:"How many."`
}

// NoteGetIn holds the arguments of note.get.
type NoteGetIn struct {
	ID string `json:"id"`
}

// NoteService runs the actions of [Note].
type NoteService struct{}

var errDisk = errors.New("disk /dev/sda1 is gone")

// Save answers with its arguments; the texts "boom" and "disk" make it panic
// and fail.
func (*NoteService) Save(_ context.Context, in noteSaveIn) (noteSaveOut, error) {
	switch in.Text {
	case "boom":
		panic("boom")
	case "disk":
		return noteSaveOut{}, errDisk
	}
	return noteSaveOut{Meta: in.Meta, Text: in.Text, Tags: in.Tags, Owner: in.Owner}, nil
}

// List answers with two notes, and its limit as count.
func (*NoteService) List(_ context.Context, in noteListIn) (noteListOut, error) {
	all := []noteEntry{
		{ID: "1", Text: "one", Meta: json.RawMessage(`{"a":{"b":1},"c":2}`)},
		{ID: "2", Text: "two", Meta: json.RawMessage(`{}`)},
	}
	return noteListOut{Notes: all, Count: in.Limit}, nil
}

// Get fails: there is no note.
func (*NoteService) Get(_ context.Context, in NoteGetIn) (noteEntry, error) {
	return noteEntry{}, toolfold.Errorf("NOTE_NOT_FOUND", "there is no note %s", in.ID).WithHint("list shows the notes")
}

// Note is a family for tests of the mechanisms: it has a bit of everything.
var Note = toolfold.Family{
	Name: "note", Summary: "Notes", Category: "memory", Tier: toolfold.Core,
	Actions: []*toolfold.Action{{
		Name:     "save",
		Legacy:   toolfold.Was("save_note", toolfold.Rename{Field: text, Was: "body"}),
		Summary:  "Save a note.",
		Required: toolfold.Fields{text},
		Optional: toolfold.Fields{tags, priority, pinned, owner, meta},
		Effect:   toolfold.Adds,
		Example:  `{"text": "Freeze on Friday", "tags": ["ops"], "priority": "high", "owner": {"name": "Ada"}}`,
		Run:      toolfold.Method((*NoteService).Save),
	}, {
		Name:     "list",
		Legacy:   toolfold.Was("list_notes"),
		Summary:  "List notes.",
		Optional: toolfold.Fields{limit.With(toolfold.Default(10)), priority.With(toolfold.Many())},
		Effect:   toolfold.Reads,
		Example:  `{"limit": 5, "priority": ["high", "low"]}`,
		Related:  []string{"note.save"},
		Run:      toolfold.Method((*NoteService).List),
	}, {
		Name:     "get",
		Summary:  "Read a note.",
		Required: toolfold.Fields{id},
		Effect:   toolfold.Reads,
		Example:  `{"id": "7f0c2a34-0000-4000-8000-000000000001"}`,
		Run:      toolfold.Method((*NoteService).Get),
	}},
}
