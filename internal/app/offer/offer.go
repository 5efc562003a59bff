// Package offer has what the application offers beside its tools: workflows as prompts,
// and designs, outputs of tasks, answers that were cut and notes as resources. All of it
// is read by calls of the actions that have it, so that it is there for who may call
// them, and counted and traced alike.
package offer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/call"
	"github.com/toolfold/toolfold/content"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/lazy"
	"github.com/toolfold/toolfold/serve"
	"github.com/toolfold/toolfold/tools/ability"
	"github.com/toolfold/toolfold/tools/design"
	"github.com/toolfold/toolfold/tools/memory"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/workflow"
)

// scheme begins the URIs of all resources.
const scheme = "toolfold://"

// maxListed is the most resources of a kind that are listed: there are three kinds, and
// hosts show them in a menu. Others are read by their URI.
const maxListed = 15

// Offer reads what is offered.
type Offer struct {
	Caller    toolfold.Caller
	Discovery *lazy.Discovery // of the surface that Caller calls
	Workflows *workflow.Service

	// Abilities returns what reads the abilities: those of files alone where the store
	// holds nothing.
	Abilities func(context.Context) (*ability.Service, error)

	// Kept reports whether the store may hold anything: a host that lists what there is
	// when it connects makes no store. Nil is true.
	Kept func() bool

	// Memory offers the entries of memory too, which may be private.
	Memory bool

	// Stored returns when an entry of memory was stored; zero if there is no entry. An empty
	// workspace is the caller's own. Clients that watch an entry have it looked at again and
	// again, so it is no call.
	Stored func(ctx context.Context, workspace, namespace, key string) (time.Time, error)

	// OwnNotes returns the workspace that notes of a caller belong to.
	OwnNotes func(ctx context.Context) string
}

// do calls an action for the caller of ctx.
func do[Out any](ctx context.Context, o Offer, action string, arguments any) (Out, error) {
	return toolfold.Do[Out](ctx, o.Caller, action, arguments)
}

// may reports whether the caller of ctx may call an action.
func (o Offer) may(ctx context.Context, action string) bool {
	return o.Discovery.Written(ctx, action, struct{}{}) != ""
}

// Resources returns what the caller of ctx may read.
func (o Offer) Resources(ctx context.Context) ([]serve.Resource, error) {
	var all []serve.Resource
	empty := o.Kept != nil && !o.Kept()
	for _, kind := range []struct {
		reads, lists string // actions
		offered      bool
		resource     serve.Resource
	}{
		{"design.get", "design.list", true, o.designs()},
		{"task.status", "task.list", true, o.outputs()},
		{"memory.get", "memory.list", o.Memory, o.notes()},
		{"memory.get", "memory.list", o.Memory, o.oldNotes()},
		{"tools.rest", "tools.rest", true, o.answers()},
	} {
		if !kind.offered || !o.may(ctx, kind.reads) {
			continue
		}
		if empty || !o.may(ctx, kind.lists) {
			kind.resource.List, kind.resource.Complete = nil, nil
		}
		all = append(all, kind.resource)
	}
	return all, nil
}

// starting returns a completer of the values that list returns.
func starting(list func(context.Context, map[string]string) ([]string, error)) serve.Completer {
	return func(ctx context.Context, typed string, others map[string]string) ([]string, error) {
		values, err := list(ctx, others)
		return slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, typed) }), err
	}
}

// maxCompleted is the most entries among which values are looked for: the newest.
const maxCompleted = 100

func (o Offer) designs() serve.Resource {
	list := func(ctx context.Context, limit int) ([]design.Listed, error) {
		out, err := do[design.ListOut](ctx, o, "design.list", map[string]any{"limit": limit})
		return out.Designs, err
	}
	return serve.Resource{
		URI: scheme + "designs/{id}", Name: "design", Doc: "A design by its id, whole.",
		Read: func(ctx context.Context, at serve.Location) (content.Held, error) {
			text, page := "", "" // the documentation of an architecture has its diagram in it
			for offset, more := 0, true; more; {
				part, err := do[design.GetOut](ctx, o, "design.get", map[string]any{"designId": at.Values["id"], "offset": offset})
				if err != nil {
					return content.Held{}, err
				}
				text, page = text+part.Content, page+part.Documentation
				offset, more = part.NextOffset, part.NextOffset > offset
			}
			if page != "" {
				return content.Held{MIME: "text/markdown", Text: page}, nil
			}
			return content.Held{MIME: "text/plain", Text: text}, nil
		},
		List: func(ctx context.Context) ([]content.Link, error) {
			designs, err := list(ctx, maxListed)
			var links []content.Link
			for _, d := range designs {
				links = append(links, content.Link{URI: scheme + "designs/" + d.ID, Name: d.Name, Doc: d.Type + ", " + d.Format})
			}
			return links, err
		},
		Complete: map[string]serve.Completer{"id": starting(func(ctx context.Context, _ map[string]string) ([]string, error) {
			designs, err := list(ctx, maxCompleted)
			var ids []string
			for _, d := range designs {
				ids = append(ids, d.ID)
			}
			return ids, err
		})},
	}
}

