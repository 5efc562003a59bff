package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolfold/toolfold/internal/call/callctx"
	"github.com/toolfold/toolfold/internal/cli/workbench"
	"github.com/toolfold/toolfold/internal/run/script"
	"github.com/toolfold/toolfold/internal/run/work"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
	"github.com/toolfold/toolfold/tools/task"
	"github.com/toolfold/toolfold/tools/trace"
)

// scriptView is the run of a script, which a task makes.
type scriptView struct {
	Lines   []sourceLine
	Input   string        // JSON; empty = no input
	Waits   []string      // actions of calls under way
	Calls   []journalCall // the last ones, in their order
	Earlier int           // number of the first call in Calls; 0 = there are no earlier calls
	Writes  []written
	Unknown []unknownCall

	// Stopped reports whether the run goes on if the user wants it.
	Stopped bool
	Digest  string // of the end of the run as it is shown; a form that goes on names it
}

// sourceLine is a line of a script.
type sourceLine struct {
	Text string
	Mark string // what the run does here; may be empty
}

// journalCall is a call in the journal.
type journalCall struct {
	workbench.ScriptCall
	State string
	Bad   bool // the state needs a look
}

// written counts the calls of an action that may have changed something.
type written struct {
	Action string
	Calls  int
}

// unknownCall is a call that may have been done, with the outcome that a form sent.
type unknownCall struct {
	Call      int
	Action    string
	Arguments string
	Outcome   string // one of the outcomes; empty = not chosen
	Value     string // JSON, of the outcome "result"
	Problem   string
	Question  bool // of the script to its user, with the outcomes yes and no
	Waits     bool // it was not made, and waits for the user: yes, all or no
}

// Asks reports whether a call has a question to the user.
func (v *scriptView) Asks() bool {
	return slices.ContainsFunc(v.Unknown, func(u unknownCall) bool { return u.Question })
}

// The outcomes that a form states.
const (
	outcomeDone    = "done"
	outcomeNotDone = "not done"
	outcomeResult  = "result"
	outcomeYes     = "yes"
	outcomeAll     = "all"
	outcomeNo      = "no"
)

const (
	mostCalls  = 100 // of a journal are shown at once
	mostAnswer = 300 // bytes of an answer are shown
)

