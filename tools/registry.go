package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/google/uuid"

	"github.com/toolfold/toolfold/internal/ordered"
)

// Mounted is a family together with the way to open its service.
type Mounted struct {
	Spec *Spec
	open func(context.Context) (any, error)
}

// Mount binds a family to its service.
func (f Family[S]) Mount(open Opener[S]) Mounted {
	return Mounted{
		Spec: f.Spec(),
		open: func(ctx context.Context) (any, error) { return open(ctx) },
	}
}

// Permit decides whether an action may run. Nil lets it; an error refuses it,
// and reaches the caller.
type Permit func(*ActionSpec) *Error

// Registry runs calls. It is safe for concurrent use.
type Registry struct {
	services map[*Spec]*service
	permit   Permit
	log      *slog.Logger
}

// service opens a family's service once. An error is not kept: the next call
// tries again.
type service struct {
	open  func(context.Context) (any, error)
	mu    sync.Mutex
	value any
}

// NewRegistry returns a registry of the mounted families. A nil permit lets
// everything run; log gets the failures that callers only see an id of.
func NewRegistry(families []Mounted, permit Permit, log *slog.Logger) *Registry {
	r := &Registry{services: map[*Spec]*service{}, permit: permit, log: log}
	for _, f := range families {
		r.services[f.Spec] = &service{open: f.open}
	}
	return r
}

// Answer is what a call gives back: the result object, or {"error": …}.
type Answer struct {
	Content json.RawMessage
	Code    string // the error's code; empty for success

	// Deprecated is set when the call used a legacy name: how to call it now.
	Deprecated *Deprecation
}

// IsError tells whether the call failed.
func (a Answer) IsError() bool { return a.Code != "" }

// Deprecation tells a caller of a legacy name the present one.
type Deprecation struct {
	Tool   string `json:"tool"`
	Action string `json:"action,omitempty"`
}

// Run runs a call of an entry. It always answers; it never panics. Run may
// change args.
func (r *Registry) Run(ctx context.Context, e *Entry, args Args) Answer {
	content, err := r.run(ctx, e, args)
	answer := Answer{Content: content}
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
	return Answer{Code: err.Code, Content: ordered.MustJSON(map[string]*Error{"error": err})}
}

func (r *Registry) run(ctx context.Context, e *Entry, args Args) (content json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			content, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	call := e.prepare(args)
	if len(call.problems) > 0 {
		return nil, &Error{Code: InvalidInput, Problems: call.problems}
	}
	if r.permit != nil {
		if refusal := r.permit(e.Action); refusal != nil {
			return nil, refusal
		}
	}
	result, err := r.invoke(ctx, e.Action, call.args)
	if err != nil {
		return nil, err
	}
	raw, err := ordered.JSON(result)
	if err != nil {
		return nil, fmt.Errorf("encoding result: %w", err)
	}
	return withWarnings(Project(raw, call.fields), call.warnings), nil
}

func (r *Registry) invoke(ctx context.Context, a *ActionSpec, args Args) (any, error) {
	svc, ok := r.services[a.Family]
	if !ok {
		return nil, fmt.Errorf("family %s is not mounted", a.Family.Name)
	}
	value, err := svc.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", a.Family.Name, err)
	}
	raw, err := ordered.JSON(args)
	if err != nil {
		return nil, fmt.Errorf("encoding arguments: %w", err)
	}
	return a.run(ctx, value, raw)
}

func (s *service) get(ctx context.Context) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil {
		return s.value, nil
	}
	value, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.value = value
	return value, nil
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
	if len(told.Problems) > 0 {
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