func (o Offer) outputs() serve.Resource {
	list := func(ctx context.Context, limit int) ([]task.Item, error) {
		out, err := do[task.ListOut](ctx, o, "task.list", map[string]any{"status": []string{task.Completed}, "limit": limit})
		return out.Tasks, err
	}
	return serve.Resource{
		URI: scheme + "tasks/{id}/output", Name: "output of a task", Doc: "The result of a completed task.", MIME: "application/json",
		Read: func(ctx context.Context, at serve.Location) (content.Held, error) {
			found, err := do[task.Record](ctx, o, "task.status", map[string]any{"taskId": at.Values["id"]})
			if err != nil {
				return content.Held{}, err
			}
			if found.Status != task.Completed || found.Output == nil {
				return content.Held{}, toolfold.Errorf(task.NotFound, "task %s is %s and has no output", found.TaskID, found.Status)
			}
			return content.Held{MIME: "application/json", Text: string(found.Output)}, nil
		},
		List: func(ctx context.Context) ([]content.Link, error) {
			tasks, err := list(ctx, maxListed)
			var links []content.Link
			for _, t := range tasks {
				links = append(links, content.Link{URI: scheme + "tasks/" + t.TaskID + "/output", Name: t.Name, Doc: "output of a task",
					MIME: "application/json"})
			}
			return links, err
		},
		Complete: map[string]serve.Completer{"id": starting(func(ctx context.Context, _ map[string]string) ([]string, error) {
			tasks, err := list(ctx, maxCompleted)
			var ids []string
			for _, t := range tasks {
				ids = append(ids, t.TaskID)
			}
			return ids, err
		})},
	}
}

// noteURI returns the URI of an entry of memory. Its names may hold characters that have a meaning in URIs.
func noteURI(workspace, namespace, key string) string {
	return scheme + "memory/" + url.PathEscape(workspace) + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(key)
}

// oldNoteURI returns the URI of an entry of the caller's workspace, as earlier versions listed it.
func oldNoteURI(namespace, key string) string {
	return scheme + "memory/" + url.PathEscape(namespace) + "/" + url.PathEscape(key)
}

