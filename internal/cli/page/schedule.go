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

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/jsonx"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/tools/task"
)

// scheduleView is the data of the form that makes or changes a schedule.
type scheduleView struct {
	ID   string // of the schedule; empty = a new one
	Name string // of the stored schedule
	sheet
	Digest string // of what is stored; a form that changes it names it

	stored map[string]json.RawMessage // values of the fields; nil for a new schedule
}

// parameter is a field of the form of a schedule, with its schema.
type parameter struct {
	name   string
	schema ordered.Map
}

// The fields of the form. Their names are parameters of task.submit and task.update, except action and arguments.
var (
	scheduleParameters = []parameter{
		{"name", ordered.Map{{Key: "type", Value: "string"}, {Key: "title", Value: "name"}, {Key: "maxLength", Value: 100}}},
		{"schedule", ordered.Map{{Key: "type", Value: "string"}, {Key: "maxLength", Value: 100}, {Key: "description",
			Value: "minute hour day month weekday, such as 0 7 * * 1-5 or CRON_TZ=Europe/Rome 0 7 * * *; or @every 90m. " +
				"Without a zone, times are of UTC."}}},
		{"description", ordered.Map{{Key: "type", Value: "string"}}},
		{"priority", ordered.Map{{Key: "type", Value: "string"}, {Key: "enum", Value: work.Priorities()}}},
	}
	workParameters = []parameter{
		{"action", ordered.Map{{Key: "type", Value: "string"}, {Key: "maxLength", Value: 100},
			{Key: "description", Value: "It runs an action of toolfold or a tool of a server, such as memory.stats, or one of these:"}}},
		{"agentId", ordered.Map{{Key: "type", Value: "string"}, {Key: "title", Value: "agent"}, {Key: "maxLength", Value: 100}}},
		{"workflowId", ordered.Map{{Key: "type", Value: "string"}, {Key: "title", Value: "workflow"}, {Key: "maxLength", Value: 100}}},
		{"arguments", ordered.Map{{Key: "title", Value: "arguments of the action, or input"}}},
	}
	inputParameter = parameter{"input", ordered.Map{{Key: "title", Value: "input, or tool and arguments"}}}
)

// scheduleForm returns the form of a schedule. stored has the values of its fields; nil for a new one.
func scheduleForm(stored map[string]json.RawMessage) sheet {
	all := scheduleParameters
	if stored == nil {
		all = append(all[:len(all):len(all)], workParameters...)
	} else {
		all = append(all[:len(all):len(all)], inputParameter)
	}
	properties := ordered.Map{}
	for _, one := range all {
		schema := append(ordered.Map{}, one.schema...)
		if value := stored[one.name]; value != nil {
			if one.name == inputParameter.name {
				value = json.RawMessage(indented(value))
			}
			schema = append(schema, ordered.Member{Key: "default", Value: value})
		}
		properties = append(properties, ordered.Member{Key: one.name, Value: schema})
	}
	return sheet{Fields: fieldsOf(ordered.MustJSON(ordered.Map{{Key: "properties", Value: properties},
		{Key: "required", Value: []string{"name", "schedule"}}}))}
}

// schedule shows the form of a new schedule, or of the schedule in the path.
func (p *Page) schedule(r *http.Request) (any, error) { return p.scheduleOf(r) }

