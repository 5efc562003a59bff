package env

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

// StopGrace is the default time that running work has to end after a signal.
const StopGrace = 5 * time.Second

// exitWithin is the time from the end of the grace period to the end of the process. It also holds if
// the process still waits for a client, a lock or a database.
const exitWithin = 4 * time.Second

// UntilSignal returns a context that is done at the first SIGINT or SIGTERM. The process then ends
// within grace and exitWithin, or at once at a second signal. Commands without work to finish do not
// need it: a signal ends them.
func UntilSignal(c *cli.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.Context)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
		case <-ctx.Done():
			signal.Stop(signals)
			return
		}
		signal.Stop(signals) // the next signal has its default effect
		time.AfterFunc(grace+exitWithin, func() {
			go fmt.Fprintln(c.App.ErrWriter, "toolfold: ended before everything was finished") // standard error may block
			time.Sleep(100 * time.Millisecond)
			os.Exit(ExitFailed)
		})
		cancel() // last, because ending thousands of calls takes a while
		if len(signals) > 0 {
			os.Exit(ExitFailed) // the second signal came before signal.Stop
		}
	}()
	return ctx, cancel
}
