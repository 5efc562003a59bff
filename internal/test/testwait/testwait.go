// Package testwait waits in tests for events that are sure to come: generously, so that a
// busy machine fails no test, and with an end, so that a failure names what is missing.
// Tests within one process that wait for time to pass use testing/synctest.
package testwait

import (
	"context"
	"testing"
	"time"
)

// Limit bounds every wait, also the timeouts that tests hand to what they test.
const Limit = 2 * time.Minute

// pause is the longest time between two looks at a condition; the first follow sooner.
const pause = 20 * time.Millisecond

// Until returns when a condition holds, and stops the test if it does not within [Limit].
// What is the event, as a sentence: "the server ends".
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.Now().Add(Limit)
	for wait := time.Millisecond; !holds(); wait = min(2*wait, pause) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", Limit, what)
		}
		time.Sleep(wait)
	}
}

// Receive returns the next value of a channel, the zero value if it is closed, and stops
// the test if nothing comes within [Limit]. What is as for [Until].
func Receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	late := time.NewTimer(Limit)
	defer late.Stop()
	select {
	case value := <-c:
		return value
	case <-late.C:
		t.Fatalf("not within %s: %s", Limit, what)
		panic("not reached")
	}
}

// Context is that of the test, and ends after [Limit].
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}