func (p *Page) scheduleOf(r *http.Request) (v *scheduleView, err error) {
	v = &scheduleView{ID: r.PathValue("id")}
	if v.ID == "" {
		v.sheet = scheduleForm(nil)
		return v, nil
	}
	if !p.stored() {
		return nil, errNotFound
	}
	v.stored = map[string]json.RawMessage{}
	for _, asked := range []result{{"taskId": v.ID}, {"taskId": v.ID, "include_fields": []string{"input"}}} {
		content, err := p.call(r.Context(), "task.status", ordered.MustJSON(asked))
		if err != nil {
			return nil, conflict{err}
		}
		if err := json.Unmarshal(content, &v.stored); err != nil { // the input with its members as they are written
			return nil, err
		}
	}
	status, _ := ordered.Text(v.stored["status"])
	v.Name, _ = ordered.Text(v.stored["name"])
	if v.stored["schedule"] == nil || task.Final(status) {
		return nil, conflict{errors.New("only a schedule that has not ended is changed: make a new one on the page of tasks")}
	}
	var shown []json.RawMessage
	for _, one := range scheduleParameters {
		shown = append(shown, v.stored[one.name])
	}
	sum := sha256.Sum256(ordered.MustJSON(append(shown, v.stored["input"])))
	v.Digest = hex.EncodeToString(sum[:])
	v.sheet = scheduleForm(v.stored)
	return v, nil
}

// saveSchedule is the handler of that form. It calls task.submit, or task.update with what the user has changed.
func (p *Page) saveSchedule(w http.ResponseWriter, r *http.Request) {
	v, err := p.scheduleOf(r)
	if err == nil && v.Digest != r.PostFormValue("shown") {
		err = conflict{errors.New("nothing is changed: the schedule changed since you opened it; go back, copy your text, and reload")}
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	id := v.ID
	object, ok := v.read(r.PostForm)
	if ok {
		id, err = p.submitSchedule(r.Context(), v, object)
	}
	if refused, is := errors.AsType[*toolfold.Error](err); is {
		v.Problem, ok = refused.Error(), false
		v.report(refused.Problems)
	} else if err != nil {
		p.fail(w, r, err)
		return
	}
	if !ok {
		p.write(w, r, http.StatusUnprocessableEntity, "schedule", v)
		return
	}
	http.Redirect(w, r, "/tasks/"+url.PathEscape(id), http.StatusSeeOther)
}

// submitSchedule calls the action for the values of a form, and returns the id of the schedule.
func (p *Page) submitSchedule(ctx context.Context, v *scheduleView, object json.RawMessage) (id string, err error) {
	var values map[string]json.RawMessage
	if err := jsonx.Decode(object, &values); err != nil {
		return "", err
	}
	action := "task.submit"
	if v.stored != nil {
		action = "task.update"
		values = v.changed(values)
		if len(values) == 0 {
			return v.ID, nil
		}
		values["taskId"] = ordered.MustJSON(v.ID)
	} else if values["schedule"] == nil {
		return "", toolfold.Errorf(toolfold.InvalidInput, "a schedule needs its times").About(toolfold.ProblemMissing, "schedule")
	} else {
		switch arguments, tool := values["arguments"], values["action"]; {
		case tool != nil:
			values["input"] = ordered.MustJSON(ordered.Map{{Key: "tool", Value: tool}, {Key: "arguments", Value: orObject(arguments)}})
		case arguments != nil:
			values["input"] = arguments
		}
		delete(values, "action")
		delete(values, "arguments")
	}
	content, err := p.call(ctx, action, ordered.MustJSON(values))
	if err != nil {
		return "", err
	}
	var made struct{ TaskID string }
	if err := json.Unmarshal(content, &made); err != nil {
		return "", fmt.Errorf("reading the schedule: %w", err)
	}
	return made.TaskID, nil
}

// orObject returns arguments, or an empty object for nil.
func orObject(arguments json.RawMessage) json.RawMessage {
	if arguments == nil {
		return json.RawMessage(`{}`)
	}
	return arguments
}

// changed returns the values that differ from the stored ones. A text that was emptied is an empty text.
func (v *scheduleView) changed(values map[string]json.RawMessage) map[string]json.RawMessage {
	changed := map[string]json.RawMessage{}
	for _, f := range v.Fields {
		now, before := values[f.Name], v.stored[f.Name]
		if now == nil && before != nil && f.Kind != fieldJSON && f.Kind != fieldChoice {
			now = json.RawMessage(`""`)
		}
		if now != nil && !bytes.Equal([]byte(compact(now)), []byte(compact(before))) {
			changed[f.Name] = now
		}
	}
	return changed
}
