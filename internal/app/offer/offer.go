// Package offer provides the prompts and resources of the application: workflows as prompts;
// designs, task outputs, truncated answers and notes as resources. They are read by calling
// actions, so they follow the same permissions as calls, and are counted and traced alike.
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
	"github.com/toolfold/toolfold/tools/script"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/workflow"
)

// scheme is the prefix of all resource URIs.
const scheme = "toolfold://"

// maxListed bounds the listed resources of each of the three kinds, because hosts show them in a
// menu. Other resources can be read by URI.
const maxListed = 15

// Offer reads prompts and resources.
type Offer struct {
	Caller    toolfold.Caller
	Discovery *lazy.Discovery // of the surface that Caller calls
	Workflows *workflow.Service

	// Abilities returns the service for abilities; if the store is empty, only for those in files.
	Abilities func(context.Context) (*ability.Service, error)

	// Scripts returns the stored scripts that are known without opening the store. Nil = there are none.
	Scripts func(context.Context) ([]script.Script, error)

	// HasStore reports whether the store may contain anything. Listing at connection time must not
	// create a store. Nil means true.
	HasStore func() bool

	// Memory also offers notes, which may be private.
	Memory bool

	// Stored returns when an entry of memory was stored, or zero if there is no such entry. An
	// empty workspace means the caller's own. It is not a call, because clients that watch an entry
	// poll it.
	Stored func(ctx context.Context, workspace, namespace, key string) (time.Time, error)

	// OwnNotes returns the workspace for a caller's notes.
	OwnNotes func(ctx context.Context) string
}

// do calls an action for the caller of ctx.
func do[Out any](ctx context.Context, o Offer, action string, arguments any) (Out, error) {
	return toolfold.Do[Out](ctx, o.Caller, action, arguments)
}

// may reports whether the caller of ctx may call an action.
func (o Offer) may(ctx context.Context, action string) bool {
	return o.Discovery.StoredAnswer(ctx, action, struct{}{}) != ""
}

// Resources returns the resources that the caller of ctx may read.
func (o Offer) Resources(ctx context.Context) ([]serve.Resource, error) {
	var all []serve.Resource
	empty := o.HasStore != nil && !o.HasStore()
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

// starting returns a completer for the values that list returns.
func starting(list func(context.Context, map[string]string) ([]string, error)) serve.Completer {
	return func(ctx context.Context, typed string, others map[string]string) ([]string, error) {
		values, err := list(ctx, others)
		return slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, typed) }), err
	}
}

// maxCompleted bounds the newest entries among which completions are searched.
const maxCompleted = 100

