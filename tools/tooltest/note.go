package tooltest

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolfold/toolfold/tools"
)

// The vocabulary of [Note].
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
	meta = tools.Object{Name: "meta", Doc: "Anything."}
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
	return noteEntry{}, tools.Errorf("NOTE_NOT_FOUND", "there is no note %s", in.ID).WithHint("list shows the notes")
}

// Note is a family for tests of the mechanisms: it has a bit of everything.
var Note = tools.Family{
	Name: "note", Summary: "Notes", Category: "memory", Tier: tools.Core,
	Actions: []*tools.Action{{
		Name:     "save",
		Legacy:   tools.Was("save_note", tools.Rename{Field: text, Was: "body"}),
		Summary:  "Save a note.",
		Required: tools.Fields{text},
		Optional: tools.Fields{tags, priority, pinned, owner, meta},
		Effect:   tools.Adds,
		Example:  `{"text": "Freeze on Friday", "tags": ["ops"], "priority": "high", "owner": {"name": "Ada"}}`,
		Run:      tools.Method((*NoteService).Save),
	}, {
		Name:     "list",
		Legacy:   tools.Was("list_notes"),
		Summary:  "List notes.",
		Optional: tools.Fields{limit.With(tools.Default(10)), priority.With(tools.Many())},
		Effect:   tools.Reads,
		Example:  `{"limit": 5, "priority": ["high", "low"]}`,
		Related:  []string{"note.save"},
		Run:      tools.Method((*NoteService).List),
	}, {
		Name:     "get",
		Summary:  "Read a note.",
		Required: tools.Fields{id},
		Effect:   tools.Reads,
		Example:  `{"id": "7f0c2a34-0000-4000-8000-000000000001"}`,
		Run:      tools.Method((*NoteService).Get),
	}},
}
