package testwait_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolfold/toolfold/internal/test/testwait"
)

// failureRecorder records the message of a failure instead of failing.
type failureRecorder struct {
	testing.TB
	words string
}

func (f *failureRecorder) Helper() {}

func (f *failureRecorder) Fatalf(format string, args ...any) {
	f.words = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// A wait lasts up to the limit, and its failure names the missing event.
func TestLimit(t *testing.T) {
	t.Parallel()
	for what, wait := range map[string]func(t testing.TB, after time.Duration){
		"it is late": func(t testing.TB, after time.Duration) {
			begin := time.Now()
			testwait.Until(t, "it is late", func() bool { return time.Since(begin) >= after })
		},
		"a value comes": func(t testing.TB, after time.Duration) {
			c := make(chan int, 1)
			time.AfterFunc(after, func() { c <- 7 })
			if got := testwait.Receive(t, "a value comes", c); got != 7 {
				t.Errorf("got %d", got)
			}
		},
	} {
		for after, fails := range map[time.Duration]bool{0: false, testwait.Limit - time.Second: false, testwait.Limit + time.Second: true} {
			synctest.Test(t, func(t *testing.T) {
				f := &failureRecorder{TB: t}
				done := make(chan struct{})
				go func() {
					defer close(done)
					wait(f, after)
				}()
				<-done
				want := ""
				if fails {
					want = "not within 2m0s: " + what
				}
				if f.words != want {
					t.Errorf("after %s it fails with %q, want %q", after, f.words, want)
				}
			})
		}
	}
}
