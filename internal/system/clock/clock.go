// Package clock returns the time in the precision that stores keep.
package clock

import "time"

// Micros returns a clock that reads now in UTC and whole microseconds, so that
// a time compares equal with itself after it was stored.
func Micros(now func() time.Time) func() time.Time {
	return func() time.Time { return now().UTC().Truncate(time.Microsecond) }
}
