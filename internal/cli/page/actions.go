package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/memory"
)

// result is the result of an action.
type result = map[string]any

// ask calls an action and decodes its result, numbers as they are written. It returns the action's error.
func (p *Page) ask(ctx context.Context, action string, arguments result) (answer result, err error) {
	content, err := p.call(ctx, action, ordered.MustJSON(arguments))
	if err != nil {
		return nil, conflict{err}
	}
	err = jsonx.Decode(content, &answer)
	return answer, err
}

// list is the data of a view that shows the result of a listing action.
type list struct {
	Filter map[string]string // of the form, by parameter
	Result result            // nil if there is no store yet
	Next   string            // link to the next page; empty on the last
}

// pageLength is how many entries a page of a list has.
const pageLength = 50

// listing declares a view that lists: the action, the filters that its form has, by parameter, and the arguments
// that every call has.
type listing struct {
	action  string
	filters []string
	fixed   result
}

var (
	callsListing = listing{"trace.list",
		[]string{"label", "status", "caller", "workspace", "error", "minDurationMs", "since", "until", "taskId", "sessionId"},
		result{"include_fields": []string{"traces", "traces.caller", "nextCursor"}}} // counting all would take longer
	tasksListing    = listing{"task.list", []string{"status", "queueId", "scheduleId"}, nil}
	notesListing    = listing{"memory.list", []string{"prefix", "namespace", "workspace"}, result{"order": "newest"}}
	foundListing    = listing{"memory.search", []string{"query", "prefix", "namespace", "workspace"}, nil}
	sessionsListing = listing{"session.list", []string{"query", "status", "workspace"}, nil}
)

// list calls an action with the filters in the query of a request, and pages on.
func (p *Page) list(r *http.Request, l listing) (v list, err error) {
	query := r.URL.Query()
	v.Filter = map[string]string{}
	arguments := result{"limit": pageLength}
	maps.Copy(arguments, l.fixed)
	for _, name := range append(slices.Clone(l.filters), "cursor") {
		text := strings.TrimSpace(query.Get(name))
		if text == "" {
			continue
		}
		v.Filter[name] = text
		if arguments[name], err = l.argument(name, text); err != nil {
			return v, conflict{err}
		}
	}
	if !p.stored() {
		return v, nil
	}
	if v.Result, err = p.ask(r.Context(), l.action, arguments); err != nil {
		return v, err
	}
	if next, _ := v.Result["nextCursor"].(string); next != "" {
		query.Set("cursor", next)
		v.Next = "?" + query.Encode()
	}
	return v, nil
}

// argument returns the argument for a filter.
func (l listing) argument(name, text string) (any, error) {
	switch name {
	case "status":
		if l.action == tasksListing.action {
			return []string{text}, nil // task.list takes several
		}
	case "minDurationMs":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the least duration must be a whole number of milliseconds, got %q", text)
		}
		return n, nil
	case "since", "until":
		for _, layout := range []string{localMinute, localMinute + ":05"} {
			if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
				return t.UTC().Format(time.RFC3339), nil
			}
		}
		return nil, fmt.Errorf("%s must be a time such as %s, got %q", name, localMinute, text)
	}
	return text, nil
}

// localMinute is how browsers send a time of this machine's zone.
const localMinute = "2006-01-02T15:04"

func (p *Page) calls(r *http.Request) (any, error)    { return p.list(r, callsListing) }
func (p *Page) sessions(r *http.Request) (any, error) { return p.list(r, sessionsListing) }

// notes lists the notes, newest first, or those that have the words of a query, best first.
func (p *Page) notes(r *http.Request) (any, error) {
	if strings.TrimSpace(r.URL.Query().Get("query")) != "" {
		return p.list(r, foundListing)
	}
	return p.list(r, notesListing)
}

// tasks is the data of the page of tasks and queues.
type tasks struct {
	list
	Queues result // nil if there is no store yet
}

func (p *Page) tasks(r *http.Request) (any, error) {
	l, err := p.list(r, tasksListing)
	if err != nil || !p.stored() {
		return tasks{list: l}, err
	}
	queues, err := p.ask(r.Context(), "queue.list", result{"limit": 100})
	return tasks{l, queues}, permitted(err)
}

// permitted drops the refusal of an action that the user's settings do not permit: the rest of the view is shown.
func permitted(err error) error {
	if refused, is := errors.AsType[*toolfold.Error](err); is && refused.Code == toolfold.PermissionDenied {
		return nil
	}
	return err
}

// one returns a view that shows one thing, whose id is in the path.
func (p *Page) one(action, param string, limit int) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		if !p.stored() {
			return nil, errNotFound
		}
		arguments := result{param: r.PathValue("id")}
		if limit > 0 {
			arguments["limit"] = limit
		}
		return p.ask(r.Context(), action, arguments)
	}
}

// note is the data of the page of one note.
type note struct {
	Result   result
	Versions []any // earlier ones, newest first
	Text     string
	IsText   bool // Text is the value, a string that a form sends back as it is; else Text is the value's JSON

	Scope     string // that changes the note, workspace or user; empty = the note is another workspace's
	Workspace string // of the note, as memory takes it: ".", "user" or a name
}

