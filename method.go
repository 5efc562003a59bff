package toolfold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Handler runs an action. Make one with [Method].
type Handler struct {
	service, in, out reflect.Type // nil for foreign tools
	run              func(ctx context.Context, service any, args json.RawMessage) (any, error)
	pages            bool // the result is a pager
}

// Method makes a handler from a method expression, so that a declaration needs no service:
// Method((*Service).Search). The members of Out are the result fields of the action, with names
// from the tag json and texts from the tag doc.
func Method[S, In, Out any](method func(S, context.Context, In) (Out, error)) Handler {
	_, pages := any(new(Out)).(pager)
	return Handler{
		pages:   pages,
		service: reflect.TypeFor[S](),
		in:      reflect.TypeFor[In](),
		out:     reflect.TypeFor[Out](),
		run: func(ctx context.Context, service any, args json.RawMessage) (any, error) {
			var in In
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, decodeError(err)
			}
			out, err := method(service.(S), ctx, in)
			if pages {
				return &out, err
			}
			return out, err
		},
	}
}

// Files makes the handler of [Action.Writes] from a method expression. In has the members of the
// action's arguments that decide which files are written.
func Files[S, In any](method func(S, context.Context, In) ([]string, error)) Handler {
	return Method(method)
}

// decodeError makes a problem that the caller can correct, for a value that fits its schema but not
// its Go type, such as an integer above 64 bits.
func decodeError(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return fmt.Errorf("decoding arguments: %w", err)
	}
	path := "/" + strings.ReplaceAll(mismatch.Field, ".", "/")
	return &Error{
		Code:     InvalidInput,
		Problems: []Problem{{Path: path, Kind: ProblemRange, Got: mismatch.Value}},
	}
}
