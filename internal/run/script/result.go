package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolfold/toolfold"
	"github.com/toolfold/toolfold/internal/run/engine"
	"github.com/toolfold/toolfold/internal/run/script/js"
	"github.com/toolfold/toolfold/internal/text/ordered"
	"github.com/toolfold/toolfold/internal/text/shorten"
)

// Result is the end of a run.
type Result struct {
	Success bool            `json:"success" doc:"Whether it ran to its end."`
	Result  json.RawMessage `json:"result,omitempty" doc:"Its return value."`
	Error   *Failure        `json:"error,omitempty" doc:"Why it failed, and where."`
	Calls   map[string]int  `json:"calls,omitempty" doc:"If it failed: calls that ended, by action."`
	Writes  map[string]int  `json:"writes,omitempty" doc:"If it failed: calls that were done and may have changed something, by action."`
	Unknown []Unknown       `json:"unknown,omitempty" doc:"Calls that may have been done, or wait for the user."`
	Unseen  []Failure       `json:"unseen,omitempty" doc:"Rejections that it did not handle."`
	Logs    string          `json:"logs,omitempty" doc:"Lines of console.log."`
	ID      string          `json:"id,omitempty" doc:"If it failed: the run, for script.run." format:"uuid"`
}

// Failed implements [toolfold.Failing].
func (r Result) Failed() bool { return !r.Success }

// Stopped reports whether the run stopped before its script ended, so that it can go on.
func (r Result) Stopped() bool {
	return r.Error != nil && slices.Contains([]string{engine.Interrupted, toolfold.Cancelled, toolfold.TimedOut}, r.Error.Code)
}

// Failure is why a run failed.
type Failure struct {
	Code    string   `json:"code" doc:"Kind of failure."`
	Message string   `json:"message" doc:"The problem."`
	Line    int      `json:"line,omitempty" doc:"In the script, from 1."`
	Column  int      `json:"column,omitempty" doc:"From 1."`
	At      string   `json:"at,omitempty" doc:"That line."`
	Stack   []string `json:"stack,omitempty" doc:"Functions of the script, innermost first."`
	Hint    string   `json:"hint,omitempty" doc:"Next step."`
}

// Unknown is a call that may have been done, or that only the user answers.
type Unknown struct {
	Call      int             `json:"call" doc:"Its number in the run."`
	Action    string          `json:"action" doc:"Action."`
	Arguments json.RawMessage `json:"arguments" doc:"As it was called; long values shortened."`
	Waits     string          `json:"waits,omitempty" doc:"It was not made, and waits for the user: its digest."`
}

// IsQuestion reports whether only the user answers it: a call of [Confirm], or one that waits.
func (u Unknown) IsQuestion() bool { return u.Action == Confirm || u.Waits != "" }

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

func fail(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (f *Failure) hint(text string) *Failure {
	f.Hint = text
	return f
}

// Refusal returns the failure as the error of a call that ran nothing.
func (f *Failure) Refusal() *toolfold.Error {
	e := toolfold.Errorf(f.Code, "%s", f.Message)
	if f.Line > 0 {
		e.Message = fmt.Sprintf("line %d, column %d: %s: %s", f.Line, f.Column, f.Message, f.At)
	}
	e.Hint = f.Hint
	return e
}

// whatThereIs is the hint for a name that does not exist.
const whatThereIs = "tools are family.action({…}) or server.tool({…}), see tools.find; there are no modules, files and connections"

// result returns the result of a script that has ended.
func (r *run) result(end js.End) Result {
	out := Result{Logs: r.logs.String()}
	for _, f := range end.Unseen {
		out.Unseen = append(out.Unseen, *failureOf(f))
	}
	if end.Failure == nil {
		out.Success, out.Result = true, end.Result
		return out
	}
	out.Error, out.Calls, out.Writes, out.ID = failureOf(*end.Failure), r.counts, r.writes, r.id()
	return out
}

// stopped returns the result of a run that was ended with f.
func (r *run) stopped(f *Failure) Result {
	out := Result{Error: f, Calls: r.counts, Writes: r.writes, Logs: r.logs.String(), ID: r.id()}
	list := r.unknown()
	if len(list) == 0 {
		return out
	}
	for _, c := range list {
		u := Unknown{Call: c.Seq, Action: c.Name, Arguments: shortened(c.Args, maxArguments)}
		if c.waits {
			u.Waits = c.digest()
		}
		out.Unknown = append(out.Unknown, u)
	}
	i := slices.IndexFunc(out.Unknown, func(u Unknown) bool { return !u.IsQuestion() })
	switch first := list[max(i, 0)]; {
	case i >= 0:
		out.Error = fail(engine.Interrupted, "call %d, %s, was under way when it was cut off, and may have been done", first.Seq, first.Name)
		out.Error.Hint = r.nextStep()
	case first.waits:
		out.Error = r.withoutConsent(first)
	default:
		out.Error = r.unanswered(first)
	}
	if more := len(list) - 1; more > 0 {
		out.Error.Message += fmt.Sprintf("; and %d more", more)
	}
	if i < 0 && out.ID == "" && r.base == "" {
		out.Unknown = nil // it takes no answer
	}
	return out
}

// nextStep returns what to do about unknown calls.
func (r *run) nextStep() string {
	switch {
	case r.journal.ID() == "":
		return "see whether each was done before you run the script again: this run is not recorded"
	case r.base != "":
		return "see whether each was done; task.retry of the task makes them again, and no other call"
	}
	return "see whether each was done, then go on by script.run with id and outcome"
}

// id returns the id of a run that goes on by script.run; empty for others.
func (r *run) id() string {
	if r.base != "" {
		return ""
	}
	return r.journal.ID()
}

// Limits of the arguments of a call in a result.
const (
	maxArguments = 500 // bytes, about
	leastValue   = 20  // of each of many members
	maxMembers   = 20
)

// shortened returns arguments of about most bytes. Of longer ones every member stays, with the beginning of a long value.
func shortened(args json.RawMessage, most int) json.RawMessage {
	if len(args) <= most {
		return args
	}
	var all, short ordered.Map
	if json.Unmarshal(args, &all) != nil {
		return ordered.MustJSON(shorten.To(string(args), most))
	}
	keys := all.Keys()
	share := max(most/len(keys), leastValue)
	for i, key := range keys {
		if i == maxMembers {
			short.Set("…", fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		value, _ := all.Get(key)
		if raw := ordered.MustJSON(value); len(raw) > share {
			text := string(raw)
			_ = json.Unmarshal(raw, &text) // of a text its characters, else its JSON
			value = shorten.To(text, share)
		}
		short.Set(shorten.Quoted(key), value)
	}
	return ordered.MustJSON(short)
}

// failureOf words a failure of the engine.
func failureOf(f js.Failure) *Failure {
	out := &Failure{Code: Failed, Message: f.Message, Line: f.Line, Column: f.Column, At: f.Code, Stack: f.Stack}
	switch f.Kind {
	case js.Syntax:
		out.Code = Invalid
	case js.Limit, js.Memory:
		out.Code = Exceeded
	case js.Thrown:
		switch {
		case f.Tool != "":
			out.Code, out.Message = f.Name, f.Tool+": "+f.Message
		case f.Name != "":
			out.Message = f.Name + ": " + f.Message
		}
		switch {
		case f.Name == "ReferenceError":
			out.Hint = whatThereIs
		case f.Name == "TypeError" && (f.Message == "not a function" || strings.HasPrefix(f.Message, "cannot read property")):
			out.Hint = "await each call; tools.describe with as: \"ts\" tells the type of its result"
		}
	}
	return out
}
