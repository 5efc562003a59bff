// Package clock provides times in the precision of stores.
package clock

import "time"

// Micros returns a clock in UTC and whole microseconds, so that a time equals itself after it was
// stored.
func Micros(now func() time.Time) func() time.Time {
	return func() time.Time { return now().UTC().Truncate(time.Microsecond) }
}
