package script

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/workspace"
)

// MaxSaved limits the saved scripts of a workspace.
const MaxSaved = 200

// Script is a script with a name: saved in the store, or a file of the workspace. It is the result of
// script.show. A store has all members except File, Source and Trusted.
type Script struct {
	Name        string          `json:"name" doc:"Name of the script."`
	Description string          `json:"description,omitempty" doc:"Its purpose."`
	InputSchema json.RawMessage `json:"inputSchema,omitempty" doc:"JSON Schema of input."` // an object; nil = any input
	Code        string          `json:"code" doc:"JavaScript."`
	Digest      string          `json:"digest" doc:"Version: a digest of code, description and inputSchema."`
	Source      string          `json:"source" doc:"Its origin; registered precedes file." enum:"registered,file"`
	File        string          `json:"file,omitempty" doc:"Path in the workspace."`
	// false or nil; set by Show
	Trusted *bool     `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."`
	SavedAt time.Time `json:"savedAt,omitzero" doc:"When it was saved."` // whole microseconds; zero for a file

	// Rights is a text of [toolfold.Rights]. Empty means all rights, as for a file.
	Rights string `json:"rights,omitempty" doc:"Rights of the caller that saved it; a run never has more."`
}

// Store stores the scripts of workspaces. Names are ASCII. It is safe for concurrent use, also by
// several processes.
type Store interface {
	// Put stores the script that decide returns. Old is the script with that name, nil if there is no
	// such script; count is the number of scripts of the workspace. No script of it changes between
	// decide and the end of Put. An error of decide is returned, and nothing is stored. Decide may be
	// called several times and must have no side effects.
	Put(ctx context.Context, workspace, name string, decide func(old *Script, count int) (Script, error)) error

	// Get returns a script; found is false if there is no such script.
	Get(ctx context.Context, workspace, name string) (s Script, found bool, err error)

	// All returns the scripts of a workspace, in no particular order.
	All(ctx context.Context, workspace string) ([]Script, error)

	// Remove removes a script. It reports whether the script existed.
	Remove(ctx context.Context, workspace, name string) (removed bool, err error)
}

// SaveIn are the arguments of script.save.
type SaveIn struct {
	Name        string          `json:"name"`
	Code        string          `json:"code"`
	ID          string          `json:"id"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Overwrite   bool            `json:"overwrite"`
}

// SaveOut is the result of script.save.
type SaveOut struct {
	Saved    bool    `json:"saved" doc:"False if this version was saved already."`
	Name     string  `json:"name" doc:"Name of the script."`
	Digest   string  `json:"digest" doc:"Version: a digest of code, description and inputSchema."`
	Message  string  `json:"message" doc:"The outcome in words."`
	Replaced *Script `json:"replaced,omitempty" doc:"The version that was replaced."`
}

// ListIn are the arguments of script.list.
type ListIn struct {
	toolfold.Page
}

// ListOut is the result of script.list.
type ListOut struct {
	Scripts []Item `json:"scripts" doc:"Scripts by name."`
	Total   int    `json:"total" doc:"Scripts on all pages."`
	toolfold.Paged
	Broken  []workspace.BrokenFile `json:"broken,omitempty" doc:"Files that are not usable."`
	Message string                 `json:"message,omitempty" doc:"How to add the first."`
}

// Item is a script in a list.
type Item struct {
	Name        string `json:"name" doc:"Name of the script."`
	Description string `json:"description,omitempty" doc:"Its purpose."`
	Source      string `json:"source" doc:"Its origin; registered precedes file." enum:"registered,file"`
	// false or nil
	Trusted *bool `json:"trusted,omitempty" doc:"False if the user does not trust the workspace: it does not run."`
}

// ShowIn are the arguments of script.show.
type ShowIn struct {
	Name string `json:"name"`
}

// DeleteIn are the arguments of script.delete.
type DeleteIn struct {
	Name string `json:"name"`
}

// DeleteOut is the result of script.delete.
type DeleteOut struct {
	Deleted bool   `json:"deleted" doc:"Whether one was deleted."`
	Name    string `json:"name" doc:"Name of the script."`
	Message string `json:"message" doc:"The outcome in words."`
}