func (o Offer) notes() serve.Resource {
	list := func(ctx context.Context, arguments map[string]any) ([]memory.Listed, error) {
		out, err := do[memory.ListOut](ctx, o, "memory.list", arguments)
		return out.Keys, err
	}
	return serve.Resource{
		URI: scheme + "memory/{workspace}/{namespace}/{key}", Name: "note", Doc: "An entry of memory.", MIME: "application/json",
		Read: func(ctx context.Context, at serve.Location) (content.Held, error) {
			key, namespace := at.Values["key"], at.Values["namespace"]
			arguments := map[string]any{"key": key, "namespace": namespace}
			if workspace := at.Values["workspace"]; workspace != "" {
				arguments["workspace"] = workspace
			}
			found, err := do[memory.GetOut](ctx, o, "memory.get", arguments)
			if err != nil {
				return content.Held{}, err
			}
			if !found.Found {
				return content.Held{}, toolfold.Errorf(toolfold.InvalidInput, "there is no entry %q in %q", key, namespace)
			}
			return content.Held{MIME: "application/json", Text: string(found.Value)}, nil
		},
		List: func(ctx context.Context) ([]content.Link, error) {
			notes, err := list(ctx, map[string]any{"limit": maxListed, "order": "newest"})
			var links []content.Link
			for _, n := range notes {
				doc := "note in " + n.Namespace
				if n.Workspace != "" {
					doc += " of " + n.Workspace
				}
				workspace := cmp.Or(n.Workspace, o.OwnNotes(ctx))
				links = append(links, content.Link{URI: noteURI(workspace, n.Namespace, n.Key), Name: n.Key, Doc: doc, MIME: "application/json"})
			}
			return links, err
		},
		Complete: map[string]serve.Completer{
			"namespace": starting(func(ctx context.Context, _ map[string]string) ([]string, error) {
				if !o.may(ctx, "memory.stats") {
					return nil, nil
				}
				out, err := do[memory.StatsOut](ctx, o, "memory.stats", map[string]any{"limit": maxCompleted})
				return slices.Sorted(maps.Keys(out.ByNamespace)), err
			}),
			"key": func(ctx context.Context, typed string, others map[string]string) ([]string, error) {
				arguments := map[string]any{"limit": maxCompleted}
				if typed != "" {
					arguments["prefix"] = typed
				}
				for _, name := range []string{"workspace", "namespace"} {
					if value := others[name]; value != "" {
						arguments[name] = value
					}
				}
				notes, err := list(ctx, arguments)
				var keys []string
				for _, n := range notes {
					keys = append(keys, n.Key)
				}
				return keys, err
			},
		},
		Version: func(ctx context.Context, at serve.Location) (string, error) {
			if o.Kept != nil && !o.Kept() {
				return "", nil
			}
			stored, err := o.Stored(ctx, at.Values["workspace"], at.Values["namespace"], at.Values["key"])
			return stored.String(), err
		},
	}
}

// oldNotes are the notes under their URIs of earlier versions, without the workspace.
func (o Offer) oldNotes() serve.Resource {
	notes := o.notes()
	notes.URI, notes.List, notes.Hidden = scheme+"memory/{namespace}/{key}", nil, true
	return notes
}

// Tell tells the clients of a server what a call that succeeded changed: that there is
// another design, or what a note says. Other changes of notes are seen a little later, see
// [serve.Resource], and those of lists when they are read anew.
func (o Offer) Tell(server *serve.Server, c *call.Call, answer toolfold.Answer) {
	if c.Entry == nil || c.Entry.Action.Effect == toolfold.Reads || answer.IsError() {
		return
	}
	switch c.Entry.Action.Family.Name {
	case "design":
		server.ResourcesChanged()
	case "memory":
		if !o.Memory {
			return
		}
		var note struct{ Key, Namespace, Workspace string }
		if json.Unmarshal(answer.Content, &note) == nil && note.Key != "" {
			own := o.OwnNotes(callctx.With(context.Background(), c.Origin))
			server.Updated(noteURI(cmp.Or(note.Workspace, own), note.Namespace, note.Key))
			if note.Workspace == "" {
				server.Updated(oldNoteURI(note.Namespace, note.Key))
			}
		}
	}
}

// answers are the wholes of answers that were cut. They are not listed: who has the id
// was answered.
func (o Offer) answers() serve.Resource {
	return serve.Resource{
		URI: scheme + "answers/{id}", Name: "answer", Doc: "The whole of an answer that was cut, for a while.", MIME: "application/json",
		Read: func(ctx context.Context, at serve.Location) (content.Held, error) {
			rest, err := do[lazy.RestOut](ctx, o, "tools.rest", map[string]any{"id": at.Values["id"]})
			if err != nil {
				return content.Held{}, err
			}
			if !rest.Found {
				return content.Held{}, toolfold.Errorf(toolfold.InvalidInput, "the answer is not kept any more").WithHint("%s", rest.Hint)
			}
			return content.Held{MIME: "application/json", Text: string(rest.Answer)}, nil
		},
	}
}

// Kept returns the link to the whole of an answer that was cut.
func Kept(id string) content.Link {
	return content.Link{URI: scheme + "answers/" + id, Name: "the whole answer", MIME: "application/json",
		Doc: "kept for a while; the text has the call that reads it"}
}

// valueOf returns what was typed as a value of a JSON type: as a text where it is none of
// the others.
func valueOf(typed, kind string) any {
	texts := kind == "" || kind == "string"
	if !texts && json.Valid([]byte(typed)) {
		return json.RawMessage(typed)
	}
	return typed
}

// sentence joins what is said of one thing.
func sentence(name, description string) string {
	if description == "" {
		return name
	}
	return fmt.Sprintf("%s: %s", strings.TrimSuffix(name, "."), description)
}
