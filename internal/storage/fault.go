package storage

import (
	"errors"

	"github.com/toolfold/toolfold"
)

// Unavailable is the code of a call that failed because of a database problem that a user can fix.
const Unavailable = "STORE_UNAVAILABLE"

// fault is a database error with its error for callers, which has no path, host, user or statement.
type fault struct {
	answer *toolfold.Error
	cause  error
}

// Error implements error. It is for logs.
func (f *fault) Error() string {
	if f.cause == nil {
		return f.answer.Message
	}
	return f.answer.Message + ": " + f.cause.Error()
}

// Unwrap returns both errors, first the one for callers.
func (f *fault) Unwrap() []error { return []error{f.answer, f.cause} }

func unavailable(format string, args ...any) *toolfold.Error {
	return toolfold.Errorf(Unavailable, format, args...)
}

// explain converts an error that a user can fix to its error for callers.
func (d dialect) explain(err error) error {
	if err == nil || errors.As(err, new(*toolfold.Error)) {
		return err
	}
	if f := d.fault(err); f != nil {
		return f
	}
	return err
}