func (o Offer) designs() serve.Resource {
	list := func(ctx context.Context, limit int) ([]design.Item, error) {
		out, err := do[design.ListOut](ctx, o, "design.list", map[string]any{"limit": limit})
		return out.Designs, err
	}
	return serve.Resource{
		URI: scheme + "designs/{id}", Name: "design", Doc: "A design by its id, whole.",
		Read: func(ctx context.Context, at serve.Location) (content.Data, error) {
			text, page := "", "" // an architecture's documentation contains its diagram
			for offset, more := 0, true; more; {
				part, err := do[design.GetOut](ctx, o, "design.get", map[string]any{"designId": at.Values["id"], "offset": offset})
				if err != nil {
					return content.Data{}, err
				}
				text, page = text+part.Content, page+part.Documentation
				offset, more = part.NextOffset, part.NextOffset > offset
			}
			if page != "" {
				return content.Data{MIME: "text/markdown", Text: page}, nil
			}
			return content.Data{MIME: "text/plain", Text: text}, nil
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
		Read: func(ctx context.Context, at serve.Location) (content.Data, error) {
			found, err := do[task.Record](ctx, o, "task.status", map[string]any{"taskId": at.Values["id"]})
			if err != nil {
				return content.Data{}, err
			}
			if found.Status != task.Completed || found.Output == nil {
				return content.Data{}, toolfold.Errorf(task.NotFound, "task %s is %s and has no output", found.TaskID, found.Status)
			}
			return content.Data{MIME: "application/json", Text: string(found.Output)}, nil
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

// noteURI returns the URI of an entry of memory. It escapes the names.
func noteURI(workspace, namespace, key string) string {
	return scheme + "memory/" + segment(workspace) + "/" + segment(namespace) + "/" + segment(key)
}

// segment escapes a value of a URI template, which matches unreserved and escaped characters only:
// also the colon of a workspace such as host:/folder.
func segment(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// oldNoteURI returns the URI of an entry of the caller's workspace in the form of earlier versions.
func oldNoteURI(namespace, key string) string {
	return scheme + "memory/" + segment(namespace) + "/" + segment(key)
}

func (o Offer) notes() serve.Resource {
	list := func(ctx context.Context, arguments map[string]any) ([]memory.Item, error) {
		out, err := do[memory.ListOut](ctx, o, "memory.list", arguments)
		return out.Keys, err
	}
	return serve.Resource{
		URI: scheme + "memory/{workspace}/{namespace}/{key}", Name: "note", Doc: "An entry of memory.", MIME: "application/json",
		Read: func(ctx context.Context, at serve.Location) (content.Data, error) {
			key, namespace := at.Values["key"], at.Values["namespace"]
			arguments := map[string]any{"key": key, "namespace": namespace}
			if workspace := at.Values["workspace"]; workspace != "" {
				arguments["workspace"] = workspace
			}
			found, err := do[memory.GetOut](ctx, o, "memory.get", arguments)
			if err != nil {
				return content.Data{}, err
			}
			if !found.Found {
				return content.Data{}, toolfold.Errorf(toolfold.InvalidInput, "there is no entry %q in %q", key, namespace)
			}
			return content.Data{MIME: "application/json", Text: string(found.Value)}, nil
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
			if o.HasStore != nil && !o.HasStore() {
				return "", nil
			}
			stored, err := o.Stored(ctx, at.Values["workspace"], at.Values["namespace"], at.Values["key"])
			return stored.String(), err
		},
	}
}

// oldNotes provides notes under the URIs of earlier versions, without a workspace.
func (o Offer) oldNotes() serve.Resource {
	notes := o.notes()
	notes.URI, notes.List, notes.Hidden = scheme+"memory/{namespace}/{key}", nil, true
	return notes
}

// Tell notifies the clients of a server of changes by a successful call: the list of designs, or a
// note. Clients notice other changes of notes a little later, see [serve.Resource], and of lists
// when they read them again.
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

// answers provides the full text of truncated answers. They are not listed: only the recipient of
// the answer knows the id.
func (o Offer) answers() serve.Resource {
	return serve.Resource{
		URI: scheme + "answers/{id}", Name: "answer", Doc: "The whole of an answer that was cut, for a while.", MIME: "application/json",
		Read: func(ctx context.Context, at serve.Location) (content.Data, error) {
			rest, err := do[lazy.RestOut](ctx, o, "tools.rest", map[string]any{"id": at.Values["id"]})
			if err != nil {
				return content.Data{}, err
			}
			if !rest.Found {
				return content.Data{}, toolfold.Errorf(toolfold.InvalidInput, "the answer is not kept any more").WithHint("%s", rest.Hint)
			}
			return content.Data{MIME: "application/json", Text: string(rest.Answer)}, nil
		},
	}
}

// AnswerLink returns the link to the full text of a truncated answer.
func AnswerLink(id string) content.Link {
	return content.Link{URI: scheme + "answers/" + id, Name: "the whole answer", MIME: "application/json",
		Doc: "kept for a while; the text has the call that reads it"}
}

// valueOf converts typed text to a value of a JSON type, or returns the text if it is not valid
// JSON.
func valueOf(typed, kind string) any {
	texts := kind == "" || kind == "string"
	if !texts && json.Valid([]byte(typed)) {
		return json.RawMessage(typed)
	}
	return typed
}

// sentence joins a name and a description.
func sentence(name, description string) string {
	if description == "" {
		return name
	}
	return fmt.Sprintf("%s: %s", strings.TrimSuffix(name, "."), description)
}