func (p *Page) note(r *http.Request) (any, error) {
	if !p.stored() {
		return nil, errNotFound
	}
	query := r.URL.Query()
	arguments := result{"key": query.Get("key")}
	for _, name := range []string{"namespace", "workspace"} {
		if text := query.Get(name); text != "" {
			arguments[name] = text
		}
	}
	content, err := p.call(r.Context(), "memory.get", ordered.MustJSON(arguments))
	if err != nil {
		return nil, conflict{err}
	}
	var n note
	var as struct{ Value json.RawMessage } // in the order of its members
	if err := errors.Join(jsonx.Decode(content, &n.Result), json.Unmarshal(content, &as)); err != nil {
		return nil, err
	}
	answer := n.Result
	n.Text, n.IsText = answer["value"].(string)
	if strings.ContainsFunc(n.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		n.IsText = false // browsers change carriage returns and control characters
	}
	if !n.IsText {
		n.Text = indented(as.Value)
	}
	n.Workspace = cmp.Or(shown(answer["workspace"]), query.Get("workspace"), ".")
	n.Scope = map[string]string{".": "workspace", memory.User: memory.User}[n.Workspace]
	delete(arguments, "key")
	arguments["history"], arguments["prefix"], arguments["namespace"] = true, query.Get("key"), answer["namespace"]
	arguments["workspace"], arguments["limit"] = n.Workspace, mostVersions // the key itself comes before longer ones
	earlier, err := p.ask(r.Context(), "memory.list", arguments)
	if err != nil {
		return nil, err
	}
	versions, _ := earlier["keys"].([]any) // earliest first
	slices.Reverse(versions)
	for _, version := range versions {
		if v, _ := version.(result); v["key"] == query.Get("key") && v["namespace"] == answer["namespace"] {
			n.Versions = append(n.Versions, v)
		}
	}
	return n, nil
}

// mostVersions is how many versions memory.list returns at once.
const mostVersions = 1000

// changes are the actions that forms may call, with the parameters that the forms have.
var changes = map[string][]string{
	"task.cancel":    {"taskId"},
	"task.retry":     {"taskId"},
	"task.trigger":   {"taskId"},
	"task.update":    {"taskId", "paused"}, // the other parameters have a form of their own
	"queue.pause":    {"queueId"},
	"queue.resume":   {"queueId"},
	"memory.store":   {"key", "namespace", "value", "scope"},
	"memory.delete":  {"key", "namespace", "workspace"},
	"memory.restore": {"key", "namespace", "version", "scope"},
}

// do calls the action that a form names, with the form's parameters.
func (p *Page) do(r *http.Request) error {
	action := r.PathValue("action")
	params, known := changes[action]
	if !known {
		return errNotFound
	}
	if err := p.unchanged(r, action); err != nil {
		return err
	}
	arguments := result{}
	for _, name := range params {
		text := r.PostFormValue(name)
		switch {
		case name == "value" && r.PostFormValue("kind") != "text":
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return conflict{fmt.Errorf("the value is not JSON: %w; go back to mend it", err)}
			}
			arguments[name] = json.RawMessage(text) // with numbers and members as they were written
		case name == "value":
			arguments[name] = strings.ReplaceAll(text, "\r\n", "\n") // as browsers send line ends
		case text == "":
		case name == "paused":
			arguments[name] = text == "true"
		case name == "version":
			n, err := strconv.Atoi(text)
			if err != nil {
				return conflict{fmt.Errorf("the version: %w", err)}
			}
			arguments[name] = n
		default:
			arguments[name] = text
		}
	}
	_, err := p.ask(r.Context(), action, arguments)
	return err
}

// unchanged refuses to store a note that changed since its form was shown.
func (p *Page) unchanged(r *http.Request, action string) error {
	shownVersion := r.PostFormValue("shown")
	if action != "memory.store" || shownVersion == "" {
		return nil
	}
	arguments := result{"key": r.PostFormValue("key"), "workspace": cmp.Or(r.PostFormValue("workspace"), ".")}
	if namespace := r.PostFormValue("namespace"); namespace != "" {
		arguments["namespace"] = namespace
	}
	now, err := p.ask(r.Context(), "memory.get", arguments)
	if err == nil && shown(now["version"]) != shownVersion {
		err = conflict{errors.New("nothing is stored: the note changed since you opened it; go back, copy your text, and reload")}
	}
	return err
}

// button is a form with one button, which calls an action.
type button struct {
	Token, Action, Label, Back string
	Arguments                  map[string]string
}

// buttonOf returns a button. pairs are names and values of arguments.
func buttonOf(token, action, label, back string, pairs ...any) button {
	b := button{Token: token, Action: action, Label: label, Back: back, Arguments: map[string]string{}}
	for pair := range slices.Chunk(pairs, 2) {
		b.Arguments[pair[0].(string)] = fmt.Sprint(pair[1])
	}
	return b
}

// local returns the path to return to after a form: only one of this page.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(path, "//") ||
		strings.Contains(path, `\`) {
		return "/"
	}
	return path
}

// members returns the names and values of a result, sorted, that are not objects or lists. Times are of this
// machine's time zone.
func members(r result) (rows [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		switch value := r[name].(type) {
		case nil, map[string]any, []any:
		case string:
			rows = append(rows, [2]string{name, cmp.Or(moment(value), value)})
		default:
			rows = append(rows, [2]string{name, fmt.Sprint(value)})
		}
	}
	return rows
}
