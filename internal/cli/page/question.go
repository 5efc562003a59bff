package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/call/validate"
	"github.com/toolfold/toolfold/internal/storage"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/task"
)

// asker reads what tasks need of a person, and answers their questions, see the methods of [workbench.Workbench].
type asker interface {
	Inquiries(ctx context.Context, limit int) ([]storage.Inquiry, error)
	Stuck(ctx context.Context, limit int) ([]storage.Stuck, error)
	Questions(ctx context.Context, taskID string) ([]task.Question, error)
	Answer(ctx context.Context, taskID, key string, answer json.RawMessage) error
}

// question is an open question of a task, with the form made of its schema.
type question struct {
	Key       string
	Digest    string // of the question as it is shown; an answer names it
	Text      string
	URL       string // to open instead of a form; empty = a form
	Elsewhere string // who answers it, if the page cannot
	sheet            // its problem is one of the question, or of the answer as a whole

	schema json.RawMessage // of the form; nil if it cannot be used
}

// sheet is a form made of the schema of an object.
type sheet struct {
	Fields  []field
	Problem string // of no single field
}

// The kinds of fields. Kinds of JSON types are named like the types.
const (
	fieldText    = "text"
	fieldLong    = "long" // a text that may have many lines
	fieldNumber  = "number"
	fieldChoice  = "choice"
	fieldSeveral = "several" // choices
	fieldJSON    = "json"    // a value of any other schema, written as JSON
)

// field is a field of a form.
type field struct {
	Name        string
	Title       string
	Description string
	Kind        string
	Input       string // type of the HTML input of a text
	Required    bool
	Value       string
	Options     []option
	Problem     string // of the value that was sent
}

// option is a value to choose.
type option struct {
	Value  string // JSON
	Label  string
	Chosen bool
}

// property is the schema of a member, as forms have it.
type property struct {
	Type, Title, Description, Format string
	Default                          json.RawMessage
	Enum                             []json.RawMessage
	EnumNames                        []string
	OneOf, AnyOf                     []constant
	MaxLength                        *int
	Items                            *property
}

// constant is a value of a choice, with its title.
type constant struct {
	Const json.RawMessage
	Title string
}

// shortText is the number of characters up to which a text is written in one line.
const shortText = 100

// questionOf returns the question that a task asks.
func questionOf(source task.Question) question {
	sum := sha256.Sum256([]byte(source.Key + "\n" + source.Method + "\n" + string(source.Params)))
	q := question{Key: source.Key, Digest: hex.EncodeToString(sum[:])}
	if source.Method != callctx.MethodElicit {
		q.Text = source.Method
		q.Elsewhere = "Only the client that made the call can answer this: it asks for the client's model or folders."
		return q
	}
	var params struct {
		Message, Mode, URL string
		RequestedSchema    json.RawMessage
	}
	if err := json.Unmarshal(source.Params, &params); err != nil {
		q.Problem = fmt.Sprintf("the question cannot be read: %v; decline it, or cancel the task", err)
		return q
	}
	q.Text = params.Message
	if params.Mode == "url" {
		q.URL = params.URL
		return q
	}
	form := params.RequestedSchema
	if len(form) == 0 || string(form) == "null" {
		form = json.RawMessage(`{}`)
	}
	if _, err := validate.Schema(form, map[string]any{}, ""); err != nil {
		q.Problem = fmt.Sprintf("the form of the question cannot be used: %v; decline it, or cancel the task", err)
		return q
	}
	q.schema, q.Fields = form, fieldsOf(form)
	return q
}

// fieldsOf returns the fields for the members of an object with a schema, none if it is no schema of an object.
func fieldsOf(object json.RawMessage) (fields []field) {
	var schema struct {
		Properties ordered.Map
		Required   []string
	}
	_ = json.Unmarshal(object, &schema)
	for _, member := range schema.Properties {
		raw, _ := member.Value.(json.RawMessage)
		fields = append(fields, fieldOf(member.Key, raw, slices.Contains(schema.Required, member.Key)))
	}
	return fields
}

// read returns the object that a form has. ok is false if a value cannot be read: its field then has the problem.
func (s *sheet) read(form url.Values) (object json.RawMessage, ok bool) {
	content := ordered.Map{}
	ok = true
	for i := range s.Fields {
		f := &s.Fields[i]
		if value := f.fill(form["field"+strconv.Itoa(i)]); value != nil {
			content.Set(f.Name, value)
		}
		ok = ok && f.Problem == ""
	}
	return ordered.MustJSON(content), ok
}