// scriptOf returns the run of a script that a task makes, nil for other tasks. Only calls before a number are
// listed, zero means all.
func (p *Page) scriptOf(ctx context.Context, t result, before int) (*scriptView, error) {
	input, _ := t["input"].(result)
	arguments, _ := input["arguments"].(result)
	if input["tool"] != work.Script {
		return nil, nil
	}
	id := shown(t["taskId"])
	source, _ := arguments["code"].(string) // empty for a stored script, which a task names
	run, err := p.scriptRun(ctx, id, source)
	if err != nil {
		return nil, err
	}
	v := &scriptView{}
	if given := arguments["input"]; given != nil {
		if v.Input, err = encoded(given); err != nil {
			return nil, err
		}
	}
	end := endOf(t)
	status, _ := t["status"].(string)
	if !task.Final(status) {
		if v.Waits, err = p.underWay(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, u := range end.Unknown {
		v.Unknown = append(v.Unknown, unknownCall{
			Call: u.Call, Action: u.Action, Arguments: indented(u.Arguments), Question: u.IsQuestion(), Waits: u.Waits != "",
		})
	}
	v.Stopped = task.Final(status) && status != task.Completed && (end.Error == nil || end.Stopped())
	sum := sha256.Sum256(ordered.MustJSON([]any{t["attempt"], t["completedAt"], end}))
	v.Digest = hex.EncodeToString(sum[:])
	v.list(run.Calls, before, task.Final(status))
	v.count(run.Calls, end)
	v.mark(source, run.Places, end)
	return v, nil
}

// endOf returns the result of a run, as far as its task has one.
func endOf(t result) (end script.Result) {
	if output := t["output"]; output != nil {
		_ = json.Unmarshal(ordered.MustJSON(output), &end) // of another form if the task failed before its script
	}
	return end
}

// underWay lists the actions of the calls under way, as far as they are recorded.
func (p *Page) underWay(ctx context.Context, taskID string) (names []string, err error) {
	list, err := p.ask(ctx, "trace.list", result{"taskId": taskID, "limit": 1, "include_fields": []string{"traces"}})
	if err != nil {
		return nil, permitted(err)
	}
	traces, _ := list["traces"].([]any)
	if len(traces) == 0 {
		return nil, nil
	}
	newest, _ := traces[0].(result)
	all, err := p.ask(ctx, "trace.get", result{"traceId": newest["traceId"], "limit": 1000})
	if err != nil {
		return nil, permitted(err)
	}
	spans, _ := all["spans"].([]any)
	within := -1.0 // depth of the script
	for _, one := range spans {
		span, _ := one.(result)
		depth, label := number(span["depth"]), shown(span["label"])
		switch {
		case within < 0 && label == work.Script:
			within = depth
		case within >= 0 && depth == within+1 && span["status"] == trace.Running && !slices.Contains(names, label):
			names = append(names, label)
		}
	}
	return names, nil
}

// list takes the calls that are shown.
func (v *scriptView) list(calls []workbench.ScriptCall, before int, ended bool) {
	if before > 0 {
		calls = slices.DeleteFunc(slices.Clone(calls), func(c workbench.ScriptCall) bool { return c.Call >= before })
	}
	if len(calls) > mostCalls {
		calls = calls[len(calls)-mostCalls:]
		v.Earlier = calls[0].Call
	}
	for _, c := range calls {
		j := journalCall{ScriptCall: c, State: "done"}
		j.Value = shorten.To(j.Value, mostAnswer)
		at := slices.IndexFunc(v.Unknown, func(u unknownCall) bool { return u.Call == c.Call })
		switch {
		case c.Settled:
			j.State = "stated to be done"
		case c.Error != "":
			j.State, j.Bad = "failed: "+shorten.To(c.Error, mostAnswer), true
		case c.Ended:
		case at >= 0:
			j.Name, j.Effect, j.State, j.Bad = v.Unknown[at].Action, "changes", "unknown: may have been done", true
		case ended:
			j.Effect, j.State, j.Bad = "changes", "cut off: may have been done", true
		default:
			j.Effect, j.State = "changes", "under way"
		}
		v.Calls = append(v.Calls, j)
	}
}

// count counts the writes, as the result of the run has them, or else its journal.
func (v *scriptView) count(calls []workbench.ScriptCall, end script.Result) {
	writes := end.Writes
	if writes == nil {
		writes = map[string]int{}
		for _, c := range calls {
			if c.Effect == "changes" && c.Ended && (c.Error == "" || c.Did) {
				writes[c.Name]++
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(writes)) {
		v.Writes = append(v.Writes, written{action, writes[action]})
	}
}

// mark splits the source in lines, and marks those where the run waits or has ended. If several lines may be
// the one, all of them are marked.
func (v *scriptView) mark(source string, placesOf func(string) []script.Place, end script.Result) {
	marks := map[int]string{}
	put := func(action, is string, arguments json.RawMessage) {
		places := slices.DeleteFunc(slices.Clone(placesOf(action)), func(p script.Place) bool { return !p.May(arguments) })
		for _, place := range places {
			if marks[place.Line] = is + " " + action; len(places) > 1 {
				marks[place.Line] = "maybe: " + marks[place.Line]
			}
		}
	}
	for _, action := range v.Waits {
		put(action, "waits for", nil)
	}
	for _, u := range end.Unknown {
		put(u.Action, "stopped at", u.Arguments)
	}
	if end.Error != nil && end.Error.Line > 0 {
		marks[end.Error.Line] = "ended here"
	}
	if source == "" {
		return
	}
	for i, text := range strings.Split(strings.TrimSuffix(source, "\n"), "\n") {
		v.Lines = append(v.Lines, sourceLine{text, marks[i+1]})
	}
}

// outcome returns the outcomes that a form states. ok is false if one is missing or no JSON: the calls then have
// the problems.
func (v *scriptView) outcome(form func(string) string) (outcomes result, ok bool) {
	outcomes, ok = result{}, true
	for i := range v.Unknown {
		u := &v.Unknown[i]
		number := strconv.Itoa(u.Call)
		u.Outcome, u.Value = form("outcome"+number), strings.TrimSpace(form("result"+number))
		switch {
		case u.Question && (u.Outcome == outcomeYes || u.Outcome == outcomeNo || u.Waits && u.Outcome == outcomeAll):
			outcomes[number] = u.Outcome
		case u.Waits:
			u.Problem = "agree to this call, or stop the run"
		case u.Question:
			u.Problem = "answer the question of the script"
		case u.Outcome == outcomeDone, u.Outcome == outcomeNotDone:
			outcomes[number] = u.Outcome
		case u.Outcome != outcomeResult:
			u.Problem = "choose what became of this call"
		case !json.Valid([]byte(u.Value)):
			u.Problem = "the result must be JSON: a text needs quotes"
		default:
			outcomes[number] = result{"result": json.RawMessage(u.Value)}
		}
		ok = ok && u.Problem == ""
	}
	return outcomes, ok
}

// goingOn is the data of the form to go on with a run.
type goingOn struct {
	*scriptView
	Token, Task string
}

// goOn goes on with the run of a script, with the outcomes that the user states.
func (p *Page) goOn(w http.ResponseWriter, r *http.Request) {
	data, err := p.task(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	v := data.(taskView)
	if v.Script == nil || !v.Script.Stopped || r.PostFormValue("shown") != v.Script.Digest {
		p.fail(w, r, conflict{errors.New("nothing is stated: the run goes on, or has stopped at another place; look at the task again")})
		return
	}
	outcomes, fits := v.Script.outcome(r.PostFormValue)
	if !fits {
		p.write(w, r, http.StatusUnprocessableEntity, "task", v)
		return
	}
	arguments := result{"id": r.PathValue("id")}
	if len(outcomes) > 0 {
		arguments["outcome"] = outcomes
	}
	if err := p.resume(r.Context(), arguments); err != nil {
		p.fail(w, r, err)
		return
	}
	toTask(w, r)
}

// patience limits the wait for a run that goes on: its view follows it.
const patience = 3 * time.Second

// resume calls script.run, which waits for the end of the run. Neither the browser nor the page ends the run by
// leaving.
func (p *Page) resume(ctx context.Context, arguments result) error {
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	defer time.AfterFunc(p.patience, func() { leave(callctx.ErrStopped) }).Stop()
	id, _ := arguments["id"].(string)
	ctx = callctx.With(ctx, work.UserOutcome(id))
	if _, err := p.ask(ctx, work.Script, arguments); !errors.Is(context.Cause(ctx), callctx.ErrStopped) {
		return err
	}
	return nil
}
