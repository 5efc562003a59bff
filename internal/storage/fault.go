package storage

import (
	"errors"

	"github.com/toolfold/toolfold"
)

// Unavailable is the code of a call that failed for a reason that lies in the
// database and that a user can mend.
const Unavailable = "STORE_UNAVAILABLE"

// fault is an error of the database with what a caller may be told of it:
// no path, host, user or statement.
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

// Unwrap makes both errors known to [errors.As], first the one for callers.
func (f *fault) Unwrap() []error { return []error{f.answer, f.cause} }

func unavailable(format string, args ...any) *toolfold.Error {
	return toolfold.Errorf(Unavailable, format, args...)
}

// explain returns an error in words for callers, where there are any.
func (d dialect) explain(err error) error {
	if err == nil || errors.As(err, new(*toolfold.Error)) {
		return err
	}
	if f := d.fault(err); f != nil {
		return f
	}
	return err
}