// report puts problems beside the fields.
func (s *sheet) report(problems []toolfold.Problem) {
	for _, problem := range problems {
		top, _, _ := strings.Cut(strings.TrimPrefix(problem.Path, "/"), "/")
		at := slices.IndexFunc(s.Fields, func(f field) bool { return f.Name == jsonx.UnescapePointer(top) })
		if at < 0 {
			s.Problem = problem.Text()
		} else if s.Fields[at].Problem == "" {
			s.Fields[at].Problem = problem.Text()
		}
	}
}

// Usable reports whether the page can accept the question.
func (q question) Usable() bool { return q.Elsewhere == "" && (q.schema != nil || q.URL != "") }

// fieldOf returns the field for a member of a form, with its default.
func fieldOf(name string, schema json.RawMessage, required bool) field {
	f := field{Name: name, Title: name, Kind: fieldJSON, Required: required}
	var p property
	if json.Unmarshal(schema, &p) != nil {
		return f // of a form that people's forms do not have
	}
	if p.Title != "" {
		f.Title = p.Title
	}
	f.Description, f.Value = p.Description, string(p.Default)
	options := p.options()
	switch {
	case p.Type == "array" && p.Items != nil && p.Items.options() != nil:
		f.Kind, f.Options = fieldSeveral, p.Items.options()
		var chosen []json.RawMessage
		_ = json.Unmarshal(p.Default, &chosen) // without a default none is chosen
		f.choose(texts(chosen))
	case options != nil && p.Type != "array" && p.Type != "object":
		f.Kind, f.Options = fieldChoice, options
		f.choose(texts([]json.RawMessage{p.Default}))
	case p.Type == "boolean":
		f.Kind, f.Options = fieldChoice, []option{{Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
		f.choose([]string{f.Value})
	case p.Type == "number" || p.Type == "integer":
		f.Kind = fieldNumber
	case p.Type == "string":
		f.Kind, f.Input = fieldText, inputs[p.Format]
		if f.Input == "" {
			f.Input = "text"
		}
		if p.Format == "" && (p.MaxLength == nil || *p.MaxLength > shortText) {
			f.Kind = fieldLong
		}
		f.Value, _ = ordered.Text(p.Default)
	}
	return f
}

// inputs are the types of HTML inputs for the formats of texts.
var inputs = map[string]string{"email": "email", "uri": "url", "date": "date"}

// options returns the values of a choice, nil if the schema is no choice.
func (p property) options() (all []option) {
	for i, value := range p.Enum {
		o := option{Value: compact(value), Label: label(value)}
		if i < len(p.EnumNames) && p.EnumNames[i] != "" {
			o.Label = p.EnumNames[i]
		}
		all = append(all, o)
	}
	if all != nil {
		return all
	}
	for _, one := range slices.Concat(p.OneOf, p.AnyOf) {
		if one.Const == nil {
			return nil // a part of another kind
		}
		o := option{Value: compact(one.Const), Label: label(one.Const)}
		if one.Title != "" {
			o.Label = one.Title
		}
		all = append(all, o)
	}
	return all
}

// label returns a value as people read it: texts without quotes.
func label(value json.RawMessage) string {
	if text, ok := ordered.Text(value); ok {
		return text
	}
	return compact(value)
}

// compact returns JSON without blanks.
func compact(raw json.RawMessage) string {
	var text bytes.Buffer
	if json.Compact(&text, raw) != nil {
		return ""
	}
	return text.String()
}

// texts returns values as JSON without blanks.
func texts(values []json.RawMessage) (all []string) {
	for _, value := range values {
		all = append(all, compact(value))
	}
	return all
}

// choose marks the options with the given values.
func (f *field) choose(values []string) {
	for i := range f.Options {
		f.Options[i].Chosen = slices.Contains(values, f.Options[i].Value)
	}
}

// fill takes the values that a form sent for a field. It returns nil for a field that is left empty.
func (f *field) fill(values []string) json.RawMessage {
	f.choose(values)
	f.Value = strings.ReplaceAll(strings.Join(values, ""), "\r\n", "\n") // as browsers send line ends
	switch f.Kind {
	case fieldSeveral:
		chosen := []json.RawMessage{}
		for _, o := range f.Options {
			if o.Chosen {
				chosen = append(chosen, json.RawMessage(o.Value))
			}
		}
		if len(chosen) == 0 && !f.Required {
			return nil
		}
		return ordered.MustJSON(chosen)
	case fieldChoice:
		if i := slices.IndexFunc(f.Options, func(o option) bool { return o.Chosen }); i >= 0 {
			return json.RawMessage(f.Options[i].Value)
		}
		return nil
	}
	text := strings.TrimSpace(f.Value)
	switch {
	case text == "":
		return nil
	case f.Kind == fieldText || f.Kind == fieldLong:
		return ordered.MustJSON(f.Value)
	case !json.Valid([]byte(text)):
		f.Problem = map[string]string{fieldNumber: f.Name + " must be a number", fieldJSON: f.Name + " must be JSON"}[f.Kind]
		return nil
	}
	return json.RawMessage(text)
}

// accept returns the accepting answer with the values of a form. ok is false if they do not fit the schema: the fields
// then have the problems.
func (q *question) accept(form url.Values) (answer json.RawMessage, ok bool) {
	if q.URL != "" {
		return json.RawMessage(`{"action":"accept"}`), true
	}
	raw, ok := q.read(form)
	var value map[string]any
	if err := jsonx.Decode(raw, &value); err != nil {
		q.Problem = err.Error()
		return nil, false
	}
	problems, err := validate.Schema(q.schema, value, "")
	if err != nil {
		q.Problem = err.Error()
		return nil, false
	}
	q.report(problems)
	ok = ok && len(problems) == 0
	return ordered.MustJSON(ordered.Map{{Key: "action", Value: "accept"}, {Key: "content", Value: raw}}), ok
}

// asking is the data of the form of a question.
type asking struct {
	question
	Token, Task string
}

// taskView is the data of the page of one task.
type taskView struct {
	Task      result
	Questions []question
	Graph     *graph      // of its workflow; nil = no workflow
	Script    *scriptView // nil = it runs no script
}

// task is a task with its input, which task.status gives only if it is named, and its open questions.
func (p *Page) task(r *http.Request) (any, error) {
	data, err := p.one("task.status", "taskId", 0)(r)
	if err != nil {
		return nil, err
	}
	id, v := r.PathValue("id"), taskView{Task: data.(result)}
	input, err := p.ask(r.Context(), "task.status", result{"taskId": id, "include_fields": []string{"input"}})
	if err != nil {
		return nil, err
	}
	v.Task["input"] = input["input"]
	if v.Graph, err = p.graphOf(r.Context(), v.Task); err != nil {
		return nil, err
	}
	before, _ := strconv.Atoi(r.URL.Query().Get("before"))
	if v.Script, err = p.scriptOf(r.Context(), v.Task, before); err != nil {
		return nil, err
	}
	if status, _ := v.Task["status"].(string); task.Final(status) {
		return v, nil
	}
	open, err := p.asks.Questions(r.Context(), id)
	for _, asked := range open {
		v.Questions = append(v.Questions, questionOf(asked))
	}
	return v, err
}

// answer stores the answer that a form has. An answer that does not fit is shown again, with its problems.
func (p *Page) answer(w http.ResponseWriter, r *http.Request) {
	data, err := p.task(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	v := data.(taskView)
	at := slices.IndexFunc(v.Questions, func(q question) bool {
		return q.Key == r.PostFormValue("key") && q.Digest == r.PostFormValue("shown")
	})
	if at < 0 {
		p.fail(w, r, conflict{errors.New("nothing is answered: the question has an answer, or is asked no more; look at the task again")})
		return
	}
	var answer json.RawMessage
	switch action := r.PostFormValue("action"); {
	case action == "accept" && v.Questions[at].Usable():
		fits := false
		if answer, fits = v.Questions[at].accept(r.PostForm); !fits {
			p.write(w, r, http.StatusUnprocessableEntity, "task", v)
			return
		}
	case (action == "decline" || action == "cancel") && v.Questions[at].Elsewhere == "":
		answer = ordered.MustJSON(map[string]string{"action": action})
	default:
		p.fail(w, r, errNotFound)
		return
	}
	err = p.byUser(r, "task.answer", func(ctx context.Context) error {
		return p.asks.Answer(ctx, r.PathValue("id"), v.Questions[at].Key, answer)
	})
	if err != nil {
		p.fail(w, r, conflict{err})
		return
	}
	toTask(w, r)
}

// toTask leads to the page of the task in the path.
func toTask(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/tasks/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}
