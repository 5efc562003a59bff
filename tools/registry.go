package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Permit decides whether an action may run. Nil lets it; an error refuses it,
// and reaches the caller.
type Permit func(*ActionSpec) *Error

// Registry runs calls. It is safe for concurrent use.
type Registry struct {
	permit Permit
	log    *slog.Logger
}

// NewRegistry returns a registry. A nil permit lets everything run; log gets
// the failures that callers only see an id of.
func NewRegistry(permit Permit, log *slog.Logger) *Registry {
	return &Registry{permit: permit, log: log}
}

// Answer is what a call gives back: the result object, or {"error": …}.
type Answer struct {
	Content json.RawMessage
	Err     *Error // nil for success

	// Forward is set when the action asks for another call to be run in its
	// place; Content is empty then.
	Forward *Forward

	// Deprecated is set when the call used a legacy name: how to call it now.
	Deprecated *Deprecation
}

// IsError tells whether the call failed.
func (a Answer) IsError() bool { return a.Err != nil }

// Forward is the result of an action that stands for another call: whoever
// resolves names runs that call and answers with its result as it is.
type Forward struct {
	Name      string
	Arguments json.RawMessage
}

// keeping hands the wanted result fields on to the call, unless that has its
// own.
func (f Forward) keeping(fields []string) *Forward {
	var args ordered.Map
	if len(fields) == 0 || len(f.Arguments) > 0 && json.Unmarshal(f.Arguments, &args) != nil {
		return &f
	}
	if _, own := args.Get(IncludeFields); !own {
		args.Set(IncludeFields, fields)
		f.Arguments = ordered.MustJSON(args)
	}
	return &f
}

// Deprecation tells a caller of a legacy name the present one.
type Deprecation struct {
	Tool   string `json:"tool"`
	Action string `json:"action,omitempty"`
}

// Run runs a call of an entry. It always answers; it never panics. Run may
// change args.
func (r *Registry) Run(ctx context.Context, e *Entry, args Args) Answer {
	answer, err := r.run(ctx, e, args)
	if err != nil {
		answer = Fail(r.tell(e, err))
	}
	if e.Old != nil {
		answer.Deprecated = deprecation(e.Action)
	}
	return answer
}

func deprecation(a *ActionSpec) *Deprecation {
	now := Consolidated(a)
	return &Deprecation{Tool: now.Tool, Action: now.Selector}
}

// Fail is the answer to a call that failed before it reached an action.
func Fail(err *Error) Answer {
	return Answer{Err: err, Content: ordered.MustJSON(map[string]*Error{"error": err})}
}

func (r *Registry) run(ctx context.Context, e *Entry, args Args) (answer Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = Answer{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	call := e.prepare(args)
	if len(call.problems) > 0 {
		return Answer{}, &Error{Code: InvalidInput, Problems: call.problems}
	}
	if r.permit != nil {
		if refusal := r.permit(e.Action); refusal != nil {
			return Answer{}, refusal
		}
	}
	raw, err := ordered.JSON(call.args)
	if err != nil {
		return Answer{}, fmt.Errorf("encoding arguments: %w", err)
	}
	result, err := e.Action.invoke(ctx, raw)
	if err != nil {
		return Answer{}, err
	}
	return call.answer(result)
}

// answer makes a method's result what the caller gets.
func (p prepared) answer(result any) (Answer, error) {
	if forward, ok := result.(Forward); ok {
		return Answer{Forward: forward.keeping(p.fields)}, nil
	}
	raw, err := ordered.JSON(result)
	if err != nil {
		return Answer{}, fmt.Errorf("encoding result: %w", err)
	}
	return Answer{Content: withWarnings(Project(raw, p.fields), p.warnings)}, nil
}

// tell turns any failure into what the model may see. Failures that are not
// the caller's are logged under an id and answered with it.
func (r *Registry) tell(e *Entry, err error) *Error {
	var known *Error
	if !errors.As(err, &known) {
		id := uuid.NewString()
		r.log.Error("action failed", "action", e.Action.FullName(), "id", id, "err", err)
		return Errorf(Internal, "%s failed; the server's log has it under %s", e.Title(), id)
	}
	told := *known
	if len(told.Problems) > 0 && told.Usage == "" {
		e.explain(&told)
	}
	return &told
}

// withWarnings adds a warnings member to a result object.
func withWarnings(result json.RawMessage, warnings []string) json.RawMessage {
	if len(warnings) == 0 {
		return result
	}
	body := result[:len(result)-1]
	if len(body) > 1 {
		body = append(body[:len(body):len(body)], ',')
	}
	body = append(body, `"warnings":`...)
	body = append(body, ordered.MustJSON(warnings)...)
	return append(body, '}')
}
