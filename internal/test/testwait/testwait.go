// Package testwait waits in tests for events that must come. The limit is generous, so that no test
// fails on a busy machine, and the failure names the missing event. Tests that wait for time to
// pass within one process use testing/synctest instead.
package testwait

import (
	"context"
	"testing"
	"time"
)

// Limit is the timeout of every wait, also of timeouts that tests pass to the tested code.
const Limit = 2 * time.Minute

// pause is the longest time between two checks of a condition; the first checks follow sooner.
const pause = 20 * time.Millisecond

// Until returns when a condition holds, and stops the test after [Limit]. The argument what
// describes the event in a sentence: "the server ends".
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

// Receive returns the next value of a channel, or the zero value if it is closed. It stops the test
// after [Limit]. The argument what is as for [Until].
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

// Context returns the test's context with the timeout [Limit].
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}
